"""Bigrams and skip-bigrams with Kneser–Ney smoothing, from the lag counts of a corpus.

With N_ij how often i occurs k places after j, and discounts D(1), D(2), D(3+) (Chen & Goodman 1999, section 3.3):

    P(i | j) = (N_ij − D(N_ij)) / N_·j + γ_j b_i,     γ_j = Σ_i D(N_ij) / N_·j
    b_i = (n_i − D(n_i)) / n_· + γ u_i                n_i: how many different j occur before i

u is the unigram distribution, which is positive everywhere; so is P, and it sums to one for every j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textlds.language.contexts import NONE, Contexts, Rows
from textlds.linalg.types import Array, Matrix, Vector

if TYPE_CHECKING:
    import scipy.sparse as sp

_DISCOUNT = 0.75  # where the counts of counts tell nothing: weighted, pruned or tiny counts


@dataclass(frozen=True, eq=False)
class KneserNey:
    """P(later word | the word ``column + 1`` places before).

    Attributes:
        column: Which word of a context is the condition: 0, the one before; 1, the one before that.
        pointers: Where the entries of each condition begin, with the number of entries at the end, (V + 1,).
        later: The later words of all entries, increasing for each condition, int32.
        values: (N_ij − D) / N_·j of all entries, float32.
        left: γ_j, what is left for words that did not follow, (V,).
        base: b, how it is spread, (V,).
    """

    column: int
    pointers: NDArray[np.int64]
    later: NDArray[np.int32]
    values: Array
    left: Vector
    base: Vector

    def of(self, contexts: Contexts, words: Rows) -> Vector:
        """Return P(word | context) of each, (n,). O(log pairs) each."""
        given = contexts.words[:, self.column]
        result: Vector = self._left_of(given) * self.base[words]
        if len(self.later):
            keys = given.astype(np.int64) * len(self.base) + words  # negative for NONE
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            result += np.where(self._keys[places] == keys, self.values[places], 0)
        return result

    def all(self, contexts: Contexts) -> Matrix:
        """Return the distributions of the next word, (n, V)."""
        given = contexts.words[:, self.column]
        result = self._left_of(given)[:, None] * self.base
        for row, condition in enumerate(given.tolist()):
            if condition != NONE:
                entries = slice(self.pointers[condition], self.pointers[condition + 1])
                result[row, self.later[entries]] += self.values[entries]
        return result

    def _left_of(self, given: Rows) -> Vector:
        left: Vector = np.where(given == NONE, 1.0, self.left[given])
        return left

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """Condition and later word of each entry as one number, increasing."""
        conditions = np.repeat(np.arange(len(self.base), dtype=np.int64), np.diff(self.pointers))
        return conditions * len(self.base) + self.later


def kneser_ney(lag: sp.csr_array, column: int, unigram: Vector) -> KneserNey:
    """Smooth the counts of one lag.

    Args:
        lag: N, (V, V), [later, earlier].
        column: Lag − 1.
        unigram: u, positive, (V,).

    Cost: O(pairs).
    """
    by_earlier = lag.tocsc()
    by_earlier.sort_indices()
    pointers, later = by_earlier.indptr.astype(np.int64), by_earlier.indices.astype(np.int32)
    counts = by_earlier.data.astype(np.float64)
    size = len(unigram)
    earlier = np.repeat(np.arange(size), np.diff(pointers))
    totals = np.bincount(earlier, weights=counts, minlength=size)
    values = ((counts - discounts(counts)) / totals[earlier]).astype(np.float32)
    # from the values as they are stored, so that every distribution sums to one: γ_j = 1 − Σ_i (N_ij − D) / N_·j
    left: Vector = 1.0 - np.bincount(earlier, weights=values, minlength=size)
    return KneserNey(column, pointers, later, values, left, _continuation(later, unigram))


def discounts(counts: Vector) -> Vector:
    """Return what is taken from each count: D(1), D(2), D(3+), from how many counts there are of 1, 2, 3 and 4."""
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == n)) for n in (1, 2, 3, 4))
    if not (n1 and n2 and n3 and n4):
        return np.minimum(counts, _DISCOUNT)
    y = n1 / (n1 + 2 * n2)
    levels = np.array([1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    # of tiny corpora the estimates may fall outside what a discount can be
    levels = np.clip(levels, 0.1, np.array([0.95, 1.9, 2.9]))
    taken: Vector = np.minimum(counts, levels[np.clip(np.ceil(counts).astype(np.int64), 1, 3) - 1])
    return taken


def _continuation(later: NDArray[np.int32], unigram: Vector) -> Vector:
    """Return b: how many different words each word follows, discounted, the rest spread as the unigrams are."""
    kinds = np.bincount(later, minlength=len(unigram)).astype(np.float64)
    total = kinds.sum()
    if not total:
        return unigram
    direct = np.where(kinds > 0, kinds - discounts(kinds), 0) / total
    base: Vector = direct + (1 - direct.sum()) * unigram
    return base
