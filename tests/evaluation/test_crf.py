"""The CRF: its attributes, what it learns from words, vectors and clusters, and the choice of its settings."""

from __future__ import annotations

import sys
from itertools import pairwise, product

import numpy as np
import pytest

from evaluation.worlds import looked_up, secret_world, tagged_sentences
from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError, MissingExtraError
from textlds.evaluation.crf import CRFSettings, choose_crf, lexical_attributes, train_crf
from textlds.evaluation.measures import right

pycrfsuite = pytest.importorskip("pycrfsuite")


def share_right(sentences, tags) -> float:
    return float(np.mean(right([s.tags for s in sentences], tags)))


def test_attributes() -> None:
    first, second, third = map(set, lexical_attributes(["Mr.", "O'Brien-Smith", "1,000"]))
    assert {"bias", "first", "w=Mr.", "lower=mr.", "prefix=m", "prefix=mr.", "suffix=r.", "capital"} <= first
    assert {"w-1=<s>", "w-2=<s>", "w+1=o'brien-smith", "w+2=1,000", "shape=Xx."} <= first
    assert {"shape=X'Xxx-Xxx", "hyphen", "apostrophe", "inner capital", "suffix=mith", "prefix=o'br"} <= second
    assert {"w-1,w=mr.,o'brien-smith", "w,w+1=o'brien-smith,1,000", "w-1,w+1=mr.,1,000"} <= second
    assert {"last", "number", "digit", "shape=0,00", "w+1=</s>"} <= third
    assert not {"first", "last"} & second
    assert lexical_attributes([]) == []
    assert "suffix=abcd" in lexical_attributes(["xabcd"])[0]
    assert "suffix=xabcd" not in lexical_attributes(["xabcd"])[0]


def test_it_learns_from_neighbouring_words() -> None:
    train, test = tagged_sentences(100), tagged_sentences(50, seed=1)
    tagger = train_crf(train)
    assert share_right(test, tagger.predict([s.tokens for s in test])) == 1


def test_predictions_are_those_of_an_exhaustive_search() -> None:
    """Score all tag sequences of a short sentence by the weights that CRFsuite gives out."""
    train = tagged_sentences(30)
    tagger = train_crf(train, settings=CRFSettings(c2=1.0))
    info = tagger._tagger.info()
    tokens = ("the", "works", "plays", "the", "rests")
    attributes = [[f"x:{name}" for name in row] for row in lexical_attributes(tokens)]
    labels = list(info.labels)

    def total(tags) -> float:
        states = sum(info.state_features.get((a, t), 0) for row, t in zip(attributes, tags, strict=True) for a in row)
        return states + sum(info.transitions.get(pair, 0) for pair in pairwise(tags))

    best = max(product(labels, repeat=len(tokens)), key=total)
    assert tagger.predict([tokens]) == [best]


def test_it_learns_from_vectors_whatever_their_scale() -> None:
    (train, rows), (test, more) = secret_world(120, seed=0), secret_world(60, seed=1)
    tokens = [s.tokens for s in test]
    assert share_right(test, train_crf(train).predict(tokens)) < 0.75
    for unit in (1e-4, 1.0, 1e4):
        scaled = ({tokens: unit * vectors for tokens, vectors in table.items()} for table in (rows, more))
        tagger = train_crf(train, features=looked_up(*scaled), settings=CRFSettings(vector_scale=1.0))
        assert share_right(test, tagger.predict(tokens)) > 0.97


def test_it_learns_from_clusters() -> None:
    rng = np.random.default_rng(0)
    words = [f"{chr(97 + a)}{chr(97 + b)}x" for a in range(10) for b in range(26)]
    rng.shuffle(words)
    clusters = {word: "0010" if i % 2 else "0111" for i, word in enumerate(words)}

    def sentences(some):
        return [Tagged((word,), ("A" if clusters[word] == "0010" else "B",)) for word in some]

    train, test = sentences(words[:130]), sentences(words[130:])
    tokens = [s.tokens for s in test]
    with_clusters = share_right(test, train_crf(train, clusters=clusters).predict(tokens))
    assert with_clusters == 1
    assert share_right(test, train_crf(train).predict(tokens)) < 0.75


def test_the_best_settings_on_dev_are_chosen() -> None:
    (train, rows), (dev, more) = secret_world(60, seed=0), secret_world(30, seed=1)
    calls = []

    def features(sentences):
        calls.append(len(sentences))
        return looked_up(rows, more)(sentences)

    grid = [CRFSettings(vector_scale=1e-6), CRFSettings(vector_scale=1.0), CRFSettings(vector_scale=1e-5)]
    chosen = choose_crf(train, dev, lambda tags: share_right(dev, tags), grid=grid, features=features)
    assert chosen.tagger.settings == grid[1]
    assert [row["vector_scale"] for row in chosen.tried] == [1e-6, 1.0, 1e-5]
    assert chosen.score == max(row["score"] for row in chosen.tried)
    assert share_right(dev, chosen.tagger.predict([s.tokens for s in dev])) == chosen.score
    assert calls == [60, 30]  # vectors are made once
    with pytest.raises(ArgumentError, match="grid is empty"):
        choose_crf(train, dev, lambda tags: 0.0, grid=[])


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycrfsuite", None)
    with pytest.raises(MissingExtraError, match=r"textlds\[evaluate\]"):
        train_crf(tagged_sentences(2))
