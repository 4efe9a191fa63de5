"""Counts that are read from disk as they are multiplied, so that memory does not grow with the corpus.

The rows of every N_k are read in blocks, multiplied and dropped; a product reads every row once. What is held besides:
a block, N_1, whose transpose profiles ask for again and again, and the merged counts M of the most frequent words. M is
made in ranges of rows; each range reads all lags once for its columns, so that there are never many.

Rows are independent of each other, so the bits are those of counts in memory.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from textlds.counts.lagcounts import LagCounts, counts_bytes, open_shards
from textlds.counts.plan import parse_memory
from textlds.counts.shards import Shards, row_bounds
from textlds.errors import ArgumentError
from textlds.lexicon.cooccurrences import merged_rows
from textlds.linalg.cutting import columns_of, matrix_of, side_by_side
from textlds.linalg.sparse import FEW, SparseMatrix, panel_blocks
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Matrix, Vector

Panel = TypeVar("Panel", NDArray[np.float32], NDArray[np.float64])
Function = Callable[[NDArray[Any]], NDArray[Any]]

_BLOCK, _RANGE = 16, 4  # shares of the memory: one for a block of rows, one for the columns of a range of M
_ENTRY_BYTES = 8
_LEAST_BLOCK = 1 << 16  # bytes
_RANGES = 16  # of M, at most, about: each reads all counts
_LEAST_SHARE = 8  # lag 1 alone, which is held, is about a twelfth of the counts
_LEAST = 64 * 10**6  # enough for counts of any size, as for counting


def load_within(path: str | os.PathLike[str], memory: str | int | None, *, threads: int | None = None) -> LagCounts:
    """Load counts: mapped where they take less than half of a limit, and read as they are used otherwise.

    Args:
        path: A counts folder.
        memory: The limit, such as ``"4GB"``; None for none.
        threads: That products use; all cores by default.

    Raises:
        ArgumentError: The limit is less than 64MB and less than an eighth of the counts.
    """
    if memory is None:
        return LagCounts.load(path)
    budget, size = parse_memory(memory), counts_bytes(path)
    if 2 * size <= budget:
        return LagCounts.load(path)
    least = min(_LEAST, -(-size // _LEAST_SHARE))
    if budget < least:
        raise ArgumentError(
            f"memory={memory!r} is too little: to learn from counts of {_amount(size)} takes at least "
            f"{_amount(least)}. Raise memory (--memory), or make the counts smaller (textlds prune)."
        )
    vocabulary, unigrams, shards = open_shards(path, block_bytes=max(budget // _BLOCK, _LEAST_BLOCK))
    return LagCounts(vocabulary, unigrams, StreamedLags(shards, budget, check_threads(threads)))


def _amount(size: int) -> str:
    """Return bytes as people write them and options read them, rounded up."""
    unit, name = (10**6, "MB") if size >= 10**7 else (10**3, "kB")
    return f"{-(-size // unit)}{name}"


class StreamedLags(Sequence["StreamedMatrix"]):
    """N_1..N_R on disk."""

    def __init__(self, shards: Shards, memory: int, threads: int) -> None:
        self._shards, self._memory, self._threads = shards, memory, threads
        self._lags = [StreamedMatrix(shards, k, threads) for k in range(shards.max_lag)]

    def __len__(self) -> int:
        return len(self._lags)

    @overload
    def __getitem__(self, index: int) -> StreamedMatrix: ...

    @overload
    def __getitem__(self, index: slice) -> list[StreamedMatrix]: ...

    def __getitem__(self, index: int | slice) -> StreamedMatrix | list[StreamedMatrix]:
        return self._lags[index]

    def cooccurrences(self, shape: Sequence[float], *, rows: tuple[int, int], columns: int) -> SparseMatrix:
        """Return some rows of M, restricted to its first columns."""
        first, last = rows
        used = [k for k, weight in enumerate(shape) if weight > 0]
        lengths = np.zeros(self._shards.bounds[-1], np.int64)
        for k in used:
            for matrix, _ in self._lags[k].blocks():
                lengths += np.bincount(matrix.indices, minlength=len(lengths))
        own = lengths[first:last]
        entries = max(self._memory // _RANGE // _ENTRY_BYTES, int(own.sum()) // _RANGES, 1)
        bounds = row_bounds(own, entries) if last > first else [0]
        pointers, indices, data = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
        for low, high in itertools.pairwise(first + bound for bound in bounds):
            part = self._merged(used, [shape[k] for k in used], low, high, columns)
            pointers.append(part.indptr[1:] + pointers[-1][-1])
            indices.append(part.indices)
            data.append(part.data)
        return matrix_of(
            np.concatenate(pointers), np.concatenate(indices), np.concatenate(data), columns, threads=self._threads
        )

    def _merged(self, used: list[int], weights: list[float], low: int, high: int, columns: int) -> SparseMatrix:
        back = []
        for k in used:
            blocks = self._lags[k].blocks(0, columns)
            pieces = [columns_of(m, min(m.shape[0], columns - begin), low, high) for m, begin in blocks]
            back.append(side_by_side(pieces))
        return merged_rows([self._lags[k].rows(low, high) for k in used], back, weights, columns)


class StreamedMatrix:
    """One lag on disk."""

    def __init__(self, shards: Shards, k: int, threads: int) -> None:
        self._shards, self._k, self._threads = shards, k, threads
        self.nnz = shards.pairs[k]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._shards.bounds[-1], self._shards.bounds[-1]

    def blocks(self, low: int = 0, high: int | None = None) -> Iterator[tuple[SparseMatrix, int]]:
        """Yield the rows low..high in the blocks that hold them, each with the number of its first row."""
        bounds = self._shards.bounds
        for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
            if begin < (bounds[-1] if high is None else high) and end > low:
                rows = self._shards.read_lag(number, self._k)
                yield matrix_of(*rows, self.shape[1], threads=self._threads), begin

    def rows(self, low: int, high: int) -> SparseMatrix:
        """Read some rows."""
        lengths, indices, data = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], []
        for matrix, begin in self.blocks(low, high):
            first, last = max(low - begin, 0), min(high - begin, matrix.shape[0])
            part = slice(int(matrix.indptr[first]), int(matrix.indptr[last]))
            lengths.append(np.diff(matrix.indptr[first : last + 1]))
            indices.append(matrix.indices[part].copy())
            data.append(matrix.data[part].copy())
        pointers = np.cumsum(np.concatenate(lengths))
        return matrix_of(
            pointers, np.concatenate(indices), np.concatenate(data), self.shape[1], threads=self._threads
        )  # fmt: skip

    def mapped(self, function: Function, *, transposed: bool = True) -> SparseMatrix:
        """Return the matrix, in memory, with a function applied to its entries."""
        return self.rows(0, self.shape[0]).mapped(function, transposed=transposed)

    def scaled_matmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) M − U Vᵀ) diag(right) X."""
        out = np.empty((self.shape[0], X.shape[1]), X.dtype)
        left, U = (np.ascontiguousarray(array, X.dtype) for array in (left, U))
        panels = list(panel_blocks(X, right, V))
        for matrix, begin in self.blocks():
            rows = slice(begin, begin + matrix.shape[0])
            for start, panel, low in panels:
                matrix.write_product(panel, left[rows], U[rows], low, out[rows], start)
        return out

    def scaled_rmatmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) Mᵀ − U Vᵀ) diag(right) X; of more than a few columns, by the lag in memory."""
        if X.shape[1] > FEW:
            return self.rows(0, self.shape[0]).scaled_rmatmat(X, left, right, U, V)
        scaled = X * right[:, None].astype(X.dtype)
        out = np.zeros((self.shape[1], X.shape[1]), X.dtype)
        for matrix, begin in self.blocks():
            matrix.scatter(scaled[begin : begin + matrix.shape[0]], out)
        return left[:, None].astype(X.dtype) * out - U.astype(X.dtype) @ (V.astype(X.dtype).T @ scaled)

    def marginals(self) -> tuple[Vector, Vector]:
        """Return the sums of the rows and of the columns."""
        sums = [matrix.marginals() for matrix, _ in self.blocks()]
        return np.concatenate([rows for rows, _ in sums]), np.sum([columns for _, columns in sums], axis=0)

    def to_dense(self) -> Matrix:
        """Return the matrix as an array; for small sizes only."""
        return self.rows(0, self.shape[0]).to_dense()
