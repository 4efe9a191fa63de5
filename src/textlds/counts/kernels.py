"""Compiled kernels of the counter: an inverted index, rows counted in order, sums of sorted rows.

For each later word i the counter walks the positions t of i and adds one to (i, rows[t − k]) for k = 1..R. All of a
row's counts are complete when its positions are done, so rows leave finished and in order and nothing has to be
sorted or merged afterwards. Four things make it fast:

* the windows of a few dozen positions are gathered first and then added lag by lag, so that the one accumulator in
  use (4 V bytes) stays in the second-level cache, and the cache misses of the gather overlap;
* which columns a row touches is kept in a two-level bitmap: columns come out sorted at two bit scans each, without
  a sort, and only what was touched is cleared;
* rows with very many positions skip the bitmap and scan the accumulator instead;
* indices are unsigned, which spares the test for negative ones that numba makes otherwise.

Streams of rows (int32) hold row numbers and STOP, which no window crosses. Every kernel has a slow twin in
``tests/oracles/counting_twin.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.counts.arrays import I32, I64, U32, U64, Flags

STOP = -1  # in a stream of rows: no window crosses this position
BLOCK = 128  # positions gathered before they are added: R x 128 x 4 bytes stay in the first-level cache
FREQUENT = 8192  # a row with as many positions is likely to touch most columns: scan them instead of marking them

# What the last item of a stream was, so that the next piece of it can continue (see `to_rows`).
AFTER_STOP, AFTER_TOKEN, AFTER_BOUNDARY_TOKEN = 0, 1, 2


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


trailing_zeros = cast(Callable[[Any], Any], intrinsic(_trailing_zeros))
"""Number of zero bits below the lowest set bit of a uint64 that is not zero: one instruction."""


@kernel
def to_rows(ids: I32, rows_of: I32, boundary_row: int, state: int, rows: I32) -> tuple[int, int]:
    """Turn provisional ids and markers into a stream of rows.

    A run of markers (-1 BOUNDARY, -2 END) counts once, and not at all where no token came before it. Without a
    boundary token it becomes STOP; with one, the token's row, and STOP after it only at an END.

    Args:
        ids: Provisional ids and markers (n,).
        rows_of: Row of each provisional id.
        boundary_row: Row of the boundary token, or -1 if there is none.
        state: What came before: AFTER_STOP (also for the start), AFTER_TOKEN or AFTER_BOUNDARY_TOKEN.
        rows: Receives at most 2 n items.

    Returns:
        The number of items written and the state after them.
    """
    n = 0
    for t in range(ids.size):
        word = ids[t]
        if word >= 0:
            rows[n] = rows_of[word]
            n += 1
            state = AFTER_TOKEN
            continue
        if state == AFTER_TOKEN and boundary_row >= 0:
            rows[n] = boundary_row
            n += 1
            state = AFTER_BOUNDARY_TOKEN
        if state == AFTER_TOKEN or (state == AFTER_BOUNDARY_TOKEN and word == -2):
            rows[n] = STOP
            n += 1
            state = AFTER_STOP
    return n, state


@kernel
def count_boundaries(ids: I32, after_token: bool) -> tuple[int, bool]:
    """Count the runs of markers that follow a token; also return whether the stream ends with a token."""
    runs = 0
    for t in range(ids.size):
        if ids[t] < 0 and after_token:
            runs += 1
        after_token = ids[t] >= 0
    return runs, after_token


@kernel
def in_share(types: NDArray[np.uint8], offsets: I64, share: int, shares: int, chosen: Flags) -> None:
    """Mark the types whose hash falls into one of ``shares`` equal parts, whatever table they are in."""
    for i in range(offsets.size - 1):
        h = np.uint64(0xCBF29CE484222325)  # FNV-1a
        for b in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(types[b])) * np.uint64(0x100000001B3)
        chosen[i] = (h >> np.uint64(32)) % np.uint64(shares) == np.uint64(share)


@kernel
def count_occurrences(rows: I32, first: int, counts: I64) -> None:
    """Add the occurrences of each row in ``rows[first:]`` to ``counts``."""
    for t in range(first, rows.size):
        if rows[t] >= 0:
            counts[np.uint64(rows[t])] += 1


@kernel
def place_positions(rows: I32, first: int, low: int, high: int, cursor: I64, positions: I32) -> None:
    """Second half of a counting sort: write each t >= first with low <= rows[t] < high to its row's list.

    ``cursor[i]`` is where the next position of row i goes; it is advanced. Ranges of rows are independent, so that
    threads share the work.
    """
    for t in range(first, rows.size):
        row = rows[t]
        if low <= row < high:
            u = np.uint64(row)
            positions[np.uint64(cursor[u])] = t
            cursor[u] += 1


@kernel
def count_rows(
    rows: I32, starts: I64, positions: I32, low: int, high: int, totals: U32, bits: U64, tops: U64,
    columns: I32, values: U32, lengths: I64,
) -> I64:  # fmt: skip
    """Count rows low..high-1 of every lag: how often column j occurs k positions before row i.

    Args:
        rows: The stream.
        starts: Where each row's positions begin in ``positions`` (V + 1,).
        positions: Positions of the later word, by row.
        low: First row.
        high: Row after the last one.
        totals: Accumulators (R, V), all zero before and after.
        bits: Touched columns (R, 64 · tops), all zero before and after.
        tops: Which words of ``bits`` are not zero, likewise.
        columns: Receives the sorted columns of the rows, one after the other (R, capacity).
        values: Receives their counts.
        lengths: Receives the number of columns of each row (R, high - low).

    Returns:
        Entries written for each lag (R,). Cost: one cache miss a position, about 10 ns a position and lag.
    """
    n_lags = totals.shape[0]
    filled = np.zeros(n_lags, np.int64)
    windows = np.empty((n_lags, BLOCK), np.int32)
    for row in range(low, high):
        frequent = starts[row + 1] - starts[row] >= FREQUENT
        for begin in range(starts[row], starts[row + 1], BLOCK):
            size = min(BLOCK, starts[row + 1] - begin)
            _gather_windows(rows, positions, begin, size, windows)
            for k in range(n_lags):
                if frequent:
                    _add_unmarked(windows, size, k, totals)
                else:
                    _add_block(windows, size, k, totals, bits, tops)
        for k in range(n_lags):
            if frequent:
                end = _emit_scanned(totals, k, filled[k], columns, values)
            else:
                end = _emit_row(totals, bits, tops, k, filled[k], columns, values)
            lengths[k, row - low] = end - filled[k]
            filled[k] = end
    return filled


@kernel
def _gather_windows(rows: I32, positions: I32, begin: int, size: int, windows: I32) -> None:
    """windows[k - 1, p] = the row k before position p, or STOP from the first STOP on."""
    n_lags = windows.shape[0]
    for p in range(size):
        t = np.int64(positions[np.uint64(begin + p)])
        k = 0
        while k < min(n_lags, t):
            row = rows[np.uint64(t - 1 - k)]
            if row < 0:
                break
            windows[np.uint64(k), np.uint64(p)] = row
            k += 1
        while k < n_lags:
            windows[np.uint64(k), np.uint64(p)] = STOP
            k += 1


@kernel
def _add_block(windows: I32, size: int, lag: int, totals: U32, bits: U64, tops: U64) -> None:
    """Add the earlier words of a block of positions at one lag.

    The arrays are passed whole: views of one lag would be reference-counted, which measured 20 % slower.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    k = np.uint64(lag)
    for p in range(size):
        row = windows[k, np.uint64(p)]
        if row < 0:
            continue
        column = np.uint64(row)
        before = totals[k, column]
        totals[k, column] = before + np.uint32(1)
        if before == 0:
            group = column >> six
            bits[k, group] |= one << (column & low_bits)
            tops[k, group >> six] |= one << (group & low_bits)


