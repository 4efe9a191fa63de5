"""Clusters of words at several granularities: spherical k-means of their vectors, Brown clusters of their counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from textlds.counts.lagcounts import LagCounts
from textlds.lexicon.brown import brown_clusters
from textlds.linalg.sphere import on_sphere
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Array
from textlds.progress import Progress

GRANULARITIES = (100, 500, 2000)
PREFIXES = (4, 6, 10, None)  # of the way down Brown's tree; None for all of it
_ROUNDS = 10
_LEAVES = 256  # of Brown's tree; the time goes with their square
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


def brown_columns(counts: LagCounts, *, progress: Progress | None = None) -> NDArray[np.int32]:
    """Return the Brown cluster of every word at every granularity, (V, len(PREFIXES)), −1 for rare words.

    Cost: about 2 ms a word of the 30,000 most frequent.
    """
    return numbered(brown_clusters(counts, _LEAVES, most=_MOST, progress=progress))


def numbered(paths: Sequence[str]) -> NDArray[np.int32]:
    """Return numbers for the beginnings of paths, (V, len(PREFIXES)), −1 for those of an empty path."""
    out = np.full((len(paths), len(PREFIXES)), -1, np.int32)
    for column, length in enumerate(PREFIXES):
        beginnings = sorted({path[:length] for path in paths if path})
        numbers = {beginning: number for number, beginning in enumerate(beginnings)}
        out[:, column] = [numbers.get(path[:length], -1) for path in paths]
    return out


def rounds(sizes: tuple[int, ...] = GRANULARITIES) -> int:
    """Return how many rounds clustering takes."""
    return _ROUNDS * len(sizes)


def _nearest(points: Array, means: Array) -> NDArray[np.int64]:
    blocks = (points[begin : begin + _BLOCK] for begin in range(0, len(points), _BLOCK))
    return np.concatenate([np.argmax(block @ means.T, axis=1) for block in blocks])
