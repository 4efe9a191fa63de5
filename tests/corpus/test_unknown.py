from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.texts import PARAGRAPHS, words
from oracles.unknown_twin import unknown_class
from textlds.corpus.tokens.lookup import rows_of
from textlds.corpus.tokens.types import TypeTable, pack
from textlds.corpus.unknown import SHAPES, SUFFIXES, unknown_classes


def classes(tokens: list[str], unknown: str) -> list[str]:
    names = unknown_classes(unknown)  # type: ignore[arg-type]
    return [names[row] for row in rows_of(*pack(tokens), TypeTable(), len(names))]


def test_inventory() -> None:
    assert unknown_classes("single") == ("<unk>",)
    assert unknown_classes("shape") == SHAPES
    assert 25 <= len(SHAPES) <= 40
    assert len(set(SHAPES)) == len(SHAPES)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("walking", "-ing"), ("ring", "lower"), ("ing", "lower"), ("jumped", "-ed"), ("quickly", "-ly"), ("cats", "-s"),
        ("glass", "lower"), ("status", "lower"), ("nation", "-ion"), ("happiness", "-ness"), ("actor", "-er"),
        ("zzz", "lower"), ("naïveté", "lower"), ("état", "lower"), ("well-known", "hyphen"), ("it's", "-s"),
        ("Paris", "Capital"), ("Cubans", "Capital-s"), ("Cuban", "Capital-an"), ("Ann", "Capital"), ("X", "Capital"),
        ("Anglo-Saxon", "Capital-hyphen"), ("NATO", "ALLCAPS"), ("UTF-NUM", "digit"), ("iPhone", "Mixed"),
        ("McDonald", "Mixed"), ("NUMs", "digit"), ("NUM,NUM", "digit"), ("NUMBER", "ALLCAPS"), ("1990s", "digit"),
        ("٣", "digit"), ("U.S.S.R.", "dotted"), ("example.com", "dotted"), ("...", "symbol"), ("€", "symbol"),
        ("👍", "symbol"), ("ЖУК", "ALLCAPS"), ("Москва", "Capital"), ("ὄχι", "lower"), ("", "symbol"),
    ],
)  # fmt: skip
def test_shapes(word: str, name: str) -> None:
    assert classes([word], "shape") == [f"<unk:{name}>"]
    assert classes([word], "single") == ["<unk>"]


def test_scripts_without_case_are_plain_unknowns() -> None:
    assert classes(["שלום", "हिन्दी", "中"], "shape") == ["<unk>"] * 3


def test_names_of_classes_are_their_own_class() -> None:
    assert classes(list(SHAPES), "shape") == list(SHAPES)
    assert classes(["<unk>", "<unk:digit>", "<unk:nothing>"], "single") == ["<unk>"] * 3


@given(st.lists(words, max_size=20))
def test_kernel_agrees_with_its_twin(tokens: list[str]) -> None:
    tokens = [token.encode("utf-8", "replace").decode() for token in tokens]
    for unknown in ("shape", "single"):
        assert classes(tokens, unknown) == [unknown_class(token, unknown) for token in tokens]


def test_kernel_agrees_with_its_twin_on_words() -> None:
    stems = ["a", "ab", "abc", "Abc", "ABC", "x-abc", "X-abc", "é", "NUM"]
    endings = ["", "ess", "ies", "NUM", *(suffix for group in SUFFIXES.values() for suffix in group), "an", "ese"]
    tokens = [stem + ending for stem in stems for ending in endings]
    tokens += [token for paragraph in PARAGRAPHS for token in paragraph.split()]
    assert classes(tokens, "shape") == [unknown_class(token, "shape") for token in tokens]
