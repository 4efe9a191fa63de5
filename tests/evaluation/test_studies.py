"""The studies behind ``textlds evaluate``: what they report is what the taggers and vectors do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evaluation.worlds import looked_up, one_hot, secret_world, tagged_sentences
from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError
from textlds.evaluation.crf import CRFSettings
from textlds.evaluation.data import ContextPair, Pair, Place
from textlds.evaluation.ner import evaluate_ner
from textlds.evaluation.similarity import evaluate_context_pairs, evaluate_pairs
from textlds.evaluation.tagging import crf_grid, evaluate_tagging, without_vectors


def contextual(sentences):
    return one_hot(sentences, context=True)


def static(sentences):
    return one_hot(sentences, context=False)


@pytest.fixture(scope="module")
def sets():
    # a word that only the test set has: it is unknown, and no vector tells its tag
    zebra = Tagged(("the", "zebra", "sees", "the", "zebra", "."), ("DET", "X", "VERB", "DET", "X", "PUNCT"))
    test = [*tagged_sentences(40, seed=2), zebra]
    return tagged_sentences(150), tagged_sentences(50, seed=1), test


def test_tagging_by_the_local_classifier(sets) -> None:
    result = evaluate_tagging(contextual, *sets, seeds=2)
    dev, test = result.rows
    assert (dev.tagger, dev.part, test.part) == ("vectors", "dev", "test")
    assert dev.mean == 100
    assert len(dev.seeds) == 2
    assert dev.spread == 0
    assert test.accuracy.known == 100
    assert test.accuracy.unknown == 0
    assert test.accuracy.unknown_tokens == 2
    assert result.tags == 4
    assert result.train_tokens == sum(len(sentence) for sentence in sets[0])
    assert evaluate_tagging(static, *sets).rows[0].mean < 95
    content = json.loads(json.dumps(result.to_json()))
    assert content["rows"][1]["unknown"] == 0
    assert content["settings"]["vectors"]["hidden"] == 25


def test_tagging_by_the_crf() -> None:
    pytest.importorskip("pycrfsuite")
    (train, rows), (dev, more) = secret_world(150, seed=0), secret_world(60, seed=1)
    result = evaluate_tagging(looked_up(rows, more), train, dev, classifier="crf")
    words, both = result.rows
    assert (words.tagger, both.tagger) == ("words", "words + vectors")
    assert words.mean < 70
    assert both.mean > 95
    test = result.tests["dev"]
    assert test.only_second - test.only_first == round((both.mean - words.mean) * words.accuracy.tokens / 100)
    assert test.p < 1e-9
    json.dumps(result.to_json())


def test_the_grid_without_vectors_has_no_scales() -> None:
    grid = crf_grid("grid")
    assert len(without_vectors(grid)) == len({one.c2 for one in grid}) < len(grid)
    assert crf_grid("none") == [CRFSettings()]
    with pytest.raises(ArgumentError, match="search='all'"):
        crf_grid("all")


def test_wrong_classifiers_are_refused(sets) -> None:
    with pytest.raises(ArgumentError, match="classifier='svm' is not one of 'local', 'crf'"):
        evaluate_tagging(static, *sets, classifier="svm")


def test_ner_says_what_vectors_add() -> None:
    pytest.importorskip("pycrfsuite")
    kinds = ("B-PER", "B-LOC")
    worlds = [secret_world(n, seed=seed, names=kinds) for n, seed in ((150, 0), (60, 1), (60, 2))]
    features = looked_up(*(rows for _, rows in worlds))
    result = evaluate_ner(features, *(sentences for sentences, _ in worlds), rounds=999)
    by_name = {(row.tagger, row.part): row.f1 for row in result.rows}
    assert by_name["words", "test"].f1 < 65
    assert by_name["words + vectors", "test"].f1 > 90
    added = by_name["words + vectors", "test"].f1 - by_name["words", "test"].f1
    assert result.tests["test"].difference == pytest.approx(added)
    assert result.tests["test"].p == pytest.approx(0.001)
    assert by_name["words", "dev"].entities == 300
    json.dumps(result.to_json())


def test_ner_refuses_other_tags() -> None:
    sentences = tagged_sentences(3)
    with pytest.raises(ArgumentError, match="train: 'DET' is no tag of an entity"):
        evaluate_ner(static, sentences, sentences)


VECTORS = {"cat": (1.0, 0.0), "dog": (0.8, 0.6), "Paris": (0.0, 1.0), "of": (-1.0, 0.1), "NATO": (3.0, 4.0)}


def word_vectors(sentences):
    return np.array([VECTORS.get(token, (0.5, 0.5)) for tokens in sentences for token in tokens], np.float32)


def test_pairs_of_words_by_themselves() -> None:
    pairs = [
        Pair("cat", "dog", 9), Pair("cat", "paris", 3), Pair("Dog", "cat", 8), Pair("cat", "unheard", 10),
        Pair("dog", "nato", 1), Pair("of", "cat", 0),
    ]  # fmt: skip
    found = evaluate_pairs(word_vectors, pairs, VECTORS)
    # cosines 0.8, 0, 0.8, -, 0.96, -0.995 against 9, 3, 8, -, 1, 0
    ranks = [3.5, 2, 3.5, 5, 1], [5, 3, 4, 2, 1]
    assert found.rho == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert (found.found, found.pairs) == (5, 6)
    assert evaluate_pairs(word_vectors, [Pair("u", "v", 1)], VECTORS).found == 0


def test_pairs_in_context_take_the_vector_at_the_place() -> None:
    places = [Place(("of", "cat"), 1), Place(("dog", "of", "of"), 0), Place(("Paris",), 0), Place(("of",), 0)]
    pairs = [
        ContextPair(places[0], places[1], 3.0),
        ContextPair(places[0], places[2], 2.0),
        ContextPair(places[3], places[0], 1.0),
    ]
    assert evaluate_context_pairs(word_vectors, pairs).rho == pytest.approx(1)
    assert evaluate_context_pairs(word_vectors, pairs).found == 3
