"""Models that observe profiles: a dense filter of the observations, the one-hot model behind them, files, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import textlds
from model.worlds import CLASSES, counts_of, fit, grammar_text, markov_sentence
from storage.sealing import edit_config
from textlds.errors import ArgumentError, CountsError, FormatError, RankError
from textlds.learn.settings import FitSettings, auto_state_size
from textlds.lexicon.unknown import spelt
from textlds.model.textlds import TextLDS
from textlds.storage.arrays import read_arrays

TEXT = ["the", "old", "teacher", "sees", "zzz", "here", "."]


@pytest.fixture(scope="module")
def counts():
    return counts_of([grammar_text(seed, 5) for seed in range(300)])


@pytest.fixture(scope="module")
def model(counts):
    return textlds.fit(counts, state_size=6, iterations=15)


def dense(model):
    """Return A, C, Q, D of the observations and y(w) of every word and of an unknown one, by plain linear algebra."""
    lexicon, f = model.lexicon, model.frequencies
    vectors = lexicon.profiles.astype(float)
    unknown = spelt(["zzz"], lexicon.spelling, model.vocabulary).astype(float)
    centre = f @ vectors
    second = (vectors - centre).T @ np.diag(f) @ (vectors - centre)
    root = np.linalg.inv(sl.sqrtm(second).real)
    params = model._stored
    D = np.eye(len(root)) - params.C @ params.noise.arrays()["M"] @ params.C.T
    return params.A, params.C, params.Q, D, (vectors - centre) @ root, ((unknown - centre) @ root)[0]


def smoothed(model, tokens):
    """Run the Kalman filter and the Rauch–Tung–Striebel smoother from the steady state, in observation space."""
    A, C, Q, D, words, unknown = dense(model)
    y = [words[model.vocabulary.id(token)] if token != "zzz" else unknown for token in tokens]
    pred_cov = sl.solve_discrete_are(A.T, C.T, Q, D)
    K = pred_cov @ C.T @ np.linalg.inv(C @ pred_cov @ C.T + D)
    filt_cov = pred_cov - K @ C @ pred_cov
    J = filt_cov @ A.T @ np.linalg.inv(pred_cov)
    state, filtered = np.zeros(len(A)), []
    for observed in y:
        state = A @ state + K @ (observed - C @ A @ state)
        filtered.append(state)
    result = [filtered[-1]]
    for x in filtered[-2::-1]:
        result.append(x + J @ (result[-1] - A @ x))
    return np.array(result[::-1])


def test_states_are_those_of_a_dense_smoother(model):
    states = smoothed(model, TEXT)
    whitening = np.linalg.inv(sl.sqrtm(model.moments.smooth_smooth).real)
    expected = states @ whitening
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = model(TEXT, dtype="float64").vectors
    # the coordinates of a state differ by a rotation: compare what no rotation changes
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_moments_are_those_of_the_states_over_the_corpus(counts, model):
    """E[x̄ x̄ᵀ], by which states are whitened, is right for the text that was counted."""
    sentences = [grammar_text(seed, 5) for seed in range(300)]
    states = np.concatenate([smoothed(model, sentence)[2:-2] for sentence in sentences])
    found = states.T @ states / len(states)
    assert np.linalg.norm(found - model.moments.smooth_smooth) < 0.1 * np.linalg.norm(found)


@pytest.mark.filterwarnings("ignore:this model is not calibrated")
def test_it_is_a_model_of_one_hot_words_too(model):
    lifted = TextLDS(model.params, model.vocabulary, model.frequencies, model.moments)
    known = [token for token in TEXT if token != "zzz"]
    np.testing.assert_allclose(
        np.abs(lifted(known, recipe="state, fitted").vectors @ lifted(known, recipe="state, fitted").vectors.T),
        np.abs(model(known).vectors @ model(known).vectors.T), atol=1e-4,
    )  # fmt: skip
    for gains in ("steady", "exact"):
        one, other = (m.log_likelihood([known], gains=gains)[0].values for m in (lifted, model))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(lifted.next_word(known).probabilities, model.next_word(known).probabilities, atol=1e-4)


def test_words_of_a_class_are_alike_and_lead_to_the_next(model):
    assert model.observations == "profiles"
    alike = [word for word, _ in model.similar("river", n=4)]
    assert set(alike) <= set(CLASSES["noun"])
    strongest = model.dynamics(1, words=3)[0]
    follows = {"det": ("adj", "noun"), "adj": ("noun",), "noun": ("verb",), "verb": ("adv", "end"), "adv": ("end",)}
    kinds = [{name for name, words in CLASSES.items() if word in words} for word in strongest.source]
    assert all(kind & set(follows) for kind in kinds), strongest


def test_files_are_exact_and_hold_one_table(model, tmp_path):
    model.save(tmp_path / "model")
    again = textlds.load(tmp_path / "model")
    assert again.observations == "profiles"
    for recipe in ("context", "features", "state, exact"):
        assert again(TEXT, recipe=recipe).vectors.tobytes() == model(TEXT, recipe=recipe).vectors.tobytes()
    assert again.params.C.tobytes() == model.params.C.tobytes()
    arrays = read_arrays(tmp_path / "model" / "model.safetensors")
    tall = [name for name, array in arrays.items() if array.ndim == 2 and len(array) == len(model.vocabulary)]
    assert set(tall) - {"meaning.vectors"} == {"profiles"}


def test_a_folder_that_contradicts_itself(model, tmp_path):
    for wrong, message in (("words", "instead of"), ("letters", "observations='letters' is not one of")):
        model.save(tmp_path / "model", force=True)
        edit_config(tmp_path / "model", observations=wrong)
        with pytest.raises(FormatError, match=message):
            textlds.load(tmp_path / "model")


def test_recipes_that_another_kind_of_model_serves(counts, model):
    for recipe in ("paper", "state, fitted", "word, fitted"):
        with pytest.raises(ArgumentError, match=r"this model observes profiles.*observations='words'"):
            model(TEXT, recipe=recipe)
    with pytest.raises(ArgumentError, match="Use weighting='fitted', or method='smooth'"):
        fit(counts, state_size=3, iterations=1)(TEXT, recipe="context, exact")


def test_the_same_bits_for_any_number_of_threads_and_after_an_interruption(counts, model, tmp_path):
    class Stop(Exception):
        pass

    def stop(step):
        if step.iteration == 7:
            raise Stop

    other = textlds.fit(counts, state_size=6, iterations=15, threads=2)
    assert other.params.C.tobytes() == model.params.C.tobytes()
    options = {"state_size": 6, "iterations": 15, "output": tmp_path / "model"}
    with pytest.raises(Stop):
        textlds.fit(counts, callback=stop, **options)
    again = textlds.fit(counts, resume=True, **options)
    assert again.params.C.tobytes() == model.params.C.tobytes()
    assert again.history.log_likelihood == model.history.log_likelihood


def test_a_state_larger_than_the_rank_is_made_smaller(caplog):
    counts = counts_of([markov_sentence(0, 2000, V=12, classes=3)])
    with pytest.raises(RankError, match="state_size=50 exceeds what a vocabulary of 13 words supports"):
        textlds.fit(counts, state_size=50, iterations=2)
    model = textlds.fit(counts, state_size=12, iterations=2)
    assert model.state_size == model.history.settings["state_size"] < 12
    assert "state_size=12, but the profiles of these 13 words have rank" in caplog.text
    assert model(["aaa", "aab"]).vectors.shape == (2, model.state_size)


def test_five_words_and_one_line_repeated(caplog):
    few = textlds.fit(counts_of([list("abcde") * 20]), iterations=2)
    assert np.isfinite(few(list("abc")).vectors).all()
    line = ["the", "river", "sees", "the", "old", "house", "and", "the", "quiet", "field", "."]
    repeated = textlds.fit(counts_of([line] * 500), iterations=5)
    assert np.isfinite(repeated(line).vectors).all()
    caplog.clear()
    textlds.train(texts=[" ".join(line)] * 500, iterations=2)  # which counts it once
    assert "The counts have only 11 tokens; with fewer than 10,000, vectors are poor" in caplog.text
    with pytest.raises(CountsError, match="two different words"):
        textlds.fit(counts_of([["aaa"] * 50]))


@pytest.mark.parametrize(
    ("tokens", "rows", "size"),
    [(75e6, 100_000, 200), (1e9, 200_000, 200), (5e6, 30_000, 100), (1e5, 5000, 40), (1e5, 100, 25), (50, 7, 1)],
)
def test_the_state_follows_the_corpus(tokens, rows, size):
    assert auto_state_size(tokens, rows) == size
    settings = FitSettings().resolved(tokens, rows)
    assert (settings.state_size, settings.iterations, settings.start) == (size, 20, "neighbours")
    assert settings.pseudocount == 0


def test_a_notice_with_varied_words_does_not_take_over_the_state():
    rng = np.random.default_rng(0)
    follows = rng.dirichlet(np.full(24, 0.15), 24)  # a language of 24 classes of words, each with a Zipfian vocabulary
    ranks = 1 / np.arange(1, 21)

    def line(n):
        classes = [rng.integers(24)]
        while len(classes) < n:
            classes.append(rng.choice(24, p=follows[classes[-1]]))
        return [f"w{chr(97 + k)}{chr(97 + rng.choice(20, p=ranks / ranks.sum()))}" for k in classes]

    notice = [f"legal{a}{b}" for a in "abcdefgh" for b in "klmno"]
    lines = []
    for _ in range(60):
        lines += [line(20) for _ in range(50)]
        lines.append([str(rng.choice(notice)) if rng.random() < 0.05 else word for word in notice])
    counts = counts_of(lines)

    def of_the_notice(model):
        found = (pair.source + pair.target for pair in model.dynamics(5))
        return sum(sum(word in notice for word in words) > len(words) / 2 for words in found)

    assert of_the_notice(textlds.fit(counts, state_size=20)) == 0
    assert of_the_notice(fit(counts, state_size=20)) == 5  # which one-hot words pay most for
