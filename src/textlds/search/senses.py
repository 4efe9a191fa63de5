"""Senses of a word: occurrences that are used alike, grouped.

What all occurrences of a word have in common, above all the word, is taken off; the rest, scaled to length one, is
grouped by spherical k-means. The number of groups is the one with the largest silhouette of one half of the occurrences
around centres that come from the other half,

    mean of (b_i − a_i) / max(a_i, b_i)        a_i, b_i: distance 1 − cosine to the own and to the next nearest centre

or one where no number of groups reaches a least value: most words have one sense.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.sphere import on_sphere

Vectors = NDArray[np.float32]

_MOST = 6  # groups
_CLEAR = 0.2  # silhouette below which there is one group only; not measured on real text
_ROUNDS, _STARTS = 20, 4


@dataclass(frozen=True, eq=False)
class Cluster:
    """A group of vectors.

    Attributes:
        members: Their numbers, nearest to the centre first.
        scores: Their cosines with the centre, after what all vectors have in common is taken off.
        centre: What sets the group apart, with half of what all have in common, (d,).
    """

    members: NDArray[np.int64]
    scores: Vectors
    centre: Vectors


def clusters(vectors: Vectors, n: int | None, *, seed: int) -> list[Cluster]:
    """Group vectors, (m, d), the largest group first. O(m d) per round.

    Args:
        vectors: Of the occurrences of one word.
        n: How many groups; None to choose.
        seed: Of the starts.
    """
    mean = vectors.mean(axis=0)
    points = on_sphere(vectors - mean)
    rng = np.random.default_rng(seed)
    if n is None:
        some, others = points[::2], points[1::2]
        tried = range(2, min(_MOST, len(some) // 5) + 1)
        values = {k: silhouette(others @ _grouped(some, k, rng).T) for k in tried}
        best = max(values, key=lambda k: (values[k], -k), default=1)
        n = best if values.get(best, 0) >= _CLEAR else 1
    centres = _grouped(points, min(n, len(points)), rng)
    cosines = points @ centres.T
    labels = cosines.argmax(axis=1)
    found = []
    for k in np.argsort(-np.bincount(labels, minlength=len(centres)), kind="stable").tolist():
        members = np.flatnonzero(labels == k)
        if len(members):
            members = members[np.argsort(-cosines[members, k], kind="stable")]
            own = centres[k] + mean / max(2 * float(np.linalg.norm(mean)), 1e-12)
            found.append(Cluster(members, cosines[members, k], own if len(centres) > 1 else mean))
    return found


def silhouette(cosines: Vectors) -> float:
    """Return the mean silhouette of points from their cosines with two centres or more, (m, k)."""
    distances = np.sort(1 - cosines, axis=1)
    own, other = distances[:, 0], distances[:, 1]
    return float(np.mean((other - own) / np.maximum(other, 1e-12)))


def _grouped(points: Vectors, k: int, rng: np.random.Generator) -> Vectors:
    """Return the centres of the best of a few spherical k-means, (k, d)."""
    best, centres = -np.inf, points[:1]
    for _ in range(_STARTS if k > 1 else 1):
        now = _start(points, k, rng)
        for _ in range(_ROUNDS):
            labels = (points @ now.T).argmax(axis=1)
            sums = np.zeros_like(now)
            np.add.at(sums, labels, points)
            moved = on_sphere(sums)
            moved[~moved.any(axis=1)] = now[~moved.any(axis=1)]  # a group that lost all its points stays
            if np.array_equal(moved, now):
                break
            now = moved
        value = float((points @ now.T).max(axis=1).sum())
        if value > best:
            best, centres = value, now
    return centres


def _start(points: Vectors, k: int, rng: np.random.Generator) -> Vectors:
    """Draw k points far from each other (k-means++)."""
    chosen = [int(rng.integers(len(points)))]
    for _ in range(k - 1):
        distances = np.maximum((1 - points @ points[chosen].T).min(axis=1).astype(np.float64), 0)
        total = distances.sum()
        chosen.append(int(rng.choice(len(points), p=distances / total if total > 0 else None)))
    return points[chosen].copy()
