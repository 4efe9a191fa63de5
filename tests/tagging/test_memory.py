"""The memory of words against a dictionary."""

from __future__ import annotations

import numpy as np

from oracles.tagging_twin import beside_elsewhere, means_of
from textlds.tagging.memory import FADING, neighbours_elsewhere, occurrence_means


def test_documents_do_not_see_each_other():
    rng = np.random.default_rng(0)
    keys = rng.integers(1, 6, 40).astype(np.uint64)
    vectors = rng.standard_normal((40, 3)).astype(np.float32)
    documents = np.array([0, 15, 15, 40])
    found = occurrence_means(keys, vectors, documents)
    back = occurrence_means(keys, vectors, documents, backwards=True)
    for a, b in ((0, 15), (15, 40)):
        np.testing.assert_allclose(found[a:b], means_of(keys[a:b].tolist(), vectors[a:b], FADING), atol=1e-6)
        expected = means_of(keys[a:b][::-1].tolist(), vectors[a:b][::-1], FADING)[::-1]
        np.testing.assert_allclose(back[a:b], expected, atol=1e-6)


def test_the_memory_is_bounded():
    keys = np.arange(1, 20_001, dtype=np.uint64)
    found = occurrence_means(keys, np.ones((20_000, 2), np.float32), np.array([0, 20_000]))
    assert not found.any()


def test_the_words_beside_the_same_word_elsewhere():
    rng = np.random.default_rng(1)
    keys = rng.integers(3, 12, 60).astype(np.uint64)
    documents = np.array([0, 20, 20, 21, 60])
    found = neighbours_elsewhere(keys, documents)
    for a, b in ((0, 20), (20, 21), (21, 60)):
        assert found[a:b].tolist() == beside_elsewhere(keys[a:b].tolist())
