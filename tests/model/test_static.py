"""Static vectors: what they are is checked against embeddings and against the dense model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.worlds import counts_of, fit, markov_sentence, random_model, with_meaning
from oracles.synthetic import KINDS
from textlds.errors import ArgumentError
from textlds.lds.second_moments import PosteriorMoments
from textlds.model.static import word_vectors
from textlds.model.textlds import TextLDS


def test_input_vectors_are_the_word_part_of_any_token():
    model = random_model(0)
    table = word_vectors(model, "input")
    assert table.words == list(model.vocabulary.words)
    for word, vector in zip(table.words, table.vectors, strict=True):
        (text,) = model.embed([["aaa", word, "aab"]], recipe="word, fitted")
        np.testing.assert_allclose(vector, text.vectors[1], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vectors", ["meaning", "use"])
def test_cosines_are_those_of_similar(kind, vectors):
    model = fit(counts_of([markov_sentence(0, 3000, V=20)]), state_size=3, iterations=3, noise=kind)
    table = word_vectors(model, vectors, classes="drop")
    similar = dict(model.similar(table.words[0], n=100, kind=vectors, min_count=1))
    assert len(table) == len(similar) + 1
    for word, vector in list(zip(table.words, table.vectors, strict=True))[1:]:
        assert vector @ table.vectors[0] == pytest.approx(similar[word], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_output_vectors_with_left_vectors_give_what_the_model_expects(kind):
    """(W C p)_w is proportional to output_w · left, for the predicted state p in the coordinates of the parameters."""
    model = random_model(3, V=12, h=4, kind=kind)
    tokens = ["aaa", "aac", "aab", "aad"]
    table = word_vectors(model, "output")
    params = model.params
    canonical = model.posterior(tokens)
    (text,) = model.embed([tokens], recipe="left_context, fitted", dtype="float64")
    # p in the coordinates of the parameters, by the filter written out
    T = model.spaces.engine("float64").system.T
    pred = np.linalg.solve(T, canonical.pred.T).T
    expected = pred @ (params.C / np.sqrt(model.frequencies)[:, None]).T
    found = text.vectors @ table.vectors.T.astype(np.float64)
    for t in range(1, len(tokens)):
        scale = np.linalg.norm(expected[t]) / np.linalg.norm(found[t])
        np.testing.assert_allclose(scale * found[t], expected[t], atol=1e-4 * np.abs(expected[t]).max())


def test_both_tables_do_not_depend_on_the_coordinates():
    model = random_model(1, V=12, h=3)
    T = np.random.default_rng(0).normal(size=(3, 3))
    moments = PosteriorMoments(
        *(T @ getattr(model.moments, f.name) @ T.T for f in dataclasses.fields(PosteriorMoments))
    )
    moved = TextLDS(model.params.transformed(T), model.vocabulary, model.frequencies, moments)
    for kind in ("input", "output"):
        one, other = word_vectors(model, kind).vectors, word_vectors(moved, kind).vectors
        np.testing.assert_allclose(one @ one.T, other @ other.T, rtol=2e-3, atol=2e-3 * np.abs(one @ one.T).max())


def test_the_two_tables_differ():
    model = random_model(1, V=12, h=3)
    one, other = (word_vectors(model, kind).vectors for kind in ("input", "output"))
    cosines = [v @ v.T / np.outer(*2 * [np.linalg.norm(v, axis=1)]) for v in (one, other)]
    assert np.abs(cosines[0] - cosines[1]).max() > 0.1


def test_classes_of_unknown_words():
    model = with_meaning(random_model(0))
    assert word_vectors(model).words[-1] == "<unk>"
    dropped = word_vectors(model, classes="drop")
    assert dropped.words == list(model.vocabulary.words[: model.vocabulary.n_types])
    assert dropped.vectors.shape == (len(dropped), model.meaning_size)


def test_a_word_that_is_no_more_has_no_vector():
    whole = counts_of([markov_sentence(0, 2000, V=12)])
    word = whole.vocabulary.words[3]
    words = list(whole.vocabulary.words[: whole.vocabulary.n_types])
    without = counts_of([[t for t in markov_sentence(0, 2000, V=12) if t != word]], words=words)
    model = fit(without, state_size=2, iterations=2, pseudocount=0)
    for kind in ("input", "output"):
        table = word_vectors(model, kind)
        assert word not in table.words
        assert np.isfinite(table.vectors).all()


@pytest.mark.parametrize("arguments", [("inputs",), ("input", "no")])
def test_wrong_arguments(arguments):
    kind, classes = (*arguments, "keep")[:2]
    with pytest.raises(ArgumentError, match="is not one of"):
        word_vectors(random_model(0), kind, classes=classes)
