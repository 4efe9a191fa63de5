"""Tools for symmetric and positive semidefinite matrices."""

from __future__ import annotations

import numpy as np

from textlds.linalg.types import Matrix


def symmetric(X: Matrix) -> Matrix:
    """Return the symmetric part of X."""
    return 0.5 * (X + X.T)


def sqrt_and_inverse(X: Matrix, *, floor: float = 1e-12) -> tuple[Matrix, Matrix]:
    """Return X^½ and X^-½ of a positive definite X.

    Eigenvalues below ``floor`` times the largest are raised to it, so that a semidefinite X has a bounded inverse root.
    """
    values, vectors = np.linalg.eigh(symmetric(X))
    # no subnormal number: libraries of the same process may have told the processor to take those for zero
    roots = np.sqrt(np.maximum(values, max(floor * values[-1], np.finfo(np.float64).tiny)))
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T


def nearest_covariance(X: Matrix, *, tolerance: float = 1e-7) -> Matrix:
    """Return X, or without its negative eigenvalues if one is below −tolerance times the largest variance.

    Cost: one Cholesky decomposition where X is a covariance already.
    """
    variance = float(np.max(np.diagonal(X), initial=0.0))
    try:
        np.linalg.cholesky(X + (tolerance * variance + np.finfo(np.float64).tiny) * np.eye(len(X)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(symmetric(X))
        return symmetric((vectors * np.maximum(values, 0)) @ vectors.T)
    return X


def is_contraction(A: Matrix, margin: float) -> bool:
    """Tell whether A Aᵀ has no eigenvalue above 1 − margin."""
    try:
        np.linalg.cholesky((1 - margin) * np.eye(len(A)) - A @ A.T)
    except np.linalg.LinAlgError:
        return False
    return True


def nearest_contraction(A: Matrix, margin: float) -> Matrix:
    """Return A, its singular values cut where A Aᵀ has an eigenvalue above 1 − margin."""
    if is_contraction(A, margin):
        return A
    U, s, Vt = np.linalg.svd(A)
    cut: Matrix = (U * np.minimum(s, np.sqrt(1 - 2 * margin))) @ Vt
    return cut


def fix_signs(U: Matrix, Vt: Matrix) -> tuple[Matrix, Matrix]:
    """Make an SVD reproducible: the largest entry of every column of U is positive."""
    largest = np.argmax(np.abs(U), axis=0)
    signs = np.where(U[largest, np.arange(U.shape[1])] < 0, -1.0, 1.0)
    return U * signs, Vt * signs[:, None]


def spectral_radius(A: Matrix) -> float:
    """Return the largest modulus of an eigenvalue of A."""
    return float(np.max(np.abs(np.linalg.eigvals(A)))) if A.size else 0.0
