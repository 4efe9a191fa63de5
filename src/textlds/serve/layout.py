"""A map of words: neighbours near each other in the plane.

The vectors of the most frequent words are joined to their nearest neighbours, and points are moved so that joined ones
attract and random others repel (the objective of UMAP with b = 1, which needs no powers, by stochastic gradient steps):

    attraction  −2a / (1 + a d²)        repulsion  2 / ((0.001 + d²)(1 + a d²))

from the plane of the two leading principal axes. Neighbours are looked for in the nearest clusters of words, so that
most, not all, are found. The same vectors and seed give the same map. O(n · 4096 · d) for the neighbours,
O(n · neighbours · epochs) for the steps.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textlds.compiled import kernel
from textlds.linalg.types import Array
from textlds.storage.folders import CONFIG, new_file

MOST = 50_000  # words on a map
GROUPS = 12  # of words, told apart by colour
_NEIGHBOURS, _EPOCHS, _NEGATIVE = 12, 120, 5
_GRAVITY = 0.02
_A = 1.5  # about UMAP's curve for min_dist = 0.1
_CLUSTER, _PROBES = 256, 16  # words in a cluster; clusters in which the neighbours of its words are looked for
_ROUNDS, _ROUGH = 15, 4  # of k-means: for groups, for clusters


@dataclass(frozen=True, eq=False)
class WordMap:
    """Words in the plane.

    Attributes:
        at: Where the first n words of the vocabulary lie, within ±1, (n, 2) float32.
        group: Which of GROUPS each belongs to, (n,) uint8.
    """

    at: Array
    group: NDArray[np.uint8]


def word_map(vectors: Array, *, seed: int = 0) -> WordMap:
    """Lay out words by their unit vectors, (n, d)."""
    n = len(vectors)
    if not n:
        return WordMap(np.empty((0, 2), np.float32), np.empty(0, np.uint8))
    vectors = np.ascontiguousarray(vectors, np.float32)
    group = _grouped(vectors, min(GROUPS, n), _ROUNDS)[0].astype(np.uint8)
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred[: min(n, 5000)], full_matrices=False)
    axes = np.concatenate([axes[:2], np.zeros((max(0, 2 - len(axes)), vectors.shape[1]), axes.dtype)])
    flat = (centred @ axes.T).astype(np.float64)
    flat *= 10 / max(float(np.abs(flat).max(initial=0)), 1e-9)
    if n > 2:
        neighbours = _neighbours(vectors, min(_NEIGHBOURS, n - 1))
        _settle(flat, neighbours, _EPOCHS, _NEGATIVE, _A, np.uint64(2 * seed + 1))
    # the long side lies across; a few stragglers do not make the map small
    flat = flat @ np.linalg.eigh(np.cov(flat.T) if n > 1 else np.eye(2))[1][:, ::-1]
    low, high = np.quantile(flat, [0.002, 0.998], axis=0)
    at = 2 * (flat - low) / np.maximum(high - low, 1e-9) - 1
    return WordMap(np.clip(at, -1.05, 1.05).astype(np.float32), group)


def kept_map(path: str | os.PathLike[str], vectors: Array) -> WordMap:
    """Return the map of a model folder: the one kept beside it, or a new one, which is kept if that is possible."""
    folder = Path(path)
    file = folder.with_name(folder.name + ".map")
    digest = hashlib.sha256((folder / CONFIG).read_bytes() + vectors[:100].tobytes()).digest()
    try:
        with np.load(file, allow_pickle=False) as stored:
            if bytes(stored["model"]) == digest and len(stored["at"]) == len(stored["group"]) == len(vectors):
                return WordMap(stored["at"], stored["group"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        pass  # none yet, or a damaged one
    made = word_map(vectors)
    try:
        with new_file(file, force=True) as opened:
            np.savez(opened, at=made.at, group=made.group, model=np.frombuffer(digest, np.uint8))
    except OSError:
        pass  # a folder that cannot be written to: the map is made again next time
    return made


def _neighbours(vectors: Array, k: int) -> NDArray[np.int32]:
    """Return k near others of each unit vector, (n, k): the nearest, if there are so few that all are compared."""
    n = len(vectors)
    label, means = _grouped(vectors, -(-n // _CLUSTER), _ROUGH)
    order = np.argsort(label, kind="stable")
    begin = np.searchsorted(label[order], np.arange(len(means) + 1))
    near = np.argsort(-(means @ means.T), axis=1, kind="stable")
    found = np.empty((n, k), np.int32)
    for c in range(len(means)):
        rows = order[begin[c] : begin[c + 1]]
        if not len(rows):
            continue
        own = [c, *near[c][near[c] != c]]
        sizes = np.cumsum([begin[o + 1] - begin[o] for o in own])
        probes = max(_PROBES, int(np.searchsorted(sizes, k + 1)) + 1)  # at least k others
        others = np.concatenate([order[begin[o] : begin[o + 1]] for o in own[:probes]])
        cosines = vectors[rows] @ vectors[others].T
        cosines[np.arange(len(rows)), np.arange(len(rows))] = -2  # a cluster's own words come first
        found[rows] = others[np.argpartition(-cosines, k - 1, axis=1)[:, :k]]
    return found


def _grouped(vectors: Array, k: int, rounds: int) -> tuple[NDArray[np.int64], Array]:
    """Cluster unit vectors by spherical k-means, beginning with the most frequent words; return labels and means."""
    step = max(1, min(len(vectors), 40 * k) // max(k, 1))
    means = vectors[: step * k : step][:k]
    labels = np.zeros(len(vectors), np.int64)
    for _ in range(rounds):
        labels = np.argmax(vectors @ means.T, axis=1)
        members = csr_array((np.ones(len(labels), np.float32), (labels, np.arange(len(labels)))), (k, len(labels)))
        sums = members @ vectors
        means = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return labels, means


@kernel
def _settle(at: Any, neighbours: Any, epochs: int, negative: int, a: float, seed: Any) -> None:
    """Move points along stochastic gradients, in place."""
    n, k = neighbours.shape
    random = seed
    for epoch in range(epochs):
        rate = 1.0 - epoch / epochs
        at *= 1 - _GRAVITY * rate  # islands that nothing joins do not drift apart for ever
        for i in range(n):
            for e in range(k):
                j = neighbours[i, e]
                dx, dy = at[i, 0] - at[j, 0], at[i, 1] - at[j, 1]
                square = dx * dx + dy * dy
                if square > 0:
                    pull = -2 * a / (1 + a * square)
                    gx, gy = rate * min(max(pull * dx, -4.0), 4.0), rate * min(max(pull * dy, -4.0), 4.0)
                    at[i, 0] += gx
                    at[i, 1] += gy
                    at[j, 0] -= gx
                    at[j, 1] -= gy
                if (e + epoch) % 3:  # a third of the pairs is enough of repulsion
                    continue
                for _ in range(negative):
                    random ^= random << np.uint64(13)
                    random ^= random >> np.uint64(7)
                    random ^= random << np.uint64(17)
                    other = np.int64(random >> np.uint64(11)) % n
                    dx, dy = at[i, 0] - at[other, 0], at[i, 1] - at[other, 1]
                    square = dx * dx + dy * dy
                    if other != i and square > 0:
                        push = 2 / ((0.001 + square) * (1 + a * square))
                        at[i, 0] += rate * min(max(push * dx, -4.0), 4.0)
                        at[i, 1] += rate * min(max(push * dy, -4.0), 4.0)
