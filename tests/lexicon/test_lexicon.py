"""The lexicon of a fit: made of the right counts, and of use for words that no one has seen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import textlds
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.learn.settings import FitSettings
from textlds.lexicon.profiles import word_profiles
from textlds.lexicon.spelling import fit_spelling
from textlds.linalg.sparse import SparseMatrix

STEMS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("nd", "rk", "lt")]


@pytest.fixture(scope="module")
def counts():
    """A language in which the ending of a word decides its place:  the -er -ed the -y -er ."""
    rng = np.random.default_rng(0)

    def word(ending):
        return str(rng.choice(STEMS)) + ending

    texts = [["the", word("er"), word("ed"), "the", word("y"), word("er"), "."] for _ in range(8000)]
    return textlds.count(texts=texts, vocab_size=500, text=TextSettings(tokenizer="whitespace"))


@pytest.fixture(scope="module")
def model(counts):
    return textlds.fit(counts, state_size=5, iterations=5, seed=3, settings=FitSettings(observations="words"))


def test_it_is_made_of_neighbours_and_of_how_often_words_occur(counts, model):
    known = counts.vocabulary.n_types
    neighbours = SparseMatrix.from_scipy(sp.csr_array(counts.lags[0]))
    profiles = word_profiles(neighbours, 5, rng=np.random.default_rng([3, 4]), threads=1)
    assert model.lexicon.profiles.tobytes() == profiles.tobytes()
    spelling = fit_spelling(counts.vocabulary.words[:known], counts.unigrams[:known], profiles, threads=1)
    assert model.lexicon.spelling.tobytes() == spelling.tobytes()
    chosen = textlds.select(
        counts, {"iterations": [2]}, settings=FitSettings(state_size=5, seed=3, observations="words")
    ).model
    assert chosen.lexicon.profiles.tobytes() == profiles.tobytes()
    assert chosen.lexicon.spelling.tobytes() == spelling.tobytes()


@pytest.mark.parametrize("part", ["word", "state"])
def test_an_unknown_word_lies_with_words_of_its_ending(model, part):
    """No word begins as these do; their endings are all there is to go by. By itself, or in the midst of others."""

    def vector(word):
        texts = [[word]] if part == "word" else [["xyzzy", word, "xyzzy"]]
        (found,) = model.embed(texts, recipe=part)
        return found.vectors[len(texts[0]) // 2]

    for ending in ("er", "ed", "y"):
        assert f"quoqu{ending}" not in model.vocabulary
        cosines = {
            other: np.mean([vector(stem + other) @ vector(f"quoqu{ending}") for stem in STEMS[::20]])
            for other in ("er", "ed", "y")
        }
        assert max(cosines, key=cosines.get) == ending, cosines
        assert cosines[ending] > 0.6, cosines


def test_characters_that_are_no_part_of_a_word_are_not_spelt(model):
    for word in ("quoquer", "Quoquer"):
        hidden = f"{word[:3]}\u00ad{word[3:]}\u200e"
        (plain,), (marked,) = (model.embed([[some]], recipe="word") for some in (word, hidden))
        np.testing.assert_array_equal(marked.vectors, plain.vectors)


def test_counts_of_little_weight_still_tell_endings_apart(counts):
    model = textlds.fit(counts * 1e-6, state_size=5, iterations=1)
    (found,) = model.embed([["quoquer", "zuzzer", "quoqued"]], recipe="word")
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-5)
    assert found.vectors[0] @ found.vectors[1] > found.vectors[0] @ found.vectors[2]


def test_what_cannot_be_fitted_is_refused_before_the_lexicon_is_made(counts, monkeypatch):
    monkeypatch.setattr("textlds.learn.run.make_lexicon", lambda *_, **__: pytest.fail("too early"))
    with pytest.raises(textlds.errors.TextLDSError, match="state_size"):
        textlds.fit(counts, state_size=len(counts.vocabulary), settings=FitSettings(observations="words"))
    with pytest.raises(textlds.errors.TextLDSError, match="lags"):
        textlds.fit(counts, state_size=3, settings=FitSettings(ssid_horizon=6, observations="words"))


def test_a_vocabulary_of_words_that_were_never_seen():
    vocabulary = Vocabulary.from_words(["a", "b", "c", "unseen"], TextSettings())
    counts = textlds.count(texts=[["a", "b", "a", "c", "b"]] * 50, vocabulary=vocabulary)
    words = FitSettings(observations="words")
    model = textlds.fit(counts, state_size=2, iterations=1, pseudocount=1.0, settings=words)
    assert not model.lexicon.profiles[vocabulary.id("unseen")].any()
    (found,) = model.embed([["unseen", "a", "other"]], recipe="word")
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-5)  # by its spelling
