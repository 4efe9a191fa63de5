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
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Matrix, Vector

Panel = TypeVar("Panel", NDArray[np.float32], NDArray[np.float64])

_BLOCK_BYTES = 512  # of a row of the panel: 128 columns of float32, 64 of float64
FEW = 16  # columns of a panel that are scattered rather than gathered through a transpose
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
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The arrays of one type for the compiler, wherever they come from."""
        return _readonly(self.indptr), _readonly(self.indices), _readonly(self.data)

    def transpose(self) -> SparseMatrix:
        """Return the transpose in the same format, built on first use: O(entries) time, as much memory again."""
        if not self._transpose:
            indptr, indices, data = map(_readonly, _transpose(*self._arrays, self.columns))
            self._transpose.append(SparseMatrix(indptr, indices, data, self.shape[0], self.threads))
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
        arrays = (*self._arrays, _readonly(panel), _readonly(left), _readonly(U), _readonly(low))
        parallel_map(partial(_gather, *arrays, out, start), self._parts(), threads=self.threads)

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
        _scatter(*self._arrays, _readonly(X), out)

    def marginals(self) -> tuple[Vector, Vector]:
        """Return the sums of the rows and of the columns."""
        rows, columns = np.zeros(self.shape[0]), np.zeros(self.columns)
        _add_up(*self._arrays, rows, columns)
        return rows, columns

    def to_dense(self) -> Matrix:
        """Return the matrix as an array."""
        dense = np.zeros(self.shape)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return dense

    def _parts(self) -> list[tuple[int, int]]:
        """Cut the rows into runs of about the same number of entries."""
        pieces = 1 if self.threads == 1 else self.threads * _PARTS_PER_THREAD
        goals = np.linspace(0, self.indptr[-1], pieces + 1)[1:-1]
        cuts = np.unique(np.concatenate([[0], np.searchsorted(self.indptr, goals), [self.shape[0]]]))
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
def _gather(indptr, indices, data, X, left, U, R, out, column, rows):  # type: ignore[no-untyped-def]
    """Set out[i, column:] = left[i] Σ_p data[p] X[indices[p]] − U[i] R, as wide as X, for a range of rows."""
    width = X.shape[1]
    for i in range(rows[0], rows[1]):
        row = out[i][column : column + width]  # contiguous, and known to be: the loops below vectorise
        row[:] = 0
        begin, end = indptr[i], indptr[i + 1]
        eights = begin + (end - begin) // 8 * 8
        for p in range(begin, eights, 8):
            v0, v1 = X.dtype.type(data[p]), X.dtype.type(data[p + 1])
            v2, v3 = X.dtype.type(data[p + 2]), X.dtype.type(data[p + 3])
            v4, v5 = X.dtype.type(data[p + 4]), X.dtype.type(data[p + 5])
            v6, v7 = X.dtype.type(data[p + 6]), X.dtype.type(data[p + 7])
            x0, x1, x2, x3 = X[indices[p]], X[indices[p + 1]], X[indices[p + 2]], X[indices[p + 3]]
            x4, x5, x6, x7 = X[indices[p + 4]], X[indices[p + 5]], X[indices[p + 6]], X[indices[p + 7]]
            for c in range(width):
                near = v0 * x0[c] + v1 * x1[c] + v2 * x2[c] + v3 * x3[c]
                row[c] += near + (v4 * x4[c] + v5 * x5[c] + v6 * x6[c] + v7 * x7[c])
        for p in range(eights, end):
            v, x = X.dtype.type(data[p]), X[indices[p]]
            for c in range(width):
                row[c] += v * x[c]
        for c in range(width):
            row[c] *= left[i]
        for k in range(len(R)):
            for c in range(width):
                row[c] -= U[i, k] * R[k, c]


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
def _transpose(indptr, indices, data, columns):  # type: ignore[no-untyped-def]
    """Transpose by counting sort; the columns of a row come out in order."""
    starts = np.zeros(columns + 1, np.int64)
    for p in range(len(indices)):
        starts[indices[p] + 1] += 1
    for j in range(columns):
        starts[j + 1] += starts[j]
    place = starts[:-1].copy()
    rows = np.empty(len(indices), np.int32)
    values = np.empty(len(indices), data.dtype)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            q = place[indices[p]]
            place[indices[p]] = q + 1
            rows[q] = i
            values[q] = data[p]
    return starts, rows, values
