"""The distinct token types of a text, numbered in the order in which they first appear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.tokens import type_kernels
from textlds.corpus.tokens.memory import PADDING
from textlds.errors import ArgumentError

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_FIRST_SLOTS = 1 << 13
_FULLEST = 0.7  # types a slot; beyond it, searches grow long
_MEAN_BYTES = 12  # to begin with; English types measure 8.4


class TypeTable:
    """Token types, their provisional ids and how often each occurred.

    The arrays are read and written by compiled kernels, which stop when one is full; Python doubles it and calls
    again, so a table of n types has cost O(n); it holds 60 to 120 bytes per type.
    Not safe to change from two threads; give each its own table and :meth:`merge` them.
    """

    def __init__(self) -> None:
        room = int(_FULLEST * _FIRST_SLOTS)
        self.slots: NDArray[np.uint64] = np.zeros(2 * _FIRST_SLOTS, np.uint64)
        self.data: Bytes = np.zeros(room * _MEAN_BYTES, np.uint8)
        self.offsets: Ints = np.zeros(room + 1, np.int64)
        self.all_counts: Ints = np.zeros(room, np.int64)
        self.size: Ints = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    @property
    def counts(self) -> Ints:
        """Occurrences of each type, ``(n,)`` int64; a view."""
        return self.all_counts[: len(self)]

    @property
    def nbytes(self) -> int:
        """Memory the table holds, spare room included."""
        return self.slots.nbytes + self.data.nbytes + self.offsets.nbytes + self.all_counts.nbytes

    def word_bytes(self) -> tuple[Bytes, Ints]:
        """Return ``(data, offsets)``: type i is ``data[offsets[i]:offsets[i + 1]]`` in UTF-8. Views, no copy."""
        n = len(self)
        return self.data[: self.offsets[n]], self.offsets[: n + 1]

    def words(self) -> list[str]:
        """Return the types as strings, in the order of their ids."""
        data, offsets = self.word_bytes()
        raw, bounds = data.tobytes(), offsets.tolist()
        return [raw[bounds[i] : bounds[i + 1]].decode("utf-8") for i in range(len(self))]

    def add(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """Count one occurrence of each token and return their ids, ``(len(tokens),)``."""
        buffer, bounds = pack(tokens)
        return self.add_bytes(buffer, bounds, np.ones(1, np.int64))

    def add_bytes(self, buffer: Bytes, bounds: Ints, weights: Ints) -> NDArray[np.int32]:
        """Count string k, ``buffer[bounds[k]:bounds[k + 1]]``, ``weights[k]`` times and return the ids."""
        ids = np.empty(bounds.size - 1, np.int32)
        buffer = padded(buffer, int(bounds[-1]))
        done = 0
        while True:
            done = type_kernels.add_many(buffer, bounds, weights, done, ids, *self.arrays())
            if done == ids.size:
                return ids
            self.grow()

    def merge(self, other: TypeTable) -> NDArray[np.int32]:
        """Add the types and counts of ``other`` and return its ids' ids here, ``(len(other),)``."""
        data, offsets = other.word_bytes()
        return self.add_bytes(data, offsets, other.counts)

    @classmethod
    def from_words(cls, words: Sequence[str], counts: Sequence[int] | Ints | None = None) -> TypeTable:
        """Make a table of given words, each with its count (1 if not given); equal words are one type."""
        weights = np.ones(len(words), np.int64) if counts is None else np.asarray(counts, np.int64)
        if weights.shape != (len(words),):
            raise ArgumentError(f"{len(words)} words need as many counts, not an array of {weights.shape}.")
        table = cls()
        buffer, bounds = pack(words)
        table.add_bytes(buffer, bounds, weights)
        return table

    @classmethod
    def merged(cls, tables: Iterable[TypeTable]) -> TypeTable:
        """Return a new table with the types and counts of all."""
        result = cls()
        for table in tables:
            result.merge(table)
        return result

    def arrays(self) -> tuple[NDArray[np.uint64], Bytes, Ints, Ints, Ints]:
        """Return ``(slots, data, offsets, counts, size)`` as kernels take them."""
        return self.slots, self.data, self.offsets, self.all_counts, self.size

    def grow(self) -> None:
        """Double whatever has run out of room; called when a kernel reports FULL."""
        n = len(self)
        if n + 1 >= self.offsets.size:
            self.slots = np.zeros(2 * self.slots.size, np.uint64)
            room = int(_FULLEST * self.slots.size / 2)
            self.offsets = _extended(self.offsets, room + 1)
            self.all_counts = _extended(self.all_counts, room)
            type_kernels.rebuild(self.slots, self.data, self.offsets, n)
        else:
            self.data = _extended(self.data, 2 * self.data.size)

    def __reduce__(self) -> tuple[Any, ...]:
        data, offsets = self.word_bytes()
        return _restore, (data.tobytes(), np.diff(offsets).astype(np.int32), self.counts.copy())


def pack(words: Sequence[str]) -> tuple[Bytes, Ints]:
    """Lay strings end to end in UTF-8, padded: ``(buffer, bounds)``; lone surrogates become question marks."""
    encoded = [word.encode("utf-8", "replace") for word in words]
    bounds = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=bounds[1:])
    return np.frombuffer(bytearray(b"".join([*encoded, bytes(PADDING)])), np.uint8), bounds


def padded(buffer: Bytes, used: int) -> Bytes:
    """Return ``buffer`` itself, or a copy, such that kernels may read PADDING bytes after the first ``used``."""
    return buffer if buffer.size >= used + PADDING else _extended(buffer[:used], used + PADDING)


def check_words(data: Bytes, offsets: Ints) -> None:
    """Raise a ValueError unless every string that a file is said to hold, as ``word_bytes`` has them, is UTF-8."""
    data.tobytes().decode("utf-8")  # a UnicodeDecodeError is a ValueError
    begins = offsets[offsets < len(data)]
    if ((data[begins] & 0xC0) == 0x80).any():
        raise ValueError("a word begins in the middle of a character")


def _extended(array: NDArray[Any], size: int) -> NDArray[Any]:
    result = np.zeros(size, array.dtype)
    result[: array.size] = array
    return result


def _restore(data: bytes, lengths: NDArray[np.int32], counts: Ints) -> TypeTable:
    bounds = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    table = TypeTable()
    table.add_bytes(np.frombuffer(bytearray(data + bytes(PADDING)), np.uint8), bounds, np.array(counts, np.int64))
    return table
