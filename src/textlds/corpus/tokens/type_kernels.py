"""Compiled parts of :class:`textlds.corpus.tokens.types.TypeTable`: an open-addressing hash table on byte strings.

A slot is two 64-bit words: a key, and the length of the string above its id + 1 (0 when the slot is empty). The key of
up to 8 bytes is the string itself, so that one cache line decides about three tokens in four; that of a longer one is
a hash, and the bytes are compared when keys agree. Texts are given by address (see :mod:`.memory`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textlds.compiled import kernel
from textlds.corpus.tokens.memory import PADDING, address, byte, first_bytes, word

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_29, _32, _LOW = np.uint64(29), np.uint64(32), np.uint64(0xFFFFFFFF)

FULL = -1  # no room to add a type: grow the table and call again
Array = Any  # arrays inside kernels: numba infers dtype and layout
Integer = Any  # int64 or uint64 inside kernels, as numba infers
signed: Any = np.int64


@kernel
def key_of(text: int, start: int, end: int) -> Integer:
    """Return the key of bytes ``start:end``: themselves if they are 8 or fewer, else their hash."""
    if end - start <= 8:
        return first_bytes(text, start, end - start)
    h = np.uint64(end - start) * _FIRST
    while start + 8 < end:
        h = (h ^ word(text, start)) * _SECOND
        h ^= h >> _32
        start += 8
    h = (h ^ word(text, end - 8)) * _SECOND  # overlaps what was read before
    return h ^ (h >> _32)


@kernel
def first_slot(key: Integer, mask: int) -> Integer:
    """Return where the search for a key begins."""
    mixed = (key ^ (key >> _32)) * _FIRST
    return signed(mixed >> _29) & mask


@kernel
def same_bytes(text: int, start: int, other: int, offset: int, length: int) -> Integer:
    """Compare ``length`` > 8 bytes of two texts."""
    while length > 8:
        if word(text, start) != word(other, offset):
            return False
        start += 8
        offset += 8
        length -= 8
    return word(text, start + length - 8) == word(other, offset + length - 8)


@kernel
def find(text: int, start: int, end: int, key: Integer, slots: int, mask: int, data: int, offsets: int) -> Integer:
    """Return the id of bytes ``start:end``, or ``~slot`` with the slot where it would go. All arrays by address."""
    slot = first_slot(key, mask)
    length = end - start
    while True:
        entry = word(slots, 16 * slot + 8)
        if entry == np.uint64(0):
            return ~slot
        if word(slots, 16 * slot) == key and signed(entry >> _32) == length:
            identifier = signed(entry & _LOW) - 1
            if length <= 8 or same_bytes(text, start, data, signed(word(offsets, 8 * identifier)), length):
                return identifier
        slot = (slot + 1) & mask


@kernel
def add(
    text: int, start: int, end: int, key: Integer, slot: int, slots: Array, data: Array, offsets: Array, size: Array
) -> Integer:
    """Add bytes ``start:end`` at the free slot that :func:`find` gave; return the new id, or FULL."""
    n = size[0]
    offset = offsets[n]
    length = end - start
    if n + 2 > offsets.size or offset + length + PADDING > data.size:
        return FULL
    for k in range(length):
        data[offset + k] = byte(text, start + k)
    offsets[n + 1] = offset + length
    size[0] = n + 1
    slots[2 * slot] = key
    slots[2 * slot + 1] = np.uint64(length) << _32 | np.uint64(n + 1)
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
    text, mask = address(buffer), slots.size // 2 - 1
    for k in range(first, bounds.size - 1):
        start, end = bounds[k], bounds[k + 1]
        key = key_of(text, start, end)
        identifier = find(text, start, end, key, address(slots), mask, address(data), address(offsets))
        if identifier < 0:
            identifier = add(text, start, end, key, ~identifier, slots, data, offsets, size)
            if identifier == FULL:
                return k
        counts[identifier] += weights[k if weights.size > 1 else 0]
        ids[k] = identifier
    return bounds.size - 1


@kernel
def rebuild(slots: Array, data: Array, offsets: Array, n: int) -> None:
    """Fill empty ``slots`` with types 0..n-1."""
    text, mask = address(data), slots.size // 2 - 1
    for identifier in range(n):
        length = offsets[identifier + 1] - offsets[identifier]
        key = key_of(text, offsets[identifier], offsets[identifier + 1])
        slot = first_slot(key, mask)
        while slots[2 * slot + 1] != np.uint64(0):
            slot = (slot + 1) & mask
        slots[2 * slot] = key
        slots[2 * slot + 1] = np.uint64(length) << _32 | np.uint64(identifier + 1)
