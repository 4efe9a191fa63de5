"""Kneser–Ney smoothing against hand values, a twin with dictionaries, and the laws of probability."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from model.worlds import counts_of
from textlds.language.contexts import NONE, Contexts
from textlds.language.ngrams import discounts, kneser_ney


def contexts(pairs):
    words = np.array(pairs, np.int32)
    return Contexts(words, np.zeros((len(words), 1), np.float32))


def zipf_text(seed, n, V):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, V + 1)
    return rng.choice(V, n, p=weights / weights.sum())


def lag_matrix(ids, V, lag=1):
    ones = np.ones(len(ids) - lag, np.int64)
    return sp.coo_array((ones, (ids[lag:], ids[:-lag])), shape=(V, V)).tocsr()


def twin(ids, V, unigram):
    """Return P[later, earlier] by dictionaries, from the formulas of Chen & Goodman."""
    pairs = Counter(zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True))

    def discount_of(counter):
        n = Counter(counter.values())
        if not all(n[k] for k in (1, 2, 3, 4)):
            return lambda c: 0.75 * (c > 0)
        y = n[1] / (n[1] + 2 * n[2])
        D = {c: c - (c + 1) * y * n[c + 1] / n[c] for c in (1, 2, 3)}
        D = {c: min(max(D[c], 0.1), {1: 0.95, 2: 1.9, 3: 2.9}[c]) for c in D} | {0: 0.0}
        return lambda c: D[min(c, 3)]

    D = discount_of(pairs)
    kinds = Counter(later for _, later in pairs)
    d = discount_of(kinds)
    n_kinds = sum(kinds.values())
    rest = sum(d(c) for c in kinds.values()) / n_kinds
    base = [(kinds[i] - d(kinds[i])) / n_kinds + rest * unigram[i] for i in range(V)]
    followers = defaultdict(dict)
    for (earlier, later), count in pairs.items():
        followers[earlier][later] = count
    P = np.empty((V, V))
    for j in range(V):
        total = sum(followers[j].values())
        left = sum(D(c) for c in followers[j].values()) / total if total else 1.0
        for i in range(V):
            c = followers[j].get(i, 0)
            P[i, j] = (c - D(c)) / max(total, 1) + left * base[i]
    return P


def test_values_by_hand():
    """a b a b c: N(b|a) = 2, N(a|b) = N(c|b) = 1; too little for counts of counts, so that D = 0.75."""
    lag = lag_matrix(np.array([0, 1, 0, 1, 2]), 4)
    unigram = np.full(4, 0.25)
    model = kneser_ney(lag, 0, unigram)
    base = np.array([0.25 / 3, 0.25 / 3, 0.25 / 3, 0]) + 0.75 * 0.25  # each of a, b, c follows one kind of word
    found = model.of(contexts([(0, NONE)] * 4), np.arange(4, dtype=np.int32))
    np.testing.assert_allclose(found, np.array([0, 1.25 / 2, 0, 0]) + 0.375 * base, rtol=1e-6)
    found = model.of(contexts([(1, NONE)] * 4), np.arange(4, dtype=np.int32))
    np.testing.assert_allclose(found, np.array([0.125, 0, 0.125, 0]) + 0.75 * base, rtol=1e-6)
    for without in (2, 3, NONE):  # c and d were never followed by anything
        np.testing.assert_allclose(model.of(contexts([(without, 0)] * 4), np.arange(4, dtype=np.int32)), base)


@pytest.mark.parametrize(("seed", "n", "V"), [(0, 20_000, 60), (1, 400, 50), (2, 60_000, 400)])
def test_against_dictionaries(seed, n, V):
    ids = zipf_text(seed, n, V)
    unigram = np.random.default_rng(seed).dirichlet(np.ones(V))
    model = kneser_ney(lag_matrix(ids, V), 0, unigram)
    expected = twin(ids, V, unigram)
    every = contexts([(j, NONE) for j in range(V)])
    np.testing.assert_allclose(model.all(every), expected.T, rtol=1e-5)
    words = np.random.default_rng(0).integers(0, V, V).astype(np.int32)
    np.testing.assert_allclose(model.of(every, words), expected[words, np.arange(V)], rtol=1e-5)


def test_every_distribution_is_one():
    ids = zipf_text(0, 5000, 300)
    unigram = np.full(300, 1 / 300)
    model = kneser_ney(lag_matrix(ids, 300, lag=2), 1, unigram)
    rows = model.all(contexts([(NONE, j) for j in range(NONE, 300)]))
    assert (rows > 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)


def test_a_skip_bigram_looks_two_words_back():
    counts = counts_of([["aaa", "aab", "aac"] * 200])
    a, b, c = (counts.vocabulary.id(word) for word in ("aaa", "aab", "aac"))
    unigram = np.full(len(counts.vocabulary), 1 / len(counts.vocabulary))
    skip = kneser_ney(counts.lags[1], 1, unigram)
    assert skip.of(contexts([(b, a)]), np.array([c], np.int32))[0] > 0.99
    assert skip.of(contexts([(a, b)]), np.array([a], np.int32))[0] > 0.99


@pytest.mark.parametrize("counts", [np.ones(5), np.array([0.3, 2.6, 1.2]), np.array([1.0, 2, 3, 4])])
def test_discounts_leave_nothing_negative(counts):
    taken = discounts(counts)
    assert (taken > 0).all()
    assert (taken <= counts).all()


def test_no_pairs_at_all():
    model = kneser_ney(sp.csr_array((3, 3), dtype=np.int64), 1, np.array([0.5, 0.3, 0.2]))
    np.testing.assert_allclose(model.all(contexts([(0, 1)]))[0], [0.5, 0.3, 0.2])
    np.testing.assert_allclose(model.of(contexts([(0, 1)]), np.array([2], np.int32)), [0.2])
