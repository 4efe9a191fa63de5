"""The steady state of the Kalman filter and smoother: everything that does not depend on the data.

With R = CᵀD⁺C (from :mod:`textlds.lds.noise`):

    Σ_pred = A (Σ_pred⁻¹ + R)⁻¹ Aᵀ + Q            the Riccati equation (the paper prints the Lyapunov one)
    Σ_filt = (Σ_pred⁻¹ + R)⁻¹
    K = Σ_pred Cᵀ S⁺ = Σ_filt Cᵀ D⁺                S = C Σ_pred Cᵀ + D
    F = A − K C A,   J = Σ_filt Aᵀ Σ_pred⁻¹,   P = I − J A
    Σ_smooth = J Σ_smooth Jᵀ + Σ_filt − J Σ_pred Jᵀ

    filter     x̂_t = F x̂_{t−1} + K w_t
    smoother   x̄_t = J x̄_{t+1} + P x̂_t
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.errors import ConvergenceError
from textlds.lds.noise import Precision
from textlds.lds.params import LDSParams, check_stationary
from textlds.linalg.equations import solve_lyapunov, solve_riccati
from textlds.linalg.psd import symmetric
from textlds.linalg.types import Matrix


@dataclass(frozen=True)
class SteadyState:
    """The data-independent part of inference.

    Attributes:
        cov_pred: Σ_pred, covariance of x_t given w_{..t−1}.
        cov_filt: Σ_filt, covariance of x_t given w_{..t}.
        cov_smooth: Σ_smooth, covariance of x_t given everything.
        KT: Kᵀ, the transposed gain, (n, h).
        KC: K C, (h, h).
        F: Filter matrix.
        J: Smoother gain.
        P: I − J A.
        precision: What was needed of D.
        logdet_S: log det S relative to the static model.
    """

    cov_pred: Matrix
    cov_filt: Matrix
    cov_smooth: Matrix
    KT: Matrix
    KC: Matrix
    F: Matrix
    J: Matrix
    P: Matrix
    precision: Precision
    logdet_S: float

    def gram_S(self) -> Matrix:
        """Return Cᵀ S⁺ C = (I + R Σ_pred)⁻¹ R; the equal R − R Σ_filt R cancels where D is almost singular."""
        R = self.precision.gram
        return symmetric(np.linalg.solve(np.eye(len(R)) + R @ self.cov_pred, R))


def steady_state(params: LDSParams) -> SteadyState:
    """Solve for the steady state. O(n h² + h³).

    Raises:
        ConvergenceError: It has none in these numbers: the covariances of noise differ by too many powers of ten.
    """
    try:
        return _solved(params)
    except np.linalg.LinAlgError as error:
        raise ConvergenceError(
            f"the filter of this model has no steady state in float64 ({error}): its parameters are too large or too "
            f"small. Fit it again, with a larger pseudocount."
        ) from error


def _solved(params: LDSParams) -> SteadyState:
    A = params.A
    check_stationary(A)
    precision = params.noise.precision(params.C)
    R = precision.gram
    identity = np.eye(len(A))
    cov_pred = solve_riccati(A, R, params.Q)
    cov_filt = filtered_covariance(cov_pred, R)
    KC = cov_filt @ R
    J = np.linalg.solve(cov_pred, A @ cov_filt).T  # Σ_filt Aᵀ Σ_pred⁻¹
    cov_smooth = symmetric(solve_lyapunov(J, cov_filt - J @ cov_pred @ J.T))
    # log det S = log det D + log det(I + Σ_pred R)
    logdet_S = precision.logdet + float(np.linalg.slogdet(identity + cov_pred @ R)[1])
    return SteadyState(
        cov_pred=cov_pred,
        cov_filt=cov_filt,
        cov_smooth=cov_smooth,
        KT=precision.DC @ cov_filt,
        KC=KC,
        F=A - KC @ A,
        J=J,
        P=identity - J @ A,
        precision=precision,
        logdet_S=logdet_S,
    )


def filtered_covariance(cov_pred: Matrix, R: Matrix) -> Matrix:
    """Return (Σ_pred⁻¹ + R)⁻¹ = (I + Σ_pred R)⁻¹ Σ_pred, without inverting Σ_pred."""
    return symmetric(np.linalg.solve(np.eye(len(R)) + cov_pred @ R, cov_pred))
