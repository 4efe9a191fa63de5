"""The exact filter and smoother for short sequences: gains that change with the position.

A sequence starts from the stationary prior, x_1 ~ N(0, Σ_stat). The gains do not depend on the data, so they are
computed once, until they reach the steady ones. In the coordinates of :mod:`textlds.lds.canonical`, R = diag(1 − φ):

    Σ_pred,1 = Σ_stat       Σ_filt,t = (Σ_pred,t⁻¹ + R)⁻¹       Σ_pred,t+1 = A Σ_filt,t Aᵀ + Q
    J_t = Σ_filt,t Aᵀ Σ_pred,t+1⁻¹
    x̂_t = (I − Σ_filt,t R) p_t + Σ_filt,t k(w_t)           x̄_t = x̂_t + J_t (x̄_{t+1} − p_{t+1})

(In the steady state Σ_filt = I, so k(w) itself is the information that a word brings.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.lds.canonical import CanonicalSystem
from textlds.lds.steady import filtered_covariance
from textlds.linalg.psd import symmetric
from textlds.linalg.types import Matrix

_STEADY = 1e-10  # how close to the steady state the gains are taken as steady
_MAX_STEPS = 512  # h x h matrices kept; a filter that forgets more slowly than this is taken as steady from there on


@dataclass(frozen=True)
class ExactGains:
    """The first gains of a sequence, until they are steady.

    Attributes:
        cov_pred: Σ_pred,t for t = 0..n−1.
        cov_filt: Σ_filt,t.
        smoother: J_t.
        logdet_S: log det S_t relative to the static model.
    """

    cov_pred: list[Matrix]
    cov_filt: list[Matrix]
    smoother: list[Matrix]
    logdet_S: list[float]

    def __len__(self) -> int:
        return len(self.cov_filt)


def exact_gains(system: CanonicalSystem) -> ExactGains:
    """Run the covariance recursion from the stationary prior to the steady state."""
    R = np.diag(1 - system.shrink)
    identity, A, Q = np.eye(len(R)), system.A, system.Q
    gains = ExactGains([], [], [], [])
    cov_pred = system.cov_stationary
    for _ in range(_MAX_STEPS):
        cov_filt = filtered_covariance(cov_pred, R)
        following = symmetric(A @ cov_filt @ A.T + Q)
        gains.cov_pred.append(cov_pred)
        gains.cov_filt.append(cov_filt)
        gains.smoother.append(np.linalg.solve(following, A @ cov_filt).T)
        gains.logdet_S.append(system.logdet_D + float(np.linalg.slogdet(identity + cov_pred @ R)[1]))
        if np.max(np.abs(cov_filt - identity)) < _STEADY:
            break
        cov_pred = following
    return gains


def smoothed_covariances(system: CanonicalSystem, gains: ExactGains | None, length: int) -> tuple[Matrix, Matrix]:
    """Return the filtered and smoothed covariances of a sequence, each (length, h, h).

    Σ_smooth,t = Σ_filt,t + J_t (Σ_smooth,t+1 − Σ_pred,t+1) J_tᵀ, from the last position back. With ``gains`` None the
    steady ones are used at every position.
    """
    h = len(system.A)
    steady_pred, steady_J = np.diag(1 / system.shrink), system.A.T * system.shrink
    n = len(gains) if gains is not None else 0
    filt = np.broadcast_to(np.eye(h), (length, h, h)).copy()
    for t in range(min(n, length)):
        filt[t] = gains.cov_filt[t]  # type: ignore[union-attr]
    smooth = filt.copy()
    for t in range(length - 2, -1, -1):
        J = gains.smoother[t] if gains is not None and t < n else steady_J
        pred = gains.cov_pred[t + 1] if gains is not None and t + 1 < n else steady_pred
        smooth[t] = symmetric(filt[t] + J @ (smooth[t + 1] - pred) @ J.T)
    return filt, smooth
