"""How a word is spelt, as features: for words that the vocabulary does not hold, or has hardly seen.

Every feature is hashed to one of B buckets, a power of two, so that no list of features need be kept:

- each run of two to five characters of the lower-case word, its beginning and its end among them;
- how it is capitalised: not at all, throughout, at the beginning, otherwise; by itself, and with each of the last one
  to four characters;
- whether it holds NUM (as numbers do with ``digits="num"``), a hyphen, a period;
- one that all words have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel

Array = Any  # arrays inside kernels: numba infers dtype and layout

_RUNS = (2, 5)  # characters, from and to
_ENDINGS = 4  # characters, at most
_OTHERS = 5 + _ENDINGS  # features that are no runs, at most
_LONGEST = 64  # characters: of a longer word (an address, say) the first and the last 32 count
_BEGINNING, _END = "\x02", "\x03"
_MARKS = ("NUM", "-", ".")
_ALL, _RUN, _CAPITALS, _ENDING, _MARK = range(5)  # kinds of features


def spelling_features(words: Sequence[str], buckets: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the buckets of the features of words: row starts, (n + 1,), and buckets, as of a sparse matrix of ones.

    Args:
        words: With their digits normalised, as in a vocabulary.
        buckets: B, a power of two.
    """
    spelt, capitals, marks = [], np.empty(len(words), np.int64), np.empty(len(words), np.int64)
    for i, word in enumerate(words):
        lower = word.lower()
        capitals[i] = 0 if word == lower else 1 if len(word) > 1 and word.isupper() else 2 if word[0].isupper() else 3
        marks[i] = sum((mark in word) << k for k, mark in enumerate(_MARKS))
        if len(lower) > _LONGEST:
            lower = lower[: _LONGEST // 2] + lower[-_LONGEST // 2 :]
        spelt.append(_BEGINNING + lower + _END)
    lengths = np.fromiter(map(len, spelt), np.int64, len(spelt))
    # lone surrogates can occur in a Python string, though in no text
    characters = np.frombuffer("".join(spelt).encode("utf-32-le", "surrogatepass"), np.uint32)
    room = (_RUNS[1] - _RUNS[0] + 1) * lengths + _OTHERS
    indices = np.empty(int(room.sum()), np.int32)
    indptr = np.zeros(len(words) + 1, np.int64)
    _hash_all(characters, lengths, capitals, marks, np.uint64(buckets - 1), indptr, indices)
    return indptr, indices[: indptr[-1]]


@kernel
def _hash_all(
    characters: Array, lengths: Array, capitals: Array, marks: Array, mask: Any, indptr: Array, indices: Array
) -> None:
    """Write the buckets of all features of every word."""
    n = start = 0
    for i in range(lengths.size):
        end = start + lengths[i]
        indices[n] = _bucket(_ALL, 0, characters, start, start, mask)
        indices[n + 1] = _bucket(_CAPITALS, capitals[i], characters, start, start, mask)
        n += 2
        for size in range(_RUNS[0], _RUNS[1] + 1):
            for first in range(start, end - size + 1):
                indices[n] = _bucket(_RUN, 0, characters, first, first + size, mask)
                n += 1
        last = end - 1  # without the mark of the end
        for size in range(1, min(_ENDINGS, lengths[i] - 3) + 1):  # something must precede it
            indices[n] = _bucket(_ENDING, capitals[i], characters, last - size, last, mask)
            n += 1
        for k in range(3):
            if marks[i] >> k & 1:
                indices[n] = _bucket(_MARK, k, characters, start, start, mask)
                n += 1
        indptr[i + 1] = n
        start = end


@kernel
def _bucket(kind: int, detail: int, characters: Array, first: int, last: int, mask: Any) -> Any:
    """Return the bucket of a feature: FNV-1a over what it is made of, and a final mixing."""
    prime = np.uint64(0x100000001B3)
    value = (np.uint64(0xCBF29CE484222325) ^ np.uint64(8 * kind + detail)) * prime
    for k in range(first, last):
        value = (value ^ np.uint64(characters[k])) * prime
    value ^= value >> np.uint64(29)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(32)
    return np.int32(value & mask)