@kernel
def _add_unmarked(windows: I32, size: int, lag: int, totals: U32) -> None:
    k = np.uint64(lag)
    for p in range(size):
        row = windows[k, np.uint64(p)]
        if row >= 0:
            totals[k, np.uint64(row)] += np.uint32(1)


@kernel
def _emit_scanned(totals: U32, lag: int, end: int, columns: I32, values: U32) -> int:
    """Append all columns with a total, and clear them."""
    k, n = np.uint64(lag), np.uint64(end)
    for column in range(totals.shape[1]):
        total = totals[k, np.uint64(column)]
        if total != 0:
            columns[k, n] = column
            values[k, n] = total
            totals[k, np.uint64(column)] = 0
            n += np.uint64(1)
    return np.int64(n)  # type: ignore[return-value]  # an int inside kernels


@kernel
def _emit_row(
    totals: NDArray[Any], bits: U64, tops: U64, lag: int, end: int, columns: I32, values: NDArray[Any]
) -> int:
    """Append the touched columns, sorted, and their totals that are not zero; clear what was touched."""
    one, six = np.uint64(1), np.uint64(6)
    k, n = np.uint64(lag), np.uint64(end)
    for t in range(tops.shape[1]):
        top = tops[k, np.uint64(t)]
        if top == 0:
            continue
        tops[k, np.uint64(t)] = 0
        while top != 0:
            group = (np.uint64(t) << six) + trailing_zeros(top)
            top &= top - one
            word = bits[k, group]
            bits[k, group] = 0
            while word != 0:
                column = (group << six) + trailing_zeros(word)
                word &= word - one
                total = totals[k, column]
                totals[k, column] = 0
                if total != 0:
                    columns[k, n] = np.int32(column)
                    values[k, n] = total
                    n += one
    return np.int64(n)  # type: ignore[return-value]  # an int inside kernels


@kernel
def merge_rows(
    first_segment: I64, begins: I64, ends: I64, columns: I32, values: NDArray[Any],
    totals: NDArray[Any], bits: U64, tops: U64,
    columns_out: I32, values_out: NDArray[Any], lengths: I64,
) -> int:  # fmt: skip
    """Sum segments of sparse rows: row r is the sum of segments first_segment[r]..first_segment[r + 1] - 1.

    Segment s is columns[begins[s]:ends[s]] with their values (int64 or float64, any sign, columns in any order).
    Accumulators and outputs have a first axis of length 1. Totals that are zero are left out.
    Cost: a few nanoseconds per entry, whatever the number of segments.

    Returns:
        Entries written; ``lengths`` (rows,) tells how many each row has.
    """
    one, six, low_bits, k = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
    filled = 0
    for row in range(lengths.size):
        for segment in range(first_segment[row], first_segment[row + 1]):
            for e in range(begins[segment], ends[segment]):
                column = np.uint64(columns[np.uint64(e)])
                totals[k, column] += values[np.uint64(e)]
                group = column >> six
                bits[k, group] |= one << (column & low_bits)
                tops[k, group >> six] |= one << (group & low_bits)
        end = _emit_row(totals, bits, tops, 0, filled, columns_out, values_out)
        lengths[row] = end - filled
        filled = end
    return filled


@kernel
def first_bad_row(pointers: I64, columns: I32, n_columns: int) -> int:
    """Return the first row whose columns are not strictly increasing within 0..n_columns - 1, or -1."""
    for row in range(pointers.size - 1):
        before = -1
        for e in range(pointers[row], pointers[row + 1]):
            column = columns[e]
            if column <= before or column >= n_columns:
                return row
            before = column
    return -1
