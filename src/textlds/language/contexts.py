"""What precedes each token, as the parts of a language model see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from textlds.inference.engine import Engine, Index, Posterior
from textlds.linalg.products import product
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Array

Rows = NDArray[np.int32]

NONE = -1  # the row of a word that is not there: before the beginning of a sequence
LAGS = (1, 2)  # how far back words are known by themselves; what is farther is in the state


@dataclass(frozen=True)
class Contexts:
    """The contexts of n tokens.

    Attributes:
        words: Rows of the word before a token and of the one before that, NONE where there is none, (n, 2).
        before: p_{t−1}, the state predicted for the word before, zero where there is none, (n, h) float32.
        asked: Whether someone asks what follows, and is told how much the answer is worth.
    """

    words: Rows
    before: Array
    asked: bool = False

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: slice | Index) -> Contexts:
        return Contexts(self.words[rows], self.before[rows])

    def gains(self, engine: Engine) -> Array:
        """Return k(w_{t−1}), what the word before brings, zero where there is none, (n, h)."""
        last = self.words[:, 0]
        gains = engine.gains[last]  # NONE takes the last row, for a moment
        gains[last == NONE] = 0
        return gains

    def pred(self, engine: Engine) -> Array:
        """Return p_t = A (φ ∘ p_{t−1} + k(w_{t−1})), (n, h)."""
        return product(engine.shrink * self.before + self.gains(engine), engine.AT)

    def blocks(self, size: int) -> Iterator[slice]:
        """Cut the contexts into slices of at most ``size``."""
        for begin in range(0, len(self), size):
            yield slice(begin, min(begin + size, len(self)))


def contexts_of(engine: Engine, ids: Rows, starts: Index, *, threads: int = 1) -> Contexts:
    """Return the context of every token of some sequences. O(n h²).

    Args:
        engine: A float32 one.
        ids: Rows of all sequences, one after the other.
        starts: Where each begins, with the total at the end.
        threads: How many.
    """
    pred = np.zeros((len(ids), len(engine.A)), np.float32)

    def consume(posterior: Posterior, rows: Index, places: Index) -> None:
        pred[places] = posterior.pred[rows]

    engine.run(ids, starts, "filter", consume, threads=threads)
    before = np.zeros_like(pred)
    before[1:] = pred[:-1]
    before[starts[:-1][starts[:-1] < len(ids)]] = 0
    since = np.arange(len(ids)) - np.repeat(starts[:-1], np.diff(starts))  # tokens of the sequence before this one
    words = np.full((len(ids), len(LAGS)), NONE, np.int32)
    for column, lag in enumerate(LAGS):
        there = np.flatnonzero(since >= lag)
        words[there, column] = ids[there - lag]
    return Contexts(words, before)


def last_context(engine: Engine, ids: Rows) -> Contexts:
    """Return the context of the token that would follow a sequence."""
    with one_blas_thread():
        extended = np.append(ids, np.int32(0)).astype(np.int32)  # whatever follows is not looked at
        contexts = contexts_of(engine, extended, np.array([0, len(extended)], np.int64))
    return replace(contexts[slice(len(ids), None)], asked=True)
