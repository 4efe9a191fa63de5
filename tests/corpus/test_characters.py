from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from textlds.corpus.tokens import characters as c


@pytest.mark.parametrize(
    ("character", "kind"),
    [
        ("a", c.LOWER), ("É", c.UPPER), ("ǅ", c.UPPER), ("ש", c.LETTER), ("½", c.LETTER), ("7", c.DIGIT),
        ("٣", c.DIGIT), ("\u0301", c.MARK), ("\u200d", c.JOINER), ("\u00ad", c.IGNORED), ("中", c.IDEOGRAPH),
        (".", c.PERIOD), ("-", c.HYPHEN), ("’", c.APOSTROPHE), (",", c.COMMA), ("·", c.INNER), ("?", c.TERMINAL),
        ("。", c.WIDE_TERMINAL), (")", c.CLOSER), ("”", c.CLOSER), ('"', c.QUOTE), ("🏽", c.MODIFIER),
        ("🇩", c.REGIONAL), ("\n", c.NEWLINE), ("\t", c.SPACE), ("\u00a0", c.SPACE), ("\x00", c.SPACE), ("€", c.SYMBOL),
        ("\U0010ffff", c.SYMBOL),
    ],
)  # fmt: skip
def test_class_of_a_character(character: str, kind: int) -> None:
    assert c.class_of(character) == kind


def test_table_agrees_with_the_unicode_data_of_this_python() -> None:
    """A few characters change category from one Unicode version to the next; most never do."""
    expected = {"Ll": {c.LOWER}, "Lu": {c.UPPER}, "Nd": {c.DIGIT}, "Zs": {c.SPACE}, "Lo": {c.LETTER, c.IDEOGRAPH}}
    table = c.character_table()
    kinds = table.blocks.reshape(-1, 128)[table.block_of].reshape(-1).tolist()
    different = [
        code
        for code in range(0x110000)
        if (category := unicodedata.category(chr(code))) in expected and kinds[code] not in expected[category]
    ]
    assert len(different) <= 20
    assert all(kinds[code] != c.DIGIT for code in range(0x110000) if unicodedata.category(chr(code))[0] == "L")


def test_ranges_give_back_the_class() -> None:
    import re

    pattern = re.compile(f"[{c.ranges(c.DIGIT)}]")
    rng = np.random.default_rng(0)
    for code in rng.integers(0, 0xD800, 3000).tolist():
        assert bool(pattern.match(chr(code))) == (c.class_of(chr(code)) == c.DIGIT)


@pytest.mark.parametrize(
    ("digits", "expected"), [("num", "NUMs NUM,NUM NUM"), ("zero", "0000s 0,000 00"), ("keep", "1990s 3,000 ١٢")]
)
def test_normalise_digits(digits: str, expected: str) -> None:
    assert c.normalise_digits("1990s 3,000 ١٢", digits) == expected
