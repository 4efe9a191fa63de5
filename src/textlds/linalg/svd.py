"""Low-rank factorisation of implicit operators: randomized, or of the whole matrix where it is small."""

from __future__ import annotations

import numpy as np

from textlds.linalg.operators import Operator
from textlds.linalg.psd import fix_signs
from textlds.linalg.types import Matrix, Vector

_DENSE = 1024  # rows and columns of a matrix that is taken as a whole: 0.4 s


def leading_svd(operator: Operator, rank: int, rng: np.random.Generator) -> tuple[Matrix, Vector, Matrix]:
    """Return U (n x rank), s, Vᵀ (rank x n) of the leading part of an operator, signs fixed.

    A small one is factored as it is. A randomized factorisation is right to some thousandths, and which ones depends on
    the signs that LAPACK gave to a basis, that is, on the processor.
    """
    if max(operator.shape) > _DENSE:
        return randomized_svd(operator, rank, rng)
    U, s, Vt = np.linalg.svd(operator.matmat(np.eye(operator.shape[1])), full_matrices=False)
    U, Vt = fix_signs(U[:, :rank], Vt[:rank])
    return U, s[:rank], Vt


def randomized_svd(
    operator: Operator, rank: int, rng: np.random.Generator, *, oversampling: int = 10, power_iterations: int = 4
) -> tuple[Matrix, Vector, Matrix]:
    """Return U (n x rank), s, Vᵀ (rank x n) of the leading part of an operator.

    Alg. 4.4 (randomized subspace iteration, with QR at every half step) and Alg. 5.1 of Halko, Martinsson & Tropp
    (2011). Costs 2 (power_iterations + 1) products with a panel of rank + oversampling columns. The signs are fixed
    (largest entry of each column of U positive).
    """
    rows, columns = operator.shape
    width = min(rank + oversampling, rows, columns)
    Q, _ = np.linalg.qr(operator.matmat(rng.standard_normal((columns, width))))
    for _ in range(power_iterations):
        Q, _ = np.linalg.qr(operator.rmatmat(Q))
        Q, _ = np.linalg.qr(operator.matmat(Q))
    # M ≈ Q (Qᵀ M); Qᵀ M = (Mᵀ Q)ᵀ = R_ᵀ P_ᵀ by QR of the tall Mᵀ Q, so the SVD left is width x width
    P, R = np.linalg.qr(operator.rmatmat(Q))
    U_small, s, Vt_small = np.linalg.svd(R.T)
    U, Vt = fix_signs(Q @ U_small[:, :rank], Vt_small[:rank] @ P.T)
    return U, s[:rank], Vt
