"""Observed profiles: their moments against those of the sequence itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

from model.worlds import counts_of, grammar_text, names
from textlds.errors import CountsError
from textlds.learn.em import em_steps
from textlds.learn.moments import word_moments
from textlds.learn.sketch import projected
from textlds.learn.ssid import neighbour_start
from textlds.lexicon.lexicon import Lexicon, make_lexicon
from textlds.lexicon.observed import observe
from textlds.lexicon.unknown import shrunk, spelt
from textlds.progress import resolve


@pytest.fixture(scope="module")
def world():
    """Return sentences, their counts, the observed lexicon and the moments of what is observed."""
    sentences = [grammar_text(seed, 4) for seed in range(100)]
    counts = counts_of(sentences)
    words = word_moments(counts.unigrams, counts.lags, pseudocount=0, threads=1)
    made = make_lexicon(counts, words.lags[0].counts, 8, meaning_size=8, seed=0, threads=1, progress=resolve(False))
    lexicon = observe(made, words.frequencies, counts.vocabulary)
    seen = projected(words, lexicon.basis(words.frequencies, 1), lexicon.size, threads=1)
    return sentences, counts, made, lexicon, seen.moments


def sequence(world):
    """Return y_t of the whole corpus, with zeros between sentences, and T."""
    sentences, counts, made, _, _ = world
    vocabulary = counts.vocabulary
    f = counts.unigrams / counts.unigrams.sum()
    predicted = spelt(vocabulary.words[: vocabulary.n_types], made.spelling, vocabulary)
    table = shrunk(made.profiles, predicted, f)
    table = table - f @ table
    gap = np.zeros((7, table.shape[1]))
    rows = [[vocabulary.id(token) for token in sentence] for sentence in sentences]
    return np.concatenate([part for row in rows for part in (table[row], gap)]), sum(map(len, rows))


def test_moments_are_those_of_the_sequence(world):
    _, _, _, lexicon, moments = world
    y, T = sequence(world)
    whitening = np.linalg.inv(sl.sqrtm(y.T @ y / T).real)
    np.testing.assert_allclose(lexicon.whitening, whitening, rtol=1e-4, atol=1e-4)
    y = y @ whitening
    for k, lag in enumerate(moments.lags, start=1):
        np.testing.assert_allclose(lag.to_dense(), y[k:].T @ y[:-k] / T, atol=2e-5)  # later, earlier


def test_moments_are_the_autocovariance_of_a_process(world):
    _, _, _, lexicon, moments = world
    p, lags = lexicon.size, [np.eye(lexicon.size), *(lag.to_dense() for lag in moments.lags)]
    blocks = [[lags[i - j] if i >= j else lags[j - i].T for j in range(8)] for i in range(8)]
    assert np.linalg.eigvalsh(np.block(blocks))[0] > -1e-5
    assert (p, moments.null, moments.rank) == (8, None, 8)


def test_the_basis_is_orthonormal_and_knows_no_frequencies(world):
    _, counts, _, lexicon, _ = world
    f = counts.unigrams / counts.unigrams.sum()
    basis = lexicon.basis(f, 1)
    np.testing.assert_allclose(basis.T @ basis, np.eye(8), atol=1e-5)
    np.testing.assert_allclose(np.sqrt(f) @ basis, 0, atol=1e-5)
    np.testing.assert_allclose(basis, np.sqrt(f)[:, None] * lexicon.observed(np.eye(8)), atol=1e-5)


def test_em_climbs_from_the_start_of_neighbours(world):
    moments = world[-1]
    start = neighbour_start(moments, 8, rng=np.random.default_rng(0))
    steps = em_steps(start, moments, horizon=7)
    found = [next(steps).log_likelihood for _ in range(15)]
    assert found[0] > 0
    assert np.all(np.diff(found) > -1e-6)


def test_vectors_that_span_less_become_shorter():
    counts = counts_of([["aa", "ab", "ac", "aa", "ac", "ab", "ab"]] * 5)
    f = counts.unigrams / counts.unigrams.sum()
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((len(counts.vocabulary), 2)) @ rng.standard_normal((2, 6))
    spelling = (rng.standard_normal((1024, 2)) @ rng.standard_normal((2, 6))).astype(np.float32)
    lexicon = observe(Lexicon(flat.astype(np.float32), spelling), f, counts.vocabulary)
    assert lexicon.size == lexicon.profiles.shape[1] == lexicon.spelling.shape[1] < 6
    y = lexicon.observed(np.eye(lexicon.size))
    np.testing.assert_allclose((y * f[:, None]).T @ y, np.eye(lexicon.size), atol=1e-4)


def test_words_that_are_all_alike_are_refused():
    counts = counts_of([names(3)] * 4)
    alike = Lexicon(np.ones((4, 2), np.float32), np.ones((1024, 2), np.float32))
    with pytest.raises(CountsError, match=r"same neighbours.*observations='words'"):
        observe(alike, counts.unigrams / counts.unigrams.sum(), counts.vocabulary)
