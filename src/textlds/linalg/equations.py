"""The matrix equations of a linear dynamical system, solved by doubling.

Both solvers square their iterate, so that n steps do the work of 2ⁿ steps of the plain fixed-point iteration: about
ten steps of a few h x h products, where Schur methods need complex arithmetic and an order of magnitude more time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from textlds.errors import ConvergenceError
from textlds.linalg.psd import symmetric
from textlds.linalg.types import Matrix

_MAX_DOUBLINGS = 60  # 2⁶⁰ plain steps; only a spectral radius of one to working precision needs more

# An iterate that overflows is reported as a ConvergenceError; numpy's warnings on the way there say nothing more.
_quiet = np.errstate(over="ignore", invalid="ignore")


@_quiet
def solve_lyapunov(A: Matrix, S: Matrix, *, tolerance: float = 1e-15) -> Matrix:
    """Solve X = A X Aᵀ + S for ρ(A) < 1 (Smith's squared method; S need not be symmetric).

    X = Σ_i Aⁱ S Aⁱᵀ; a step doubles the number of terms: X ← X + A X Aᵀ, A ← A².
    """
    X = S
    for _ in range(_MAX_DOUBLINGS):
        step = A @ X @ A.T
        X = X + step
        size = np.linalg.norm(step)
        if not np.isfinite(size):
            break
        if size <= tolerance * np.linalg.norm(X):
            return X
        A = A @ A
    raise ConvergenceError(
        "the Lyapunov equation X = A X Aᵀ + S did not converge: the spectral radius of A is not below 1"
    )


@_quiet
def solve_riccati(A: Matrix, R: Matrix, Q: Matrix, *, tolerance: float = 1e-14) -> Matrix:
    """Solve the filtering Riccati equation X = A (X⁻¹ + R)⁻¹ Aᵀ + Q, R and Q positive semidefinite.

    Structured doubling (Chu, Fan, Lin & Wang 2004, SDA): quadratically convergent, symmetric at every step.
    """
    identity = np.eye(A.shape[0])
    A_k, G, H = A.T, symmetric(R), symmetric(Q)  # X = A_kᵀ X (I + G X)⁻¹ A_k + H
    for _ in range(_MAX_DOUBLINGS):
        # (I + G H)⁻¹ [A_k, G A_kᵀ] shares one factorisation
        solved = np.linalg.solve(identity + G @ H, np.hstack([A_k, G @ A_k.T]))
        inner, inner_G = np.split(solved, 2, axis=1)
        step = symmetric(A_k.T @ H @ inner)
        G = symmetric(G + A_k @ inner_G)
        H = H + step
        size = np.linalg.norm(step)
        if not np.isfinite(size):
            break
        if size <= tolerance * np.linalg.norm(H):
            return H
        A_k = A_k @ inner
    raise ConvergenceError("the Riccati equation of the steady-state filter did not converge")


def solve_generalised_lyapunov(F: Matrix, E: Matrix, U: Matrix, S: Matrix, *, tolerance: float = 1e-13) -> Matrix:
    """Solve X = F X Fᵀ + E X Uᵀ + U X Eᵀ + S for symmetric S, where E and U are a small correction.

    Fixed point over the correction with a Lyapunov solve inside, X ← L(S + E X Uᵀ + U X Eᵀ). The correction is of the
    order of ‖Fʳ‖ in its use here, so a handful of rounds is enough; should it not contract, GMRES on the same
    preconditioned equation takes over.
    """

    def lyapunov(right: Matrix) -> Matrix:
        return symmetric(solve_lyapunov(F, right))

    def correction(X: Matrix) -> Matrix:
        half = E @ X @ U.T
        return half + half.T

    start = lyapunov(S)
    X, previous = start, np.inf
    for _ in range(60):
        new = start + lyapunov(correction(X))
        change = float(np.linalg.norm(new - X))
        X = new
        if change <= tolerance * np.linalg.norm(X):
            return X
        if not np.isfinite(change) or change > 0.9 * previous:
            break
        previous = change
    return _gmres(lambda Y: Y - lyapunov(correction(Y)), start, tolerance)


def _gmres(apply: Callable[[Matrix], Matrix], right: Matrix, tolerance: float) -> Matrix:
    from scipy.sparse.linalg import LinearOperator, gmres

    h = right.shape[0]
    operator = LinearOperator(
        (h * h, h * h),
        matvec=lambda y: apply(y.reshape(h, h)).ravel(),
        dtype=np.float64,
    )
    solution, status = gmres(operator, right.ravel(), rtol=max(tolerance, 1e-12), restart=60, maxiter=10)
    if status != 0:
        raise ConvergenceError(
            "the stationary covariance of the filter did not converge; raise the pseudocount or lower state_size"
        )
    return symmetric(solution.reshape(h, h))
