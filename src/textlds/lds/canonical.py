"""The coordinates of inference, in which one matrix does everything.

Choose T with T Σ_filt Tᵀ = I and T Σ_pred Tᵀ = diag(s), s ≥ 1, largest first (simultaneous diagonalisation; unique up
to signs, which are fixed). In the coordinates T x, with φ = 1/s:

    CᵀD⁺C = diag(1 − φ)          I − K C = diag(φ)          F = diag(φ) A          J = Fᵀ = Aᵀ diag(φ)

    filter     p_t = A x̂_{t−1},      x̂_t = φ ∘ p_t + k(w_t)
    smoother   x̄_t = x̂_t + Aᵀ (φ ∘ (x̄_{t+1} − p_{t+1}))

Two products with one h x h matrix per token, not three with three matrices; ‖F‖₂ < 1, so a sequence may be entered
anywhere after b tokens of warm-up with a relative error of at most ‖F‖₂ᵇ. The coordinates do not depend on those that
the parameters came in, so neither does anything that is computed in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.lds.params import LDSParams
from textlds.lds.steady import SteadyState
from textlds.linalg.elementwise import inverse_or_zero
from textlds.linalg.psd import sqrt_and_inverse, symmetric
from textlds.linalg.types import Matrix, Vector


@dataclass(frozen=True)
class CanonicalSystem:
    """A steady-state filter and smoother in the coordinates of inference.

    Attributes:
        T: (h, h); x_canonical = T x.
        A: Transition matrix.
        shrink: φ, the diagonal of I − K C, in (0, 1].
        cov_stationary: Unconditional covariance of the state.
        logdet_D: log det D relative to the static model.
    """

    T: Matrix
    A: Matrix
    shrink: Vector
    cov_stationary: Matrix
    logdet_D: float

    def memory(self, tolerance: float) -> int:
        """Return the least b with ‖Fᵇ‖₂ ≤ tolerance: after b tokens no more is left of where the filter began."""
        F = self.shrink[:, None] * self.A
        squares = [F]  # F^(2ⁿ)
        while np.linalg.norm(squares[-1], 2) > tolerance and len(squares) < 40:
            squares.append(squares[-1] @ squares[-1])
        b, power = 0, np.eye(len(F))
        for n in range(len(squares) - 2, -1, -1):  # the largest b that is not enough, bit by bit
            longer = power @ squares[n]
            if np.linalg.norm(longer, 2) > tolerance:
                b, power = b + 2**n, longer
        return b + 1

    def outputs(self, C: Matrix) -> Matrix:
        """Return C in these coordinates, C T⁻¹."""
        return np.asarray(C @ np.linalg.inv(self.T))

    @property
    def logdet_S(self) -> float:
        """log det S relative to the static model: log det D − Σ log φ, since I + Σ_pred CᵀD⁺C = diag(s)."""
        return self.logdet_D - float(np.sum(np.log(self.shrink)))

    @property
    def Q(self) -> Matrix:
        """Innovation covariance, Σ_pred − A Σ_filt Aᵀ = diag(s) − A Aᵀ."""
        return np.diag(1 / self.shrink) - self.A @ self.A.T


def word_gains(steady: SteadyState, null: Vector) -> Matrix:
    """Return K (e_w / m_w − m) for every word, (V, h), in the coordinates of the parameters."""
    # K m = 0 for the full and spherical kinds of noise, not for the others
    return np.asarray(steady.KT * inverse_or_zero(null)[:, None] - null @ steady.KT)


def canonical_system(params: LDSParams, steady: SteadyState, gains: Matrix) -> tuple[CanonicalSystem, Matrix]:
    """Change to the coordinates of inference. O(V h² + h³).

    Args:
        params: The model.
        steady: Its steady state.
        gains: K times the observation of every word, (V, h).

    Returns:
        The system, and the gains in its coordinates.
    """
    _, inverse_root = sqrt_and_inverse(steady.cov_filt)
    values, vectors = np.linalg.eigh(symmetric(inverse_root @ steady.cov_pred @ inverse_root))
    values, vectors = values[::-1], vectors[:, ::-1]
    T = vectors.T @ inverse_root
    gains = gains @ T.T
    signs = np.where(gains[np.argmax(np.abs(gains), axis=0), np.arange(len(T))] < 0, -1.0, 1.0)
    moved = params.transformed(signs[:, None] * T)
    system = CanonicalSystem(
        T=signs[:, None] * T,
        A=moved.A,
        shrink=1 / np.maximum(values, 1.0),
        cov_stationary=moved.cov_stationary(),
        logdet_D=steady.precision.logdet,
    )
    return system, gains * signs
