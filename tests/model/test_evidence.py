"""Equal evidence: the gains by hand, the smoother by brute force, the whitening over the training text."""

from __future__ import annotations

import numpy as np
import pytest

from model.worlds import counts_of, markov_sentence, random_model, rows_of
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.fitting import fit
from textlds.model.evidence import LEANING, MEMORY, leaning
from textlds.model.textlds import TextLDS

TEXT = ["aaa", "aab", "zzz", "aac", "aaa", "aaa", "aah", "aad", "aab", "aab"]


def test_class_rows_are_the_rows_of_the_words_were_they_unknown():
    words = ["running", "Paris", "1990s", "the", "NATO", "happily", "well-known"]
    vocabulary = Vocabulary.from_words(words, TextSettings())
    without = Vocabulary.from_words([], TextSettings())
    found = [vocabulary.words[row] for row in vocabulary.class_rows()]
    assert found == [without.words[without.id(word)] for word in words]
    assert len(set(found)) == len(words)


def test_a_rare_word_leans_on_its_class():
    vocabulary = Vocabulary.from_words(["running", "Paris"], TextSettings())
    rng = np.random.default_rng(0)
    table, frequencies = rng.standard_normal((len(vocabulary), 3)), rng.dirichlet(np.ones(len(vocabulary)))
    expected = np.empty_like(table)
    for row, word in enumerate(vocabulary.words):
        g = table[row].copy()
        if word in ("running", "Paris"):
            share = LEANING / (frequencies[row] * len(vocabulary) + LEANING)
            g += share * table[vocabulary.words.index({"running": "<unk:-ing>", "Paris": "<unk:Capital>"}[word])]
        expected[row] = g / np.linalg.norm(g)
    np.testing.assert_allclose(leaning(table, frequencies, vocabulary), expected, atol=1e-12)


def with_profiles(model, profiles):
    return TextLDS(model.params, model.vocabulary, model.frequencies, model.moments, profiles=profiles)


def gains_by_hand(model):
    """k' of a model without profiles."""
    mu, total = model.frequencies, 0.0
    equal = leaning(model._engine("float64").gains, mu, model.vocabulary)
    for f, e in zip(mu, equal, strict=True):
        total = total + f * e
    return equal - total


def carried_by_hand(model, profiles):
    """k' of a model with profiles: the least squares row by row, by QR of what the weights' roots scale."""
    mu = model.frequencies
    words = leaning(profiles.astype(float), mu, model.vocabulary)
    centred = words - np.average(words, axis=0, weights=mu)
    weights = mu**0.25  # each row's, so that its square counts with the weight μ^½
    M = np.linalg.lstsq(weights[:, None] * centred, weights[:, None] * gains_by_hand(model), rcond=None)[0]
    gains = centred @ M
    gains /= np.linalg.norm(gains, axis=1, keepdims=True)
    return gains - np.average(gains, axis=0, weights=mu)


@pytest.mark.parametrize("profiled", [False, True])
@pytest.mark.parametrize("method", ["smooth", "filter"])
def test_states_are_those_of_the_forgetful_recursion(method, profiled):
    model = random_model(2, V=12, h=3)
    every = gains_by_hand(model)
    if profiled:
        profiles = np.random.default_rng(5).standard_normal((12, 3)).astype(np.float32)
        every = carried_by_hand(model, profiles)
        model = with_profiles(model, profiles)
    plain = model._engine("float64")
    gains = every[rows_of(model, TEXT)]
    A, F = plain.system.A, MEMORY * plain.system.shrink[:, None] * plain.system.A
    filt = [gains[0]]
    for k in gains[1:]:
        filt.append(F @ filt[-1] + k)
    smooth = [filt[-1]]
    for x in reversed(filt[:-1]):
        smooth.append(x + F.T @ (smooth[-1] - A @ x))
    means = np.array(filt if method == "filter" else smooth[::-1])
    white = means @ model._space("float64", "equal").whitener("filter" if method == "filter" else "state")
    (found,) = model.embed([TEXT], method=method, evidence="equal", dtype="float64")
    np.testing.assert_allclose(found.vectors, white / np.linalg.norm(white, axis=1, keepdims=True), atol=1e-9)


def test_profiles_are_the_parts_of_a_word_alone():
    plain = random_model(2, V=12, h=3)
    profiles = np.random.default_rng(5).standard_normal((12, 3)).astype(np.float32)
    model = with_profiles(plain, profiles)
    words = leaning(profiles.astype(float), model.frequencies, model.vocabulary)[rows_of(model, TEXT)]
    (found,) = model.embed([TEXT], parts=("before", "word", "after"), evidence="equal")
    before, word, after = np.split(found.vectors, 3, axis=1)
    np.testing.assert_allclose(word, words, atol=1e-6)
    np.testing.assert_allclose(before, np.vstack([np.zeros(3), words[:-1]]), atol=1e-6)
    np.testing.assert_allclose(after, np.vstack([words[1:], np.zeros(3)]), atol=1e-6)
    stream = model.stream(parts="word", evidence="equal")
    np.testing.assert_allclose([stream.push(token) for token in TEXT], words, atol=1e-6)
    for (mine,), (theirs,) in [
        (model.embed([TEXT], parts="word"), plain.embed([TEXT], parts="word")),  # the paper's are what they were
        (model.embed([TEXT]), plain.embed([TEXT])),
    ]:
        assert mine.vectors.tobytes() == theirs.vectors.tobytes()


def test_profiles_with_empty_columns():
    """A vocabulary smaller than h leaves columns of zeros, which say nothing."""
    model = random_model(2, V=12, h=3)
    profiles = np.random.default_rng(5).standard_normal((12, 3)).astype(np.float32)
    profiles[:, 2] = 0
    found = with_profiles(model, profiles)._engine("float64", "equal").gains
    np.testing.assert_allclose(found, carried_by_hand(model, profiles), atol=1e-8)


def test_vectors_are_whitened_over_the_training_text():
    """The second moments come from the model alone; here the smoother is run over the text."""
    text = markov_sentence(1, 15_000, V=30)
    model = fit(counts_of([text], max_lag=20), em_horizon=20, state_size=4, iterations=8, pseudocount=0.0)
    engine, space = model._engine("float64", "equal"), model._space("float64", "equal")
    states = np.empty((len(text), 4))

    def take(posterior, rows, places):
        states[places] = posterior.smooth[rows]

    engine.run(rows_of(model, text).astype(np.int32), np.array([0, len(text)]), "smooth", take)
    white = states @ space.whitener("state")
    np.testing.assert_allclose(white.T @ white / len(text), np.eye(4), atol=0.08)
    assert np.abs(states.T @ states / len(text) - np.eye(4)).max() > 0.3


def test_evidence_changes_the_state_and_is_refused_where_it_has_no_meaning():
    model = random_model(1)
    (plain,), (equal,) = model.embed([TEXT]), model.embed([TEXT], evidence="equal")
    assert np.abs(plain.vectors - equal.vectors).max() > 1e-2
    with pytest.raises(ArgumentError, match="'loud' is not one of 'model', 'equal'"):
        model.embed([TEXT], evidence="loud")
    with pytest.raises(ArgumentError, match="no exact gains"):
        model.embed([TEXT], evidence="equal", method="exact")
    with pytest.raises(ArgumentError, match="'after' needs the words to the right"):
        model.stream(parts="after")
