from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.texts import sample_text, words
from oracles.unknown_twin import unknown_class
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.characters import normalise_digits
from textlds.corpus.tokens.tokenizer import ChunkTokenizer
from textlds.corpus.tokens.types import TypeTable
from textlds.corpus.unknown import SHAPES
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, CorpusNotFoundError, EncodingError, FormatError

SETTINGS = TextSettings()
SINGLE = TextSettings(unknown="single")
WITH_TOKEN = TextSettings(unknown="single", boundary_token="</s>")


def known(vocabulary: Vocabulary) -> list[str]:
    return list(vocabulary.words[: vocabulary.n_types])


@given(
    st.lists(words, max_size=60),
    st.integers(1, 12),
    st.integers(1, 3),
    st.sampled_from([SETTINGS, SINGLE]),
)
def test_learn_agrees_with_sorting_a_counter(
    tokens: list[str], vocab_size: int, min_count: int, settings: TextSettings
) -> None:
    tokens = [token.encode("utf-8", "replace").decode() for token in tokens]
    classes = SHAPES if settings.unknown == "shape" else ("<unk>",)
    counts = Counter(token for token in tokens if token not in classes)
    order = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    expected = [word for word in order if counts[word] >= min_count][:vocab_size]
    table = TypeTable()
    table.add(tokens)
    vocabulary = Vocabulary.learn(table, vocab_size=vocab_size, min_count=min_count, settings=settings)
    assert vocabulary.words == (*expected, *classes)
    assert vocabulary.n_types == len(expected)
    rows = [expected.index(w) if w in expected else -1 for w in table.words()]
    found = vocabulary.remap(table).tolist()
    for word, row, got in zip(table.words(), rows, found, strict=True):
        assert got == row if row >= 0 else vocabulary.words[got] == unknown_class(word, settings.unknown)


def test_tables_are_summed_and_words_come_with_counts() -> None:
    a, b = TypeTable.from_words(["x", "y"], [5, 1]), TypeTable.from_words(["y", "z"], [9, 1])
    expected = Vocabulary.learn(["z", "x", "y"], [1, 5, 10], vocab_size=2, settings=SINGLE)
    assert Vocabulary.learn([a, b], vocab_size=2, settings=SINGLE) == expected
    assert known(expected) == ["y", "x"]
    with pytest.raises(ArgumentError, match="words with their counts"):
        Vocabulary.learn(["x"], vocab_size=2, settings=SINGLE)
    with pytest.raises(ArgumentError, match="vocab_size=0"):
        Vocabulary.learn(a, vocab_size=0, settings=SINGLE)


def test_a_class_name_in_the_text_is_no_type() -> None:
    table = TypeTable.from_words(["<unk>", "a", "<unk:digit>"], [100, 1, 50])
    assert known(Vocabulary.learn(table, vocab_size=9, settings=SINGLE)) == ["<unk:digit>", "a"]
    shaped = Vocabulary.learn(table, vocab_size=9, settings=SETTINGS)
    assert known(shaped) == ["a"]
    assert [shaped.words[row] for row in shaped.remap(table)] == ["<unk>", "a", "<unk:digit>"]


def test_boundary_token_always_has_a_row() -> None:
    frequent = TypeTable.from_words(["a", "</s>", "b"], [5, 3, 1])
    assert known(Vocabulary.learn(frequent, vocab_size=3, settings=WITH_TOKEN)) == ["a", "</s>", "b"]
    rare = TypeTable.from_words(["a", "b", "c"], [5, 3, 1])
    assert known(Vocabulary.learn(rare, vocab_size=2, settings=WITH_TOKEN)) == ["a", "</s>"]
    assert known(Vocabulary.learn(rare, vocab_size=9, settings=WITH_TOKEN)) == ["a", "b", "c", "</s>"]
    assert known(Vocabulary.from_words(["a"], WITH_TOKEN)) == ["a", "</s>"]
    with pytest.raises(ArgumentError, match="name of an unknown class"):
        Vocabulary.from_words(["a"], TextSettings(boundary_token="<unk>"))


