"""Tall matrices of float32: a few hundred columns, a row per word.

Work goes by blocks of rows, whose results are added in order and in float64: the same bits for any number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Matrix, Vector

Tall = NDArray[np.float32]

_ROWS = 8192  # that one thread handles at a time


def orthonormal(panel: Tall, null: Vector | None, threads: int, *, passes: int) -> Tall:
    """Return an orthonormal basis of the panel's range, orthogonal to the null direction; the panel is overwritten.

    By the eigenvectors of its Gram matrix: two tall products a pass, where Householder QR would run at a fraction of
    their speed. A second pass repairs what float32 lost in the first.
    """
    for _ in range(passes):
        if null is not None:
            direction = null.astype(np.float32)
            panel -= np.outer(direction, direction @ panel)
        values, vectors = np.linalg.eigh(gram(panel, panel, threads))
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > 1e-10 * values[0]
        panel = times(panel, (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32), threads)
    return panel


def gram(left: Tall, right: Tall, threads: int) -> Matrix:
    """Return leftᵀ right."""

    def block(start: int) -> Matrix:
        rows = slice(start, start + _ROWS)
        return left[rows].T @ right[rows]

    total = np.zeros((left.shape[1], right.shape[1]))
    starts = range(0, len(left), _ROWS)
    for first in range(0, len(starts), threads):
        for part in parallel_map(block, starts[first : first + threads], threads=threads):
            total += part
    return total


def times(tall: Tall, small: Tall, threads: int) -> Tall:
    """Return tall · small."""
    out = np.empty((len(tall), small.shape[1]), np.float32)

    def block(start: int) -> None:
        rows = slice(start, start + _ROWS)
        np.matmul(tall[rows], small, out=out[rows])

    parallel_map(block, range(0, len(tall), _ROWS), threads=threads)
    return out


def weighted_gram(X: Matrix, weights: Vector, Y: Matrix) -> Matrix:
    """Return Xᵀ diag(weights) Y in float64, without a copy of either."""
    total = np.zeros((X.shape[1], Y.shape[1]))
    for start in range(0, len(X), _ROWS // 2):
        rows = slice(start, start + _ROWS // 2)
        total += (weights[rows, None] * X[rows]).T @ Y[rows]
    return total
