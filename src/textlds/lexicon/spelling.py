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
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Vector

STEPS = 10
_RIDGE = 2.0  # β
_TRUST = 100.0  # n₀
_BLOCK = 64  # columns
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
    X = SpellingMatrix(words, buckets or bucket_count(len(words)), threads=1)
    trust = np.where(profiles[: len(words)].any(axis=1), occurrences / (occurrences + _TRUST), 0.0)
    result = np.zeros((X.buckets, profiles.shape[1]), np.float32)
    scale = (1 / (X.squares(trust) + _RIDGE)).astype(np.float32)[:, None]  # preconditions: features differ in frequency
    X.build_transpose()
    blocks = [slice(start, start + _BLOCK) for start in range(0, result.shape[1], _BLOCK)]

    def begin(columns: slice) -> _Descent:
        return _Descent(X, np.ascontiguousarray(profiles[: len(words), columns]), trust, scale, result[:, columns])

    descents = parallel_map(begin, blocks, threads=threads)
    for _ in range(STEPS):
        parallel_map(_Descent.step, descents, threads=threads)
        on_step()
    return result


class _Descent:
    """Conjugate gradients for some columns of G, few enough for the cache; threads take different ones."""

    def __init__(self, X: SpellingMatrix, goals: Tall, trust: Vector, scale: Tall, result: Tall) -> None:
        self._X, self._trust, self._scale, self._result = X, trust, scale, result
        self._rest = X.transposed(goals, trust)
        self._direction = scale * self._rest
        self._length = _columns(self._rest, self._direction)
        self._room = np.empty_like(self._rest)

    def step(self) -> None:
        """Take one step."""
        rest, direction, room = self._rest, self._direction, self._room
        image = self._X.transposed(self._X.times(direction), self._trust)
        image += np.multiply(direction, np.float32(_RIDGE), out=room)
        step = _ratio(self._length, _columns(direction, image))
        self._result += np.multiply(direction, step, out=room)
        rest -= np.multiply(image, step, out=room)
        scaled = np.multiply(rest, self._scale, out=room)
        before, self._length = self._length, _columns(rest, scaled)
        direction *= _ratio(self._length, before)
        direction += scaled


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

    def build_transpose(self) -> None:
        """Make ready for :meth:`transposed`, which builds it otherwise."""
        self._matrix.transpose()

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
