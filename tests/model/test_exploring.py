"""Neighbours and transitions on a grammar whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from model.worlds import (
    CLASSES,
    SETTINGS,
    class_of,
    counts_of,
    fit,
    grammar_text,
    model_of,
    random_model,
    with_meaning,
)  # fmt: skip
from oracles.synthetic import random_lds
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, UnknownWordError
from textlds.model.exploring import close_words, slips


@pytest.fixture(scope="module")
def model():
    return fit(counts_of([grammar_text(0, 4000)]), state_size=5, iterations=15)


UNAMBIGUOUS = [
    word for name in ("det", "adj", "noun", "verb", "adv", "end") for word in CLASSES[name] if word != "bank"
]


@pytest.mark.parametrize("word", UNAMBIGUOUS)
def test_neighbours_of_a_word_are_of_its_class(model, word):
    others = [other for other in CLASSES[class_of(word)] if other not in (word, "bank")]
    found = model.similar(word, n=len(others))
    # "bank", a noun and a verb, may stand among either
    assert {other for other, _ in found if other != "bank"} <= set(others)
    cosines = [cosine for _, cosine in found]
    assert cosines == sorted(cosines, reverse=True)
    assert all(-1.0001 < cosine < 1.0001 for cosine in cosines)
    assert cosines[0] > 0.8


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("the old bank sees here .", "noun"),
        ("every bank moves .", "noun"),
        ("the old dog bank here .", "verb"),
        ("every teacher bank .", "verb"),
    ],
)
def test_one_word_in_two_contexts_has_neighbours_of_two_classes(model, context, expected):
    for text in (context, context.split()):
        found = [class_of(word) for word, _ in model.similar("bank", context=text, n=4, kind="use")]
        assert found == [expected] * 4


def test_several_occurrences_are_averaged(model):
    """Cosines of the mean of their unit states with what every word brings, in the norm that whitens states."""
    context = ["the", "old", "bank", "sees", ".", "the", "dog", "bank", "."]
    engine, S = model.spaces.engine("float64"), model.moments.smooth_smooth
    inverse = np.linalg.inv(engine.system.T @ S @ engine.system.T.T)
    state = [model.posterior(context).smooth[place] for place in (2, 7)]
    state = sum(x / np.sqrt(x @ inverse @ x) for x in state)
    norms = np.sqrt(np.einsum("ij,jk,ik->i", engine.gains, inverse, engine.gains)) * np.sqrt(state @ inverse @ state)
    expected = engine.gains @ inverse @ state
    found = dict(model.similar("bank", context=context, n=100, recipe="paper"))
    assert "bank" not in found
    assert len(found) == model.vocabulary.n_types - 1
    for word, cosine in found.items():
        row = model.vocabulary.id(word)
        assert cosine == pytest.approx(expected[row] / norms[row], abs=1e-5)


def test_an_unknown_word_is_understood_from_its_context(model):
    for context, expected in (("the old blorf sees here .", "noun"), ("the old dog blorfs here .", "verb")):
        word = context.split()[2 if expected == "noun" else 3]
        found = [
            class_of(other) for other, _ in model.similar(word, context=context, n=6, recipe="paper") if other != "bank"
        ]
        assert found[:4] == [expected] * 4


def test_an_unknown_word_without_a_context(model):
    with pytest.raises(UnknownWordError, match=r"'teachr' is not among the \d+ words.* Close to it: teacher") as error:
        model.similar("teachr")
    assert "Give a context" in str(error.value)
    assert isinstance(error.value, KeyError)
    with pytest.raises(UnknownWordError) as error:
        model.similar("xylophone")
    assert "Close to it" not in str(error.value)
    with pytest.raises(UnknownWordError):
        model.similar("<unk>")


def test_a_context_without_the_word(model):
    with pytest.raises(ArgumentError, match=r"'bank' is not a token of the context. Its tokens are: the dog sees"):
        model.similar("bank", context="the dog sees .")
    with pytest.raises(ArgumentError, match="the context is empty; give a text that holds the word 'bank'"):
        model.similar("bank", context="")


def test_only_known_words_are_neighbours_and_never_the_word_itself(model):
    found = [word for word, _ in model.similar("dog", n=1000)]
    assert sorted([*found, "dog"]) == sorted(model.vocabulary.words[: model.vocabulary.n_types])
    for n in (1, 3):
        assert model.similar("dog", n=n) == model.similar("dog", n=1000)[:n]
    with pytest.raises(ArgumentError, match="n=0 must be at least 1"):
        model.similar("dog", n=0)


def test_neighbours_are_those_of_the_word_part(model):
    words = model.vocabulary.words[: model.vocabulary.n_types]
    for kind, recipe in (("meaning", "word_meaning"), ("use", "word")):
        (table,) = model.embed([words], recipe=recipe, dtype="float64")
        cosines = table.vectors @ table.vectors[words.index("dog")]
        for word, cosine in model.similar("dog", n=5, kind=kind):
            assert cosine == pytest.approx(cosines[words.index(word)], abs=1e-4)


def test_digits_are_normalised_in_the_question_too():
    words = ["NUM", "aab", "aac", "aad", "aae", "aaf", "aag", "aah"]
    model = random_model(0, words=words, settings=TextSettings(tokenizer="whitespace", unknown="single"))
    model = with_meaning(model)
    for kind in ("meaning", "use"):
        assert model.similar("1984", n=3, kind=kind) == model.similar("NUM", n=3, kind=kind)
        assert [word for word, _ in model.similar("1984", context="aaa 1984", n=9, kind=kind)].count("NUM") == 0


def test_transitions_follow_the_grammar():
    """A ring of four classes: a state that speaks for one class leads to one that speaks for the next."""
    rng = np.random.default_rng(0)
    ring = [CLASSES[name][:4] for name in ("det", "adj", "noun", "adv")]
    text = [str(rng.choice(ring[t % 4])) for t in range(8000)]
    model = fit(counts_of([text]), state_size=3, iterations=10, pseudocount=1.0)
    found = model.dynamics(n=3, words=4)
    assert [pair.strength for pair in found] == sorted((pair.strength for pair in found), reverse=True)
    order = ("det", "adj", "noun", "adv")
    for pair in found[:2]:
        sources, targets = ([order.index(class_of(word)) for word in words] for words in (pair.source, pair.target))
        assert {(s + 1) % 4 for s in sources} == set(targets)


def test_transitions_are_the_singular_pairs_of_A_where_Q_is_one(model):
    params = model.params.normalised()
    U, strengths, Vt = np.linalg.svd(params.A)
    found = model.dynamics(n=3, words=5)
    words = model.vocabulary.words
    for i, pair in enumerate(found):
        assert pair.strength == pytest.approx(strengths[i])
        assert len(pair.source) == len(pair.target) == 5
        scores = [(params.C @ vector)[: model.vocabulary.n_types] for vector in (Vt[i], U[:, i])]
        best = []
        for sign in (1, -1):
            rows = [np.argsort(-sign * s, kind="stable")[:5] for s in scores]
            best.append([[words[j] for j in row] for row in rows])
        assert [pair.source, pair.target] in best


def test_dynamics_arguments(model):
    assert len(model.dynamics()) == 5  # no more than the state has dimensions
    assert len(model.dynamics(n=2)) == 2
    assert len(model.dynamics(n=1, words=3)[0].source) == 3
    for options in ({"n": 0}, {"words": 0}):
        with pytest.raises(ArgumentError, match="must be at least 1"):
            model.dynamics(**options)


def test_neither_depends_on_the_coordinates_of_the_state():
    params, m = random_lds(3, V=30, h=4)
    moved = params.transformed(np.random.default_rng(0).standard_normal((4, 4)))
    here, there = (model_of(p, m, settings=SETTINGS) for p in (params, moved))
    for a, b in zip(here.dynamics(n=4), there.dynamics(n=4), strict=True):
        assert a.strength == pytest.approx(b.strength, abs=1e-6)
        assert (a.source, a.target) == (b.source, b.target)
    for options in ({}, {"context": "aaa aab aac aad"}):
        neighbours, others = (model.similar("aab", kind="use", **options) for model in (here, there))
        assert [word for word, _ in neighbours] == [word for word, _ in others]
        np.testing.assert_allclose([c for _, c in neighbours], [c for _, c in others], atol=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("", "", 0), ("bank", "bank", 0), ("bnak", "bank", 1), ("bank", "banks", 1), ("ank", "bank", 1),
     ("bank", "balk", 1), ("bank", "rune", 3), ("", "abc", 3), ("recieve", "received", 2), ("abcd", "badc", 2)],
)  # fmt: skip
def test_slips(first, second, expected):
    assert slips(first, second) == expected
    assert slips(second, first) == expected


def test_words_that_may_have_been_meant():
    known = ["the", "Bank", "bank", "beak", "tank", "government", "Beatles", "movement"]
    assert close_words("bnak", known) == ["bank", "beak"]  # a swap, then a letter; the more frequent first
    assert close_words("Bnak", known) == ["Bank", "beak"]
    assert close_words("bnak", ["beak", "bank"]) == ["beak", "bank"]
    assert close_words("teh", known) == ["the"]
    assert close_words("goverment", known) == ["government", "movement"]
    assert close_words("beatels", known, n=1) == ["Beatles"]
    assert close_words("zzzq", known) == close_words("", known) == []
