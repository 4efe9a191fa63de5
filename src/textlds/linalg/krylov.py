"""The leading eigenvectors of a large symmetric matrix, from products with narrow panels.

Block Lanczos with full reorthogonalisation: the panels B, S B, S² B, ..., orthonormal to each other, span a space whose
Ritz vectors approximate the eigenvectors of the largest |λ|. Subspace iteration as wide as the number of vectors wanted
takes several times as many products for the same accuracy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from textlds.linalg.tall import Tall, gram, orthonormal, times
from textlds.linalg.types import Matrix, Vector

_WIDTH = 64  # columns of a panel
_LEAST = 8  # panels
# Panels beyond these say nothing more of the meaning of words (300 numbers, 75 million tokens, sum of the correlations
# with five sets of pairs, half for choices): 13 have 255.7, 16 have 257.0, 22 have 256.4.
_ENOUGH = 16
_DENSE = 1024  # rows of a matrix that is taken as a whole


def krylov_products(size: int) -> int:
    """Return how many products with S ``leading_eigenvectors`` takes at most."""
    many, few = -(-9 * size // (2 * _WIDTH)), -(-17 * size // (5 * _WIDTH))  # 4.5 and 3.4 times the columns wanted
    return 1 + max(_LEAST, few, min(many, _ENOUGH))


def leading_eigenvectors(
    multiply: Callable[[Tall], Tall], rows: int, size: int, *, rng: np.random.Generator, threads: int
) -> tuple[Vector, Tall]:
    """Return the eigenvalues of largest modulus, falling, and their vectors, (rows, size or fewer).

    Takes ``krylov_products(size)`` products with 64 columns, and memory for 3.4 to 4.5 · size columns (512 at least).

    Args:
        multiply: Returns S · panel.
        rows: The size of S.
        size: How many. A matrix of fewer rows, or of lower rank, has fewer.
        rng: For the panel to start from.
        threads: For the dense products.
    """
    if rows <= max(_DENSE, 9 * size):
        dense = multiply(np.eye(rows, dtype=np.float32)).astype(np.float64)
        values, vectors = np.linalg.eigh((dense + dense.T) / 2)
        kept = np.argsort(-np.abs(values), kind="stable")[:size]
        return values[kept], vectors[:, kept].astype(np.float32)
    panel = multiply(rng.standard_normal((rows, _WIDTH), dtype=np.float32))
    panels: list[Tall] = []
    columns: list[Matrix] = []  # of S in the basis
    for _ in range(krylov_products(size) - 1):
        before = _norm(panel)
        for other in (*panels, *panels):  # a second time for what rounding left
            panel -= times(other, gram(other, panel, threads).astype(np.float32), threads)
        if _norm(panel) <= 1e-5 * before:  # the rank of S is exhausted
            break
        panels.append(orthonormal(panel, None, threads, passes=2))
        panel = multiply(panels[-1])
        columns.append(np.vstack([gram(other, panel, threads) for other in panels]))
    return _ritz(panels, columns, size, threads)


def _norm(panel: Tall) -> float:
    return float(np.sqrt(np.einsum("ij,ij->", panel, panel, dtype=np.float64)))


def _ritz(panels: list[Tall], columns: list[Matrix], size: int, threads: int) -> tuple[Vector, Tall]:
    """Return the Ritz pairs, from the upper triangle of the projected matrix, a block of columns each."""
    total = sum(panel.shape[1] for panel in panels)
    small = np.zeros((total, total))
    end = 0
    for column in columns:
        start, end = end, end + column.shape[1]
        small[: len(column), start:end] = column
        small[start:end, : len(column)] = column.T
    values, vectors = np.linalg.eigh((small + small.T) / 2)
    kept = np.argsort(-np.abs(values), kind="stable")[:size]
    parts = np.split(vectors[:, kept].astype(np.float32), np.cumsum([panel.shape[1] for panel in panels])[:-1])
    out = times(panels[0], parts[0], threads)
    for panel, part in zip(panels[1:], parts[1:], strict=True):
        out += times(panel, part, threads)
    return values[kept], out
