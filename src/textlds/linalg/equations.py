"""The matrix equations of a linear dynamical system, solved by doubling.

Both solvers square their iterate, so that n steps do the work of 2ⁿ steps of the plain fixed-point iteration: about
ten steps of a few h x h products, where Schur methods need complex arithmetic and an order of magnitude more time.
"""

from __future__ import annotations

import numpy as np

from textlds.errors import ConvergenceError
from textlds.linalg.psd import symmetric
from textlds.linalg.types import Matrix, Vector

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
def solve_stein(L: Matrix, R: Matrix, S: Matrix, *, tolerance: float = 1e-15) -> Matrix:
    """Solve X = L X R + S for ρ(L) ρ(R) < 1, doubling the terms of X = Σ_i Lⁱ S Rⁱ at every step."""
    X = S
    for _ in range(_MAX_DOUBLINGS):
        step = L @ X @ R
        X = X + step
        size = np.linalg.norm(step)
        if not np.isfinite(size):
            break
        if size <= tolerance * np.linalg.norm(X):
            return X
        L, R = L @ L, R @ R
    raise ConvergenceError("the Stein equation X = L X R + S did not converge: ρ(L) ρ(R) is not below 1")


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


def solve_generalised_lyapunov(F: Matrix, E: Matrix, U: Matrix, S: Matrix, *, tolerance: float = 1e-11) -> Matrix:
    """Solve X = F X Fᵀ + E X Uᵀ + U X Eᵀ + S for symmetric S, where E and U are a small correction.

    With L the solution operator of the Lyapunov equation of F, X − L(E X Uᵀ + U X Eᵀ) = L(S): the identity plus a
    small operator, which GMRES solves in about a dozen products. L squares F once and for all.
    """
    from scipy.sparse.linalg import LinearOperator, gmres

    h = len(F)
    powers = _squares(F)

    def lyapunov(X: Matrix) -> Matrix:
        for power in powers:  # X ← X + F^(2ⁿ) X F^(2ⁿ)ᵀ
            X = X + power @ X @ power.T
        return symmetric(X)

    def apply(x: Vector) -> Vector:
        X = symmetric(x.reshape(h, h))
        half = E @ X @ U.T
        return (X - lyapunov(half + half.T)).ravel()

    right = lyapunov(S).ravel()
    operator = LinearOperator((h * h, h * h), matvec=apply, dtype=np.float64)
    solution, status = gmres(operator, right, x0=right, rtol=tolerance, restart=80, maxiter=10)
    residual = np.linalg.norm(apply(solution) - right)
    if status != 0 and not residual <= 1e-9 * np.linalg.norm(right):
        raise ConvergenceError(
            "the stationary covariance of the filter did not converge; raise the pseudocount or lower state_size"
        )
    return symmetric(solution.reshape(h, h))


@_quiet
def _squares(F: Matrix) -> list[Matrix]:
    """Return F, F², F⁴, … until they vanish."""
    powers = [F]
    for _ in range(_MAX_DOUBLINGS):
        size = np.linalg.norm(powers[-1])
        if size <= 1e-8:  # the next term of the sum would be of the order of size²
            return powers
        if not np.isfinite(size):
            break
        powers.append(powers[-1] @ powers[-1])
    raise ConvergenceError("the filter's matrix F does not contract: its spectral radius is not below 1")
