"""Clusters of words by their vectors, at several granularities: spherical k-means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.sphere import on_sphere
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Array

GRANULARITIES = (100, 500, 2000)
_ROUNDS = 10
_MOST = 30_000  # words that the means are learnt from, the most frequent; the others only join them
_BLOCK = 1 << 12


def word_clusters(
    words: Array,
    frequencies: Array,
    sizes: tuple[int, ...] = GRANULARITIES,
    *,
    on_round: Callable[[], None] = lambda: None,
) -> NDArray[np.int32]:
    """Return the cluster of every word at every granularity, (V, len(sizes)).

    Means begin at the most frequent words, so that the same vectors give the same clusters. Cost: O(V Σ sizes h).

    Args:
        words: A vector for each word, (V, h).
        frequencies: How often each occurs, (V,).
        sizes: How many clusters; a vocabulary with fewer words has a cluster for each.
        on_round: Called after each of ``rounds(sizes)`` rounds.
    """
    order = np.argsort(-frequencies, kind="stable")
    points = on_sphere(words.astype(np.float32))
    out = np.empty((len(words), len(sizes)), np.int32)
    with one_blas_thread():
        for column, size in enumerate(sizes):
            learnt = points[order[:_MOST]]
            weights = np.sqrt(frequencies[order[:_MOST]])[:, None]
            means = learnt[:size]
            for _ in range(_ROUNDS):
                labels = _nearest(learnt, means)
                sums = np.zeros((len(means), points.shape[1]))
                np.add.at(sums, labels, learnt * weights)
                means = on_sphere(sums).astype(np.float32)
                on_round()
            out[:, column] = _nearest(points, means)
    return out


def rounds(sizes: tuple[int, ...] = GRANULARITIES) -> int:
    """Return how many rounds clustering takes."""
    return _ROUNDS * len(sizes)


def _nearest(points: Array, means: Array) -> NDArray[np.int64]:
    blocks = (points[begin : begin + _BLOCK] for begin in range(0, len(points), _BLOCK))
    return np.concatenate([np.argmax(block @ means.T, axis=1) for block in blocks])
