"""Word classes for a factored softmax: words that the state predicts alike.

P(w | context) = P(class of w | context) · P(w | its class, context): two softmaxes of about √V members instead of one
of V. The most frequent words are classes of their own; the others are clustered by the direction of their output
vectors (spherical k-means), so that the first softmax does most of the work and a rare word shares the evidence of its
like.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.types import Array, Vector

Classes = NDArray[np.int32]

_ROUNDS = 15
_BLOCK = 1 << 13


def class_count(n_words: int) -> int:
    """Return how many classes suit a vocabulary: about √V, which makes both softmaxes equally large."""
    return max(1, min(n_words, round(float(np.sqrt(n_words)))))


def word_classes(vectors: Array, counts: Vector, n_classes: int) -> Classes:
    """Return the class of every word, (V,); no class is empty.

    Args:
        vectors: Output vectors in whitened coordinates, (V, h).
        counts: How often each word occurs, (V,).
        n_classes: At most V.

    Cost: O(V n_classes h) a round. The same input gives the same classes: means start at the most frequent words.
    """
    order = np.argsort(-counts, kind="stable")
    alone = n_classes // 4 if n_classes < len(counts) else n_classes
    classes = np.empty(len(counts), np.int32)
    classes[order[:alone]] = np.arange(alone)
    rest = order[alone:]
    if len(rest):
        classes[rest] = alone + _spherical_means(vectors[rest], np.sqrt(counts[rest]), n_classes - alone)
    _, compact = np.unique(classes, return_inverse=True)
    return compact.astype(np.int32)


def _spherical_means(vectors: Array, weights: Vector, k: int) -> Classes:
    """Cluster the directions of vectors, the most frequent word first. Empty clusters stay empty."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    points = (vectors / np.maximum(norms, 1e-30)).astype(np.float32)
    means = points[:k]
    labels = np.zeros(len(points), np.int32)
    for _ in range(_ROUNDS):
        blocks = (points[begin : begin + _BLOCK] for begin in range(0, len(points), _BLOCK))
        found = np.concatenate([np.argmax(block @ means.T, axis=1) for block in blocks])
        if np.array_equal(found, labels):
            break
        labels = found.astype(np.int32)
        sums = np.zeros((k, points.shape[1]))
        np.add.at(sums, labels, points * weights[:, None])
        means = (sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-30)).astype(np.float32)
    return labels
