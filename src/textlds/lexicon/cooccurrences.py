"""How often words occur near each other on either side: the counts of all lags, merged.

    M = Σ_k s_k (N_k + N_kᵀ)        s: the shape of the window

Rows are made in blocks. A block gathers the rows of every N_k, and its columns, which a pointer into each row finds
again where the block before left off (columns are sorted). So the memory needed besides the result is a block of dense
rows, and no N_k is ever transposed. Work: O(entries), and a look at every row for each block.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.linalg.sparse import CountMatrix, SparseMatrix
from textlds.linalg.threads import parallel_map

if TYPE_CHECKING:
    import scipy.sparse as sp

_ROWS = 128  # of a block: at V = 100,000 it takes 51 MB per thread
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
    used = [(lag, np.float32(weight)) for lag, weight in zip(lags, shape, strict=True) if weight > 0]
    first, last = rows
    bounds = _bounds(used, first, last)
    cuts = np.searchsorted(bounds, np.linspace(0, bounds[-1], _RANGES + 1)) if last > first else np.zeros(2, int)
    ranges = list(itertools.pairwise(np.unique([0, *(cuts // _ROWS * _ROWS).tolist()[1:-1], last - first])))

    def merge(span: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        return _merge_range(used, first + int(span[0]), first + int(span[1]), columns, bounds[int(span[0]) :])

    parts = parallel_map(merge, ranges, threads=threads)
    lengths = np.concatenate([np.zeros(1, np.int64), *(part[0] for part in parts)])
    indices = np.concatenate([np.empty(0, np.int32), *(part[1] for part in parts)])
    data = np.concatenate([np.empty(0, np.float32), *(part[2] for part in parts)])
    return SparseMatrix(np.cumsum(lengths), indices, data, columns, threads)


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
    n = ahead[0].shape[0]
    pairs = [(lag, back[k], np.float32(shape[k])) for k, lag in enumerate(ahead) if shape[k] > 0]
    most = np.concatenate([[0], np.cumsum(sum(np.diff(m.indptr) for a, b, _ in pairs for m in (a, b)))])
    dense, lengths = np.zeros((_ROWS, columns), np.float32), np.zeros(n, np.int64)
    indices, data = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for begin in range(0, n, _ROWS):
        end = min(begin + _ROWS, n)
        starts, sizes = most[begin : end + 1] - most[begin], lengths[begin:end]
        seen = np.empty(starts[-1], np.int32)
        for one, other, weight in pairs:
            for m in (one, other):
                _add_rows(m.indptr, m.indices, m.data, weight, begin, end, columns, dense, starts, seen, sizes)
        indices.append(np.empty(sizes.sum(), np.int32))
        data.append(np.empty(sizes.sum(), np.float32))
        _collect(dense, starts, seen, sizes, indices[-1], data[-1])
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return SparseMatrix(pointers, np.concatenate(indices), np.concatenate(data), columns)


def _bounds(used: Sequence[tuple[sp.csr_array, np.float32]], first: int, last: int) -> NDArray[np.int64]:
    """Return the running sum of the most entries that the rows can have, (last - first + 1,)."""
    most = np.zeros(last - first, np.int64)
    for lag, _ in used:
        most += np.diff(lag.indptr[first : last + 1])
        most += np.bincount(lag.indices, minlength=last)[first:last]
    return np.concatenate([[0], np.cumsum(most)])


def _merge_range(
    used: Sequence[tuple[sp.csr_array, np.float32]], first: int, last: int, columns: int, bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the lengths, columns and values of the rows of a range."""
    pointers = []
    for lag, _ in used:
        places = lag.indptr[:columns].astype(np.int64)
        _skip(lag.indptr, lag.indices, first, places)
        pointers.append(places)
    dense = np.zeros((_ROWS, columns), np.float32)
    lengths = np.zeros(last - first, np.int64)
    indices, data = [], []
    for begin in range(first, last, _ROWS):
        end = min(begin + _ROWS, last)
        starts = bounds[begin - first : end - first + 1] - bounds[begin - first]
        seen, sizes = np.empty(starts[-1], np.int32), lengths[begin - first : end - first]
        for (lag, weight), places in zip(used, pointers, strict=True):
            _add_rows(lag.indptr, lag.indices, lag.data, weight, begin, end, columns, dense, starts, seen, sizes)
            _add_columns(lag.indptr, lag.indices, lag.data, weight, begin, end, places, dense, starts, seen, sizes)
        own, values = np.empty(sizes.sum(), np.int32), np.empty(sizes.sum(), np.float32)
        _collect(dense, starts, seen, sizes, own, values)
        indices.append(own)
        data.append(values)
    return lengths, np.concatenate([np.empty(0, np.int32), *indices]), np.concatenate([np.empty(0, np.float32), *data])


@kernel
def _skip(indptr, indices, column, places):  # type: ignore[no-untyped-def]
    """Move the place in every row to its first entry not before a column."""
    for j in range(len(places)):
        low, high = places[j], np.int64(indptr[j + 1])
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < column:
                low = middle + 1
            else:
                high = middle
        places[j] = low


@kernel
def _add_rows(indptr, indices, data, weight, begin, end, columns, dense, starts, seen, sizes):  # type: ignore[no-untyped-def]
    """Add rows begin..end to the block; a column is noted when it is first met."""
    for i in range(begin, end):
        row, start, size = dense[i - begin], starts[i - begin], sizes[i - begin]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j >= columns:
                break
            if row[j] == 0:
                seen[start + size] = j
                size += 1
            row[j] += weight * np.float32(data[p])
        sizes[i - begin] = size


@kernel
def _add_columns(indptr, indices, data, weight, begin, end, places, dense, starts, seen, sizes):  # type: ignore[no-untyped-def]
    """Add columns begin..end of the first rows to the block, each from its place on."""
    for j in range(len(places)):
        p, stop = places[j], np.int64(indptr[j + 1])
        while p < stop and indices[p] < end:
            i = indices[p] - begin
            if dense[i, j] == 0:
                seen[starts[i] + sizes[i]] = j
                sizes[i] += 1
            dense[i, j] += weight * np.float32(data[p])
            p += 1
        places[j] = p


@kernel
def _collect(dense, starts, seen, sizes, indices, data):  # type: ignore[no-untyped-def]
    """Write the entries of the block, columns sorted within rows, and leave the block empty."""
    n = 0
    for i in range(len(sizes)):
        columns = np.sort(seen[starts[i] : starts[i] + sizes[i]])
        row = dense[i]
        for j in columns:
            indices[n] = j
            data[n] = row[j]
            row[j] = 0
            n += 1
