"""The E-step without the corpus: second-order statistics of filter and smoother from the moments alone.

ASOS (Martens 2010) applies the filter's and smoother's recursions to covariances at lag k instead of to the data, and
lets the model close the horizon: beyond lag r, E[w_{t+k} x̂_tᵀ] is what the model says it is. Per token, boundary terms
dropped, with wx_k = E[w_{t+k} x̂_tᵀ], xw_k = E[x̂_{t+k} w_tᵀ] and so on (F, J, K and P are those of
:mod:`textlds.lds.steady`):

    wx_{r+1} ≈ C A^{r+1} X₀          wx_k = wx_{k+1} Fᵀ + Ψ_k Kᵀ
    X₀ = F X₀ Fᵀ + F (K wx_1)ᵀ + K wx_0
    xw_0 = wx_0ᵀ                     xw_k = F xw_{k−1} + (Ψ_kᵀ Kᵀ)ᵀ
    xx_0 = X₀                        xx_k = F xx_{k−1} + K wx_k
    x̄w_{r+1} ≈ A xw_r                x̄w_k = J x̄w_{k+1} + P xw_k
    x̄x_{r+1} ≈ A xx_r                x̄x_k = J x̄x_{k+1} + P xx_k
    x̄x̄_0 = J x̄x̄_0 Jᵀ + J x̄x_1 Pᵀ + P x̄x_0ᵀ          x̄x̄_1 = x̄x̄_0 Jᵀ + x̄x_1 Pᵀ

Only the 2r products Ψ_k Kᵀ and Ψ_kᵀ Kᵀ are of the size of the vocabulary. Unrolling the recursions,

    E[w x̄ᵀ] = Σ_{k=0..r} Ψ_k Kᵀ a_k + Σ_{k=1..r} Ψ_kᵀ Kᵀ b_k + C c

with h x h matrices a_k and b_k that are known beforehand, so the products are used one at a time and at most three
V x h panels live at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.lds.params import LDSParams
from textlds.lds.steady import SteadyState
from textlds.learn.moments import Moments
from textlds.linalg.equations import solve_generalised_lyapunov, solve_lyapunov
from textlds.linalg.psd import nearest_covariance, symmetric
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Matrix


@dataclass(frozen=True)
class Statistics:
    """Time-averaged second moments of the posterior means.

    Attributes:
        filt_filt: X₀ = E[x̂_t x̂_tᵀ].
        smooth_filt: x̄x_0 = E[x̄_t x̂_tᵀ].
        smooth_smooth: x̄x̄_0 = E[x̄_t x̄_tᵀ].
        smooth_next: x̄x̄_1 = E[x̄_{t+1} x̄_tᵀ].
        obs_smooth: E[w_t x̄_tᵀ], (n, h).
        gain_obs_filt: K E[w_{t+1} x̂_tᵀ], (h, h); the likelihood needs it.
        log_likelihood: Per token, relative to the static model.
    """

    filt_filt: Matrix
    smooth_filt: Matrix
    smooth_smooth: Matrix
    smooth_next: Matrix
    obs_smooth: Matrix
    gain_obs_filt: Matrix
    log_likelihood: float


@dataclass(frozen=True)
class OutputCoefficients:
    """a_k, b_k and the factor of X₀ in c, by which products with Ψ_k become E[w x̄ᵀ] (see the top of this file).

    x̄w_0 = Σ_k Jᵏ P xw_k + J^{r+1} A xw_r gives b_k = W_k + Fᵀ b_{k+1} with W_k = Pᵀ (Jᵀ)ᵏ, and W_r also carrying
    Aᵀ (Jᵀ)^{r+1}; then a_k = (Fᵀ)ᵏ b_0 and c = A^{r+1} X₀ (Fᵀ)^{r+1} b_0.
    """

    a: list[Matrix]  # k = 0..r
    b: list[Matrix]  # k = 0..r; b[0] is that of wx_0 itself
    closing: Matrix  # (Fᵀ)^{r+1} b_0
    A_tail: Matrix  # A^{r+1}

    def c(self, filt_filt: Matrix) -> Matrix:
        """Return the coefficient of C."""
        return self.A_tail @ filt_filt @ self.closing


def output_coefficients(params: LDSParams, steady: SteadyState, horizon: int) -> OutputCoefficients:
    """Unroll the recursions of E[w x̄ᵀ]."""
    r, FT = horizon, steady.F.T
    powers_J = _powers(steady.J, r + 1)
    b: list[Matrix] = [steady.P.T @ power.T for power in powers_J[: r + 1]]
    b[r] = b[r] + params.A.T @ powers_J[r + 1].T
    for k in range(r - 1, -1, -1):
        b[k] = b[k] + FT @ b[k + 1]
    a = [b[0]]
    for _ in range(r + 1):
        a.append(FT @ a[-1])
    return OutputCoefficients(a[:-1], b, a[-1], np.linalg.matrix_power(params.A, r + 1))


def asos(params: LDSParams, steady: SteadyState, moments: Moments, *, horizon: int) -> Statistics:
    """Compute the second-order statistics. 2 · horizon products with Ψ_k, O(horizon (n h² + h³)) besides.

    Args:
        params: The model.
        steady: Its steady state.
        moments: Ψ_1..Ψ_R with R ≥ horizon.
        horizon: r, the last lag taken from the data.
    """
    F, KT = steady.F, steady.KT
    coefficients = output_coefficients(params, steady, horizon)

    def lag(k: int) -> tuple[Matrix, Matrix]:
        """Return K Ψ_k Kᵀ and the contribution of lag k to E[w x̄ᵀ]."""
        Y = moments.lag0(KT) if k == 0 else moments.lags[k - 1].matmat(KT)
        contribution: Matrix = Y @ coefficients.a[k]
        if k > 0:
            contribution += moments.lags[k - 1].rmatmat(KT) @ coefficients.b[k]
        return KT.T @ Y, contribution

    shadows: list[Matrix] = []
    obs_smooth = np.zeros_like(KT)
    for first in range(0, horizon + 1, moments.threads):  # so many at a time: a contribution is as large as C
        ks = range(first, min(first + moments.threads, horizon + 1))
        for shadow, contribution in parallel_map(lag, ks, threads=moments.threads):
            shadows.append(shadow)
            obs_smooth += contribution

    tail = steady.KC @ coefficients.A_tail  # K wx_{r+1} = tail · X₀
    # a horizon too short for the text, or rounding where there is no signal, may leave a variance below zero
    filt_filt = nearest_covariance(_filter_covariance(F, np.linalg.matrix_power(F, horizon + 1), tail, shadows))
    gain_obs_filt = _gain_times_obs_filt(F, tail @ filt_filt, shadows)  # K wx_k, k = 0..r
    obs_smooth += params.C @ coefficients.c(filt_filt)

    smooth_filt_0, smooth_filt_1 = _smooth_filt(params.A, steady, filt_filt, gain_obs_filt)
    J, P = steady.J, steady.P
    step = symmetric(J @ smooth_filt_1 @ P.T + P @ smooth_filt_0.T)
    smooth_smooth = nearest_covariance(symmetric(solve_lyapunov(J, step)))
    smooth_next = smooth_smooth @ J.T + smooth_filt_1 @ P.T
    return Statistics(
        filt_filt=filt_filt,
        smooth_filt=smooth_filt_0,
        smooth_smooth=smooth_smooth,
        smooth_next=smooth_next,
        obs_smooth=obs_smooth,
        gain_obs_filt=gain_obs_filt[1],
        log_likelihood=_log_likelihood(params.A, steady, moments, filt_filt, gain_obs_filt[1]),
    )


def _powers(F: Matrix, n: int) -> list[Matrix]:
    powers: list[Matrix] = [np.eye(len(F))]
    for _ in range(n):
        powers.append(powers[-1] @ F)
    return powers


def _filter_covariance(F: Matrix, F_tail: Matrix, tail: Matrix, shadows: list[Matrix]) -> Matrix:
    """Solve X₀ = F X₀ Fᵀ + F (K wx_1)ᵀ + K wx_0, linear in X₀ also through the tail of wx."""
    without_tail = _gain_times_obs_filt(F, np.zeros_like(F), shadows)
    S = symmetric(F @ without_tail[1].T + without_tail[0])
    return solve_generalised_lyapunov(F, F_tail, tail, S)


def _gain_times_obs_filt(F: Matrix, closing: Matrix, shadows: list[Matrix]) -> list[Matrix]:
    """Return K wx_k for k = 0..r by K wx_k = (K wx_{k+1}) Fᵀ + K Ψ_k Kᵀ."""
    result = [closing]
    for shadow in reversed(shadows):
        result.append(result[-1] @ F.T + shadow)
    return result[:0:-1]


def _smooth_filt(
    A: Matrix, steady: SteadyState, filt_filt: Matrix, gain_obs_filt: list[Matrix]
) -> tuple[Matrix, Matrix]:
    """Return x̄x_0 and x̄x_1."""
    xx = [filt_filt]
    for k in range(1, len(gain_obs_filt)):
        xx.append(steady.F @ xx[-1] + gain_obs_filt[k])
    result = [A @ xx[-1]]
    for x in reversed(xx):
        result.append(steady.J @ result[-1] + steady.P @ x)
    return result[-1], result[-2]


def _log_likelihood(
    A: Matrix, steady: SteadyState, moments: Moments, filt_filt: Matrix, gain_obs_filt: Matrix
) -> float:
    """Return the log-likelihood a token, relative to the static model.

    −½ [log det S + tr(S⁺Ψ_0) − 2 tr(S⁺ wx_1 Aᵀ Cᵀ) + tr(S⁺ C A X₀ Aᵀ Cᵀ)], each term h x h by Cᵀ S⁺ = Σ_pred⁻¹ K.
    """
    gram_S = steady.gram_S()
    cross = float(np.sum(np.linalg.solve(steady.cov_pred, gain_obs_filt) * A))
    predicted = float(np.sum(gram_S * (A @ filt_filt @ A.T)))
    return -0.5 * (steady.logdet_S + _innovation_trace(steady, gram_S, moments) - 2 * cross + predicted)


def _innovation_trace(steady: SteadyState, gram_S: Matrix, moments: Moments) -> float:
    """Return tr(S⁺Ψ_0) relative to the static model."""
    DC, M = steady.precision.DC, steady.precision.explained
    if M is not None:
        # Ψ_0 = S − C (Σ_pred − M) Cᵀ: no difference of traces as large as the inverse of the smallest noise
        return -float(np.sum((steady.cov_pred - M) * gram_S))
    # S⁺ = D⁺ − D⁺C Σ_filt CᵀD⁺
    return steady.precision.trace - float(np.sum(steady.cov_filt * (DC.T @ moments.lag0(DC))))
