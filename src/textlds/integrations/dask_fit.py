"""Learning from counts that no machine holds: products with every N_k, shard by shard, where the shards are.

All that learning asks of counts are sums of rows and columns, products with panels of V x p, and the merged counts that
meaning comes from (:class:`textlds.linalg.sparse.CountMatrix`). A shard has some rows of every N_k:

    N_k X      a shard gives its rows; X goes to all workers, a block of columns at a time
    N_kᵀ X     likewise, by shards of N_kᵀ, for which shards send each other their columns once
    M          rows of a shard from its rows of every N_k and of every N_kᵀ

So nothing is summed across shards but integers, and a model has the same bits as on one machine. What is V x p, and
all that is smaller, is computed by the machine that asked for it.

Everything is a task that can be done again: a worker that dies costs its shards and its current products.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from textlds.counts.lagcounts import LagCounts, open_shards
from textlds.counts.shards import Shards
from textlds.integrations.cluster import Cluster
from textlds.integrations.dask_rows import BLOCK_BYTES
from textlds.lexicon.cooccurrences import merged_rows
from textlds.linalg.cutting import columns_of, matrix_of, rows_of, side_by_side
from textlds.linalg.sparse import FEW, SparseMatrix, panel_blocks
from textlds.linalg.types import Matrix, Vector
from textlds.progress import ProgressOption, resolve

Panel = TypeVar("Panel", NDArray[np.float32], NDArray[np.float64])
Function = Callable[[NDArray[Any]], NDArray[Any]]


def counts_on_cluster(
    client: Any, path: str | os.PathLike[str], *, block_bytes: int = BLOCK_BYTES, progress: ProgressOption = False
) -> LagCounts:
    """Open counts whose rows stay on the workers of a cluster; :func:`textlds.fit` learns from them there.

    Args:
        client: A ``distributed.Client``.
        path: A counts folder that every worker can read, or a URL.
        block_bytes: Of the rows that a worker reads at a time, where the folder itself has no shards.
        progress: Whether or where to show progress.
    """
    vocabulary, unigrams, shards = open_shards(path, block_bytes=block_bytes, check="whole")
    cluster = Cluster(
        client,
        resolve(progress),
        again="The same command with --resume continues from the last finished step.",
        smaller="Or use more workers, among which the counts are divided.",
    )
    lags = ClusterLags(cluster, shards)
    return LagCounts(vocabulary, unigrams, lags)  # with all that learning asks of lags


class ClusterLags(Sequence["ClusterMatrix"]):
    """N_1..N_R on a cluster."""

    def __init__(self, cluster: Cluster, shards: Shards) -> None:
        self._cluster, self._bounds, self._pairs = cluster, shards.bounds, shards.pairs
        self._shards = cluster.submit("read", _read, [(shards, number) for number in range(len(shards))])
        self._matrices: dict[int, ClusterMatrix] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    @overload
    def __getitem__(self, index: int) -> ClusterMatrix: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[ClusterMatrix, ...]: ...

    def __getitem__(self, index: int | slice) -> ClusterMatrix | tuple[ClusterMatrix, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        k = range(len(self))[index]
        if k not in self._matrices:
            parts = self._cluster.submit("lag", _lag, [(shard, k) for shard in self._shards])
            self._matrices[k] = ClusterMatrix(self._cluster, parts, self._bounds, self._bounds[-1], self._pairs[k])
        return self._matrices[k]

    def cooccurrences(self, shape: Sequence[float], *, rows: tuple[int, int], columns: int) -> ClusterMatrix:
        """Return some rows of M, restricted to its first columns."""
        first, last = rows
        bounds = [first, *(bound for bound in self._bounds if first < bound < last), last]
        lags = tuple(k for k, weight in enumerate(shape) if weight > 0)
        inside = [n for n, low in enumerate(self._bounds[:-1]) if low < columns]  # shards with rows that count
        jobs = []
        for low, high in itertools.pairwise(bounds):
            own = next(n for n in range(len(self._shards)) if self._bounds[n] <= low < self._bounds[n + 1])
            pieces = self._cluster.submit(
                "cut", _cut, [(self._shards[n], lags, self._bounds[n], columns, low, high) for n in inside]
            )
            weights = [shape[k] for k in lags]
            jobs.append((self._shards[own], lags, low - self._bounds[own], high - low, weights, columns, *pieces))
        parts = self._cluster.submit("merge", _merge, jobs)
        return ClusterMatrix(self._cluster, parts, tuple(bounds), columns)


@dataclass(frozen=True, eq=False)
class ClusterMatrix:
    """A sparse matrix whose rows are on the workers of a cluster, in parts.

    Attributes:
        parts: A :class:`SparseMatrix` each.
        bounds: The first row of every part, and the end.
        columns: How many.
        nnz: The number of entries, if it is known.
    """

    cluster: Cluster
    parts: Sequence[Any]
    bounds: tuple[int, ...]
    columns: int
    nnz: int | None = None
    _transpose: list[ClusterMatrix] = field(default_factory=list, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.bounds[-1] - self.bounds[0], self.columns

    def transpose(self) -> ClusterMatrix:
        """Return the transpose of a square matrix, cut as the matrix is, built on first use."""
        if not self._transpose:
            jobs = []
            for low, high in itertools.pairwise(self.bounds):
                cut = [((part,), (0,), 0, self.columns, low, high) for part in self.parts]
                jobs.append(tuple(self.cluster.submit("cut", _cut, cut)))
            parts = self.cluster.submit("transpose", _join, jobs)
            self._transpose.append(ClusterMatrix(self.cluster, parts, self.bounds, self.shape[0]))
        return self._transpose[0]

    def mapped(self, function: Function, *, transposed: bool = True) -> ClusterMatrix:
        """Return the matrix with a function applied to its entries."""
        result = self._mapped(function)
        if transposed:
            result._transpose.append(self.transpose()._mapped(function))
        return result

    def _mapped(self, function: Function) -> ClusterMatrix:
        parts = self.cluster.submit("map", _map, [(part, function) for part in self.parts])
        return ClusterMatrix(self.cluster, parts, self.bounds, self.columns, self.nnz)

    def scaled_matmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) M − U Vᵀ) diag(right) X."""
        out = np.empty((self.shape[0], X.shape[1]), X.dtype)
        left, U = (np.ascontiguousarray(array, X.dtype) for array in (left, U))
        rows = [slice(low - self.bounds[0], high - self.bounds[0]) for low, high in itertools.pairwise(self.bounds)]
        for start, panel, low in panel_blocks(X, right, V):
            # part of the graph instead of scattered: whoever loses it can make it again
            shared = self.cluster.submit("panel", _itself, [(panel,)])[0]
            jobs = [(part, shared, left[r], U[r], low) for part, r in zip(self.parts, rows, strict=True)]
            for r, block in zip(rows, self.cluster.results(self.cluster.submit("times", _times, jobs)), strict=True):
                out[r, start : start + panel.shape[1]] = block
        return out

    def scaled_rmatmat(self, X: Panel, left: Vector, right: Vector, U: Matrix, V: Matrix) -> Panel:
        """Return (diag(left) Mᵀ − U Vᵀ) diag(right) X; a few columns go from shard to shard, as from row to row."""
        if X.shape[1] > FEW:
            return self.transpose().scaled_matmat(X, left, right, U, V)
        scaled = X * right[:, None].astype(X.dtype)
        total: Any = np.zeros((self.columns, X.shape[1]), X.dtype)
        for part, (low, high) in zip(self.parts, itertools.pairwise(self.bounds), strict=True):
            total = self.cluster.submit("scatter", _scatter, [(part, scaled[low:high], total)])[0]
        out: Panel = self.cluster.result(total)
        return left[:, None].astype(X.dtype) * out - U.astype(X.dtype) @ (V.astype(X.dtype).T @ scaled)

    def marginals(self) -> tuple[Vector, Vector]:
        """Return the sums of the rows and of the columns."""
        sums = self.cluster.results(self.cluster.submit("sums", _sums, [(part,) for part in self.parts]))
        return np.concatenate([rows for rows, _ in sums]), np.sum([columns for _, columns in sums], axis=0)

    def to_dense(self) -> Matrix:
        """Return the matrix as an array; for small sizes only."""
        return np.concatenate([part.to_dense() for part in self.cluster.results(self.parts)])


