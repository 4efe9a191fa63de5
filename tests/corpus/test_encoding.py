from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import tokenizer_twin
from oracles.texts import PARAGRAPHS, messy_text, sample_text
from textlds.corpus.encoding import EncodedText, Encoder
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError

SETTINGS = [
    TextSettings(tokenizer=tokenizer, boundaries=boundaries, boundary_token=token)  # type: ignore[arg-type]
    for tokenizer, boundaries, token in [
        ("words", "line", None),
        ("words", "sentence", "</s>"),
        ("words", "document", None),
        ("whitespace", "line", "</s>"),
        ("words", "none", None),
    ]
]


def encoder_for(settings: TextSettings) -> Encoder:
    worker = ChunkTokenizer(settings)
    worker.ids(sample_text(seed=5).encode(), end=True)
    return Encoder(Vocabulary.learn(worker.table, vocab_size=120, settings=settings))


ENCODERS = [encoder_for(settings) for settings in SETTINGS]


def encode_twin(text: str, vocabulary: Vocabulary) -> tuple[list[int], list[int], list[int]]:
    """Ids, positions and starts, from the tokeniser's twin."""
    token = vocabulary.settings.boundary_token
    ids: list[int] = []
    positions: list[int] = []
    starts: list[int] = []
    after_boundary = True
    for item in tokenizer_twin.stream(text, vocabulary.settings):
        if isinstance(item, str):
            if after_boundary and (token is None or not starts):
                starts.append(len(ids))
            positions.append(len(ids))
            ids.append(vocabulary.id(item))
            after_boundary = False
        else:
            if token is not None and not after_boundary:
                ids.append(vocabulary.id(token))
            after_boundary = True
    return ids, positions, starts


def check(encoded: EncodedText, text: str, vocabulary: Vocabulary) -> None:
    ids, positions, starts = encode_twin(text, vocabulary)
    assert encoded.ids.tolist() == ids
    assert encoded.positions.tolist() == positions
    assert encoded.starts.tolist() == starts
    assert (encoded.ids.dtype, encoded.positions.dtype, encoded.starts.dtype) == (np.int32, np.int64, np.int64)
    assert len(encoded.tokens) == len(positions)
    rest = text
    for token in encoded.tokens:  # each stands in the text, after the one before it
        rest = rest[rest.index(token) + len(token) :]


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda e: str(e.vocabulary.settings))
def test_encode_agrees_with_its_twin_on_text(encoder: Encoder) -> None:
    for text in [*PARAGRAPHS, "\n".join(PARAGRAPHS), "a\n\n\nb. C\n"]:
        check(encoder.encode(text), text, encoder.vocabulary)


@given(st.lists(messy_text, max_size=5), st.sampled_from(ENCODERS))
def test_encode_many_agrees_with_its_twin_on_anything(texts: list[str], encoder: Encoder) -> None:
    found = encoder.encode_many(texts)
    assert len(found) == len(texts)
    for encoded, text in zip(found, texts, strict=True):
        check(encoded, text, encoder.vocabulary)


def test_surface_tokens() -> None:
    encoded = ENCODERS[0].encode("I can't co\u00adop in 1990.")
    assert encoded.tokens == ["I", "ca", "n't", "co\u00adop", "in", "1990", "."]
    assert encoded.tokens[5] == "1990"
    assert encoded.tokens[-3:] == ["in", "1990", "."]
    assert repr(encoded.tokens) == repr(list(encoded.tokens))
    assert encoded.tokens != ["I"]
    with pytest.raises(IndexError):
        encoded.tokens[7]


def test_lists_are_taken_as_they_are() -> None:
    for encoder in ENCODERS:
        encoded = encoder.encode(["can't", "1990", "New York", "a\nb"])
        token = encoder.vocabulary.settings.boundary_token
        assert encoded.tokens == ["can't", "1990", "New York", "a\nb"]
        assert encoded.ids[:4].tolist() == [encoder.vocabulary.id(t) for t in encoded.tokens]
        assert encoded.ids[4:].tolist() == ([] if token is None else [encoder.vocabulary.id(token)])
        assert encoded.positions.tolist() == [0, 1, 2, 3]
        assert encoded.starts.tolist() == [0]
        assert encoder.encode([]).ids.size == encoder.encode([]).starts.size == 0
    with pytest.raises(ArgumentError, match="3 is among its tokens"):
        ENCODERS[0].encode(["a", 3])  # type: ignore[list-item]


def test_mixed_and_large_batches_keep_their_order() -> None:
    texts = [sample_text(seed=1, n_lines=300), "", ["x", "y"], *(f"number {i}" for i in range(50)), ["z"]] * 3
    for encoded, text in zip(ENCODERS[0].encode_many(texts), texts, strict=True):
        alone = ENCODERS[0].encode(text)
        assert encoded.tokens == list(alone.tokens)
        assert np.array_equal(encoded.ids, alone.ids)
        assert np.array_equal(encoded.starts, alone.starts)


def test_threads_may_share_an_encoder() -> None:
    texts = [sample_text(seed=seed, n_lines=20) for seed in range(40)]
    expected = [ENCODERS[1].encode(text).ids.tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: ENCODERS[1].encode(text).ids.tolist(), texts)) == expected


def test_pickles() -> None:
    copy = pickle.loads(pickle.dumps(ENCODERS[1]))
    assert copy.encode("Hello there.").ids.tolist() == ENCODERS[1].encode("Hello there.").ids.tolist()


def test_long_unknown_tokens_make_room() -> None:
    text = "1a" * 9000
    encoded = ENCODERS[0].encode(text)
    assert ENCODERS[0].vocabulary.words[encoded.ids[0]] == "<unk:digit>"
    assert encoded.tokens == [text]


def test_custom_tokenizer_has_to_be_given_again() -> None:
    settings = TextSettings(tokenizer="custom")
    vocabulary = Vocabulary.from_words(["New York", "x"], settings)
    with pytest.raises(ArgumentError, match=r"tokenizer=\.\.\. to textlds.load"):
        Encoder(vocabulary).encode("x")
    assert Encoder(vocabulary).encode(["x"]).ids.tolist() == [1]
    encoded = Encoder(vocabulary, tokenizer=lambda line: line.split("|")).encode("New York|x\nx")
    assert encoded.ids.tolist() == [0, 1, 1]
    assert encoded.starts.tolist() == [0, 2]
    assert encoded.tokens == ["New York", "x", "x"]
    with pytest.raises(ArgumentError, match="use TextSettings"):
        Encoder(ENCODERS[0].vocabulary, tokenizer=str.split)


def test_lone_surrogates_are_replaced() -> None:
    assert ENCODERS[0].encode("a \ud800 b").tokens == ["a", "?", "b"]