def test_lookup() -> None:
    vocabulary = Vocabulary.from_words(["the", "NUM", "New York"], SETTINGS)
    assert (vocabulary.id("the"), vocabulary.id("1990"), vocabulary.id("New York")) == (0, 1, 2)
    assert "1990" in vocabulary
    assert "<unk>" not in vocabulary
    assert 7 not in vocabulary
    assert vocabulary.words[vocabulary.id("walking")] == "<unk:-ing>"
    assert vocabulary.ids(["12", "x", "the"]).tolist() == [vocabulary.id(w) for w in ("12", "x", "the")]
    assert vocabulary.ids([]).tolist() == []
    assert len(vocabulary) == 3 + len(SHAPES)
    assert repr(vocabulary) == "Vocabulary(3 types + 39 unknown classes)"


@given(st.lists(words, max_size=10), st.sampled_from(["num", "zero", "keep"]))
def test_ids_normalise_digits(tokens: list[str], digits: str) -> None:
    tokens = [token.encode("utf-8", "replace").decode() for token in tokens]
    settings = TextSettings(digits=digits)  # type: ignore[arg-type]
    vocabulary = Vocabulary.from_words(dict.fromkeys(["a", "NUM", "00", *tokens[::2]]), settings)
    for token, row in zip(tokens, vocabulary.ids(tokens).tolist(), strict=True):
        word = normalise_digits(token, digits)
        assert vocabulary.words[row] == (word if token in vocabulary else unknown_class(word, "shape"))
        assert vocabulary.id(token) == row


def test_given_words() -> None:
    vocabulary = Vocabulary.from_words(["b", "1990", "a", "<unk>", "2001"], SINGLE)
    assert vocabulary.words == ("b", "NUM", "a", "<unk>")
    with pytest.raises(ArgumentError, match="'b' twice"):
        Vocabulary.from_words(["b", "a", "b"], SINGLE)
    with pytest.raises(ArgumentError, match="holds words, not ''"):
        Vocabulary.from_words(["b", ""], SINGLE)


def test_read(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffthe\r\nNew York\n\ncafé\n".encode())
    assert known(Vocabulary.read(path, SETTINGS)) == ["the", "New York", "café"]
    path.write_bytes(b"ok\n\xff\n")
    with pytest.raises(EncodingError, match="0xff at offset 3"):
        Vocabulary.read(path, SETTINGS)
    with pytest.raises(CorpusNotFoundError, match=r"missing\.txt"):
        Vocabulary.read(tmp_path / "missing.txt", SETTINGS)


def test_json_round_trip_and_its_checks() -> None:
    vocabulary = Vocabulary.from_words(["a\nb", '"', "\u2028", "</s>"], WITH_TOKEN)
    content = json.loads(json.dumps(vocabulary.to_json()))
    assert Vocabulary.from_json(content, WITH_TOKEN) == vocabulary
    assert hash(Vocabulary.from_json(content, WITH_TOKEN)) == hash(vocabulary)
    assert Vocabulary.from_words(['"'], WITH_TOKEN) != vocabulary
    for broken in (
        [],
        {"words": [1], "n_types": 0},
        {**content, "n_types": 2},
        {**content, "n_types": "4"},
        {**content, "words": ["x", *content["words"][:-1]]},
        {**content, "words": ['"', *content["words"][1:]]},
        {"words": ["a", "<unk>"], "n_types": 1},
    ):
        with pytest.raises(FormatError):
            Vocabulary.from_json(broken, WITH_TOKEN)


def test_remap_of_text_gives_back_the_text() -> None:
    worker = ChunkTokenizer(SETTINGS)
    ids = worker.ids(sample_text(seed=3).encode(), end=True)
    vocabulary = Vocabulary.learn(worker.table, vocab_size=50, settings=SETTINGS)
    rows = vocabulary.remap(worker.table)
    types = worker.table.words()
    for i in ids[ids >= 0][:2000]:
        word = vocabulary.words[rows[i]]
        assert word == types[i] if types[i] in vocabulary else word == unknown_class(types[i], "shape")


def test_the_same_words_for_text_that_is_cut_otherwise():
    vocabulary = Vocabulary.from_words(["a", "bc"], TextSettings(boundaries="line"))
    other = vocabulary.with_boundaries("sentence")
    assert (other.words, other.settings.boundaries) == (vocabulary.words, "sentence")
    assert other.table is vocabulary.table
    assert other.ids(["bc", "a", "x"]).tolist() == vocabulary.ids(["bc", "a", "x"]).tolist()
    assert other.with_boundaries("sentence") is other
