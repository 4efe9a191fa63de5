"""Counting a block of rows and summing sorted rows: the kernels, driven by threads in bounded memory.

Both produce, in order, :class:`RowRange` after RowRange (finished rows of one lag) and hand them to a sink.
"""

from __future__ import annotations

import dataclasses
import itertools
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from textlds.counts import kernels
from textlds.counts.arrays import I32, I64, U32

Item = TypeVar("Item")
Result = TypeVar("Result")

RANGE_ENTRIES = 1 << 19  # entries a lag that one task may write: 8 bytes each, a few megabytes


@dataclasses.dataclass(frozen=True)
class RowRange:
    """Finished rows of one lag: the rows that follow those handed over before.

    Attributes:
        lag: 1..R.
        lengths: Number of columns of each row.
        columns: Sorted columns, row after row (int32).
        values: Their counts (uint32, int64, or float64 for weighted counts).
    """

    lag: int
    lengths: I64
    columns: I32
    values: NDArray[Any]


class Sink(Protocol):
    """What takes finished rows; each lag's rows arrive in order."""

    def append(self, rows: RowRange) -> None:
        """Take the rows; the arrays are only lent for the duration of the call."""


class Scratch:
    """Accumulators of one thread, all zero between uses: 4 or 8 bytes per column and lag, and a bitmap."""

    def __init__(self, n_lags: int, n_columns: int, dtype: type[Any]) -> None:
        n_tops = -(-n_columns // 4096)
        self.totals = np.zeros((n_lags, n_columns), dtype)
        self.bits = np.zeros((n_lags, n_tops * 64), np.uint64)
        self.tops = np.zeros((n_lags, n_tops), np.uint64)


@dataclasses.dataclass(frozen=True)
class Index:
    """The positions of every row in a stream, by counting sort.

    Attributes:
        starts: Where each row's positions begin (V + 1,).
        positions: Positions, row after row, each row's in ascending order (int32).
    """

    starts: I64
    positions: I32


def build_index(rows: I32, *, first: int, n_rows: int, pool: ThreadPoolExecutor, threads: int) -> Index:
    """Index ``rows[first:]``; threads share the rows so that each has about as many positions to place."""
    occurrences = np.zeros(n_rows, np.int64)
    kernels.count_occurrences(rows, first, occurrences)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(occurrences)])
    positions = np.empty(int(starts[-1]), np.int32)
    cursor = starts[:-1].copy()
    shares = np.searchsorted(starts[1:], np.linspace(0, starts[-1], threads + 1)[1:-1])
    edges = [0, *shares.tolist(), n_rows]
    tasks = [
        pool.submit(kernels.place_positions, rows, first, low, high, cursor, positions)
        for low, high in itertools.pairwise(edges)
    ]
    for task in tasks:
        task.result()
    return Index(starts, positions)


def count_block(
    rows: I32,
    *,
    first: int,
    n_rows: int,
    max_lag: int,
    threads: int,
    sink: Sink,
    entries: int = RANGE_ENTRIES,
    advance: Callable[[int], None] | None = None,
) -> I64:
    """Count all lags of a block and hand the finished rows to ``sink``.

    Args:
        rows: The stream (n,), int32: row numbers and STOP.
        first: Positions before it are context only: they are earlier words, never later ones.
        n_rows: V.
        max_lag: R.
        threads: Threads.
        sink: Takes the rows of each lag in order.
        entries: Entries a lag that a thread may write before it hands them over.
        advance: Told how many positions have been counted.

    Returns:
        Occurrences of each row in ``rows[first:]`` (V,). Memory: 4 bytes per token besides ``rows``; a thread takes
        (4 V + 8 max(entries, V)) R bytes and there are as many buffers again as threads, plus one.
    """
    with ThreadPoolExecutor(threads) as pool:
        index = build_index(rows, first=first, n_rows=n_rows, pool=pool, threads=threads)
        occurrences = np.diff(index.starts)
        sizes = np.minimum(occurrences, n_rows)  # a row has no more columns than occurrences, nor than there are rows
        buffers = _Buffers(threads + 1, max_lag, max(min(entries, int(sizes.sum())), int(sizes.max(initial=0))))
        local = threading.local()

        def count(span: tuple[int, int]) -> tuple[_Buffer, I64, I64]:
            if not hasattr(local, "scratch"):
                local.scratch = Scratch(max_lag, n_rows, np.uint32)
            scratch, buffer = local.scratch, buffers.take()
            lengths = np.empty((max_lag, span[1] - span[0]), np.int64)
            filled = kernels.count_rows(
                rows, index.starts, index.positions, *span, scratch.totals, scratch.bits, scratch.tops, *buffer, lengths
            )
            return buffer, lengths, filled

        for span, (buffer, lengths, filled) in in_order(pool, threads, count, spans(sizes, entries)):
            columns, values = buffer
            for k in range(max_lag):
                n = int(filled[k])
                sink.append(RowRange(k + 1, lengths[k], columns[k, :n], values[k, :n]))
            buffers.give_back(buffer)
            if advance is not None:
                advance(int(index.starts[span[1]] - index.starts[span[0]]))
    return occurrences


_Buffer = tuple[I32, U32]


