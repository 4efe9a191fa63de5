"""Bases of tokens against a twin in plain Python, for any characters and lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oracles.tagging_twin import base_of
from textlds.corpus.tokens.types import pack
from textlds.tagging.spelling import COLUMNS, token_bases

_TOKENS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12), min_size=1, max_size=8)


def bases(tokens):
    buffer, bounds = pack(tokens)
    return token_bases(buffer, np.stack([bounds[:-1], bounds[1:]], axis=1))


def check(tokens):
    for token, row in zip(tokens, bases(tokens).tolist(), strict=True):
        assert dict(zip(COLUMNS, row, strict=True)) == base_of(token), token


@given(_TOKENS)
def test_any_characters(tokens):
    check(tokens)


def test_words_of_all_kinds():
    check(["The", "McDonald's-9", "1,234.5", "été", "ΑΘΗΝΑ", "ИВАН", "北京", "co\u00adoperate", "🙂", "a", "ﬁn", "ẞ"])


def test_long_tokens():
    check(["x" * n for n in (31, 32, 33, 64, 65, 160, 161, 500)])
    check(["é" * n + "Z9" * 40 for n in (20, 31, 32, 40, 100)])
    check(["a\u00ad" * n for n in (16, 32, 60, 100)])


def test_what_they_tell_apart():
    tokens = ["1996", "1884", "Walking", "walking", "TALKING"]
    rows = {t: dict(zip(COLUMNS, row, strict=True)) for t, row in zip(tokens, bases(tokens).tolist(), strict=True)}
    assert rows["1996"]["form"] == rows["1884"]["form"]
    assert rows["1996"]["bytes"] != rows["1884"]["bytes"]
    assert rows["Walking"]["lower"] == rows["walking"]["lower"]
    assert rows["Walking"]["form"] != rows["walking"]["form"]
    assert rows["TALKING"]["suffix4"] == rows["walking"]["suffix4"]
    assert rows["TALKING"]["prefix2"] != rows["walking"]["prefix2"]
