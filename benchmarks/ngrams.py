"""Interpolated, modified Kneser–Ney n-grams (Chen & Goodman 1999), small and independent of textlds.

A text is a list of sentences, each a list of word numbers below V. The boundary word ends each sentence and is
predicted; before a sentence stand n − 1 of them, which are not.

    P(w | h) = (c(h w) − D(c(h w))) / c(h) + γ(h) P(w | h without its first word),     P(w | nothing known) = 1 / V

Below the highest order c(h w) is the number of different words that stand before h w.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Gram = tuple[int, ...]


class KneserNey:
    """An n-gram model of some sentences.

    Args:
        sentences: Lists of numbers, without the boundary word.
        order: n.
        V: How many words there are, the boundary word included.
        boundary: The boundary word.
    """

    def __init__(self, sentences: Sequence[Sequence[int]], order: int, V: int, boundary: int) -> None:
        self.order, self.V, self.boundary = order, V, boundary
        counts: Counter[Gram] = Counter()
        for sentence in sentences:
            padded = self._padded(sentence)
            counts.update(tuple(padded[t - order + 1 : t + 1]) for t in range(order - 1, len(padded)))
        self._levels: list[_Level] = []  # longest first
        while True:
            self._levels.append(_Level(counts))
            if len(next(iter(counts))) == 1:
                break
            counts = Counter(gram[1:] for gram in counts)  # each kind of gram once: a continuation count

    def probability(self, history: Sequence[int], word: int) -> float:
        """Return P(word | history); of the history its last n − 1 words count."""
        gram = (*history[len(history) - self.order + 1 :], word)
        value, share = 0.0, 1.0
        for level in self._levels:
            direct, left = level.of(gram[-level.length :])
            value, share = value + share * direct, share * left
        return value + share / self.V

    def probabilities(self, sentences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the probability of every word of some sentences, and of the boundary word that ends each."""
        n = self.order - 1
        values = []
        for sentence in sentences:
            padded = self._padded(sentence)
            values += [self.probability(padded[t - n : t], padded[t]) for t in range(n, len(padded))]
        return np.array(values)

    def known(self, sentences: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return, for the same tokens, how many of the words before it the token was seen after, n − 1 at most."""
        n = self.order - 1
        found = []
        for sentence in sentences:
            padded = self._padded(sentence)
            for t in range(n, len(padded)):
                grams = (tuple(padded[t - length + 1 : t + 1]) for length in range(self.order, 1, -1))
                held = (gram for level, gram in zip(self._levels, grams, strict=False) if level.holds(gram))
                found.append(len(next(held, (0,))) - 1)
        return np.array(found)

    def _padded(self, sentence: Sequence[int]) -> list[int]:
        return [self.boundary] * (self.order - 1) + [*sentence, self.boundary]


class _Level:
    """The counts of one order, discounted."""

    def __init__(self, counts: Counter[Gram]) -> None:
        self.length = len(next(iter(counts)))
        self._counts = counts
        self._discounts = _discounts(counts)
        totals: defaultdict[Gram, int] = defaultdict(int)
        taken: defaultdict[Gram, float] = defaultdict(float)
        for gram, count in counts.items():
            totals[gram[:-1]] += count
            taken[gram[:-1]] += self._discounts[min(count, 3)]
        self._totals, self._taken = dict(totals), dict(taken)

    def holds(self, gram: Gram) -> bool:
        """Tell whether the gram was seen."""
        return gram in self._counts

    def of(self, gram: Gram) -> tuple[float, float]:
        """Return what the gram gets directly, and what its history leaves to shorter ones."""
        total = self._totals.get(gram[:-1])
        if total is None:
            return 0.0, 1.0
        count = self._counts.get(gram, 0)
        return (count - self._discounts[min(count, 3)]) / total, self._taken[gram[:-1]] / total


def _discounts(counts: Counter[Gram]) -> tuple[float, float, float, float]:
    """Return D(0), D(1), D(2), D(3+)."""
    n = Counter(counts.values())
    if not all(n[k] for k in (1, 2, 3, 4)):
        return 0.0, 0.75, 0.75, 0.75
    y = n[1] / (n[1] + 2 * n[2])
    found = (k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3))
    one, two, three = (min(max(d, 0.05), k - 0.05) for k, d in enumerate(found, 1))
    return 0.0, one, two, three
