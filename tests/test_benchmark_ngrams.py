"""The n-grams that the language-model study compares with: hand values, and sums of one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.ngrams import KneserNey


def test_a_bigram_by_hand():
    """Sentences a b | a b | a c, with 3 as boundary: D = 0.75, since no count is 3 or 4."""
    model = KneserNey([[0, 1], [0, 1], [0, 2]], 2, 5, 3)
    # kinds: ^a, ab, ac, b$, c$: a follows one kind of word, b one, c one, $ two; five kinds in all
    base = np.array([0.25, 0.25, 0.25, 1.25, 0]) / 5 + 0.75 * 4 / 5 / 5
    after_a = np.array([0, 1.25, 0.25, 0, 0]) / 3 + 0.75 * 2 / 3 * base
    np.testing.assert_allclose([model.probability([0], w) for w in range(5)], after_a)
    np.testing.assert_allclose([model.probability([4], w) for w in range(5)], base)  # never seen
    start = np.array([2.25, 0, 0, 0, 0]) / 3 + 0.75 / 3 * base
    np.testing.assert_allclose(model.probabilities([[0]]), [start[0], after_a[3]])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_distributions_sum_to_one(order):
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 13)
    draw = lambda n: rng.choice(12, n, p=weights / weights.sum()).tolist()  # noqa: E731
    model = KneserNey([draw(n) for n in rng.integers(1, 12, 400)], order, 14, 12)
    for history in ([12] * (order - 1), draw(order - 1), draw(order - 1), [13] * (order - 1)):
        distribution = [model.probability(history, word) for word in range(14)]
        assert sum(distribution) == pytest.approx(1)
        assert min(distribution) > 0


def test_how_much_of_a_context_is_known():
    model = KneserNey([[0, 1, 2], [3, 1, 2]], 3, 6, 5)
    assert model.known([[0, 1, 2]]).tolist() == [2, 2, 2, 2]
    # no sentence began with 1; 2 came after 1, not after a boundary and 1; 0 never after 2, no end after 0
    assert model.known([[1, 2, 0]]).tolist() == [0, 1, 0, 0]


def test_order_helps_where_there_is_order():
    rng = np.random.default_rng(1)
    sentences = []
    for _ in range(300):
        sentence = rng.integers(0, 5, 2).tolist()
        while len(sentence) < 20:  # the next word is settled by the two before
            sentence.append((sentence[-1] + sentence[-2] + 1) % 5)
        sentences.append(sentence)
    perplexity = [np.exp(-np.log(KneserNey(sentences, n, 6, 5).probabilities(sentences)).mean()) for n in (1, 2, 3)]
    assert perplexity[0] > 5
    assert perplexity[1] > 4
    assert perplexity[2] < 1.6
