"""Lines that repeat: a licence after every book, a menu on every page.

A unit is what a window never leaves: a line, or a sentence where ``boundaries="sentence"``. Of each distinct unit of
eight tokens or more (shorter ones repeat because language does), the first N occurrences are kept. Units are told apart
by 64-bit hashes of their tokens, digits normalised: of 10⁹ different ones, some two collide with a chance of 3 %.

Windows do not cross units, so the counts are those of the units that are kept, in whatever order they come: the same
for any number of threads and pieces and any order of the sources. Nothing is stored of this stage: it follows from the
pieces, and is done again when work is resumed.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.corpus.tokens.types import TypeTable
from textlds.counts.arrays import I32, I64, Flags
from textlds.counts.pieces import Piece, PieceStore, writable

SHORT = 8  # tokens; a unit with fewer is never left out
UNIT_BYTES = 40  # that one unit takes while ranks are found

Hashes = NDArray[np.uint64]


@dataclasses.dataclass(frozen=True)
class Repeats:
    """What was left out because it repeats.

    Attributes:
        kept: N.
        units: How many units of eight tokens or more there were.
        units_left_out: How many of them were left out.
        tokens_left_out: Their tokens.
    """

    kept: int
    units: int
    units_left_out: int
    tokens_left_out: int

    def to_json(self) -> dict[str, int]:
        """Return the facts as a JSON object."""
        return dataclasses.asdict(self)


def leave_out_repeats(store: PieceStore, kept: int, memory: int) -> Repeats:
    """Mark what the store leaves out from here on.

    Args:
        store: All pieces of a corpus, in order.
        kept: N.
        memory: Bytes for the work; where the units of the corpus take more, it is done in as many passes as need be.
    """
    sizes = [len(unit_hashes(piece)) for piece in store]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    repeated = np.zeros(int(starts[-1]), np.bool_)
    shares = max(1, -(-len(repeated) * UNIT_BYTES // max(memory, 1)))
    for share in range(shares):
        found, places = [], []
        for piece, start in zip(store, starts[:-1].tolist(), strict=True):
            hashes = unit_hashes(piece)
            own = np.flatnonzero((hashes != 0) & (hashes % np.uint64(shares) == share))
            found.append(hashes[own])
            places.append(own + start)
        if found:
            repeated[np.concatenate(places)] = ranks(np.concatenate(found)) >= kept
    before, units = store.tokens, sum(int(np.count_nonzero(unit_hashes(piece))) for piece in store)
    store.leave_out([repeated[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)], without)
    return Repeats(kept, units, int(repeated.sum()), before - store.tokens)


def ranks(hashes: Hashes) -> I64:
    """Return how many equal hashes precede each, (n,)."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(hashes) else order[:0]
    lengths = np.diff(np.append(begins, len(hashes)))
    result = np.empty(len(hashes), np.int64)
    result[order] = np.arange(len(hashes)) - np.repeat(begins, lengths)
    return result


def unit_hashes(piece: Piece) -> Hashes:
    """Return the hash of every unit of a piece, 0 for a short one."""
    data, offsets = piece.table.word_bytes()
    out = np.empty(len(piece.ids) + 1, np.uint64)
    n = _unit_hashes(writable(piece.ids), _type_hashes(data, offsets), SHORT, out)
    return out[:n].copy()


def without(piece: Piece, dropped: Flags) -> Piece:
    """Return a piece without some of its units; its table holds the types that are left."""
    if not dropped.any():
        return piece
    ids = np.empty(len(piece.ids), np.int32)
    ids = ids[: _without(writable(piece.ids), dropped, ids)]
    counts = np.bincount(ids[ids >= 0], minlength=len(piece.table))
    chosen = counts > 0
    data, offsets = piece.table.word_bytes()
    lengths = np.diff(offsets)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[chosen])])
    table = TypeTable()
    if chosen.any():
        table.add_bytes(data[np.repeat(chosen, lengths)], bounds, counts[chosen])
    new = (np.cumsum(chosen) - 1).astype(np.int32)
    return Piece(np.where(ids >= 0, new[np.maximum(ids, 0)], ids).astype(np.int32), table, piece.origin)


@kernel
def _type_hashes(data: NDArray[np.uint8], offsets: I64) -> Hashes:
    """Return a hash of the bytes of every type (FNV-1a, mixed)."""
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        h = np.uint64(0xCBF29CE484222325)
        for b in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[b])) * np.uint64(0x100000001B3)
        h ^= h >> np.uint64(32)
        out[i] = h * np.uint64(0x9E3779B97F4A7C15)
    return out


@kernel
def _unit_hashes(ids: I32, types: Hashes, short: int, out: Hashes) -> int:
    """Write the hash of every run of tokens between markers; 0 for one that is short. Return how many there are."""
    n = size = 0
    h = np.uint64(0)
    for t in range(ids.size + 1):
        if t < ids.size and ids[t] >= 0:
            h = (h ^ types[ids[t]]) * np.uint64(0xD6E8FEB86659FD93)
            h ^= h >> np.uint64(32)
            size += 1
        elif size:
            out[n] = max(h, np.uint64(1)) if size >= short else np.uint64(0)
            n += 1
            size, h = 0, np.uint64(0)
    return n


@kernel
def _without(ids: I32, dropped: Flags, out: I32) -> int:
    """Copy ids without the tokens of dropped units; markers stay."""
    n = unit = 0
    inside = False
    for t in range(ids.size):
        if ids[t] < 0 and inside:
            unit += 1
        inside = ids[t] >= 0
        if ids[t] < 0 or not dropped[unit]:
            out[n] = ids[t]
            n += 1
    return n
