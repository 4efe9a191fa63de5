"""Second moments of what a linear filter and smoother give, when its gains need not be the optimal ones.

In the coordinates of :mod:`textlds.lds.canonical`, with any gains k(w) and any F = diag(φ) A, M = Fᵀ, P = I − M A:

    x̂_t = F x̂_{t−1} + k(w_t)         x̄_t = M x̄_{t+1} + P x̂_t

Under the model, z = (x, x̂) is a stationary first-order process, z_{t+1} = Z z_t + noise, with

    Z = [[A, 0], [k_C A, F]]          k_C = Σ_w m_w k(w) C_wᵀ,  since E[k(w_t) | x_t] = k_C x_t
    Π = E[z zᵀ]                       E[x̄_t | z_t] = Y z_t,  Y = P [0 I] + M Y Z

and E[x̄ x̄ᵀ] = M E[x̄ x̄ᵀ] Mᵀ + sym(M Y Z Π [0 I]ᵀ Pᵀ) + P E[x̂ x̂ᵀ] Pᵀ. With the optimal gains these are Σ − Σ_filt and
Σ − Σ_smooth. Everything is h x h: O(h³), whatever the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.lds.canonical import CanonicalSystem
from textlds.linalg.equations import solve_lyapunov, solve_stein
from textlds.linalg.psd import symmetric
from textlds.linalg.types import Matrix


@dataclass(frozen=True)
class PosteriorMoments:
    """Second moments of the posterior means over the corpus.

    Attributes:
        filt_filt: E[x̂ x̂ᵀ].
        smooth_filt: E[x̄ x̂ᵀ].
        smooth_smooth: E[x̄ x̄ᵀ].
    """

    filt_filt: Matrix
    smooth_filt: Matrix
    smooth_smooth: Matrix

    def transformed(self, T: Matrix) -> PosteriorMoments:
        """Return the same in the coordinates T x."""
        return PosteriorMoments(*(T @ m @ T.T for m in (self.filt_filt, self.smooth_filt, self.smooth_smooth)))


def second_moments(system: CanonicalSystem, gain_C: Matrix, gain_gain: Matrix) -> PosteriorMoments:
    """Return the second moments under the model.

    Args:
        system: A and φ; φ may be smaller than the optimal one.
        gain_C: k_C, (h, h).
        gain_gain: E[k kᵀ], (h, h).
    """
    A, F = system.A, system.shrink[:, None] * system.A
    h, zero = len(A), np.zeros_like(A)
    cov = system.cov_stationary
    Q = symmetric(cov - A @ cov @ A.T)
    spread = symmetric(gain_gain - gain_C @ cov @ gain_C.T)  # of k(w_t) given x_t
    Z = np.block([[A, zero], [gain_C @ A, F]])
    noise = np.block([[Q, Q @ gain_C.T], [gain_C @ Q, gain_C @ Q @ gain_C.T + spread]])
    second = symmetric(solve_lyapunov(Z, noise))
    filt_filt = second[h:, h:]
    M, P = F.T, np.eye(h) - F.T @ A
    Y = solve_stein(M, Z, np.hstack([zero, P]))
    smooth_filt = (Y @ second)[:, h:]
    ahead = M @ (Y @ Z @ second)[:, h:] @ P.T
    smooth_smooth = symmetric(solve_lyapunov(M, ahead + ahead.T + P @ filt_filt @ P.T))
    return PosteriorMoments(filt_filt, smooth_filt, smooth_smooth)
