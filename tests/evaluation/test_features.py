"""Features put each token's own vector, and its neighbours', in its row."""

from __future__ import annotations

import numpy as np
import pytest

import textlds
from textlds.errors import ArgumentError
from textlds.evaluation.features import (
    model_features,
    plain,
    remembered,
    with_neighbours,
    word_features,
)

SENTENCES = [["the", "bank", "raised", "rates"], ["rates"], ["the", "river"]]


@pytest.fixture(scope="module")
def model() -> textlds.TextLDS:
    lines = [["the", "bank", "raised", "rates", "(", "b", ")"], ["the", "river", "bank", '"', "x", '"']] * 40
    return textlds.train(texts=lines, state_size=3, iterations=2, vocab_size=20)


def test_the_vectors_of_a_model(model: textlds.TextLDS) -> None:
    found = model_features(model, recipe="left_context+word")(SENTENCES)
    expected = [text.vectors for text in model.embed(SENTENCES, recipe="left_context+word")]
    np.testing.assert_array_equal(found, np.concatenate(expected))
    assert found.dtype == np.float32
    assert model_features(model)([]).shape == (0, model.dimensions("features"))
    with pytest.raises(ArgumentError, match="'middle' is not a recipe"):
        model_features(model, recipe="middle")


def test_escapes_of_treebanks_are_read_as_text_spells_them(model: textlds.TextLDS) -> None:
    escaped = [["-LRB-", "b", "-RRB-"], ["``", "x", "''"], ["1\\/2", "\\*"]]
    meant = [["(", "b", ")"], ['"', "x", '"'], ["1/2", "*"]]
    assert list(plain(escaped, model.vocabulary)) == meant
    vectors = model_features(model)
    np.testing.assert_array_equal(vectors(escaped), vectors(meant))
    of_a_treebank = textlds.train(
        texts=[["-LRB-", "b", "-RRB-"]] * 40, state_size=1, iterations=1, vocab_size=20,
        settings=textlds.FitSettings(observations="words"),
    )  # fmt: skip
    assert next(plain(escaped, of_a_treebank.vocabulary)) == escaped[0]


def test_a_vector_a_word(model: textlds.TextLDS) -> None:
    vocabulary = model.vocabulary
    table = np.arange(len(vocabulary) * 2, dtype=np.float32).reshape(-1, 2)
    found = word_features(vocabulary, table)([["bank", "Zanzibar"], ["-LRB-"]])
    rows = [vocabulary.id("bank"), *vocabulary.ids(["Zanzibar"]), vocabulary.id("(")]
    assert vocabulary.words[rows[1]].startswith("<unk")
    np.testing.assert_array_equal(found, table[rows])
    with pytest.raises(ArgumentError, match="the table has 3 rows"):
        word_features(vocabulary, table[:3])


@pytest.mark.parametrize("reach", [1, 2, 5])
def test_neighbours_do_not_cross_sentences(reach: int) -> None:
    sentences = [["a", "b", "c"], [], ["d"], ["e", "f"]]
    numbers = {token: np.array([i + 1, -(i + 1)], np.float32) for i, token in enumerate("abcdef")}
    found = with_neighbours(lambda some: np.array([numbers[t] for s in some for t in s]), reach=reach)(sentences)
    expected = []
    for sentence in sentences:
        for i in range(len(sentence)):
            around = range(i - reach, i + reach + 1)
            expected.append([numbers[sentence[j]] if 0 <= j < len(sentence) else np.zeros(2) for j in around])
    np.testing.assert_array_equal(found, np.array(expected).reshape(6, -1))


def test_remembered(model: textlds.TextLDS) -> None:
    calls = []

    def features(sentences):
        calls.append(sentences)
        return model_features(model, recipe="context")(sentences)

    once = remembered(features)
    np.testing.assert_array_equal(once(SENTENCES), once([tuple(s) for s in SENTENCES]))
    assert len(calls) == 1
    once(SENTENCES[:1])
    assert len(calls) == 2
    with pytest.raises(ArgumentError, match="reach=0"):
        with_neighbours(features, reach=0)
