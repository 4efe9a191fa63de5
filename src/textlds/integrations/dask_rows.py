"""Summing partial counts on a cluster by blocks of rows, so that no machine holds all of them.

Rows are independent. Every partial count is cut into the same blocks, and each block is summed in a tree of its own,
where it stays until it is written as a shard, or taken.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import uuid
from typing import Any

import numpy as np

from textlds.counts.arrays import I32, I64
from textlds.counts.blocks import RowRange, Sink, merge
from textlds.counts.shards import Place, Shard, row_bounds, write_shard
from textlds.counts.sinks import CsrSource, narrow
from textlds.errors import ClusterError
from textlds.integrations.cluster import Cluster

BLOCK_BYTES = 1 << 28  # of counts that one worker sums
_ENTRY_BYTES = 8
_AT_ONCE = 4  # branching of the trees; partial counts are large

Block = tuple[RowRange, ...]  # some rows of every lag


@dataclasses.dataclass(frozen=True)
class Partial:
    """Counts of some pieces."""

    unigrams: I64
    lags: tuple[Any, ...]


def sum_rows(cluster: Cluster, partials: list[Any], n_rows: int, block_bytes: int) -> tuple[I64, list[int], list[Any]]:
    """Sum partial counts block of rows by block of rows; returns the occurrences of words, the bounds and the blocks.

    The blocks stay on the workers that summed them.
    """
    weights = cluster.submit("weigh", _weigh, [(partial,) for partial in partials])
    unigrams, lengths = cluster.result(cluster.tree("weigh", _add_weights, weights, _AT_ONCE))
    # the sum of blocks has at most as many entries as the blocks
    bounds = row_bounds(lengths, block_bytes // _ENTRY_BYTES)
    blocks = []
    for low, high in itertools.pairwise(bounds):
        parts = cluster.submit("block", _block, [(partial, low, high) for partial in partials])
        blocks.append(cluster.tree("sum", functools.partial(_add_blocks, n_rows), parts, _AT_ONCE))
    del partials[:]
    return unigrams, bounds, blocks


def collect(cluster: Cluster, blocks: list[Any], sink: Sink) -> None:
    """Bring blocks here, one after the other."""
    with cluster.task("sum", len(blocks), "blocks") as task:
        while blocks:
            block: Block = cluster.result(blocks.pop(0))
            for lag in block:
                sink.append(lag)
            task.advance(1)


def write_blocks(cluster: Cluster, blocks: list[Any], place: Place) -> list[Shard]:
    """Have every block written as a shard by the worker that has it."""
    run = uuid.uuid4().hex[:8]
    jobs = [(place, f"rows-{number:05}-{run}.safetensors", block) for number, block in enumerate(blocks)]
    futures = cluster.submit("shard", _write, jobs)
    del blocks[:], jobs  # a worker frees a block when it is written
    cluster.watch("sum", futures, unit="shards")
    return cluster.results(futures)


# What runs on the workers


def _write(place: Place, name: str, block: Block) -> Shard:
    if place.local is not None and not place.local.is_dir():
        raise ClusterError(
            f"a worker cannot see the folder {place.path}, in which it was to write its rows. Choose an output that "
            f"this machine and all workers share, or a URL (s3://...)."
        )
    return write_shard(place, name, block)


def _weigh(partial: Partial) -> tuple[I64, I64]:
    """Return the occurrences of words, and how many entries each row has in all lags."""
    lengths: I64 = np.stack([np.diff(lag.indptr).astype(np.int64) for lag in partial.lags]).sum(axis=0)
    return partial.unigrams, lengths


def _add_weights(*weights: tuple[I64, I64]) -> tuple[I64, I64]:
    unigrams, lengths = (np.stack(arrays).sum(axis=0) for arrays in zip(*weights, strict=True))
    return unigrams, lengths


def _block(partial: Partial, low: int, high: int) -> Block:
    """Return some rows of all lags."""
    source = CsrSource(partial.lags)
    lags = range(1, len(partial.lags) + 1)
    return tuple(RowRange(k, source.row_lengths(k)[low:high], *source.read(k, low, high)) for k in lags)


def _add_blocks(n_columns: int, *blocks: Block) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    sink = _BlockSink(len(blocks[0]))
    weights, max_lag = [1] * len(blocks), len(blocks[0])
    merge([_BlockSource(b) for b in blocks], weights, max_lag=max_lag, threads=1, sink=sink, n_columns=n_columns)
    return sink.block()


class _BlockSource:
    """Rows in memory, read range by range."""

    def __init__(self, block: Block) -> None:
        self.n_rows = len(block[0].lengths)
        self._block = block
        self._pointers = [np.concatenate([[0], np.cumsum(lag.lengths)]) for lag in block]

    def row_lengths(self, lag: int) -> I64:
        return self._block[lag - 1].lengths

    def read(self, lag: int, low: int, high: int) -> tuple[I32, Any]:
        rows, pointers = self._block[lag - 1], self._pointers[lag - 1]
        part = slice(pointers[low], pointers[high])
        return rows.columns[part], rows.values[part]


class _BlockSink:
    """Collects rows in memory."""

    def __init__(self, max_lag: int) -> None:
        self._parts: list[list[RowRange]] = [[] for _ in range(max_lag)]

    def append(self, rows: RowRange) -> None:
        copy = RowRange(rows.lag, rows.lengths.copy(), rows.columns.copy(), narrow(rows.values.copy()))
        self._parts[rows.lag - 1].append(copy)

    def block(self) -> Block:
        return tuple(
            RowRange(
                k,
                *(np.concatenate([getattr(part, name) for part in parts]) for name in ("lengths", "columns", "values")),
            )
            for k, parts in enumerate(self._parts, start=1)
        )
