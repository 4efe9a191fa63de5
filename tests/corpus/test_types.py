from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.texts import words
from textlds.corpus.tokens.types import TypeTable, pack, padded
from textlds.errors import ArgumentError


@given(st.lists(st.lists(words, max_size=30), max_size=3))
def test_table_is_a_dictionary_in_order_of_first_appearance(calls: list[list[str]]) -> None:
    table, order = TypeTable(), {}
    counts: Counter[str] = Counter()
    for tokens in calls:
        tokens = [t.encode("utf-8", "replace").decode() for t in tokens]
        counts.update(tokens)
        expected = [order.setdefault(token, len(order)) for token in tokens]
        assert table.add(tokens).tolist() == expected
    assert table.words() == list(order)
    assert dict(zip(table.words(), table.counts.tolist(), strict=True)) == dict(counts)
    assert len(table) == len(order)


def test_grows_by_types_and_by_bytes() -> None:
    many = [f"w{i * 7919}" for i in range(30_000)]
    long = ["x" * n for n in range(1, 3000, 7)]
    table = TypeTable()
    before = table.nbytes
    ids = table.add(many + long + many)
    assert ids[: len(many)].tolist() == ids[-len(many) :].tolist() == list(range(len(many)))
    assert table.words() == many + long
    assert table.counts.tolist() == [2] * len(many) + [1] * len(long)
    assert table.nbytes > before
    data, offsets = table.word_bytes()
    assert data[offsets[5] : offsets[6]].tobytes().decode() == many[5]


def test_words_that_differ_in_one_byte_or_in_length_are_different() -> None:
    tokens = [stem + tail for stem in ("", "1234567", "12345678", "123456789") for tail in ("", "a", "b", "\0", "\0\0")]
    table = TypeTable()
    assert table.add(tokens).tolist() == list(range(len(tokens)))
    assert table.words() == tokens


def test_merge_adds_counts_and_tells_the_new_ids() -> None:
    a, b = TypeTable(), TypeTable()
    a.add(["x", "y", "x"])
    b.add(["z", "x", "z", "é"])
    assert a.merge(b).tolist() == [2, 0, 3]
    assert dict(zip(a.words(), a.counts.tolist(), strict=True)) == {"x": 3, "y": 1, "z": 2, "é": 1}
    assert a.merge(TypeTable()).tolist() == []
    assert TypeTable.merged([a, b]).counts.tolist() == [4, 1, 4, 2]


def test_pickles() -> None:
    for tokens in ([], ["a", "b", "a"]):
        table = TypeTable()
        table.add(tokens)
        copy = pickle.loads(pickle.dumps(table))
        assert copy.words() == table.words()
        assert copy.counts.tolist() == table.counts.tolist()
        assert copy.add(["b"]).tolist() == table.add(["b"]).tolist()


def test_from_words_checks_its_counts() -> None:
    assert TypeTable.from_words(["a", "b"], [3, 4]).counts.tolist() == [3, 4]
    with pytest.raises(ArgumentError, match="2 words need as many counts"):
        TypeTable.from_words(["a", "b"], [1])


def test_buffers_without_room_to_read_ahead_are_copied() -> None:
    buffer, bounds = pack(["ab", "c"])
    exact = buffer[:3].copy()
    assert padded(buffer, 3) is buffer
    assert padded(exact, 3).size > 3
    table = TypeTable()
    assert table.add_bytes(exact, bounds, np.ones(1, np.int64)).tolist() == [0, 1]
    assert table.words() == ["ab", "c"]
