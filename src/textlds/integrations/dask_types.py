"""Summing the types of a text on a Dask cluster: no machine holds all of them.

    tables of pieces ──▶ one table per worker, about ──▶ shares by hash ──▶ one task per share sums its types
                                                                             │ those that may become words
                                                                             ▼ a tree, in which as few are kept
                                                                          candidates

A type is in one share, with all its occurrences. The V most frequent types of all are among the V most frequent of
their shares, so that leaving out the others changes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from textlds.corpus.tokens.types import TypeTable, pack
from textlds.counts import kernels
from textlds.counts.arrays import Flags
from textlds.integrations.cluster import Cluster

_AT_ONCE = 8  # branching of the trees
_LEAST = 2  # types of a share that are kept however rare they are: a text of one type is an error


def frequent_types(
    cluster: Cluster, tables: Sequence[Any], *, number: int, min_count: int, always: Sequence[str] = ()
) -> TypeTable:
    """Return the types of all tables that may become words, with their occurrences in all of them.

    Args:
        cluster: Where the tables lie.
        tables: Futures of :class:`TypeTable`, one per piece.
        number: How many words are kept; of more types as frequent as the last one, all are returned.
        min_count: Types that occur less often cannot become words.
        always: Types that are returned however rare they are, even if they do not occur.

    Cost: tasks grow as the pieces and as the square of the workers; here arrive about ``number`` types.
    """
    tables, shares = list(tables), max(1, len(cluster.workers()))
    while len(tables) > shares:
        size = min(_AT_ONCE, -(-len(tables) // shares))
        groups = [tuple(tables[i : i + size]) for i in range(0, len(tables), size)]
        tables = cluster.submit("types", _sum, groups)
    keep = functools.partial(_candidates, number, min_count, tuple(always))
    parts = []
    for share in range(shares):
        own = cluster.submit("share", _share, [(table, share, shares) for table in tables])
        parts += cluster.submit("types", keep, [tuple(own)])
    found: TypeTable = cluster.result(cluster.tree("types", keep, parts, _AT_ONCE))
    return found


# What runs on the workers


def _sum(*tables: TypeTable) -> TypeTable:
    return TypeTable.merged(tables)


def _share(table: TypeTable, share: int, shares: int) -> TypeTable:
    chosen = np.zeros(len(table), np.bool_)
    kernels.in_share(*table.word_bytes(), share, shares, chosen)
    return _some(table, chosen)


def _candidates(number: int, min_count: int, always: tuple[str, ...], *tables: TypeTable) -> TypeTable:
    """Sum tables and keep what may become a word."""
    total = TypeTable.merged(tables)
    named = total.add_bytes(*pack(always), np.zeros(1, np.int64))
    counts = total.counts
    chosen = _frequent(counts, number) & (counts >= min_count) | _frequent(counts, _LEAST)
    chosen[named] = True
    return _some(total, chosen)


def _frequent(counts: Any, number: int) -> Flags:
    """Mark the ``number`` largest counts and all that are equal to the smallest of them."""
    if len(counts) <= number:
        return np.ones(len(counts), np.bool_)
    least = np.partition(counts, len(counts) - number)[len(counts) - number]
    return np.asarray(counts >= least)


def _some(table: TypeTable, chosen: Flags) -> TypeTable:
    """Return a table of some of the types."""
    part = TypeTable()
    if chosen.any():
        types, offsets = table.word_bytes()
        lengths = np.diff(offsets)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[chosen])])
        part.add_bytes(types[np.repeat(chosen, lengths)], bounds, table.counts[chosen])
    return part
