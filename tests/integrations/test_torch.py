"""The network that begins as the Kalman filter, against the filter written down with dense matrices."""

from __future__ import annotations

import copy
import importlib
import math
import sys

import numpy as np
import pytest

from model.worlds import counts_of, fit, grammar_text, random_model
from oracles import gaussian
from oracles.synthetic import KINDS
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, MissingExtraError

torch = pytest.importorskip("torch")

from textlds.integrations import torch as integration  # noqa: E402
from textlds.integrations.torch import (  # noqa: E402
    RecurrentLM,
    Scales,
    diagonal_recurrence,
    encode,
    linear_network,
    to_rnn,
)

F64 = torch.float64
V = 12


def some_ids(n, *, seed=0, size=V):
    return np.random.default_rng(seed).integers(0, size, n)


def filter_states(model, ids):
    """Return p_2 … p_{n+1}: what the dense steady-state filter predicts of the state after each word."""
    m = np.sqrt(model.frequencies)
    w = gaussian.observations(ids, model.frequencies)
    return gaussian.steady_filter(model.params, m, w).means @ model.params.A.T


def filter_predictions(model, ids):
    """Return E[w] = μ + μ^½ C p for the word after each."""
    return model.frequencies + np.sqrt(model.frequencies) * (filter_states(model, ids) @ model.params.C.T)


def outputs_of(lm, ids):
    with torch.no_grad():
        return lm(torch.as_tensor(ids)[None])[0][0].numpy()


