"""Subspace identification: the parameters read off one singular value decomposition (n4sid).

The block Hankel matrix H[i, j] = Ψ_{r+i−j} factors as H = Γ Δ with

    Γ = [C; C A; …; C A^{r−1}]          Δ = [A^{r−1} G … A G, G],   G = E[x_{t+1} w_tᵀ]

so that from H ≈ U S Vᵀ, Γ = U S^½ and Δ = S^½ Vᵀ:

    A = Δ[first r−1 blocks] · pinv(Δ[last r−1 blocks])
    C = the first block of Γ, or the least-squares C from all of Γ
    D = Ψ_0 − C Σ Cᵀ, shrunk until it is positive

The scale of the state's covariance is not determined by Γ and Δ. The paper takes Q = I in these coordinates, which
are balanced ones. The rule ``"matched"`` uses the one equation left over, G = A Σ Cᵀ: with Σ_I the stationary
covariance for Q = I, Σ = c Σ_I with c = ⟨G C (CᵀC)⁻¹, A Σ_I⟩ / ‖A Σ_I‖².
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from textlds.errors import ArgumentError, RankError
from textlds.lds.noise import FullNoise, NoiseKind, initial_noise
from textlds.lds.params import LDSParams
from textlds.learn.moments import Moments
from textlds.linalg.elementwise import inverse_or_zero
from textlds.linalg.equations import solve_lyapunov
from textlds.linalg.operators import HankelOperator, Operator, ScaledOperator
from textlds.linalg.psd import spectral_radius, symmetric
from textlds.linalg.svd import leading_svd
from textlds.linalg.types import Matrix

OutputRule = Literal["first", "regression"]
CovarianceRule = Literal["matched", "paper"]

_RADIUS_LIMIT = 0.99  # eigenvalues of A outside this circle are pulled onto it
SIGNAL = 0.4  # s, the part of an observation that is signal at first; chosen on development sets
_NORM_LIMIT = 0.95  # ‖A‖₂ at first
_BASIS_LAGS, _BASIS_ROUNDS = 2, 4  # lags that the directions come from, and rounds of subspace iteration
_RANK_TOLERANCE = 1e-9  # relative to the largest singular value of the Hankel matrix


def subspace_identification(
    moments: Moments,
    state_size: int,
    *,
    horizon: int = 4,
    rng: np.random.Generator,
    output: OutputRule = "first",
    covariance: CovarianceRule = "matched",
    noise: NoiseKind = "full",
    whitened: bool = True,
) -> LDSParams:
    """Estimate the parameters by the method of moments.

    Args:
        moments: Ψ_1..Ψ_R with R ≥ 2 horizon − 1.
        state_size: h.
        horizon: r, the number of block rows of the Hankel matrix.
        rng: For the randomized singular value decomposition.
        output: C from the first block of Γ or by regression on all of them.
        covariance: The rule for the scale of the state, ``"matched"`` or the ``"paper"``'s.
        noise: The kind of D.
        whitened: Whether the decomposition sees the whitened moments (as it should) or the raw ones.

    Returns:
        Parameters in coordinates with Q = I.

    Raises:
        RankError: The data does not support so large a state.
    """
    _check(moments, state_size, horizon)
    lags: list[Operator] = list(moments.lags[: 2 * horizon - 1])
    if not whitened:
        if moments.null is None:
            raise ArgumentError("unwhitened subspace identification needs the full space: set compression='none'.")
        lags = [ScaledOperator(lag, moments.null, moments.null) for lag in lags]  # W⁻¹ Ψ_k W⁻¹
    U, s, Vt = leading_svd(HankelOperator(lags), state_size, rng)
    rank = int(np.count_nonzero(s > _RANK_TOLERANCE * s[0])) if s[0] > 0 else 0
    if rank < state_size:
        raise RankError(
            f"state_size={state_size}, but the co-occurrences up to lag {2 * horizon - 1} have rank {rank}. "
            f"Lower state_size to at most {max(rank, 1)}, or count more text."
        )
    observability = (U * np.sqrt(s)).reshape(horizon, moments.size, state_size)  # blocks of Γ
    controllability = (np.sqrt(s)[:, None] * Vt).reshape(state_size, horizon, moments.size)  # blocks of Δ
    A = pulled_inside(_transition(controllability), _RADIUS_LIMIT)
    C = observability[0] if output == "first" else _output_by_regression(observability, A)
    G = controllability[:, -1, :]
    if not whitened:
        root = np.asarray(moments.null)
        # a word that never occurs has a row of rounding errors, which no division may enlarge
        inverse = inverse_or_zero(root)
        C, G = C * inverse[:, None], G * inverse[None, :]
    scale = _matched_scale(A, C, G) if covariance == "matched" else 1.0
    Q = scale * np.eye(state_size)
    cov_state = symmetric(solve_lyapunov(A, Q))
    return LDSParams(A, C, Q, initial_noise(noise, C, cov_state, moments.null, moments.rank)).normalised()


def random_start(
    moments: Moments, state_size: int, *, rng: np.random.Generator, noise: NoiseKind = "full"
) -> LDSParams:
    """Return random parameters of about the length scales that subspace identification gives.

    A has spectral radius ½ and C Σ Cᵀ has eigenvalues around a tenth; C is orthogonal to the null direction.
    """
    check_size(moments, state_size)
    A = rng.standard_normal((state_size, state_size))
    A *= 0.5 / spectral_radius(A)
    basis, _ = np.linalg.qr(moments.lag0(rng.standard_normal((moments.size, state_size))))
    C = np.sqrt(0.1) * basis
    Q = np.eye(state_size)
    cov_state = symmetric(solve_lyapunov(A, Q))
    return LDSParams(A, C, Q, initial_noise(noise, C, cov_state, moments.null, moments.rank)).normalised()


def neighbour_start(moments: Moments, state_size: int, *, rng: np.random.Generator) -> LDSParams:
    """Return a model whose state is the part s of the observation that is not noise, moving as neighbours do.

    In coordinates with E[x xᵀ] = I, a model is A and C, valid if ‖A‖₂ < 1 and ‖C‖₂ < 1. Take C = s^½ B with B
    orthonormal; then Ψ_1 = C A Cᵀ gives A = Bᵀ Ψ_1 B / s, whose singular values are kept below one. B is the identity
    where the state is as large as the observation, and else the leading directions of neighbours.

    The likelihood hardly depends on s: of one autocovariance, many models with different shares of noise can be made
    (Faurre 1976). Subspace identification leaves the choice to one number for all directions, which the strongest
    decide; the others begin with almost no signal, and EM moves a direction the slower, the less signal it has.
    """
    check_size(moments, state_size)
    B: Matrix = np.eye(moments.size)
    if state_size < moments.size or moments.null is not None:
        B = moments.lag0(rng.standard_normal((moments.size, state_size)))
        near = moments.lags[:_BASIS_LAGS]
        for _ in range(_BASIS_ROUNDS):
            B, _ = np.linalg.qr(sum(lag.matmat(lag.rmatmat(B)) + lag.rmatmat(lag.matmat(B)) for lag in near))
    U, strengths, Vt = np.linalg.svd(B.T @ moments.lags[0].matmat(B) / SIGNAL)
    A = (U * np.minimum(strengths, _NORM_LIMIT)) @ Vt
    return LDSParams(A, np.sqrt(SIGNAL) * B, symmetric(np.eye(state_size) - A @ A.T), FullNoise(np.eye(state_size)))


def pulled_inside(A: Matrix, limit: float) -> Matrix:
    """Return A with the eigenvalues outside the circle of radius ``limit`` moved onto it, the others unchanged."""
    values, vectors = np.linalg.eig(A)
    sizes = np.abs(values)
    if sizes.max() <= limit:
        return A
    clipped = np.where(sizes > limit, values * (limit / np.maximum(sizes, limit)), values)
    result: Matrix = np.real(np.linalg.solve(vectors.T, (vectors * clipped).T).T)
    if np.all(np.isfinite(result)) and spectral_radius(result) < 1:
        return result
    return A * (limit / float(sizes.max()))  # a defective eigenbasis: shrink everything instead


def _check(moments: Moments, state_size: int, horizon: int) -> None:
    if horizon < 2:
        raise ArgumentError(f"ssid_horizon={horizon}: subspace identification needs at least 2 block rows.")
    needed, available = 2 * horizon - 1, len(moments.lags)
    if available < needed:
        possible = (available + 1) // 2
        raise ArgumentError(
            f"subspace identification with horizon {horizon} needs lags up to {needed}, but the counts hold "
            f"{available}. Count with max_lag={needed}{f', or set ssid_horizon={possible}' if possible > 1 else ''}."
        )
    check_size(moments, state_size)


def check_size(moments: Moments, state_size: int) -> None:
    """Raise RankError if the state is larger than the observations."""
    largest = min(moments.rank, moments.size)
    if state_size > largest:
        raise RankError(
            f"state_size={state_size} exceeds what a vocabulary of {moments.rank + 1} words supports. "
            f"Lower it to at most {largest}."
        )


def _transition(controllability: Matrix) -> Matrix:
    """Solve A Δ[last r−1 blocks] = Δ[first r−1 blocks] in the least-squares sense."""
    h = len(controllability)
    first = controllability[:, :-1].reshape(h, -1)
    last = controllability[:, 1:].reshape(h, -1)
    # normal equations: h x h, and Δ is well conditioned by construction (rows are S^½ times orthonormal ones)
    solution: Matrix = np.linalg.lstsq(last @ last.T, last @ first.T, rcond=None)[0]
    return solution.T


def _output_by_regression(observability: Matrix, A: Matrix) -> Matrix:
    """Minimise Σ_i ‖Γ_i − C Aⁱ‖² over C."""
    power = np.eye(len(A))
    left, right = np.zeros_like(observability[0]), np.zeros_like(A)
    for block in observability:
        left += block @ power.T
        right += power @ power.T
        power = A @ power
    return np.linalg.solve(right, left.T).T


def _matched_scale(A: Matrix, C: Matrix, G: Matrix) -> float:
    """Return c of Σ = c Σ_I from G = A Σ Cᵀ; 1 if the equation does not determine a positive one."""
    AS = A @ symmetric(solve_lyapunov(A, np.eye(len(A))))
    gram = C.T @ C
    observed = np.linalg.lstsq(gram, (G @ C).T, rcond=None)[0].T  # G C (CᵀC)⁻¹
    scale = float(np.sum(observed * AS) / np.sum(AS * AS))
    return scale if np.isfinite(scale) and scale > 0 else 1.0
