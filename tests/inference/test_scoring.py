from __future__ import annotations

import numpy as np
import pytest

from model.worlds import counts_of, fit, markov_sentence, random_model, rows_of
from oracles import gaussian
from oracles.synthetic import KINDS
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError
from textlds.inference.scoring import Scores, TokenScores

TEXT = ["aaa", "aab", "zzz", "aac", "aaa", "aaa", "aah", "aad", "aab", "aab"]


@pytest.fixture(params=[(kind, seed) for kind in KINDS for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def model(request):
    kind, seed = request.param
    return random_model(seed, kind=kind)


def oracle(model, tokens, method):
    w = gaussian.observations(rows_of(model, tokens), model.frequencies)
    null = np.sqrt(model.frequencies)
    if method == "joint":  # the chain rule on the dense joint Gaussian
        tokens = gaussian.joint_gaussian_posterior(model.params, null, w).log_likelihood
        return tokens - gaussian.static_log_likelihood(model.params, null, w)
    return gaussian.log_likelihood(model.params, null, w, method=method)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_exact_scores_are_those_of_the_joint_gaussian(model, n):
    found = model.log_likelihood([TEXT[:n]], gains="exact")[0]
    np.testing.assert_allclose(found.values, oracle(model, TEXT[:n], "joint"), atol=1e-6)
    assert found.values.dtype == np.float64


def test_filtered_scores_are_those_of_the_dense_steady_filter(model):
    found = model.log_likelihood([TEXT])[0]
    np.testing.assert_allclose(found.values, oracle(model, TEXT, "steady"), atol=1e-6)


@pytest.mark.parametrize("gains", ["steady", "exact"])
def test_long_and_ragged_texts_together(model, gains):
    rng = np.random.default_rng(0)
    texts = [[model.vocabulary.words[i] for i in rng.integers(0, 9, n)] for n in (700, 3, 0, 1, 40, 1)]
    found = model.log_likelihood(texts, gains=gains)
    for text, scores in zip(texts, found, strict=True):
        assert list(scores.tokens) == text
        expected = oracle(model, text, gains) if text else []
        np.testing.assert_allclose(scores.values, expected, atol=1e-5)


def test_a_static_model_scores_zero():
    model = random_model(0, explained=1e-14)
    np.testing.assert_allclose(model.log_likelihood([TEXT])[0].values, 0, atol=1e-6)


def test_scores_do_not_depend_on_the_number_of_threads():
    model = random_model(0)
    texts = [TEXT * n for n in range(1, 40)]
    one, two = (model.log_likelihood(texts, threads=n) for n in (1, 2))
    assert all(a.values.tobytes() == b.values.tobytes() for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_mean_over_the_training_text_is_the_last_of_the_history(kind):
    """EM gave it from lag counts alone; here the filter is run over the text. Only the edges of the text differ."""
    text = markov_sentence(0, 20_000, V=30)
    options = {"state_size": 4, "iterations": 10, "pseudocount": 0.0, "noise": kind}
    model = fit(counts_of([text], max_lag=20), em_horizon=20, **options)
    found = model.log_likelihood([text])
    assert found.tokens == 20_000
    assert float(found) == pytest.approx(model.history.log_likelihood[-1], abs=3e-4)


def test_surprises():
    """Where a text leaves the order of its grammar, the score falls."""
    text = ["aaa", "aab", "aac", "aad"] * 500
    rng = np.random.default_rng(0)
    noisy = [str(rng.choice(text[:4])) if rng.random() < 0.1 else word for word in text]
    model = fit(counts_of([noisy]), state_size=3, iterations=10)
    test = ["aaa", "aab", "aac", "aad"] * 4
    test[9] = "aaa"  # for aab
    scores = model.log_likelihood([test])[0]
    assert scores.surprising(1)[0] == ("aaa", scores.values[9])
    assert [value for _, value in scores.surprising(5)] == sorted(scores.values)[:5]
    assert scores.values[9] < 0 < np.median(scores.values)


def test_the_sequence_of_scores():
    a, b = TokenScores(["x", "y"], np.array([1.0, 2.0])), TokenScores(["z"], np.array([6.0]))
    scores = Scores([a, b])
    assert len(scores) == 2
    assert scores[0] is a
    assert scores[-1] is b
    assert list(scores) == [a, b]
    assert isinstance(scores[:1], Scores)
    assert float(scores[:1]) == 1.5
    assert scores.tokens == 3
    assert float(scores) == scores.per_token == 3.0
    assert repr(scores) == "Scores(2 texts, 3 tokens, 3.0000 nats per token)"
    assert len(a) == 2
    assert a.surprising(5) == [("x", 1.0), ("y", 2.0)]
    assert np.isnan(float(Scores([])))


def test_boundaries_are_honoured_and_boundary_tokens_not_scored():
    lines = ["aaa aab aac", "aad aae"]
    cut = random_model(1, settings=TextSettings(tokenizer="whitespace", unknown="single"))
    alone = np.concatenate([scores.values for scores in cut.log_likelihood(lines)])
    np.testing.assert_allclose(cut.log_likelihood(["\n".join(lines)])[0].values, alone, atol=1e-12)
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundary_token="aah")
    crossed = random_model(1, settings=settings).log_likelihood(["\n".join(lines)])[0]
    every = cut.log_likelihood([["aaa", "aab", "aac", "aah", "aad", "aae", "aah"]])[0]
    assert list(crossed.tokens) == ["aaa", "aab", "aac", "aad", "aae"]
    np.testing.assert_allclose(crossed.values, every.values[[0, 1, 2, 4, 5]], atol=1e-12)


@pytest.mark.parametrize("texts", [[], [""], [[]]])
def test_nothing_to_score(texts):
    found = random_model(0).log_likelihood(texts)
    assert len(found) == len(texts)
    assert np.isnan(float(found))


def test_bad_arguments():
    model = random_model(0)
    with pytest.raises(ArgumentError, match="gains='smooth' is not one of 'steady', 'exact'"):
        model.log_likelihood(["aaa"], gains="smooth")
    with pytest.raises(ArgumentError, match="single string"):
        model.log_likelihood("aaa")
    with pytest.raises(ArgumentError, match="threads=0"):
        model.log_likelihood(["aaa"], threads=0)
