"""Entities survive every scheme of tags; reading them agrees with seqeval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError
from textlds.tagging.entities import Entity, check_entity_tags, convert_tags, entities, with_scheme

TAGS = st.lists(st.sampled_from(["O", *(f"{p}-{k}" for p in "BIES" for k in ("PER", "LOC"))]), max_size=12)


def test_the_schemes_of_one_sentence() -> None:
    iob1 = ("I-PER", "I-PER", "B-PER", "O", "I-LOC", "I-PER")
    iob2 = ("B-PER", "I-PER", "B-PER", "O", "B-LOC", "B-PER")
    bioes = ("B-PER", "E-PER", "S-PER", "O", "S-LOC", "S-PER")
    found = [Entity(0, 2, "PER"), Entity(2, 3, "PER"), Entity(4, 5, "LOC"), Entity(5, 6, "PER")]
    for tags in (iob1, iob2, bioes):
        assert entities(tags) == found
        assert convert_tags(tags, "iob1") == iob1
        assert convert_tags(tags, "iob2") == iob2
        assert convert_tags(tags, "bioes") == bioes
    assert with_scheme([Tagged(tuple("abcdef"), iob1)], "iob2") == [Tagged(tuple("abcdef"), iob2)]


@given(TAGS, st.sampled_from(["iob1", "iob2", "bioes"]))
def test_conversion_keeps_the_entities(tags: list[str], scheme: str) -> None:
    assert entities(convert_tags(tags, scheme)) == entities(tags)


@given(TAGS)
def test_reading_agrees_with_seqeval(tags: list[str]) -> None:
    get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    assert {(e.kind, e.start, e.end - 1) for e in entities(tags)} == set(get_entities(list(tags)))


def test_other_tags_are_refused() -> None:
    with pytest.raises(ArgumentError, match="train: 'NNP' is no tag of an entity"):
        check_entity_tags([Tagged(("a",), ("NNP",))], "train")
    check_entity_tags([Tagged(("a", "b"), ("O", "S-PER"))], "train")
    with pytest.raises(ArgumentError, match="scheme='bilou' is not one of 'iob1', 'iob2', 'bioes'"):
        convert_tags(["O"], "bilou")
