"""The local classifier: which words it leaves alone, and what it can and cannot learn from a vector."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.worlds import one_hot, tagged_sentences
from textlds.corpus.reading.tagged import Tagged, tokens_of
from textlds.errors import ArgumentError
from textlds.evaluation.local import MajorityTags, train_local
from textlds.evaluation.measures import accuracy
from textlds.evaluation.network import NetworkSettings

GRID = [NetworkSettings(learning_rate=1e-2, epochs=30)]


def filler(n: int) -> list[Tagged]:
    """Rare words, so that a few types can be the most frequent one in a hundred."""
    return [Tagged((f"rare{i}",), ("NOUN",)) for i in range(n)]


def test_majority_tags_of_marks_and_of_common_certain_words() -> None:
    common = [Tagged(("and", "that"), ("CC", "IN"))] * 190 + [Tagged(("and", "that"), ("CC", "DT"))] * 10
    marks = [Tagged(("!", "!", "!", "--", "*"), (".", ".", "X", "X", "X"))]
    found = MajorityTags.learn([*common, *marks, *filler(200)])
    assert found.tags == {"and": "CC", "!": ".", "--": "X", "*": "X"}  # "that" is common, but not certain
    assert found.tag("and") == "CC"
    assert found.tag("that") is None
    assert found.tag("rare3") is None
    assert found.tag("???") == "X"  # most types of marks are X, most tokens are not
    assert MajorityTags.learn(filler(5)).tag("???") is None


def test_a_frequent_word_needs_to_be_one_in_a_hundred_types() -> None:
    sentences = [Tagged(("and",), ("CC",))] * 50 + filler(90)
    assert MajorityTags.learn(sentences).tags == {}
    assert MajorityTags.learn([*sentences, *filler(99)]).tags == {"and": "CC"}


def test_ties_do_not_depend_on_the_order() -> None:
    sentences = [Tagged(("-",), ("B",)), Tagged(("-",), ("A",))]
    assert MajorityTags.learn(sentences) == MajorityTags.learn(sentences[::-1])


def tag_dev(context: bool):
    train, dev = tagged_sentences(150), tagged_sentences(60, seed=1)
    (tagger,) = train_local(train, dev, lambda some: one_hot(some, context=context), grid=GRID)
    tokens = [sentence.tokens for sentence in dev]
    predicted = tagger.predict(tokens, one_hot(tokens, context=context))
    return accuracy([s.tags for s in dev], predicted, tokens, set(tokens_of(train))), dev, predicted


def test_context_in_the_vector_is_what_it_can_use() -> None:
    found, _, _ = tag_dev(context=True)
    assert found.all == 100
    without, dev, predicted = tag_dev(context=False)
    # of each ambiguous type the tag that it has more often: no function of the word alone does better
    pairs = [
        (t, g, p) for s, q in zip(dev, predicted, strict=True) for t, g, p in zip(s.tokens, s.tags, q, strict=True)
    ]
    for word in {token for token, _, _ in pairs}:
        assert len({p for t, _, p in pairs if t == word}) == 1
    assert 60 < without.all < 95


def test_settings_are_chosen_on_dev_with_the_first_seed_and_used_for_all() -> None:
    train, dev = tagged_sentences(80), tagged_sentences(40, seed=1)
    grid = [NetworkSettings(learning_rate=1e-7, epochs=1), *GRID]  # the first cannot learn
    taggers = train_local(train, dev, lambda some: one_hot(some, context=True), grid=grid, hidden=7, seeds=3)
    assert [tagger.seed for tagger in taggers] == [0, 1, 2]
    assert {tagger.settings.learning_rate for tagger in taggers} == {1e-2}
    assert all(tagger.network.weights.inner.shape[1] == 7 for tagger in taggers)
    first, second = (tagger.network.weights.inner for tagger in taggers[:2])
    assert not np.array_equal(first, second)
    again = train_local(train, dev, lambda some: one_hot(some, context=True), grid=grid, hidden=7, seed=1)
    np.testing.assert_array_equal(again[0].network.weights.inner, second)


def test_a_tag_that_training_lacks_is_never_predicted() -> None:
    train, dev = tagged_sentences(40), [*tagged_sentences(20, seed=1), Tagged(("cat", "!?"), ("NEW", "PUNCT"))]
    (tagger,) = train_local(train, dev, lambda some: one_hot(some, context=True), grid=GRID)
    last = tagger.predict([dev[-1].tokens], one_hot([dev[-1].tokens], context=True))
    assert last[0][1] == "PUNCT"  # a mark that training lacks
    assert "NEW" not in last[0]


def test_what_cannot_be_learnt_is_refused() -> None:
    def features(some):
        return one_hot(some, context=False)

    only_marks = [Tagged((".", ","), ("A", "B"))]
    with pytest.raises(ArgumentError, match="no token is left to learn from"):
        train_local(only_marks, only_marks, features)
    with pytest.raises(ArgumentError, match="seeds=0"):
        train_local(tagged_sentences(3), tagged_sentences(3), features, seeds=0)