# What runs on the workers


def _itself(panel: Any) -> Any:
    return panel


def _read(shards: Shards, number: int) -> tuple[SparseMatrix, ...]:
    return tuple(matrix_of(*rows, shards.bounds[-1]) for rows in shards.read(number))


def _lag(shard: tuple[SparseMatrix, ...], k: int) -> SparseMatrix:
    return shard[k]


def _map(part: SparseMatrix, function: Function) -> SparseMatrix:
    return part.mapped(function, transposed=False)


def _times(part: SparseMatrix, panel: Panel, left: Panel, U: Panel, low: Panel) -> Panel:
    out = np.empty((part.shape[0], panel.shape[1]), panel.dtype)
    part.write_product(panel, left, U, low, out, 0)
    return out


def _scatter(part: SparseMatrix, rows: Panel, total: Panel) -> Panel:
    out = total.copy()
    part.scatter(rows, out)
    return out


def _sums(part: SparseMatrix) -> tuple[Vector, Vector]:
    return part.marginals()


def _cut(
    shard: Sequence[SparseMatrix], lags: Sequence[int], first: int, rows: int, low: int, high: int
) -> tuple[SparseMatrix, ...]:
    """Return the columns low..high of a shard, transposed, of some lags; of the rows before ``rows`` in all.

    Args:
        shard: Rows of every lag.
        lags: Which.
        first: The number of the first row of the shard.
        rows: Rows from this one on are left out.
        low: The first column.
        high: The one after the last.
    """
    return tuple(columns_of(shard[k], max(0, min(shard[k].shape[0], rows - first)), low, high) for k in lags)


def _join(*pieces: tuple[SparseMatrix, ...]) -> SparseMatrix:
    return side_by_side([piece[0] for piece in pieces])


def _merge(
    shard: tuple[SparseMatrix, ...], lags: Sequence[int], first: int, n_rows: int, weights: Sequence[float],
    columns: int, *pieces: tuple[SparseMatrix, ...],
) -> SparseMatrix:  # fmt: skip
    ahead = [rows_of(shard[k], first, first + n_rows) for k in lags]
    back = [side_by_side([piece[i] for piece in pieces]) for i in range(len(lags))]
    return merged_rows(ahead, back, weights, columns)
