"""Measures agree with scikit-learn, scipy, seqeval and exhaustive counting."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textlds.errors import ArgumentError
from textlds.evaluation.measures import accuracy, entity_f1, mcnemar, randomisation_test, right, spearman

GOLD = [("B-PER", "I-PER", "O", "B-LOC"), ("O", "B-LOC"), ("O", "O"), ("B-PER",)]


def test_accuracy_on_known_and_unknown_words() -> None:
    tokens = [["a", "b", "c"], ["a", "x"]]
    found = accuracy([["A", "B", "C"], ["A", "B"]], [["A", "C", "C"], ["A", "A"]], tokens, {"a", "b"})
    assert found.all == pytest.approx(60)
    assert found.known == pytest.approx(100 * 2 / 3)
    assert found.unknown == pytest.approx(50)
    assert (found.tokens, found.unknown_tokens) == (5, 2)
    nothing_unknown = accuracy([["A"]], [["A"]], [["a"]], {"a"})
    assert math.isnan(nothing_unknown.unknown)
    assert json.loads(json.dumps(nothing_unknown.to_json()))["unknown"] is None


def test_predictions_of_other_sentences_are_refused() -> None:
    with pytest.raises(ArgumentError, match="lengths differ"):
        right([["A", "B"]], [["A"]])


@given(st.integers(0, 12), st.integers(0, 12))
def test_mcnemar_is_the_sum_over_the_binomial(only_first: int, only_second: int) -> None:
    first = np.array([True] * only_first + [False] * only_second + [True, False])
    second = np.array([False] * only_first + [True] * only_second + [True, False])
    n = only_first + only_second
    chances = [math.comb(n, k) / 2**n for k in range(n + 1)]
    expected = min(1.0, sum(chance for chance in chances if chance <= chances[only_first] * (1 + 1e-9)))
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (only_first, only_second)
    assert found.p == pytest.approx(expected)


def test_f1_is_that_of_seqeval() -> None:
    metrics = pytest.importorskip("seqeval.metrics")
    predicted = [("B-PER", "I-PER", "O", "O"), ("B-LOC", "I-LOC"), ("O", "B-PER"), ("B-PER",)]
    found = entity_f1(GOLD, predicted)
    gold, guess = [list(tags) for tags in GOLD], [list(tags) for tags in predicted]
    assert found.f1 == pytest.approx(100 * metrics.f1_score(gold, guess))
    # two of four predicted are right, two of four right ones are found
    assert (found.precision, found.recall, found.f1, found.entities) == (50, 50, 50, 4)
    assert found.by_kind == pytest.approx({"LOC": 0, "PER": 80})
    assert entity_f1([("O",)], [("O",)]).entities == 0
    assert entity_f1([("O",)], [("B-PER",)]).f1 == 0


def exact_randomisation(gold, first, second) -> float:
    """Try every one of the 2^n ways to swap sentences."""
    metrics = pytest.importorskip("seqeval.metrics")

    def f1(tags) -> float:
        return 100 * metrics.f1_score([list(t) for t in gold], [list(t) for t in tags], zero_division=0)

    observed = abs(f1(second) - f1(first))
    as_large = 0
    for swaps in itertools.product((False, True), repeat=len(gold)):
        a = [y if swap else x for x, y, swap in zip(first, second, swaps, strict=True)]
        b = [x if swap else y for x, y, swap in zip(first, second, swaps, strict=True)]
        as_large += abs(f1(b) - f1(a)) >= observed - 1e-9
    return as_large / 2 ** len(gold)


def test_randomisation_is_near_the_exact_test() -> None:
    rng = np.random.default_rng(3)
    gold = [tuple(rng.choice(["O", "B-PER", "B-LOC"], 6)) for _ in range(7)]

    def damaged(share: float) -> list[tuple[str, ...]]:
        return [tuple(str(rng.choice(["O", "B-PER"])) if rng.random() < share else t for t in tags) for tags in gold]

    first, second = damaged(0.6), damaged(0.2)
    found = randomisation_test(gold, first, second, rounds=4000, seed=1)
    exact = exact_randomisation(gold, first, second)
    assert 0.01 < exact < 0.9
    assert found.p == pytest.approx(exact, abs=0.03)
    assert found.difference == pytest.approx(entity_f1(gold, second).f1 - entity_f1(gold, first).f1)
    back = randomisation_test(gold, second, first, rounds=4000, seed=1)
    assert back.difference == pytest.approx(-found.difference)


def test_randomisation_of_equals_and_of_clear_cases() -> None:
    gold = [("B-PER", "O")] * 60
    assert randomisation_test(gold, gold, gold, rounds=100).p == 1
    clear = randomisation_test(gold, [("O", "O")] * 60, gold, rounds=999)
    assert clear.p == pytest.approx(0.001)
    assert clear.difference == 100
    assert clear == randomisation_test(gold, [("O", "O")] * 60, gold, rounds=999)


def test_spearman_leaves_out_what_was_not_found() -> None:
    scores, cosines = [1.0, 2.0, 2.0, 4.0, 5.0], [0.1, 0.4, 0.2, np.nan, 0.3]
    found = spearman(scores, cosines)
    # Pearson's correlation of the mid-ranks of the four pairs that were found
    expected = np.corrcoef([1, 2.5, 2.5, 4], [1, 4, 2, 3])[0, 1]
    assert found.rho == pytest.approx(expected)
    assert (found.found, found.pairs) == (4, 5)
    nothing = spearman([1.0, 2.0], [np.nan, np.nan])
    assert nothing.to_json() == {"rho": None, "found": 0, "pairs": 2}
