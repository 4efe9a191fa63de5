"""Many sequences of different lengths, laid out so that they advance in lock step.

Sequences are sorted by length, longest first, and stored time by time: the tokens at position t of all sequences that
are that long are together. A step of the filter is then one matrix product with the rows of the step before, and no
row is padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """Where the tokens of a batch of sequences are.

    Attributes:
        steps: Row at which each time step begins, with the number of rows at the end, (T + 1,).
        rows: For each token, in the order of the sequences, its row in the packed layout.
    """

    steps: Index
    rows: Index

    @property
    def length(self) -> int:
        """The length of the longest sequence."""
        return len(self.steps) - 1


def pack(lengths: Index) -> Packing:
    """Lay out sequences of the given lengths."""
    order = np.argsort(-lengths, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    longest = int(lengths.max(initial=0))
    # active[t] = number of sequences longer than t
    active = len(lengths) - np.cumsum(np.bincount(lengths, minlength=longest + 1))[:longest]
    steps = np.concatenate([[0], np.cumsum(active)]).astype(np.int64)
    times = positions_within(lengths)
    return Packing(steps, steps[times] + np.repeat(rank, lengths))


def positions_within(lengths: Index) -> Index:
    """Return 0..n−1 for each length n, one after the other."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts, lengths)


def batches(lengths: Index, *, tokens: int) -> list[Index]:
    """Group sequences of similar length into batches of about ``tokens`` tokens; returns their indices."""
    order = np.argsort(-lengths, kind="stable")
    group = (np.cumsum(lengths[order]) - 1) // tokens
    return np.split(order, np.flatnonzero(np.diff(group)) + 1) if len(order) else []
