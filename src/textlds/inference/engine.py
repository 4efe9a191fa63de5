"""Filtering and smoothing of many sequences at once.

Everything happens in the coordinates of :mod:`textlds.lds.canonical`, where one matrix A serves filter and smoother:

    p_t = A x̂_{t−1}        x̂_t = φ ∘ p_t + k(w_t)        x̄_t = x̂_t + Aᵀ (φ ∘ (x̄_{t+1} − p_{t+1}))

What the words to the right add, r_t = x̄_t − x̂_t, can be a thousand times smaller than x̂_t, and what a difference of
float32 numbers leaves of it depends on rounding. It has a recursion of its own, with x̂ − p = k − (1 − φ) ∘ p:

    r_t = Aᵀ (φ ∘ (r_{t+1} + x̂_{t+1} − p_{t+1}))         x̄_t = x̂_t + r_t

Sequences advance in lock step (:mod:`textlds.inference.packing`), so a time step of a batch is one matrix product. A
long sequence is cut into chunks that overlap by as many tokens as the filter needs to forget where it started.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from textlds.errors import check_finite
from textlds.inference.kernels import filter_steps, smooth_steps, take_rows
from textlds.inference.packing import Packing, batches, pack, positions_within
from textlds.lds.canonical import CanonicalSystem
from textlds.lds.exact import ExactGains, exact_gains
from textlds.lexicon.unknown import UnknownWords
from textlds.linalg.products import add_product, product
from textlds.linalg.threads import one_blas_thread, parallel_map
from textlds.linalg.types import Array

Index = NDArray[np.int64]
Method = Literal["smooth", "filter", "exact"]

_BATCH_TOKENS = 1 << 14  # a few arrays of this many rows stay in the last-level cache
_CHUNK = 512  # tokens of a long sequence done at once, besides the overlap, at least
_FORGOTTEN = 1e-7  # relative error at which an overlap is long enough


@dataclass(frozen=True)
class Posterior:
    """Posterior means of a batch, row by row as packed.

    Attributes:
        pred: p_t, given the words to the left.
        filt: x̂_t, given these and the word itself.
        smooth: x̄_t, given the whole sequence; None if only the filter was run.
        right: x̄_t − x̂_t, what the words to the right add; None with it.
        steps: Row at which each time step begins, with the number of rows at the end.
    """

    pred: Array
    filt: Array
    smooth: Array | None
    right: Array | None
    steps: Index


Consumer = Callable[[Posterior, Index, Index], None]


class Engine:
    """A model's filter and smoother in one floating-point type."""

    def __init__(self, system: CanonicalSystem, gains: Array, dtype: type[np.floating[Any]]) -> None:
        self.system = system
        self.dtype = np.dtype(dtype)
        with np.errstate(over="ignore"):  # what does not fit is refused
            self.gains = np.ascontiguousarray(gains, self.dtype)
        check_finite(self.gains, "gains")
        self.A = np.ascontiguousarray(system.A, self.dtype)
        self.AT = np.ascontiguousarray(self.A.T)
        self.shrink = np.ascontiguousarray(system.shrink, self.dtype)

    @cached_property
    def overlap(self) -> int:
        """How many tokens of warm-up, b, bring a chunk's error below 1e-7: the least b with ‖Fᵇ‖₂ ≤ 1e-7.

        The smoother's matrix is Fᵀ, so that the same b serves both ends of a chunk.
        """
        return self.system.memory(_FORGOTTEN)

    @cached_property
    def exact(self) -> ExactGains:
        """The gains of the first positions of a sequence."""
        with one_blas_thread():
            return exact_gains(self.system)

    @staticmethod
    def is_short(starts: Index) -> bool:
        """Return whether there is one sequence only, so short that :meth:`one` is fastest."""
        return len(starts) == 2 and int(starts[1]) <= 64

    def run(
        self,
        ids: NDArray[np.int32],
        starts: Index,
        method: Method,
        consume: Consumer,
        *,
        unknown: UnknownWords | None = None,
        threads: int = 1,
    ) -> None:
        """Infer the posteriors of many sequences and hand them to ``consume``, a batch at a time.

        Args:
            ids: Word rows of all sequences, one after the other.
            starts: Where each sequence begins, with the total at the end.
            method: ``"smooth"``, ``"filter"`` or ``"exact"`` (smoothing with exact gains at the start of a sequence).
            consume: Called with a posterior, the packed rows that count, and the places in ``ids`` they belong to;
                from several threads at once if ``threads`` > 1.
            unknown: Vectors of words without a row, whose numbers continue from the rows.
            threads: How many batches are worked on at a time.
        """
        extra = None if unknown is None else unknown.gains
        if len(ids) == 0:
            return
        if self.is_short(starts) and method == "smooth":
            places = np.arange(len(ids), dtype=np.int64)
            consume(self.one(ids, extra), places, places)
            return
        first, last, keep_from, keep_to = self._pieces(starts, method)

        def work(batch: Index) -> None:
            lengths = last[batch] - first[batch]
            packing = pack(lengths)
            places = np.repeat(first[batch], lengths) + positions_within(lengths)
            posterior = self.batch(_scatter(ids[places], packing), packing, method, extra)
            kept = (places >= np.repeat(keep_from[batch], lengths)) & (places < np.repeat(keep_to[batch], lengths))
            consume(posterior, packing.rows[kept], places[kept])

        parallel_map(work, batches(last - first, tokens=_BATCH_TOKENS), threads=threads)

    def one(self, ids: NDArray[np.int32], extra: Array | None = None) -> Posterior:
        """Smooth one short sequence with the least delay; ``extra`` holds the gains of words without a row."""
        return self.smoothed(taken(self.gains, ids, extra))

    def smoothed(self, gains: Array) -> Posterior:
        """Smooth one short sequence, given k(w_t) of its words, (n, h), which is overwritten."""
        return self._posterior(gains, np.arange(len(gains) + 1, dtype=np.int64), "smooth")

    def batch(self, ids: NDArray[np.int32], packing: Packing, method: Method, extra: Array | None = None) -> Posterior:
        """Infer the posteriors of one packed batch; ``extra`` holds the gains of words without a row."""
        return self._posterior(taken(self.gains, ids, extra), packing.steps, method)

    def _posterior(self, filt: Array, steps: Index, method: Method) -> Posterior:
        """Infer the posteriors of packed sequences; ``filt`` holds k(w_t) and becomes x̂_t."""
        pred, update = np.zeros_like(filt), np.empty_like(filt)
        exact = self.exact if method == "exact" else None
        self._filter(pred, filt, update, steps, exact)
        if method == "filter":
            return Posterior(pred, filt, None, None, steps)
        right = self._smooth(update, steps, exact)
        return Posterior(pred, filt, np.add(filt, right, out=update), right, steps)

    def _filter(self, pred: Array, filt: Array, update: Array, steps: Index, exact: ExactGains | None) -> None:
        own = min(0 if exact is None else len(exact), len(steps) - 1)  # steps with gains of their own
        R = 1 - self.shrink
        for t in range(own):
            now = slice(steps[t], steps[t + 1])
            n = steps[t + 1] - steps[t]
            if t > 0:
                add_product(filt[steps[t - 1] : steps[t - 1] + n], self.AT, pred[now])
            # x̂ = p + Σ_filt,t (k − R p)
            assert exact is not None
            update[now] = product(filt[now] - R * pred[now], exact.cov_filt[t].astype(self.dtype))
            filt[now] = pred[now] + update[now]
        filter_steps(self.AT, self.shrink, steps, own, pred, filt, update)

    def _smooth(self, update: Array, steps: Index, exact: ExactGains | None) -> Array:
        right = np.zeros_like(update)
        own = max(min(0 if exact is None else len(exact), len(steps) - 2), 0)
        smooth_steps(self.A, self.shrink, steps, own, update, right)
        for t in range(own - 1, -1, -1):
            following = slice(steps[t + 1], steps[t + 2])
            n = steps[t + 2] - steps[t + 1]
            assert exact is not None
            gain = np.ascontiguousarray(exact.smoother[t].T, self.dtype)
            add_product(right[following] + update[following], gain, right[steps[t] : steps[t] + n])
        return right

    def _pieces(self, starts: Index, method: Method) -> tuple[Index, Index, Index, Index]:
        """Cut long sequences; returns the begin and end of each piece and of the part of it that is kept."""
        first, last = starts[:-1], starts[1:]
        # exact gains belong to the start of a sequence, so it is not cut; neither is one that forgets too slowly
        if method == "exact" or int((last - first).max(initial=0)) <= _CHUNK:
            return _whole(first, last)
        chunk = max(_CHUNK, 4 * self.overlap)  # so that at most a third of the work is overlap
        long = last - first > chunk + 2 * self.overlap
        if not long.any():
            return _whole(first, last)
        pieces: list[tuple[int, int, int, int]] = []
        for a, b, cut in zip(first.tolist(), last.tolist(), long.tolist(), strict=True):
            if not cut:
                pieces += [(a, b, a, b)] * (b > a)
                continue
            for begin in range(a, b, chunk):
                end = min(begin + chunk, b)
                pieces.append((max(begin - self.overlap, a), min(end + self.overlap, b), begin, end))
        columns = np.array(pieces, np.int64).reshape(-1, 4).T
        return columns[0], columns[1], columns[2], columns[3]


def taken(table: Array, rows: NDArray[Any], extra: Array | None) -> Array:
    """Return rows of a table; those beyond its end are of ``extra``, which follows it."""
    if extra is None:
        some: Array = table[rows]
        return some
    out = np.empty((len(rows), table.shape[1]), table.dtype)
    take_rows(table, extra, rows, out)
    return out


def sequence_starts(lengths: Sequence[int]) -> Index:
    """Return where sequences of these lengths begin when laid one after the other, with the total at the end."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(np.int64)


def _whole(first: Index, last: Index) -> tuple[Index, Index, Index, Index]:
    """Return the sequences that are not empty, each as one piece that is kept whole."""
    some = last > first
    return first[some], last[some], first[some], last[some]


def _scatter(values: Array, packing: Packing) -> Array:
    out = np.empty_like(values)
    out[packing.rows] = values
    return out
