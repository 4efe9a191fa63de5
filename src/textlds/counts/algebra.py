"""The algebra of counts: weighted sums, pruning, folding words into their unknown classes.

Sums over one vocabulary are exact. Counts over different vocabularies are first brought to the union of their types:
a type that only one side knows keeps that side's counts, while the other side's occurrences of it stay in its unknown
class, because they were never told apart. Such a union is a sensible approximation, not what counting both texts
together would have given.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.arrays import I32
from textlds.counts.blocks import RowRange, Segments, Sink, merge, scale, sum_segments
from textlds.counts.lagcounts import LagCounts, write_folder
from textlds.counts.record import Record, joined_record
from textlds.counts.sinks import CsrSource, FolderSink, MemorySink
from textlds.errors import ArgumentError, CountsError
from textlds.linalg.threads import default_threads
from textlds.storage.folders import new_folder


@dataclasses.dataclass(frozen=True)
class Pruned:
    """What pruning gave and what it dropped.

    Attributes:
        counts: The counts that are left.
        dropped_pairs: Distinct pairs dropped at each lag.
        dropped_occurrences: How many occurrences they stood for.
    """

    counts: LagCounts
    dropped_pairs: tuple[int, ...]
    dropped_occurrences: tuple[float, ...]


def combine(counts: Sequence[LagCounts], weights: Sequence[float]) -> LagCounts:
    """Return Σ weight · counts.

    Integer weights give exact integers; a fractional one gives float64 counts (``exact`` is then False). Counts over
    different vocabularies are combined over their union (see the module's text).

    Raises:
        CountsError: Different settings or numbers of lags, different ``repeats`` where a weight is negative, or a
            result with a negative count.
    """
    vocabulary, counts, weights, record = _prepare(counts, weights)
    sink = MemorySink(len(vocabulary), counts[0].max_lag)
    unigrams = _sum_into(sink, vocabulary, counts, weights)
    return LagCounts(vocabulary, unigrams, sink.lags(), record)


def combine_to_folder(
    counts: Sequence[LagCounts], weights: Sequence[float], output: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Write Σ weight · counts as a counts folder, row by row: the sum is never held in memory.

    The folder holds the same bytes as ``combine(counts, weights).save(output)``.
    """
    vocabulary, counts, weights, record = _prepare(counts, weights)
    floating = any(isinstance(weight, float) for weight in weights) or not all(c.exact for c in counts)
    with new_folder(output, force=force) as folder:
        with FolderSink(folder, len(vocabulary), counts[0].max_lag, floating=floating) as sink:
            unigrams = _sum_into(sink, vocabulary, counts, weights)
            sink.finish()
        write_folder(folder, vocabulary, unigrams, sink.pointers, record)


def _prepare(
    counts: Sequence[LagCounts], weights: Sequence[float]
) -> tuple[Vocabulary, Sequence[LagCounts], list[int | float], Record]:
    checked = [_checked_weight(weight) for weight in weights]
    if len(checked) != len(counts):
        raise ArgumentError(f"{len(counts)} counts need as many weights, not {len(checked)}.")
    _check_compatible(counts)
    shared = all(c.vocabulary == counts[0].vocabulary for c in counts[1:])
    record = joined_record([c.record for c in counts], checked, shared=shared)
    if not shared:
        vocabulary, counts = _align(counts, checked)
        return vocabulary, counts, checked, record
    return counts[0].vocabulary, counts, checked, record


def _sum_into(
    sink: Sink, vocabulary: Vocabulary, counts: Sequence[LagCounts], weights: Sequence[int | float]
) -> NDArray[Any]:
    unigrams = np.sum([scale(c.unigrams, w) for c, w in zip(counts, weights, strict=True)], axis=0)
    _check_not_negative(unigrams, vocabulary)
    max_lag = counts[0].max_lag
    checked = _NonNegative(sink, vocabulary, max_lag)
    sources = [CsrSource(c.lags) for c in counts]
    merge(sources, weights, max_lag=max_lag, threads=default_threads(), sink=checked)
    return np.asarray(unigrams)


def prune(counts: LagCounts, min_count: float) -> Pruned:
    """Drop pairs with fewer than ``min_count`` occurrences at a lag; unigrams and vocabulary stay."""
    if not _is_number(min_count) or not min_count >= 1:
        raise ArgumentError(f"min_count={min_count!r} must be a number of at least 1.")
    kept, pairs, occurrences = [], [], []
    for matrix in counts.lags:
        keep = matrix.data >= min_count
        pairs.append(int(matrix.nnz - keep.sum()))
        occurrences.append(matrix.data[~keep].sum().item())
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])
        pointers = before[matrix.indptr].astype(matrix.indptr.dtype)
        left = sp.csr_array((matrix.data[keep], matrix.indices[keep], pointers), shape=matrix.shape)
        left.has_canonical_format = True
        kept.append(left)
    return Pruned(dataclasses.replace(counts, lags=tuple(kept)), tuple(pairs), tuple(occurrences))


def shrink(counts: LagCounts, vocab_size: int) -> LagCounts:
    """Keep the ``vocab_size`` most frequent types and fold the others exactly into their unknown classes."""
    old = counts.vocabulary
    if not _is_number(vocab_size) or vocab_size < 1 or vocab_size != int(vocab_size):
        raise ArgumentError(f"vocab_size={vocab_size!r} must be an integer of at least 1.")
    if vocab_size >= old.n_types:
        return counts
    occurrences = counts.unigrams[: old.n_types]
    if not counts.exact:  # only the order matters, and fractions have none as integers
        occurrences = np.unique(occurrences, return_inverse=True)[1] + 1
    new = Vocabulary.learn(old.words[: old.n_types], occurrences, vocab_size=int(vocab_size), settings=old.settings)
    return fold(counts, new, _rows_in(old, new))


