"""Sparse times dense, compiled: the only work of learning that grows with the corpus.

A product is bound by memory, not arithmetic, so the kernel adds eight rows of the panel to the output at a time (an
eighth of the stores), takes integer counts as they are (no float copy of them), and works on blocks of columns that
stay in the cache. Both directions gather (a few columns excepted): the transpose is built once by a counting sort, so
that no two threads ever write to the same row, and the result has the same bits for any number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel, kernel_fma
from textlds.linalg.gathering import gather
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Matrix, Vector

Panel = TypeVar("Panel", NDArray[np.float32], NDArray[np.float64])

_BLOCK_BYTES = 512  # of a row of the panel: 128 columns of float32, 64 of float64
FEW = 16  # columns of a panel that are scattered rather than gathered through a transpose
_STRIPE = 512  # columns that are transposed at a time
_PARTS_PER_THREAD = 8  # rows differ by orders of magnitude in length: small parts keep the threads level


class CountMatrix(Protocol):
    """A sparse matrix by what learning asks of it; :class:`SparseMatrix` is one that lies in memory."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def mapped(self, function: Callable[[NDArray[Any]], NDArray[Any]], *, transposed: bool = True) -> Self:
        """Return the matrix with a function applied to its entries."""

    def scaled_matmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) M − U Vᵀ) diag(right) X."""

    def scaled_rmatmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) Mᵀ − U Vᵀ) diag(right) X."""

    def marginals(self) -> tuple[Vector, Vector]:
        """Return the sums of the rows and of the columns."""

    def to_dense(self) -> Matrix:
        """Return the matrix as an array; for small sizes only."""


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A compressed-sparse-row matrix of counts, multiplied from both sides by panels of float32 or float64.

    Attributes:
        indptr: Row starts, (rows + 1,).
        indices: Column of each entry.
        data: Value of each entry, of any integer or float type.
        columns: The number of columns.
        threads: How many threads a product uses.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[Any]
    columns: int
    threads: int = 1
    _transpose: list[SparseMatrix] = field(default_factory=list, repr=False)

    @classmethod
    def from_scipy(cls, matrix: Any, *, threads: int = 1) -> SparseMatrix:
        """Wrap a scipy CSR array; nothing is copied if its index types fit."""
        indptr = np.asarray(matrix.indptr).astype(np.int64, copy=False)
        indices = np.asarray(matrix.indices).astype(np.int32, copy=False)
        return cls(_readonly(indptr), _readonly(indices), _readonly(np.asarray(matrix.data)), matrix.shape[1], threads)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.indptr) - 1, self.columns

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The arrays of one type for the compiler, wherever they come from."""
        return _readonly(self.indptr), _readonly(self.indices), _readonly(self.data)

    def transpose(self) -> SparseMatrix:
        """Return the transpose in the same format, built on first use: O(entries) time, as much memory again."""
        if not self._transpose:
            starts = np.zeros(self.columns + 1, np.int64)
            in_order = _count_columns(*self.arrays[:2], starts)
            rows, values = np.empty(len(self.indices), np.int32), np.empty(len(self.data), self.data.dtype)
            write = partial(_transpose, *self.arrays, starts, rows, values, _STRIPE if in_order else self.columns)
            runs = _runs(starts, self.threads) if in_order else [(0, self.columns)]
            parallel_map(write, runs, threads=self.threads)
            made = SparseMatrix(_readonly(starts), _readonly(rows), _readonly(values), self.shape[0], self.threads)
            self._transpose.append(made)
        return self._transpose[0]

    def mapped(self, function: Callable[[NDArray[Any]], NDArray[Any]], *, transposed: bool = True) -> SparseMatrix:
        """Return the matrix with a function applied to its entries; the places of the entries are shared.

        Args:
            function: From values to values.
            transposed: Whether products with the transpose will be asked for too: its places are then shared as well.
        """
        result = replace(self, data=_readonly(function(self.data)), _transpose=[])
        if transposed:
            back = self.transpose()
            result._transpose.append(replace(back, data=_readonly(function(back.data)), _transpose=[]))
        return result

    def matmat(self, X: Panel) -> Panel:
        """Return M X, accumulated in the type of X. O(2 · entries · columns of X) flops."""
        rows, columns = self.shape
        return self.scaled_matmat(X, np.ones(rows), np.ones(columns), np.zeros((rows, 0)), np.zeros((columns, 0)))

    def scaled_matmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) M − U Vᵀ) diag(right) X, without a panel besides the result.

        The columns are scaled as a block is packed, the rows and the low-rank part (U and V have few columns) as a row
        is finished.
        """
        out = np.empty((self.shape[0], X.shape[1]), X.dtype)
        left, U = (np.ascontiguousarray(array, X.dtype) for array in (left, U))
        for start, panel, low in panel_blocks(X, right, V):
            self.write_product(panel, left, U, low, out, start)
        return out

    def write_product(self, panel: Panel, left: Panel, U: Panel, low: Panel, out: Panel, start: int) -> None:
        """Write diag(left) M · panel − U · low into ``out`` from a column on, for a block of :func:`panel_blocks`."""
        arrays = (*self.arrays, _readonly(panel), _readonly(left), _readonly(U), _readonly(low))
        parallel_map(partial(gather, *arrays, out, start), self._parts(), threads=self.threads)

    def rmatmat(self, X: Panel) -> Panel:
        """Return Mᵀ X."""
        return self.transpose().matmat(X)

    def scaled_rmatmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) Mᵀ − U Vᵀ) diag(right) X; U and V belong to the transpose.

        A few columns are scattered, on one thread, where building the transpose would take longer than the product. The
        panel alone decides which way, not what was computed before: the same panel gives the same bits.
        """
        if X.shape[1] > FEW:
            return self.transpose().scaled_matmat(X, left, right, U, V)
        scaled = X * right[:, None].astype(X.dtype)
        out = np.zeros((self.columns, X.shape[1]), X.dtype)
        self.scatter(scaled, out)
        return left[:, None].astype(X.dtype) * out - U.astype(X.dtype) @ (V.astype(X.dtype).T @ scaled)

    def scatter(self, X: Panel, out: Panel) -> None:
        """Add Mᵀ X to ``out``, row after row."""
        _scatter(*self.arrays, _readonly(X), out)

    def marginals(self) -> tuple[Vector, Vector]:
        """Return the sums of the rows and of the columns."""
        rows, columns = np.zeros(self.shape[0]), np.zeros(self.columns)
        _add_up(*self.arrays, rows, columns)
        return rows, columns

    def to_dense(self) -> Matrix:
        """Return the matrix as an array."""
        dense = np.zeros(self.shape)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return dense

    def _parts(self) -> list[tuple[int, int]]:
        """Cut the rows into runs of about the same number of entries."""
        return _runs(self.indptr, self.threads)


def _runs(starts: NDArray[np.int64], threads: int) -> list[tuple[int, int]]:
    """Cut rows into runs of about the same number of entries, several for each thread."""
    pieces = 1 if threads == 1 else threads * _PARTS_PER_THREAD
    goals = np.linspace(0, starts[-1], pieces + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(starts, goals), [len(starts) - 1]]))
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def as_counts(matrix: Any, *, threads: int) -> CountMatrix:
    """Return a scipy CSR array as a matrix of counts; one that has products of its own is that already."""
    return matrix if hasattr(matrix, "scaled_matmat") else SparseMatrix.from_scipy(matrix, threads=threads)


def panel_blocks(X: Panel, right: Vector, V: Matrix) -> Iterator[tuple[int, Panel, Panel]]:
    """Yield the blocks of columns in which a product is done: the first column, diag(right) X of it, and Vᵀ of that."""
    right, V = (np.ascontiguousarray(array, X.dtype) for array in (right, V))
    width = _BLOCK_BYTES // X.itemsize
    for start in range(0, X.shape[1], width):
        panel = np.ascontiguousarray(X[:, start : start + width] * right[:, None])
        yield start, panel, V.T @ panel


def _readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Give one array type to the compiler, whether the array was mapped from a file or made in memory."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@kernel_fma
def _scatter(indptr, indices, data, X, out):  # type: ignore[no-untyped-def]
    """Add data[p] X[i] to out[indices[p]] for every entry p of every row i."""
    width = X.shape[1]
    for i in range(len(indptr) - 1):
        x = X[i]
        for p in range(indptr[i], indptr[i + 1]):
            v, row = X.dtype.type(data[p]), out[indices[p]]
            for c in range(width):
                row[c] += v * x[c]


@kernel
def _add_up(indptr, indices, data, rows, columns):  # type: ignore[no-untyped-def]
    """Add every entry to the sum of its row and of its column."""
    for i in range(len(indptr) - 1):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            v = np.float64(data[p])
            total += v
            columns[indices[p]] += v
        rows[i] += total


@kernel
def _count_columns(indptr, indices, starts):  # type: ignore[no-untyped-def]
    """Write where the entries of every column begin when they are sorted by columns; return whether rows are sorted."""
    in_order = True
    for i in range(len(indptr) - 1):
        before = -1
        for p in range(indptr[i], indptr[i + 1]):
            starts[indices[p] + 1] += 1
            in_order &= indices[p] >= before
            before = indices[p]
    for j in range(len(starts) - 1):
        starts[j + 1] += starts[j]
    return in_order


@kernel
def _transpose(indptr, indices, data, starts, rows, values, width, columns):  # type: ignore[no-untyped-def]
    """Write the entries of a range of columns, each a row of the transpose, by a counting sort.

    It goes by stripes of columns, so that what is written to lies in the cache. Rows whose columns are not sorted are
    written in one stripe.
    """
    first, last = columns
    places = np.empty(len(indptr) - 1, np.int64)
    for i in range(len(places)):
        low, high = np.int64(indptr[i]), np.int64(indptr[i + 1])
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < first:
                low = middle + 1
            else:
                high = middle
        places[i] = low
    for stripe in range(first, last, width):
        stop = min(stripe + width, last)
        ends = starts[stripe:stop].copy()
        for i in range(len(places)):
            p, end = places[i], np.int64(indptr[i + 1])
            while p < end and indices[p] < stop:
                j = indices[p] - stripe
                rows[ends[j]] = i
                values[ends[j]] = data[p]
                ends[j] += 1
                p += 1
            places[i] = p
