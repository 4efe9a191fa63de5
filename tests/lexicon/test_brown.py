"""Brown clusters: the twin's mergers, losses that are kept up to date, kinds of words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import textlds
from oracles import brown_twin
from textlds.errors import ArgumentError
from textlds.lexicon.brown import Window, brown_clusters


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(6, 12), st.integers(2, 6))
def test_brown_merges_as_defined(seed, words, k):
    rng = np.random.default_rng(seed)
    bigrams = rng.poisson(rng.gamma(0.7, 40, (words, words)))
    order = np.argsort(-bigrams.sum(axis=1), kind="stable")
    window = Window(csr_matrix(bigrams), csr_matrix(bigrams.T), k)
    for word in order.tolist():
        window.enter(word)
    found = {frozenset(np.flatnonzero(window.cluster == slot).tolist()) for slot in np.flatnonzero(window.active)}
    expected, mergers = brown_twin.clusters(bigrams, order, k)
    assert found == expected
    members = {
        int(slot): frozenset(np.flatnonzero(window.cluster == slot).tolist()) for slot in np.unique(window.cluster)
    }
    for pair in mergers:
        i, j = window.merge_best()
        assert frozenset((members[i], members[j])) == pair
        members[i] |= members.pop(j)


def test_brown_keeps_losses_up_to_date():
    rng = np.random.default_rng(1)
    bigrams = rng.poisson(rng.gamma(0.3, 20, (60, 60)))
    window = Window(csr_matrix(bigrams), csr_matrix(bigrams.T), 15)
    for word in np.argsort(-bigrams.sum(axis=1), kind="stable").tolist():
        window.enter(word)
    slots = np.flatnonzero(window.active)
    counts = window.counts[0][np.ix_(slots, slots)].astype(float)
    total = np.sum(_nlogn(counts))
    for i in range(len(slots)):
        for j in range(i):
            merged = counts.copy()
            merged[i] += merged[j]
            merged[:, i] += merged[:, j]
            rest = np.delete(np.delete(merged, j, 0), j, 1)
            assert window.F[slots[i], slots[j]] == pytest.approx(total - np.sum(_nlogn(rest)), abs=1e-6)


def _nlogn(x):
    return x * np.log(np.maximum(x, 1))


def test_brown_tells_kinds_of_words_apart():
    rng = np.random.default_rng(0)
    nouns, verbs = [f"n{i}" for i in "abcdef"], [f"v{i}" for i in "abcdef"]
    lines = [f"the {rng.choice(nouns)} {rng.choice(verbs)} the {rng.choice(nouns)}" for _ in range(2000)]
    counts = textlds.count(texts=iter(lines), vocab_size=50, threads=1)
    paths = dict(zip(counts.vocabulary.words, brown_clusters(counts, 3), strict=True))
    assert len({paths[word] for word in nouns}) == len({paths[word] for word in verbs}) == 1
    assert len({paths["na"], paths["va"], paths["the"]}) == 3
    assert paths["na"] != ""
    unseen = counts.vocabulary.words[int(np.argmin(counts.unigrams))]
    assert paths[unseen] == ""
    with pytest.raises(ArgumentError, match="at least 2"):
        brown_clusters(counts, 1)


def test_only_so_many_words_are_put_into_clusters():
    lines = ["a b c d e"] * 5 + ["a b c"] * 5 + ["a b"] * 5
    counts = textlds.count(texts=iter(lines), vocab_size=50, threads=1)
    paths = dict(zip(counts.vocabulary.words, brown_clusters(counts, 2, most=3), strict=True))
    assert {word for word, path in paths.items() if path} == {"a", "b", "c"}
