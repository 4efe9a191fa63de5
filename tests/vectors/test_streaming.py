from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from model.worlds import random_model
from oracles.synthetic import KINDS
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError
from textlds.vectors.recipes import Recipe

TEXT = ["aaa", "aab", "zzz", "aac", "aaa", "aaa", "aah", "aad", "aab", "aab"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", ["state", "left_context+previous_word+word+state"])
@pytest.mark.parametrize("weighting", ["fitted", "equal"])
def test_a_stream_gives_what_embed_gives(kind, parts, weighting):
    model = random_model(1, kind=kind)
    expected = model(TEXT, recipe=Recipe(parts, weighting, "filter"))
    stream = model.stream(recipe=f"{parts}, {weighting}")
    for token, vector in zip(TEXT, expected.vectors, strict=True):
        found = stream.push(token)
        assert found.shape == vector.shape
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, vector, atol=1e-5)


def test_reset_begins_a_new_text():
    stream = random_model(0).stream(recipe="state+left_context")
    first = stream.push("aaa")
    later = stream.push("aaa")
    assert np.abs(first - later).max() > 1e-3
    stream.reset()
    np.testing.assert_array_equal(stream.push("aaa"), first)


def test_streams_of_one_model_do_not_share_their_state():
    model = random_model(0)
    one, other = model.stream(), model.stream()
    first = one.push("aaa")
    one.push("aab")
    np.testing.assert_array_equal(other.push("aaa"), first)


def test_a_vector_once_given_does_not_change():
    stream = random_model(0).stream(recipe="left_context+word+state")
    first = stream.push("aaa")
    copy = first.copy()
    stream.push("aab")
    np.testing.assert_array_equal(first, copy)


def test_a_boundary_token_may_be_pushed_like_any_other():
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundary_token="aah")
    model = random_model(0, settings=settings)
    (expected,) = model.embed(["aaa aab\naac"], recipe="context, filter")
    stream = model.stream()
    found = [stream.push(token) for token in ("aaa", "aab", "aah", "aac")]
    np.testing.assert_allclose([found[0], found[1], found[3]], expected.vectors, atol=1e-5)


def test_memory_does_not_grow():
    stream = random_model(0).stream()
    for token in TEXT * 20:
        stream.push(token)
    tracemalloc.start()
    for token in TEXT * 100:
        stream.push(token)
    before = tracemalloc.get_traced_memory()[0]
    for token in TEXT * 500:
        stream.push(token)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 2000


def test_bad_arguments():
    model = random_model(0)
    for recipe, part in (("features", "neighbours"), ("right_context", "right_context")):
        with pytest.raises(ArgumentError, match=f"'{part}' needs the words to the right"):
            model.stream(recipe=recipe)
    with pytest.raises(ArgumentError, match="7 is not a token"):
        model.stream().push(7)


def test_a_stream_of_states_makes_no_table_of_words():
    """It would take as long as whitening the whole vocabulary."""
    model = random_model(1)
    model.stream(recipe="state+left_context, fitted").push("aaa")
    assert "words" not in vars(model.spaces.space("float32"))
    model.stream(recipe="previous_word, fitted").push("aaa")
    assert "words" in vars(model.spaces.space("float32"))
