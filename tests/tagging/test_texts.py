"""Texts as sentences, and the parts of vectors that the network sees."""

from __future__ import annotations

import numpy as np
import pytest

from tagging.worlds import small_model
from textlds.errors import ArgumentError
from textlds.tagging.inputs import Design, InputMaker
from textlds.tagging.spelling import token_bases
from textlds.tagging.texts import SentenceReader
from textlds.vectors.recipes import Recipe

TEXTS = ["The cat sees. Anna walks!\nthe dog", "", ["the", "boat", "."], [["Mr", "Ben"], [], ["near", "Oslo"]], "x"]
SENTENCES = [
    ["The", "cat", "sees", "."], ["Anna", "walks", "!"], ["the", "dog"], ["the", "boat", "."], ["Mr", "Ben"],
    ["near", "Oslo"], ["x"],
]  # fmt: skip


def tokens_by_sentence(batch):
    tokens = [token for text in batch.tokens for token in text]
    return [tokens[a:b] for a, b in zip(batch.starts[:-1], batch.starts[1:], strict=True)]


@pytest.mark.parametrize("boundary_token", [None, "</s>"])
def test_sentences_of_all_kinds_of_text(boundary_token):
    batch = SentenceReader(small_model(boundary_token)).read(TEXTS)
    assert tokens_by_sentence(batch) == SENTENCES
    assert np.diff(batch.documents).tolist() == [3, 0, 1, 2, 1]
    buffer, spans = batch.bytes()
    raw = buffer.tobytes()
    assert [raw[a:b].decode() for a, b in spans.tolist()] == [token for s in SENTENCES for token in s]
    assert token_bases(buffer, spans).shape[0] == len(batch.rows)


@pytest.mark.parametrize("boundary_token", [None, "</s>"])
def test_parts_are_what_embedding_each_sentence_gives(boundary_token):
    model = small_model(boundary_token)
    recipe = Recipe("state+previous_word+word+next_word")
    maker = InputMaker(model, Design(recipe))
    inputs = maker.inputs(maker.reader.read(TEXTS))
    found = np.concatenate([part.table[part.rows] for part in inputs.parts], axis=1)
    expected = np.concatenate([text.vectors for text in model.embed(SENTENCES, recipe=recipe, threads=1)])
    if boundary_token is None:
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:  # the neighbours of embed may be boundary tokens; those of the tagger are words
        np.testing.assert_allclose(found[:, :6], expected[:, :6], atol=1e-5)
        np.testing.assert_allclose(found[:, 12:18], expected[:, 12:18], atol=1e-5)
        assert not found[0, 6:12].any()


def test_several_batches_and_threads_see_the_same():
    model = small_model()
    texts = [" ".join(sentence) for sentence in SENTENCES for _ in range(3)]
    one = InputMaker(model, Design(Recipe("state+word")))
    two = InputMaker(model, Design(Recipe("state+word")), threads=2)
    whole, again = one.inputs(one.reader.read(texts)), two.inputs(two.reader.read(texts))
    single = [one.inputs(one.reader.read([text])) for text in texts]
    assert np.array_equal(whole.buckets, again.buckets)
    assert np.array_equal(whole.buckets, np.concatenate([inputs.buckets for inputs in single]))
    for k in range(2):
        mine = whole.parts[k].table[whole.parts[k].rows]
        assert np.array_equal(mine, again.parts[k].table[again.parts[k].rows])
        apart = np.concatenate([inputs.parts[k].table[inputs.parts[k].rows] for inputs in single])
        np.testing.assert_allclose(mine, apart, atol=1e-5)


def test_treebank_escapes_are_undone():
    batch = SentenceReader(small_model()).read([["-LRB-", "and\\/or", "``", "cat"]])
    assert list(batch.encoded[0].tokens) == ["(", "and/or", '"', "cat"]
    assert list(batch.tokens[0]) == ["-LRB-", "and\\/or", "``", "cat"]


@pytest.mark.parametrize("wrong", ["a string", [3], [["a", ["b"]]], [[1, 2]]])
def test_what_is_no_text(wrong):
    with pytest.raises(ArgumentError):
        list(SentenceReader(small_model()).batches(wrong))


def test_memory_and_topic_are_parts_of_their_own():
    model = small_model()
    maker = InputMaker(model, Design(Recipe("state"), memory=True))
    inputs = maker.inputs(maker.reader.read([[["Ben", "sees"], ["Ben"]], [["Ben"]]]))
    _, before, after, about = inputs.parts
    state = inputs.parts[0].table
    assert not before.table[0].any()
    np.testing.assert_allclose(before.table[2], state[0], atol=1e-6)
    np.testing.assert_allclose(after.table[0], state[2], atol=1e-6)
    assert not before.table[3].any()  # another document
    assert about.rows.tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(np.linalg.norm(about.table[:2], axis=1), 1, atol=1e-6)
