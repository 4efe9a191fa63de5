"""How a memory budget is divided.

The budget is what counting may take on top of what the process holds already. Tokenising and counting follow each
other, but for pieces that wait in memory while the first block is counted; about a quarter is left for the allocator
and for what is not planned. With w threads, V rows, R lags:

    tokenising   w + 2 pieces in progress, 3 bytes per byte of text; pieces that wait in memory, a fifth of the budget
    counting     rows and their index, 8 bytes per token; accumulators, 4 V R w; output buffers, 8 R max(E, V) (w + 1);
                 together more than half of it
    merging      40 bytes an entry in flight
"""

from __future__ import annotations

import dataclasses
import re

from textlds.counts.blocks import RANGE_ENTRIES
from textlds.errors import ArgumentError
from textlds.linalg.threads import check_threads

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_MB = 10**6
_MAX_BLOCK = 2**31 - 2**20  # positions in a block are int32


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes that keep counting within its budget. None of them changes a single count.

    Attributes:
        threads: Threads.
        piece_bytes: Text a piece.
        held_bytes: Pieces that may wait in memory.
        types_bytes: Unfinished table of types; beyond it, the types are summed share by share.
        block_tokens: Tokens a block; a corpus that fits in one needs no merging.
        entries: Entries a lag that a thread writes before it hands them over.
    """

    threads: int
    piece_bytes: int
    held_bytes: int
    types_bytes: int
    block_tokens: int
    entries: int


def parse_memory(memory: str | int) -> int:
    """Read ``"4GB"``, ``"512MB"``, ``"1.5GiB"`` or a number of bytes."""
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(memory), re.IGNORECASE)
    if not match or match[2].lower() not in _UNITS:
        raise ArgumentError(
            f"memory={memory!r} is not an amount such as '4GB', '512MB', '1.5GiB' or bytes as a number."
        )
    return int(float(match[1]) * _UNITS[match[2].lower()])


def make_plan(
    memory: str | int, *, threads: int | None, vocab_size: int, max_lag: int, text_bytes: int | None = None
) -> Plan:
    """Divide a budget.

    Args:
        memory: The budget.
        threads: Threads, or None for one per core.
        vocab_size: About V.
        max_lag: R.
        text_bytes: Size of the text if it is known: small corpora are cut small enough for all threads to have work.

    Raises:
        ArgumentError: The budget does not hold the accumulators that this V and R need.
    """
    budget = parse_memory(memory)
    threads = check_threads(threads)
    rows = vocab_size + 100
    fixed = 4 * rows * max_lag * threads + 8 * rows * max_lag * (threads + 1) + 300 * rows
    needed = max(64 * _MB, 2 * fixed)
    if budget < needed:
        raise ArgumentError(
            f"memory={memory!r} is too little: {vocab_size:,} types, {max_lag} lags and {threads} threads need "
            f"at least {-(-needed // _MB)}MB. Raise memory (--memory), or lower vocab_size, max_lag or threads."
        )
    piece = min(32 * _MB, budget // (16 * (threads + 2)))
    if text_bytes is not None:
        piece = min(piece, max(_MB, text_bytes // (4 * threads)))
    entries = (budget - fixed) // 8 // (8 * max_lag * (threads + 1))
    return Plan(
        threads=threads,
        piece_bytes=max(piece, _MB // 4),
        held_bytes=budget // 5,
        types_bytes=budget // 4,
        block_tokens=min(_MAX_BLOCK, max(1 << 16, (budget * 11 // 20 - fixed) // 8)),
        entries=min(RANGE_ENTRIES, max(1 << 12, entries)),
    )