def fold(counts: LagCounts, vocabulary: Vocabulary, new_rows: I32) -> LagCounts:
    """Move row i to ``new_rows[i]`` of another vocabulary, adding up what falls together.

    Cost: one pass over the pairs, a few nanoseconds each.
    """
    n_new = len(vocabulary)
    unigrams = np.zeros(n_new, counts.unigrams.dtype)
    np.add.at(unigrams, new_rows, counts.unigrams)
    sink = MemorySink(n_new, counts.max_lag)
    for k, matrix in enumerate(counts.lags):
        _fold_lag(k + 1, matrix, new_rows, n_new, sink)
    return LagCounts(vocabulary, unigrams, sink.lags(), counts.record)


def _fold_lag(lag: int, matrix: sp.csr_array, new_rows: I32, n_new: int, sink: Sink) -> None:
    order = np.argsort(new_rows, kind="stable")  # old rows, grouped by new row
    group = np.searchsorted(new_rows[order], np.arange(n_new + 1))
    old_lengths = np.diff(matrix.indptr).astype(np.int64)
    sizes = np.zeros(n_new, np.int64)
    np.add.at(sizes, new_rows, old_lengths)

    def segments(low: int, high: int) -> Segments:
        members = order[group[low] : group[high]]
        part = matrix[members]
        ends = np.cumsum(old_lengths[members])
        return Segments(
            first=(group[low : high + 1] - group[low]).astype(np.int64),
            begins=ends - old_lengths[members],
            ends=ends,
            columns=new_rows[part.indices],
            values=scale(part.data, 1),
        )

    sum_segments(lag, sizes, segments, n_columns=n_new, threads=default_threads(), sink=sink)


def _align(counts: Sequence[LagCounts], weights: Sequence[float]) -> tuple[Vocabulary, Sequence[LagCounts]]:
    """Bring counts to the union of their vocabularies."""
    totals: dict[str, Any] = {}
    for c, weight in zip(counts, weights, strict=True):
        types = c.vocabulary.words[: c.vocabulary.n_types]
        for word, n in zip(types, scale(c.unigrams[: len(types)], abs(weight)).tolist(), strict=True):
            totals[word] = totals.get(word, 0) + n
    words = sorted(totals, key=lambda word: (-totals[word], word.encode()))
    union = Vocabulary.from_words(words, counts[0].settings)
    return union, [fold(c, union, _rows_in(c.vocabulary, union)) for c in counts]


def _rows_in(old: Vocabulary, new: Vocabulary) -> I32:
    """Row in ``new`` of each row of ``old``: a type's row or its unknown class; classes keep their place."""
    types = new.ids(old.words[: old.n_types])
    classes = np.arange(len(old) - old.n_types, dtype=np.int32) + new.n_types
    return np.concatenate([types, classes]).astype(np.int32)


class _NonNegative:
    """Passes rows on and refuses negative counts."""

    def __init__(self, sink: Sink, vocabulary: Vocabulary, max_lag: int) -> None:
        self._sink, self._vocabulary, self._rows_done = sink, vocabulary, [0] * max_lag

    def append(self, rows: RowRange) -> None:
        if rows.values.size and rows.values.min() < 0:
            worst = int(rows.values.argmin())
            row = int(np.searchsorted(np.cumsum(rows.lengths), worst, side="right")) + self._rows_done[rows.lag - 1]
            later, earlier = self._vocabulary.words[row], self._vocabulary.words[int(rows.columns[worst])]
            raise CountsError(
                f"the pair {earlier!r} … {later!r} at lag {rows.lag} would have the count {rows.values[worst]}. "
                "Subtract only counts of text that is part of the first counts, read with the same settings and "
                "vocabulary, and not pruned."
            )
        self._rows_done[rows.lag - 1] += len(rows.lengths)
        self._sink.append(rows)


def _check_not_negative(unigrams: NDArray[Any], vocabulary: Vocabulary) -> None:
    if (unigrams < 0).any():
        worst = int(unigrams.argmin())
        raise CountsError(
            f"{vocabulary.words[worst]!r} would have the count {unigrams[worst]}. Subtract only counts of text that "
            "is part of the first counts, read with the same settings and vocabulary."
        )


def _check_compatible(counts: Sequence[LagCounts]) -> None:
    if not counts:
        raise ArgumentError("there are no counts to combine; give at least one.")
    first = counts[0]
    for other in counts[1:]:
        mine, theirs = first.settings.to_json(), other.settings.to_json()
        different = [f"{name} ({mine[name]!r} and {theirs[name]!r})" for name in mine if mine[name] != theirs[name]]
        if different:
            raise CountsError(
                f"these counts were made with different settings: {', '.join(different)}. Count again with the same."
            )
        if first.max_lag != other.max_lag:
            low = min(first.max_lag, other.max_lag)
            raise CountsError(
                f"these counts have {first.max_lag} and {other.max_lag} lags. Bring both to {low} with "
                f"truncate({low}) (textlds prune --max-lag {low})."
            )


def _checked_weight(weight: float) -> int | float:
    if not _is_number(weight) or not math.isfinite(weight):
        raise ArgumentError(f"weight={weight!r} must be a finite number.")
    return int(weight) if isinstance(weight, (int, np.integer)) else float(weight)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))
