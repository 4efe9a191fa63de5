"""Meaning from counts: against dense linear algebra, and worlds whose topics are known."""

from __future__ import annotations

import numpy as np
import pytest

import textlds
from model.worlds import counts_of
from textlds.errors import ArgumentError, RankError
from textlds.learn.settings import FitSettings
from textlds.lexicon import meaning as module
from textlds.lexicon.meaning import Meaning, make_meaning, passage_mean, steps, word_weights
from textlds.lexicon.unknown import spelt

TOPICS = [[f"{stem}{end}" for stem in ("ba", "ko", "mi", "ru", "te", "lo")] for end in ("x", "w", "v", "z")]


def topical(n=600, seed=0, length=12):
    """Lines about one of four topics each, their words in any order, and a few words of all topics."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        words = rng.choice(TOPICS[i % 4], length)
        lines.append([str(rng.choice(["the", "of"])) if rng.random() < 0.3 else str(word) for word in words])
    return lines


@pytest.fixture(scope="module")
def counts():
    return counts_of(topical())


def make(counts, size, seed=0, threads=1, **options):
    rng = np.random.default_rng(seed)
    return make_meaning(counts.lags, counts.unigrams, counts.vocabulary, size, rng=rng, threads=threads, **options)


def dense_meaning(counts, size, core, shape=None, power=1 / 2):
    """m(w) by its definition, rows beyond the core folded in."""
    R = len(counts.lags)
    shape = [1 / max(1, k) for k in range(R)] if shape is None else shape
    M = sum(shape[k] * (lag + lag.T).toarray().astype(float) for k, lag in enumerate(counts.lags))[:, :core]
    r = M.sum(axis=1)
    scale = np.where(r > 0, np.maximum(r, 1e-30), np.inf) ** -0.5
    S = (scale[:, None] * M * scale[:core]) ** power
    values, U = np.linalg.eigh(S[:core])
    order = np.argsort(-np.abs(values))[1 : size + 1]
    values, U = values[order], U[:, order]
    rows = np.vstack([U, S[core:] @ U / values]) * np.abs(values) ** 0.125 * np.where(values < 0, 0.7, 1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, np.inf)


@pytest.mark.parametrize("core", [100, 18])
@pytest.mark.parametrize(("little", "power"), [(20e6, 1 / 2), (0, 1 / 3)])
def test_vectors_are_those_of_the_definition(counts, monkeypatch, core, little, power):
    """Without shrinkage; cosines, since the signs of eigenvectors are free."""
    monkeypatch.setattr(module, "_LITTLE", little)
    monkeypatch.setattr(module, "CORE", core)
    monkeypatch.setattr(module, "_RARE", 0.0)
    known = counts.vocabulary.n_types
    expected = dense_meaning(counts, 3, min(core, known), power=power)
    found = make(counts, 3).vectors.astype(float)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)


@pytest.mark.parametrize(
    ("window", "shape"),
    [
        ("near", [1, 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6]),
        ("triangular", [1, 6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7]),
        ("flat", [1, 1, 1, 1, 1, 1, 1]),
        ("harmonic", [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7]),
        ("1,0.5", [1, 0.5, 0, 0, 0, 0, 0]),
        ("0, 0, 2", [0, 0, 2, 0, 0, 0, 0]),
    ],
)
def test_the_shape_of_the_window(counts, monkeypatch, window, shape):
    monkeypatch.setattr(module, "CORE", 18)
    monkeypatch.setattr(module, "_RARE", 0.0)
    found = make(counts, 3, window=window).vectors.astype(float)
    expected = dense_meaning(counts, 3, 18, shape)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)
    other = dense_meaning(counts, 3, 18, [1, 0, 0, 0, 0, 0, 0])
    assert np.abs(found @ found.T - other @ other.T).max() > 0.01


@pytest.mark.parametrize("window", ["round", "", "1,", "1;2", "0,0", "-1,2", "nan", "inf,1", 3, None])
def test_a_window_of_no_shape_is_refused(window):
    with pytest.raises(ArgumentError, match="meaning_window"):
        FitSettings(meaning_window=window)


@pytest.mark.parametrize(
    ("state_size", "rows", "length"),
    [(200, 100_000, 300), (100, 40_000, 300), (50, 20_000, 150), (400, 100_000, 400), (50, 400, 50), (50, 800, 100)],
)
def test_its_length_by_the_state_and_the_vocabulary(state_size, rows, length):
    assert FitSettings(state_size=state_size).resolved(75e6, rows).about == length
    assert FitSettings(state_size=state_size, meaning_size=7).resolved(75e6, rows).about == 7


def test_more_numbers_than_words_are_refused():
    counts = counts_of(topical(40))
    rows = len(counts.vocabulary)
    with pytest.raises(RankError, match=rf"meaning_size={rows} exceeds .* Lower it to at most {rows - 1}"):
        textlds.fit(counts, state_size=3, settings=FitSettings(meaning_size=rows))
    textlds.fit(counts, state_size=3, iterations=1, settings=FitSettings(meaning_size=rows - 1))


def test_a_window_wider_than_the_counts_is_refused():
    counts = counts_of(topical(40), max_lag=2)
    with pytest.raises(ArgumentError, match=r"3 lags, but the counts hold 2\. Count with max_lag=3"):
        textlds.fit(counts, state_size=3, settings=FitSettings(meaning_window="1,1,1"))


def test_words_of_a_topic_lie_together(counts):
    words = make(counts, 3).vectors
    of = {word: words[counts.vocabulary.id(word)] for topic in TOPICS for word in topic}
    for topic in TOPICS:
        for word in topic:
            inside = min(of[word] @ of[other] for other in topic)
            outside = max(of[word] @ of[other] for others in TOPICS if others is not topic for other in others)
            assert inside > outside + 0.5


def test_rare_words_lean_on_their_spelling(counts, monkeypatch):
    monkeypatch.setattr(module, "_RARE", 0.0)
    plain = make(counts, 3)
    monkeypatch.setattr(module, "_RARE", 50.0)
    leaning = make(counts, 3)
    known = counts.vocabulary.n_types
    n = counts.unigrams[:known, None]
    wanted = plain.vectors[:known] + 50 / (n + 50) * spelt(
        counts.vocabulary.words[:known], leaning.spelling, counts.vocabulary
    )
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(leaning.vectors[:known], wanted, atol=1e-5)


def test_contexts_tell_what_a_new_word_is_about(counts):
    """The regression from averages of neighbours, with the definition of these averages."""
    made = make(counts, 3)
    frequencies = counts.unigrams / counts.unigrams.sum()
    mean = passage_mean(made.vectors, frequencies)
    np.testing.assert_allclose(
        mean,
        sum(f * a * v for f, a, v in zip(frequencies, word_weights(frequencies), made.vectors, strict=True)),
        atol=1e-6,
    )
    for topic in TOPICS:
        rows = [counts.vocabulary.id(word) for word in topic]
        average = np.mean([word_weights(frequencies)[row] * made.vectors[row] - mean for row in rows[1:]], axis=0)
        found = average @ made.contexts
        cosines = made.vectors @ found / np.linalg.norm(found)
        assert cosines[rows[0]] > 0.9


def test_the_same_bits_for_any_number_of_threads_and_progress(counts):
    calls = []
    one, two = make(counts, 4, on_step=lambda: calls.append(1)), make(counts, 4, threads=2)
    for a, b in zip(vars(one).values(), vars(two).values(), strict=True):
        assert a.tobytes() == b.tobytes()
        assert a.dtype == np.float32
    assert len(calls) == steps(4)


def test_a_vocabulary_smaller_than_the_dimensions():
    counts = counts_of([["a", "b", "a", "c"]] * 30)
    made = make(counts, 10)
    assert made.vectors.shape == (len(counts.vocabulary), 10)
    assert np.isfinite(made.vectors).all()
    assert not made.vectors[:, 3:].any()
    np.testing.assert_allclose(np.linalg.norm(made.vectors[:3], axis=1), 1, atol=1e-5)


def test_counts_with_lag_one_only_give_what_there_is():
    counts = counts_of(topical(), max_lag=1)
    with pytest.warns(UserWarning, match="lag 1 alone"):
        made = make(counts, 3)
    assert np.isfinite(made.vectors).all()
    x, y, z = (made.vectors[counts.vocabulary.id(word)] for word in (TOPICS[0][0], TOPICS[0][1], TOPICS[1][0]))
    assert x @ y > x @ z


def test_a_word_that_was_never_seen_is_known_by_its_spelling():
    words = [*dict.fromkeys(w for line in topical(40) for w in line), "unseenx"]
    counts = counts_of(topical(40), words=words)
    made = make(counts, 3)
    row = counts.vocabulary.id("unseenx")
    own = spelt(["unseenx"], made.spelling, counts.vocabulary)[0]
    np.testing.assert_allclose(made.vectors[row], own, atol=1e-6)


def test_a_fit_makes_it(tmp_path):
    counts = counts_of(topical())
    settings = FitSettings(seed=7, meaning_window="harmonic", meaning_size=5)
    model = textlds.fit(counts, state_size=3, iterations=1, settings=settings)
    assert model.history.settings["meaning_window"] == "harmonic"
    rng = np.random.default_rng([7, 5])
    wanted = make_meaning(counts.lags, counts.unigrams, counts.vocabulary, 5, window="harmonic", rng=rng, threads=1)
    assert (model.state_size, model.meaning_size, model.dimensions("sense+state")) == (3, 5, 8)
    model.save(tmp_path / "model")
    for lexicon in (model.lexicon, textlds.load(tmp_path / "model").lexicon):
        assert isinstance(lexicon.meaning, Meaning)
        for name, array in vars(wanted).items():
            assert getattr(lexicon.meaning, name).tobytes() == array.tobytes()
