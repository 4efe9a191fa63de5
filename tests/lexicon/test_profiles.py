"""Profiles of words: dense linear algebra as the twin, and what they say of a grammar's words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from model.worlds import CLASSES, counts_of, grammar_text
from textlds.lexicon.profiles import PRODUCTS, word_profiles
from textlds.linalg.sparse import SparseMatrix


def make(counts, size, *, seed=0, threads=1, **options):
    matrix = SparseMatrix.from_scipy(sp.csr_array(counts), threads=threads)
    return word_profiles(matrix, size, rng=np.random.default_rng(seed), threads=threads, **options)


def dense_profiles(N, size):
    """The definition, by a dense singular value decomposition of [S, Sᵀ]."""
    a, b = np.maximum(N.sum(axis=1), 1e-300), np.maximum(N.sum(axis=0), 1e-300)
    S = np.sqrt(N) / a[:, None] ** 0.25 / b[None, :] ** 0.25
    U, sigma, _ = np.linalg.svd(np.hstack([S, S.T]), full_matrices=False)
    rows = (U * np.sqrt(sigma))[:, 1 : size + 1]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 1e-9, lengths, 1)


@pytest.fixture(scope="module")
def neighbours():
    """Counts of a few clusters of words with much noise: singular values that are well apart."""
    rng = np.random.default_rng(3)
    rates = rng.gamma(0.3, 4.0, (40, 6)) @ rng.gamma(0.5, 2.0, (6, 40))
    return rng.poisson(rates).astype(np.uint32)


@pytest.mark.parametrize(("size", "tolerance"), [(1, 2e-4), (4, 2e-4), (9, 2e-4), (20, 3e-3)])
def test_profiles_are_those_of_the_definition(neighbours, size, tolerance):
    found, expected = make(neighbours, size), dense_profiles(neighbours.astype(float), size)
    assert found.dtype == np.float32
    assert found.shape == (40, size)
    # the same up to the signs of the columns, which no product of two profiles shows
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=tolerance)


def test_a_large_vocabulary_needs_no_basis_of_all_of_it():
    """Only the leading directions are sought; those of the signal are found, and their profiles with them."""
    rng = np.random.default_rng(4)
    rates = rng.gamma(0.3, 4.0, (400, 6)) @ rng.gamma(0.5, 2.0, (6, 400))
    N = rng.poisson(rates).astype(np.uint32)
    found, expected = make(N, 5), dense_profiles(N.astype(float), 5)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=5e-3)


def test_a_vocabulary_smaller_than_the_profiles(neighbours):
    small = neighbours[:7, :7]
    found, expected = make(small, 12), dense_profiles(small.astype(float), 12)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-4)
    assert not found[:, 6:].any()


def test_a_word_without_neighbours_has_none(neighbours):
    alone = neighbours.copy()
    alone[5], alone[:, 5] = 0, 0
    alone[6] = 0  # never the later one
    found = make(alone, 4)
    assert not found[5].any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(found, 5, axis=0), axis=1), 1, atol=1e-5)
    expected = dense_profiles(alone.astype(float), 4)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-4)


def test_the_direction_of_time_does_not_matter(neighbours):
    forth, back = make(neighbours, 4), make(neighbours.T.copy(), 4)
    np.testing.assert_allclose(forth @ forth.T, back @ back.T, atol=2e-4)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(neighbours):
    one = make(neighbours, 9)
    for threads in (2, 5):
        assert make(neighbours, 9, threads=threads).tobytes() == one.tobytes()
    assert make(neighbours, 9, seed=1).tobytes() != one.tobytes()


def test_every_product_is_told(neighbours):
    told = []
    make(neighbours, 3, on_product=lambda: told.append(1))
    assert len(told) == PRODUCTS


def test_words_of_a_class_are_alike_and_frequency_does_not_show():
    """In the grammar only the class of a word decides what occurs beside it; frequencies differ threefold."""
    counts = counts_of([grammar_text(0, 20_000)])
    profiles = make(counts.lags[0], len(CLASSES) - 1)
    classes = {word: name for name, members in CLASSES.items() for word in members if word != "bank"}
    rows = {word: counts.vocabulary.id(word) for word in classes}
    for word, name in classes.items():
        for other, others in classes.items():
            cosine = float(profiles[rows[word]] @ profiles[rows[other]])
            assert cosine > 0.95 if name == others else cosine < 0.6, (word, other, cosine)


def test_what_no_direction_knows_is_not_made_up():
    """Two languages without a word in common, one of which only knows frequencies: its direction is the first."""
    rng = np.random.default_rng(0)
    N = np.zeros((60, 60), np.uint32)
    N[:20, :20] = rng.poisson(rng.gamma(0.3, 1.0, (20, 4)) @ rng.gamma(0.5, 1.0, (4, 20))) + np.eye(20, dtype=int)
    N[20:, 20:] = 9
    S = np.sqrt(N) / N.sum(axis=1)[:, None] ** 0.25 / N.sum(axis=0)[None, :] ** 0.25
    U, sigma, _ = np.linalg.svd(np.hstack([S, S.T]))
    assert np.abs(U[:20, 0]).max() < 1e-12 < np.abs(U[20:, 0]).min()
    assert np.abs(U[20:, 1:5]).max() < 1e-12
    assert sigma[4] - sigma[5] > 0.05 * sigma[4]
    for seed in range(3):
        found = make(N, 4, seed=seed)
        assert not found[20:].any()
        np.testing.assert_allclose(np.linalg.norm(found[:20], axis=1), 1, atol=1e-5)
        expected = dense_profiles(N.astype(float), 4)[:20]
        np.testing.assert_allclose(found[:20] @ found[:20].T, expected @ expected.T, atol=2e-3)
