"""What the same word was elsewhere in its document: means of its vectors at the other places, which fade with distance.

A name that is clear in one sentence ("Mr. Jordan said") helps where it is not ("Jordan 34"). For every token,

    m_t = γ m_t' + (1 − γ) x_t'           t' the occurrence before, m = 0 before the first

and the same from the end of the document. The memory holds SLOTS words; a word that falls on the place of another
takes it.

Without vectors, the words beside the same word at the occurrence before and at the one after say something of that too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel, kernel_fma
from textlds.tagging.spelling import Base

Array = Any  # arrays inside kernels: numba infers dtype and layout

SLOTS = 1 << 12
FADING = 0.7  # γ


def occurrence_means(
    keys: Base, vectors: NDArray[np.float32], documents: NDArray[np.int64], *, backwards: bool = False
) -> NDArray[np.float32]:
    """Return m, (n, h).

    Args:
        keys: Which tokens are the same word, (n,).
        vectors: x, (n, h).
        documents: Where documents begin, in tokens, with n at the end.
        backwards: From the end of each document.
    """
    out = np.zeros_like(vectors)
    remember(np.ascontiguousarray(keys), vectors, documents, np.float32(FADING), backwards, SLOTS, out)
    return out


@kernel_fma
def remember(
    keys: Array, vectors: Array, documents: Array, fading: Any, backwards: bool, slots: int, out: Array
) -> None:
    """Write the means; see :func:`occurrence_means`."""
    h = vectors.shape[1]
    owners = np.zeros(slots, np.uint64)
    used = np.full(slots, -1, np.int64)  # the document that a slot was last used in
    means = np.empty((slots, h), np.float32)
    for d in range(len(documents) - 1):
        first, last = documents[d], documents[d + 1]
        for k in range(last - first):
            i = last - 1 - k if backwards else first + k
            key = keys[i]
            slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & (slots - 1)
            mean = means[slot]
            if used[slot] == d and owners[slot] == key:
                for c in range(h):
                    out[i, c] = mean[c]
                    mean[c] = fading * mean[c] + (np.float32(1) - fading) * vectors[i, c]
            else:
                used[slot], owners[slot] = d, key
                for c in range(h):
                    mean[c] = vectors[i, c]


@kernel
def add_up(table: Array, rows: Array, documents: Array, out: Array) -> None:
    """Add the rows of a table that the tokens of each document name, in their order, to that of the document."""
    for d in range(len(documents) - 1):
        for i in range(documents[d], documents[d + 1]):
            row = table[rows[i]]
            for c in range(len(row)):
                out[d, c] += row[c]


def neighbours_elsewhere(keys: Base, documents: NDArray[np.int64]) -> Base:
    """Return the words beside the same word where it occurs before and after, (n, 4); 0 where there is none.

    Args:
        keys: Words, as numbers, (n,).
        documents: Where documents begin, in tokens, with n at the end.
    """
    out = np.zeros((len(keys), 4), np.uint64)
    keys = np.ascontiguousarray(keys)
    for backwards in (False, True):
        look_beside(keys, documents, backwards, SLOTS, out)
    return out


@kernel
def look_beside(keys: Array, documents: Array, backwards: bool, slots: int, out: Array) -> None:
    """Write the columns of :func:`neighbours_elsewhere` of the occurrence before, or if ``backwards`` of that after."""
    column = 2 if backwards else 0
    places = np.full(slots, -1, np.int64)  # where the word of a slot occurred last
    for d in range(len(documents) - 1):
        first, last = documents[d], documents[d + 1]
        for k in range(last - first):
            i = last - 1 - k if backwards else first + k
            slot = np.int64((keys[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & (slots - 1)
            j = places[slot]
            if first <= j < last and keys[j] == keys[i]:
                out[i, column] = keys[j - 1] if j > first else np.uint64(1)
                out[i, column + 1] = keys[j + 1] if j + 1 < last else np.uint64(2)
            places[slot] = i
