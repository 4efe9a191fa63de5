"""Compiled parts of :class:`textlds.corpus.types.TypeTable`: an open-addressing hash table on byte strings.

A slot is one 64-bit word, 0 when empty: the upper half of the hash above id + 1. One cache line decides almost every
probe; the bytes themselves are compared only when 32 bits of hash agree. Texts are given by address (see
:mod:`.memory`) and read 8 bytes at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textlds.compiled import kernel
from textlds.corpus.memory import PADDING, address, word

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_TAIL = np.array([(1 << 8 * k) - 1 for k in range(8)], np.uint64)  # keeps the first k bytes of a word

FULL = -1  # no room to add a type: grow the table and call again
Array = Any  # arrays inside kernels: numba infers dtype and layout
Integer = Any  # int64 or uint64 inside kernels, as numba infers
signed: Any = np.int64


@kernel
def hash_bytes(text: int, start: int, end: int) -> Integer:
    """Return the hash of bytes ``start:end``; both halves of it are well mixed."""
    h = np.uint64(end - start) * _FIRST
    while start + 8 <= end:
        h = (h ^ word(text, start)) * _SECOND
        h ^= h >> _32
        start += 8
    h = (h ^ (word(text, start) & _TAIL[end - start])) * _SECOND
    h ^= h >> _32
    h *= _FIRST
    return h ^ (h >> _32)


@kernel
def same_bytes(text: int, start: int, other: int, offset: int, length: int) -> Integer:
    """Compare ``length`` bytes of two texts."""
    while length >= 8:
        if word(text, start) != word(other, offset):
            return False
        start += 8
        offset += 8
        length -= 8
    return (word(text, start) ^ word(other, offset)) & _TAIL[length] == np.uint64(0)


@kernel
def find(text: int, start: int, end: int, h: Integer, slots: int, mask: int, data: int, offsets: int) -> Integer:
    """Return the id of bytes ``start:end``, or ``~slot`` with the slot where it would go. All arrays by address."""
    slot = signed(h & _LOW) & mask
    tag = h >> _32
    while True:
        entry = word(slots, 8 * slot)
        if entry == np.uint64(0):
            return ~slot
        if entry >> _32 == tag:
            identifier = signed(entry & _LOW) - 1
            offset = signed(word(offsets, 8 * identifier))
            length = signed(word(offsets, 8 * identifier + 8)) - offset
            if length == end - start and same_bytes(text, start, data, offset, length):
                return identifier
        slot = (slot + 1) & mask


@kernel
def add(
    text: int, start: int, end: int, h: Integer, slot: int, slots: Array, data: Array, offsets: Array, size: Array
) -> Integer:
    """Add bytes ``start:end`` at the free slot that :func:`find` gave; return the new id, or FULL."""
    n = size[0]
    offset = offsets[n]
    length = end - start
    if 2 * (n + 1) > slots.size or n + 2 > offsets.size or offset + length + PADDING > data.size:
        return FULL
    for k in range(length):
        data[offset + k] = np.uint8(word(text, start + k) & np.uint64(255))
    offsets[n + 1] = offset + length
    size[0] = n + 1
    slots[slot] = (h >> _32) << _32 | np.uint64(n + 1)
    return n


@kernel
def add_many(
    buffer: Array,
    bounds: Array,
    weights: Array,
    first: int,
    ids: Array,
    slots: Array,
    data: Array,
    offsets: Array,
    counts: Array,
    size: Array,
) -> Integer:
    """Add strings ``first..`` of ``buffer`` (string k is ``bounds[k]:bounds[k + 1]``), each ``weights[k]`` times.

    ``weights`` may have one entry for all. Returns how many strings are done; fewer than all means FULL.
    """
    text, mask = address(buffer), slots.size - 1
    for k in range(first, bounds.size - 1):
        start, end = bounds[k], bounds[k + 1]
        h = hash_bytes(text, start, end)
        identifier = find(text, start, end, h, address(slots), mask, address(data), address(offsets))
        if identifier < 0:
            identifier = add(text, start, end, h, ~identifier, slots, data, offsets, size)
            if identifier == FULL:
                return k
        counts[identifier] += weights[k if weights.size > 1 else 0]
        ids[k] = identifier
    return bounds.size - 1


@kernel
def rebuild(slots: Array, data: Array, offsets: Array, n: int) -> None:
    """Fill empty ``slots`` with types 0..n-1."""
    text, mask = address(data), slots.size - 1
    for identifier in range(n):
        h = hash_bytes(text, offsets[identifier], offsets[identifier + 1])
        slot = signed(h & _LOW) & mask
        while slots[slot] != np.uint64(0):
            slot = (slot + 1) & mask
        slots[slot] = (h >> _32) << _32 | np.uint64(identifier + 1)
