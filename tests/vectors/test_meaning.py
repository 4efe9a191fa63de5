"""Meaning in context by its definition, in batches and in streams."""

from __future__ import annotations

import numpy as np
import pytest

from model.worlds import random_model, with_meaning
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError
from textlds.lexicon.unknown import spelt
from textlds.vectors import meaning as module
from textlds.vectors.recipes import MEANING_PARTS

MODEL = with_meaning(random_model(1, V=30, h=5))
TEXTS = [["aaa", "aab", "zzz", "aaa", "aac"], ["aad"], [], ["qqq", "aae", "<unk>"], ["aab"] * 3]


def slow(model, tokens, *, ahead):
    """Every part of every token, a sum at a time."""
    meaning, f = model.lexicon.meaning, model.frequencies
    weights = 1e-3 / (1e-3 + f)
    mean = (f * weights) @ meaning.vectors.astype(float)
    own, z, lengths = [], [], []
    for token in tokens:
        row = model.vocabulary.id(token)
        known = row < model.vocabulary.n_types or token == "<unk>"
        vector = meaning.vectors[row] if known else spelt([token], meaning.spelling, model.vocabulary)[0]
        own.append(vector.astype(float))
        lengths.append(1.0 if known else 0.5)
        z.append(weights[row] * own[-1] - mean)
    topics, senses = [], []
    for t in range(len(tokens)):
        others = [j for j in range(len(tokens)) if j < t or (ahead and j > t)]
        topic = sum((0.9 ** (abs(j - t) - 1) * z[j] for j in others), np.zeros(len(mean)))
        topics.append(topic / np.linalg.norm(topic) if others else topic)
        sense = lengths[t] * own[t] + 0.25 * topics[t]
        senses.append(sense / np.linalg.norm(sense))
    return {"word_meaning": own, "topic": topics, "sense": senses}


@pytest.mark.parametrize("method", ["smooth", "filter"])
@pytest.mark.parametrize("part", MEANING_PARTS)
def test_parts_are_as_defined(part, method):
    found = list(MODEL.embed(TEXTS, recipe=f"{part}, {method}"))
    for text, tokens in zip(found, TEXTS, strict=True):
        wanted = slow(MODEL, tokens, ahead=method == "smooth")[part]
        np.testing.assert_allclose(text.vectors, np.reshape(wanted, (len(tokens), 7)), atol=2e-6)


@pytest.mark.parametrize("weighting", ["equal", "fitted"])
def test_beside_other_parts_they_are_the_same(weighting):
    recipe = f"sense+state+topic+word, {weighting}"
    for text, alone, state in zip(
        MODEL.embed(TEXTS, recipe=recipe), MODEL.embed(TEXTS, recipe="sense+topic"),
        MODEL.embed(TEXTS, recipe=f"state+word, {weighting}"), strict=True,
    ):  # fmt: skip
        parts = np.split(text.vectors, [7, 12, 19], axis=1)
        np.testing.assert_array_equal(np.hstack([parts[0], parts[2]]), alone.vectors)
        np.testing.assert_array_equal(np.hstack([parts[1], parts[3]]), state.vectors)


def test_many_texts_in_pieces_and_threads_give_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [[str(w) for w in rng.choice(MODEL.vocabulary.words[:20], rng.integers(0, 40))] for _ in range(200)]
    wanted = [MODEL(text, recipe="meaning").vectors for text in texts]
    monkeypatch.setattr(module, "_TOKENS", 64)
    for threads in (1, 2):
        for text, vectors in zip(MODEL.embed(texts, recipe="meaning", threads=threads), wanted, strict=True):
            np.testing.assert_array_equal(text.vectors, vectors)


def test_a_stream_is_the_filter():
    recipe = "sense+topic+word_meaning+state"
    for tokens in TEXTS:
        stream = MODEL.stream(recipe=recipe)
        for _ in range(2):
            pushed = [stream.push(token) for token in tokens]
            wanted = MODEL(tokens, recipe=f"{recipe}, filter").vectors
            np.testing.assert_allclose(np.reshape(pushed, wanted.shape), wanted, atol=1e-5)
            stream.reset()


def test_a_topic_runs_through_the_sentences_of_a_text():
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundaries="sentence")
    model = with_meaning(random_model(1, V=30, h=5, settings=settings))
    cut, whole = model("aaa aab\naac aad", recipe="topic"), MODEL(["aaa", "aab", "aac", "aad"], recipe="topic")
    np.testing.assert_allclose(cut.vectors, whole.vectors, atol=1e-6)


def test_a_model_without_meaning_says_what_it_lacks():
    model = random_model(0)
    assert model("aaa", recipe="context").vectors.any()
    assert (model.meaning_size, model.quantized().meaning_size) == (0, 0)
    for ask in (
        lambda: model("aaa", recipe="meaning"),
        lambda: model.stream(recipe="meaning").push("aaa"),
        lambda: model.words["aaa"],
        lambda: model.similar("aaa"),
        lambda: model.similar("aaa", context="aaa aab"),
    ):
        with pytest.raises(ArgumentError, match=r"no meaning vectors.*Fit it again from its counts"):
            ask()
