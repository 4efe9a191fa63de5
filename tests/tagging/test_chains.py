"""Chains against the enumeration of all sequences of tags."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oracles.tagging_twin import all_paths, log_sum
from textlds.tagging.chains import chain_gradient, marginals, viterbi

LENGTHS = (1, 4, 0, 2, 5)


def world(seed, K=3, *, forbid=False):
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *LENGTHS])
    scores = (2 * rng.standard_normal((starts[-1], K))).astype(np.float32)
    first, last = (rng.standard_normal(K).astype(np.float32) for _ in range(2))
    transitions = rng.standard_normal((K, K)).astype(np.float32)
    if forbid:
        transitions[0, 1] = transitions[2, 2] = -np.inf
    return scores, starts, first, last, transitions


def sentences(scores, starts):
    return [(a, b) for a, b in itertools.pairwise(starts) if b > a]


@pytest.mark.parametrize("forbid", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_path(seed, forbid):
    scores, starts, *chain = world(seed, forbid=forbid)
    found = np.full(len(scores), -1, np.int32)
    viterbi(scores, starts, *chain, found)
    for a, b in sentences(scores, starts):
        best, _ = max(all_paths(scores[a:b], *chain), key=lambda pair: pair[1])
        assert tuple(found[a:b]) == best


@pytest.mark.parametrize("forbid", [False, True])
def test_marginals(forbid):
    scores, starts, *chain = world(1, forbid=forbid)
    found = np.empty(scores.shape)
    total = marginals(scores, starts, *chain, found)
    expected_total = 0.0
    for a, b in sentences(scores, starts):
        paths = list(all_paths(scores[a:b], *chain))
        log_z = log_sum([value for _, value in paths])
        expected_total += log_z
        expected = np.zeros((b - a, scores.shape[1]))
        for path, value in paths:
            expected[np.arange(b - a), path] += np.exp(value - log_z)
        np.testing.assert_allclose(found[a:b], expected, atol=1e-6)
    assert total == pytest.approx(expected_total, rel=1e-6)


def test_long_sentences_stay_finite():
    rng = np.random.default_rng(0)
    scores = (30 * rng.standard_normal((10_000, 4))).astype(np.float32)
    chain = [np.zeros(4, np.float32), np.zeros(4, np.float32), np.zeros((4, 4), np.float32)]
    found = np.empty(scores.shape)
    total = marginals(scores, np.array([0, 10_000]), *chain, found)
    # without transitions every token stands alone
    top = scores.max(axis=1, keepdims=True)
    alone = np.exp(scores - top) / np.exp(scores - top).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, alone, atol=1e-6)
    assert np.isfinite(total)


@pytest.mark.parametrize("forbid", [False, True])
def test_gradients_against_finite_differences(forbid):
    scores, starts, first, last, transitions = world(2, forbid=forbid)
    gold = np.zeros(len(scores), np.int64)
    viterbi(scores, starts, first, last, transitions, gold)
    gold[0] = (gold[0] + 1) % 3  # the best path needs no learning

    def loss(*arrays):
        total = 0.0
        for a, b in sentences(scores, starts):
            s, f, z, t = arrays
            paths = dict(all_paths(s[a:b], f, z, t))
            total += log_sum(list(paths.values())) - paths[tuple(gold[a:b])]
        return total

    K = 3
    found = [np.empty(scores.shape), np.zeros(K), np.zeros(K), np.zeros((K, K))]
    value = chain_gradient(scores, starts, gold, first, last, transitions, *found)
    arrays = [array.astype(np.float64) for array in (scores, first, last, transitions)]
    assert value == pytest.approx(loss(*arrays), rel=1e-5)
    for array, gradient in zip(arrays, found, strict=True):
        for place in np.ndindex(array.shape):
            if np.isinf(array[place]):
                assert gradient[place] == 0
                continue
            kept = array[place]
            array[place] = kept + 1e-4
            above = loss(*arrays)
            array[place] = kept - 1e-4
            below = loss(*arrays)
            array[place] = kept
            assert gradient[place] == pytest.approx((above - below) / 2e-4, abs=1e-5)