class _Buffers:
    """Output buffers in use again and again: fresh ones would cost a page fault every 4 KB."""

    def __init__(self, number: int, n_lags: int, capacity: int) -> None:
        self._free: queue.SimpleQueue[_Buffer] = queue.SimpleQueue()
        for _ in range(number):
            self._free.put((np.empty((n_lags, capacity), np.int32), np.empty((n_lags, capacity), np.uint32)))

    def take(self) -> _Buffer:
        return self._free.get()

    def give_back(self, buffer: _Buffer) -> None:
        self._free.put(buffer)


class RowSource(Protocol):
    """Sorted rows that can be read range by range: counts in memory or a run on disk."""

    n_rows: int

    def row_lengths(self, lag: int) -> I64:
        """Number of entries of every row (V,)."""

    def read(self, lag: int, low: int, high: int) -> tuple[I32, NDArray[Any]]:
        """Columns and values of rows low..high-1, row after row."""


def merge(
    sources: Sequence[RowSource],
    weights: Sequence[int | float],
    *,
    max_lag: int,
    threads: int,
    sink: Sink,
    entries: int = RANGE_ENTRIES,
    n_columns: int | None = None,
) -> None:
    """Sum weighted sources row by row and hand the rows to ``sink``.

    Zero totals are dropped. The work is exact in int64 if all weights and values are integers. Memory: about 40
    bytes for each of ``entries`` a thread, whatever the size of the sources. There are as many columns as rows, unless
    ``n_columns`` says otherwise.
    """
    n_rows = sources[0].n_rows
    for lag in range(1, max_lag + 1):
        lengths = np.stack([source.row_lengths(lag) for source in sources])

        def segments(low: int, high: int, lag: int = lag, lengths: I64 = lengths) -> Segments:
            parts = [source.read(lag, low, high) for source in sources]
            scaled = [scale(values, weight) for (_, values), weight in zip(parts, weights, strict=True)]
            share = lengths[:, low:high]
            offsets = np.cumsum([0, *(len(columns) for columns, _ in parts)])[:-1]
            ends = np.cumsum(share, axis=1) + offsets[:, None]
            return Segments(
                first=np.arange(high - low + 1, dtype=np.int64) * len(parts),
                begins=np.ascontiguousarray((ends - share).T).reshape(-1),
                ends=np.ascontiguousarray(ends.T).reshape(-1),
                columns=np.concatenate([columns for columns, _ in parts]),
                values=np.concatenate(scaled),
            )

        sum_segments(
            lag, lengths.sum(axis=0), segments,
            n_columns=n_columns or n_rows, threads=threads, sink=sink, entries=entries,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Segments:
    """Unsummed rows, as :func:`textlds.counts.kernels.merge_rows` takes them."""

    first: I64
    begins: I64
    ends: I64
    columns: I32
    values: NDArray[Any]


def sum_segments(
    lag: int,
    row_sizes: I64,
    segments: Callable[[int, int], Segments],
    *,
    n_columns: int,
    threads: int,
    sink: Sink,
    entries: int = RANGE_ENTRIES,
) -> None:
    """Sum the segments of every row of one lag; ``segments(low, high)`` fetches those of a range of rows."""
    local = threading.local()

    def add(span: tuple[int, int]) -> RowRange:
        parts = segments(*span)
        dtype = parts.values.dtype.type
        if not hasattr(local, "scratch"):
            local.scratch = Scratch(1, n_columns, dtype)
        scratch = local.scratch
        columns = np.empty((1, len(parts.columns)), np.int32)
        values = np.empty((1, len(parts.columns)), dtype)
        lengths = np.empty(span[1] - span[0], np.int64)
        n = kernels.merge_rows(
            parts.first, parts.begins, parts.ends, parts.columns, parts.values,
            scratch.totals, scratch.bits, scratch.tops, columns, values, lengths,
        )  # fmt: skip
        return RowRange(lag, lengths, columns[0, :n], values[0, :n])

    with ThreadPoolExecutor(threads) as pool:
        for _, rows in in_order(pool, threads, add, spans(row_sizes, entries)):
            sink.append(rows)


def scale(values: NDArray[Any], weight: int | float) -> NDArray[Any]:
    """Return values times weight, int64 if both are integers and float64 otherwise, writable and contiguous."""
    integral = isinstance(weight, int) and values.dtype.kind in "iu"
    scaled: NDArray[Any] = values.astype(np.int64 if integral else np.float64)
    if weight != 1:
        scaled *= weight
    return scaled


def spans(sizes: I64, limit: int) -> Iterator[tuple[int, int]]:
    """Cut rows into consecutive ranges of at most ``limit`` entries (a single larger row is a range by itself)."""
    ends = np.cumsum(sizes)
    low = done = 0
    while low < len(sizes):
        high = max(low + 1, int(np.searchsorted(ends, done + limit, side="right")))
        yield low, high
        low, done = high, int(ends[high - 1])


def in_order(
    pool: ThreadPoolExecutor,
    threads: int,
    function: Callable[[Item], Result],
    items: Iterable[Item],
) -> Iterator[tuple[Item, Result]]:
    """Map ``function`` over ``items``, in order, never with more than ``threads`` + 1 of them begun and not done."""
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) > threads:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    finally:
        for _, future in waiting:
            future.cancel()
