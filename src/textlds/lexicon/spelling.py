"""Profiles from spelling: what occurs beside a word that was never seen, to judge by its letters.

A ridge regression from the features of :mod:`textlds.lexicon.features`, x(w) in B buckets, to the profiles of the words
of the vocabulary:

    G = argmin Σ_w v_w |l₀(w) − x(w)ᵀ G|² + β |G|²        v_w = n_w / (n_w + n₀)

by conjugate gradients, all columns of G at once. v_w is how far the profile of a word seen n_w times can be trusted.
Ten steps are enough: what later ones add hardly carries over to other words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.lexicon.features import spelling_features
from textlds.linalg.sparse import SparseMatrix
from textlds.linalg.tall import Tall
from textlds.linalg.types import Vector

STEPS = 10
_RIDGE = 2.0  # β
_TRUST = 100.0  # n₀
_FEWEST, _MOST = 1 << 10, 1 << 16  # buckets


def fit_spelling(
    words: Sequence[str],
    occurrences: NDArray[Any],
    profiles: Tall,
    *,
    threads: int,
    buckets: int | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> Tall:
    """Return G, (B, h).

    Args:
        words: The known types.
        occurrences: n, how often each was seen.
        profiles: l₀, (V, h); rows beyond those of the words are not looked at.
        threads: For the sparse products.
        buckets: B, a power of two; by default chosen by the number of words.
        on_step: Called after each of ``STEPS`` steps.
    """
    X = SpellingMatrix(words, buckets or bucket_count(len(words)), threads=threads)
    goals = np.ascontiguousarray(profiles[: len(words)])
    trust = np.where(goals.any(axis=1), occurrences / (occurrences + _TRUST), 0.0)
    result = np.zeros((X.buckets, goals.shape[1]), np.float32)
    scale = (1 / (X.squares(trust) + _RIDGE)).astype(np.float32)[:, None]  # preconditions: features differ in frequency
    rest = X.transposed(goals, trust)
    direction = scale * rest
    length = _columns(rest, direction)
    for _ in range(STEPS):
        image = X.transposed(X.times(direction), trust)
        image += np.float32(_RIDGE) * direction
        step = _ratio(length, _columns(direction, image))
        result += step * direction
        rest -= step * image
        scaled = scale * rest
        before, length = length, _columns(rest, scaled)
        direction *= _ratio(length, before)
        direction += scaled
        on_step()
    return result


def bucket_count(words: int) -> int:
    """Return B: a power of two, as many as words or more, within limits."""
    return min(max(_FEWEST, 1 << (words - 1).bit_length()), _MOST)


class SpellingMatrix:
    """The features of words as a matrix, a word per row, scaled by one over the root of its features' number."""

    def __init__(self, words: Sequence[str], buckets: int, *, threads: int = 1) -> None:
        indptr, indices = spelling_features(words, buckets)
        self.buckets = buckets
        self._scale = 1 / np.sqrt(np.diff(indptr))
        self._matrix = SparseMatrix(indptr, indices, np.ones(len(indices), np.uint8), buckets, threads)

    def times(self, table: Tall) -> Tall:
        """Return X · table."""
        words, buckets = self._matrix.shape
        return self._matrix.scaled_matmat(
            table, self._scale, np.ones(buckets), np.zeros((words, 0)), np.zeros((buckets, 0))
        )

    def squares(self, weights: Vector) -> Vector:
        """Return the diagonal of Xᵀ diag(weights) X, as if no word had a feature twice."""
        rows = np.repeat(weights * self._scale**2, np.diff(self._matrix.indptr))
        return np.bincount(self._matrix.indices, rows, minlength=self.buckets).astype(np.float64)

    def transposed(self, table: Tall, weights: Vector) -> Tall:
        """Return Xᵀ diag(weights) · table."""
        words, buckets = self._matrix.shape
        return self._matrix.transpose().scaled_matmat(
            table, np.ones(buckets), self._scale * weights, np.zeros((buckets, 0)), np.zeros((words, 0))
        )


def _columns(X: Tall, Y: Tall) -> Vector:
    """Return the products of the columns of X with those of Y."""
    products: Vector = np.einsum("ij,ij->j", X, Y, dtype=np.float64)
    return products


def _ratio(above: Vector, below: Vector) -> NDArray[np.float32]:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0).astype(np.float32)
