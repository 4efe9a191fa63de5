"""How often words occur near each other on either side: the counts of all lags, merged.

    M = P + Qᵀ        P = Σ_k s_k N_k of the rows, Q = Σ_k s_k N_k of the columns; s: the shape of the window

Rows of several matrices are added up in rows that lie open in the cache, with a mark for every few columns that were
touched, by which they are read off in order. Q, one matrix instead of seven, is transposed. Work: O(entries). Memory
besides the result: 8 bytes an entry of P and 16 of Q; where rows and columns are the same words, P is Q.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.linalg.sparse import CountMatrix, SparseMatrix
from textlds.linalg.threads import parallel_map

_OPEN_BYTES = 1 << 20  # of the rows that lie open at a time
_MOST_ROWS = 128
_MARKED = 16  # columns that share a mark: a line of the cache
_RANGES = 8  # that the rows are cut into, for as many threads


@runtime_checkable
class MergingLags(Protocol):
    """Counts of all lags that are merged where they are."""

    def cooccurrences(self, shape: Sequence[float], *, rows: tuple[int, int], columns: int) -> CountMatrix:
        """Return some rows of M, restricted to its first columns."""


def cooccurrences(
    lags: Sequence[Any] | MergingLags, shape: Sequence[float], *, rows: tuple[int, int], columns: int, threads: int
) -> CountMatrix:
    """Return some rows of M, restricted to its first columns, in float32.

    Args:
        lags: N_1..N_R, scipy CSR arrays with sorted columns, or lags that know how to merge themselves.
        shape: s_1..s_R; a lag with 0 is not looked at.
        rows: The first, and the one after the last.
        columns: How many.
        threads: How many; the result is the same.
    """
    if isinstance(lags, MergingLags):
        return lags.cooccurrences(shape, rows=rows, columns=columns)
    weights = [(SparseMatrix.from_scipy(lag), np.float32(s)) for lag, s in zip(lags, shape, strict=True)]
    used = [(lag, weight) for lag, weight in weights if weight > 0]
    first, last = rows
    ahead = _added_up(used, rows, (0, columns), threads)
    back = ahead if rows == (0, columns) else _added_up(used, (0, columns), rows, threads)
    both = [(ahead, np.float32(1)), (back.transpose(), np.float32(1))]
    parts = _parts_added_up(both, (0, last - first), (0, columns), threads)
    del ahead, back, both  # while the parts are joined there are two of the result
    return _joined(parts, columns, threads)


def merged_rows(
    ahead: Sequence[SparseMatrix], back: Sequence[SparseMatrix], shape: Sequence[float], columns: int
) -> SparseMatrix:
    """Return rows of M, restricted to its first columns, of the same rows of every N_k and of every N_kᵀ.

    Args:
        ahead: Rows of N_1..N_R.
        back: The same rows of the transposes.
        shape: s_1..s_R.
        columns: How many.
    """
    rows, sums = (0, ahead[0].shape[0]), []
    for lags in (ahead, back):
        used = [(lag, np.float32(weight)) for lag, weight in zip(lags, shape, strict=True) if weight > 0]
        sums.append(_added_up(used, rows, (0, columns), 1))
    return _added_up([(one, np.float32(1)) for one in sums], rows, (0, columns), 1)


def _added_up(
    used: Sequence[tuple[SparseMatrix, np.float32]], rows: tuple[int, int], columns: tuple[int, int], threads: int
) -> SparseMatrix:
    """Return some rows and columns of Σ_k s_k N_k, columns sorted."""
    return _joined(_parts_added_up(used, rows, columns, threads), columns[1] - columns[0], threads)


def _parts_added_up(
    used: Sequence[tuple[SparseMatrix, np.float32]], rows: tuple[int, int], columns: tuple[int, int], threads: int
) -> list[SparseMatrix]:
    """Return the same as runs of rows."""
    most = sum((np.diff(lag.indptr[rows[0] : rows[1] + 1]) for lag, _ in used), np.zeros(rows[1] - rows[0], np.int64))

    def add(span: tuple[int, int]) -> SparseMatrix:
        return _add_range(used, rows[0] + span[0], most[slice(*span)], columns)

    return parallel_map(add, _ranges(most), threads=threads)


def _add_range(
    used: Sequence[tuple[SparseMatrix, np.float32]], first: int, most: NDArray[np.int64], columns: tuple[int, int]
) -> SparseMatrix:
    """Add up matrices in a range of rows, of which ``most`` says how many entries they can have."""
    low, high = columns
    width = -(-(high - low) // _MARKED) * _MARKED
    height = max(1, min(_MOST_ROWS, _OPEN_BYTES // (4 * max(width, 1))))
    dense, marks = np.zeros((height, width), np.float32), np.zeros((height, width // _MARKED), np.uint8)
    lengths = np.zeros(len(most), np.int64)
    indices, data = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for begin in range(0, len(most), height):
        sizes, room = lengths[begin : begin + height], int(most[begin : begin + height].sum())
        for matrix, weight in used:
            _add_rows(*matrix.arrays, weight, first + begin, low, high, dense, marks, len(sizes))
        own, values = np.empty(room, np.int32), np.empty(room, np.float32)
        taken = _collect(dense, marks, sizes, own, values)
        indices.append(own[:taken].copy())
        data.append(values[:taken].copy())
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return SparseMatrix(pointers, np.concatenate(indices), np.concatenate(data), high - low)


def _ranges(most: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut rows into runs of about the same number of entries."""
    ends = np.cumsum(most)
    goals = np.linspace(0, ends[-1] if len(ends) else 0, _RANGES + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(ends, goals), len(most)])
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def _joined(parts: Sequence[SparseMatrix], columns: int, threads: int) -> SparseMatrix:
    """Return one matrix of runs of its rows."""
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)])
    indices = np.concatenate([np.empty(0, np.int32), *(part.indices for part in parts)])
    data = np.concatenate([np.empty(0, np.float32), *(part.data for part in parts)])
    return SparseMatrix(np.cumsum(lengths), indices, data, columns, threads)


@kernel
def _add_rows(indptr, indices, data, weight, first, low, high, dense, marks, n):  # type: ignore[no-untyped-def]
    """Add n rows of a matrix to those that lie open, and mark where. Nothing here waits for what it adds to."""
    for i in range(n):
        row, marked = dense[i], marks[i]
        begin, end = np.int64(indptr[first + i]), np.int64(indptr[first + i + 1])
        stop = end
        while begin < stop:  # the first entry not before the first column
            middle = (begin + stop) // 2
            if indices[middle] < low:
                begin = middle + 1
            else:
                stop = middle
        for p in range(begin, end):
            if indices[p] >= high:
                break
            j = indices[p] - low
            row[j] += weight * np.float32(data[p])
            marked[j // _MARKED] = 1


@kernel
def _collect(dense, marks, sizes, indices, data):  # type: ignore[no-untyped-def]
    """Write the entries of the open rows, columns sorted, and leave the rows empty; return how many there are."""
    n = 0
    for i in range(len(sizes)):
        row, marked, begin = dense[i], marks[i], n
        for m in range(len(marked)):
            if marked[m] == 0:
                continue
            marked[m] = 0
            for j in range(m * _MARKED, (m + 1) * _MARKED):
                value = row[j]
                if value != 0:
                    indices[n] = j
                    data[n] = value
                    row[j] = 0
                    n += 1
        sizes[i] = n - begin
    return n