@pytest.fixture(scope="module")
def fitted():
    """A model of a little grammar, and text of it that the model has not seen."""
    sentences = [grammar_text(seed, 40) for seed in range(60)]
    model = fit(counts_of(sentences), state_size=6, iterations=10, pseudocount=3, threads=1)
    return model, sentences, [grammar_text(seed, 40) for seed in range(100, 110)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_without_its_non_linearities_it_is_the_kalman_filter(kind, scale):
    model, ids = random_model(1, V=V, kind=kind), some_ids(200)
    lm = RecurrentLM.from_lds(model, activation="identity", link="linear", scales=Scales(state=scale), dtype=F64)
    expected = filter_predictions(model, ids)
    np.testing.assert_allclose(outputs_of(lm, ids), expected, rtol=1e-9, atol=1e-12)
    assert np.abs(expected - model.frequencies).max() > 0.01  # a model without context would not do


@pytest.fixture(scope="module")
def observing():
    """A model of the grammar that observes profiles."""
    counts = counts_of([grammar_text(seed, 40) for seed in range(60)])
    return fit(counts, state_size=6, iterations=10, observations="profiles", threads=1)


def profile_predictions(model, ids):
    """Return E[w] after each word by a filter of what the model observes, y(w) = Ψ_0^-½ (l(w) − l̄), densely.

    The excess of a word's probability is what the expected observation has in common with the word's own, μ y(w)ᵀ E[y].
    """
    mu, vectors = model.frequencies, model.lexicon.profiles.astype(float)
    centred = vectors - mu @ vectors
    values, directions = np.linalg.eigh(centred.T @ (mu[:, None] * centred))
    y = centred @ (directions / np.sqrt(values)) @ directions.T
    A, C, Q = model._stored.A, model._stored.C, model._stored.Q
    D = np.eye(y.shape[1]) - C @ model._stored.noise.arrays()["M"] @ C.T
    cov = Q
    for _ in range(2000):  # to the steady state, step by step
        S = C @ cov @ C.T + D
        cov = A @ (cov - cov @ C.T @ np.linalg.solve(S, C @ cov)) @ A.T + Q
    K = np.linalg.solve(C @ cov @ C.T + D, C @ cov).T
    predicted, found = np.zeros(len(A)), []
    for word in ids:
        predicted = A @ (predicted + K @ (y[word] - C @ predicted))
        found.append(mu + mu * (y @ (C @ predicted)))
    return np.array(found)


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_a_model_that_observes_profiles_is_its_filter_too(observing, scale):
    ids = some_ids(200, size=len(observing.frequencies))
    expected = profile_predictions(observing, ids)
    assert np.abs(expected - observing.frequencies).max() > 0.01
    scales = Scales(state=scale)
    lm = RecurrentLM.from_lds(observing, activation="identity", link="linear", scales=scales, dtype=F64)
    np.testing.assert_allclose(outputs_of(lm, ids), expected, rtol=1e-5, atol=1e-7)  # profiles are float32
    found = diagonal_recurrence(observing).predictions(torch.as_tensor(ids)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_a_model_that_observes_profiles_predicts_before_it_is_trained(observing):
    held_out = [grammar_text(seed, 40) for seed in range(100, 110)]
    lm, ids = RecurrentLM.from_lds(observing, held_out=held_out), encode(observing, held_out)
    unigram = math.exp(-np.log(observing.frequencies[ids.numpy()]).mean())
    assert lm.perplexity(ids) < 0.7 * unigram
    states = RecurrentLM.from_lds(observing, activation="identity", scales=Scales(state=0.3), dtype=F64).states
    with torch.no_grad():
        found = torch.cat([states(encode(observing, [grammar_text(s, 40)])[None])[0] for s in range(60)]).numpy()
    np.testing.assert_allclose(found.T @ found / len(found), 0.09 * np.eye(6), atol=0.09 * 0.1)


def test_its_states_are_those_of_the_posterior():
    model = random_model(2, V=V)
    words = [model.vocabulary.words[i] for i in some_ids(50)]
    lm = RecurrentLM.from_lds(model, activation="identity", dtype=F64)
    states = lm.states(encode(model, [words])[None])[0].detach().numpy()
    pred = model.posterior(words).pred[1:]
    into, _ = linear_network(model).coordinates(lm.scales.state)
    np.testing.assert_allclose(states[:-1], pred @ into.T, rtol=1e-9, atol=1e-12)


def test_clipped_linear_probabilities_are_probabilities():
    model = random_model(3, V=V, explained=0.9)
    lm = RecurrentLM.from_lds(model, activation="identity", link="linear", dtype=F64)
    outputs = filter_predictions(model, some_ids(300))
    assert outputs.min() < 0
    found = lm.log_probabilities(torch.as_tensor(outputs)).detach().exp().numpy()
    clipped = np.maximum(outputs, model.frequencies / 1000)
    np.testing.assert_allclose(found, clipped / clipped.sum(1, keepdims=True))


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_small_states_are_in_the_linear_regime(activation):
    model, ids, scales = random_model(4, V=V), some_ids(100), Scales(1e-4, 0.3)
    linear = RecurrentLM.from_lds(model, activation="identity", scales=scales, dtype=F64)
    lm = RecurrentLM.from_lds(model, activation=activation, scales=scales, dtype=F64)
    np.testing.assert_allclose(outputs_of(lm, ids), outputs_of(linear, ids), atol=1e-6)


def test_relu_is_linear_within_four_standard_deviations(fitted):
    model, sentences, _ = fitted
    ids = encode(model, sentences)
    linear = RecurrentLM.from_lds(model, activation="identity", dtype=F64)
    lm = RecurrentLM.from_lds(model, activation="relu", dtype=F64)
    outside = (lm.states(ids[None])[0] == 0).any(1).nonzero()[:, 0]
    until = int(outside[0]) if len(outside) else len(ids)
    assert until > 500
    np.testing.assert_allclose(outputs_of(lm, ids[:until]), outputs_of(linear, ids[:until]), atol=1e-9)


def test_the_sigmoid_is_symmetric():
    model, ids = random_model(5, V=V), some_ids(30)
    lm = RecurrentLM.from_lds(model, activation="sigmoid", scales=Scales(1.0, 1.0), dtype=F64)
    A, B = lm.recurrent.weight.detach().numpy(), lm.inputs.weight.detach().numpy()
    h = np.zeros(len(A))
    for word, found in zip(ids, lm.states(torch.as_tensor(ids)[None])[0].detach().numpy(), strict=True):
        h = 4 / (1 + np.exp(-(A @ h + B[word]))) - 2
        np.testing.assert_allclose(found, h)


def test_states_have_the_scale_asked_for(fitted):
    model, sentences, _ = fitted
    lm = RecurrentLM.from_lds(model, activation="identity", scales=Scales(state=0.3), dtype=F64)
    with torch.no_grad():
        states = torch.cat([lm.states(encode(model, [sentence])[None])[0] for sentence in sentences]).numpy()
    second_moment = states.T @ states / len(states)
    np.testing.assert_allclose(second_moment, 0.09 * np.eye(6), atol=0.09 * 0.1)


def test_logits_are_the_capped_log_ratios(fitted):
    model, sentences, _ = fitted
    counts = counts_of(sentences)
    ids = encode(model, [sentences[0]]).numpy()
    cap = 0.8
    lm = RecurrentLM.from_lds(model, activation="identity", scales=Scales(0.5, cap), dtype=F64)
    params = model.params
    ratios = params.C / np.sqrt(model.frequencies)[:, None]  # W C
    cov = params.A @ model.moments.filt_filt @ params.A.T
    deviations = np.sqrt(np.diag(ratios @ cov @ ratios.T))
    shrunk = np.minimum(deviations, cap)
    assert (deviations > cap).any()
    assert (deviations < cap).any()
    smoothed = (counts.unigrams + 0.5) / (counts.unigrams.sum() + 0.5 * len(ratios))
    expected = (
        filter_states(model, ids) @ (ratios * (shrunk / deviations)[:, None]).T + np.log(smoothed) - shrunk**2 / 2
    )
    np.testing.assert_allclose(outputs_of(lm, ids), expected, rtol=1e-8, atol=1e-8)


def test_scales_are_chosen_on_held_out_text(fitted):
    model, _, held_out = fitted
    lm = RecurrentLM.from_lds(model, held_out=held_out)
    ids = encode(model, held_out)
    assert len(ids) < 10_000  # all of it counts in the choice
    found = lm.perplexity(ids)
    others = [Scales(s, cap) for s in (0.25, 0.75) for cap in (0.5, 1.0, 2.0)]
    assert found <= min(RecurrentLM.from_lds(model, scales=scales).perplexity(ids) for scales in others)
    unigram = math.exp(-np.log(model.frequencies[ids.numpy()]).mean())
    assert found < 0.7 * unigram


def test_perplexity_is_that_of_every_word_given_those_before(fitted, monkeypatch):
    model, _, held_out = fitted
    ids = encode(model, held_out)[:300]
    lm = RecurrentLM.from_lds(model, dtype=F64)
    logits = outputs_of(lm, ids[:-1])
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = math.exp(-logs[np.arange(299), ids[1:].numpy()].mean())
    assert lm.perplexity(ids) == pytest.approx(expected)
    monkeypatch.setattr("textlds.integrations.torch.language_model._ROWS", 7)
    assert lm.perplexity(ids) == pytest.approx(expected)


def test_a_state_goes_on_where_it_was_left():
    lm = RecurrentLM(V, 4).double()
    ids = torch.as_tensor(some_ids(36)).view(3, 12)
    whole, last = lm(ids)
    first, state = lm(ids[:, :5])
    second, end = lm(ids[:, 5:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(end, last)
    assert whole.shape == (3, 12, V)
    assert last.shape == (3, 4)


@pytest.mark.parametrize("sparse", [False, True])
def test_an_ordinary_loop_trains_it(fitted, sparse):
    model, sentences, held_out = fitted
    ids, later = encode(model, sentences), encode(model, held_out)
    torch.manual_seed(0)
    starts = {
        "lds": RecurrentLM.from_lds(model, held_out=held_out, sparse=sparse),
        "random": RecurrentLM(len(model.vocabulary), 6, sparse=sparse),
    }
    after = {}
    for name, lm in starts.items():
        before = lm.perplexity(later)
        optimizer, state = torch.optim.SGD(lm.parameters(), lr=0.5), None
        streams = ids[: len(ids) // 8 * 8].view(8, -1)
        for t in range(0, 400, 10):
            logits, state = lm(streams[:, t : t + 10], None if state is None else state.detach())
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), streams[:, t + 1 : t + 11].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert lm.inputs.weight.grad.is_sparse == sparse
        after[name] = lm.perplexity(later)
        assert after[name] < before
    assert after["lds"] < after["random"]


def test_weights_can_be_saved_and_moved(tmp_path):
    model, ids = random_model(6, V=V), torch.as_tensor(some_ids(20))
    lm = RecurrentLM.from_lds(model, activation="relu")
    assert {parameter.dtype for parameter in lm.parameters()} == {torch.float32}
    torch.save(lm.state_dict(), tmp_path / "weights.pt")
    again = RecurrentLM(V, model.state_size, activation="relu")
    again.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert again.perplexity(ids) == lm.perplexity(ids)
    assert copy.deepcopy(lm).double().perplexity(ids) == pytest.approx(lm.perplexity(ids), rel=1e-4)


def test_random_weights_come_from_torchs_seed():
    torch.manual_seed(3)
    one = RecurrentLM(500, 100, scale=0.2, recurrent_scale=0.5)
    torch.manual_seed(3)
    other = RecurrentLM(500, 100, scale=0.2, recurrent_scale=0.5)
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)
    assert one.inputs.weight.std().item() == pytest.approx(0.2, rel=0.05)
    radius = torch.linalg.eigvals(one.recurrent.weight.detach()).abs().max().item()
    assert radius == pytest.approx(0.5, rel=0.25)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_same_network_as_a_torch_rnn(activation):
    model, ids = random_model(7, V=V), torch.as_tensor(some_ids(40)).view(2, 20)
    scales = Scales(0.4, 0.9)
    lm = RecurrentLM.from_lds(model, activation=activation, scales=scales, dtype=F64)
    embedding, rnn, readout, state = to_rnn(model, activation=activation, scales=scales, dtype=F64)
    states, last = rnn(embedding(ids), state.expand(1, 2, -1).contiguous())
    expected, expected_last = lm(ids)
    torch.testing.assert_close(readout(states), expected)
    torch.testing.assert_close(last[0], expected_last)
    if activation == "tanh":
        assert not state.any()
        assert not rnn.bias_ih_l0.any()


@pytest.mark.parametrize("seed", range(4))
def test_a_diagonal_recurrence_gives_the_same_predictions(seed):
    model, ids = random_model(seed, V=V, h=5), some_ids(150)
    recurrence = diagonal_recurrence(model)
    found = recurrence.predictions(torch.as_tensor(ids)).numpy()
    np.testing.assert_allclose(found, filter_predictions(model, ids), rtol=1e-9, atol=1e-11)
    steady = gaussian.dense_steady_state(model.params, np.sqrt(model.frequencies))
    expected = np.linalg.eigvals(steady.smoother_gain)  # J = Σ_filt Fᵀ Σ_filt⁻¹ has the eigenvalues of the filter
    kept = recurrence.eigenvalues.numpy()
    both = np.concatenate([kept, kept[kept.imag > 0].conj()])
    np.testing.assert_allclose(np.sort_complex(both), np.sort_complex(expected), atol=1e-12)
    assert np.abs(kept).max() < 1


def test_text_is_encoded_with_the_models_boundaries():
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundary_token="</s>")
    model = random_model(0, V=5, settings=settings, words=["a", "b", "c", "</s>"])
    found = encode(model, ["a b\n", "", "c what", ["b", "b"]])
    a, b, c, end, unknown = (model.vocabulary.id(word) for word in ("a", "b", "c", "</s>", "what"))
    assert found.dtype == torch.int64
    assert found.tolist() == [a, b, end, c, unknown, end, b, b, end]
    assert encode(model, iter(["a b", "c"]), tokens=4).tolist() == [a, b, end, c]
    assert encode(model, []).tolist() == []
    many = ["a b c"] * 3000
    assert len(encode(model, many)) == 12_000
    assert len(encode(model, many, tokens=5)) == 5


def test_text_is_encoded_by_the_models_own_tokeniser():
    settings = TextSettings(tokenizer="custom", unknown="single")
    model = random_model(0, V=5, settings=settings, words=["a", "b", "c", "d"]).with_tokenizer(lambda line: list(line))
    assert encode(model, ["abz"]).tolist() == Vocabulary.ids(model.vocabulary, ["a", "b", "z"]).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: RecurrentLM(9, 3, activation="selu"), "activation='selu' is not one of 'tanh'"),
        (lambda model: RecurrentLM(9, 3, link="log"), "link='log' is not one of 'softmax', 'linear'"),
        (lambda model: Scales(state=0), "state=0 must be above 0"),
        (lambda model: RecurrentLM.from_lds(model, scales=Scales(), held_out=["a"]), "both given"),
        (lambda model: RecurrentLM.from_lds(model, held_out=[]), "two words"),
        (lambda model: RecurrentLM(9, 3)(torch.zeros(4, dtype=torch.int64)), r"shape \(4,\)"),
        (lambda model: RecurrentLM(9, 3).perplexity(torch.zeros(1, dtype=torch.int64)), "two words"),
        (lambda model: to_rnn(model, activation="sigmoid"), "torch.nn.RNN"),
        (lambda model: encode(model, "a b"), "single string"),
    ],
)
def test_wrong_arguments_are_explained(call, message):
    with pytest.raises(ArgumentError, match=message):
        call(random_model(0))


def test_a_missing_library_explains_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "textlds.integrations.torch")
    with pytest.raises(MissingExtraError, match=r"textlds\[torch\]"):
        importlib.import_module("textlds.integrations.torch")
    monkeypatch.undo()
    assert sys.modules["textlds.integrations.torch"] is integration
