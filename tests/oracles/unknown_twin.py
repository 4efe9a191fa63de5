"""Unknown classes again, in plain Python on strings."""

from __future__ import annotations

import re

from textlds.corpus.tokens import characters as c
from textlds.corpus.unknown import CAPITAL_SUFFIXES, SUFFIXES, unknown_classes


def unknown_class(word: str, unknown: str) -> str:
    if word in unknown_classes(unknown):
        return word
    if unknown == "single":
        return "<unk>"
    kinds = [c.class_of(character) for character in word]
    lower, upper = kinds.count(c.LOWER), kinds.count(c.UPPER)
    letters = [kind for kind in kinds if kind in (c.LOWER, c.UPPER, c.LETTER)]
    capitals = "".join("x" if kind == c.UPPER else " " for kind in kinds)
    apart = any(word[m.start() : m.end()] == "NUM" for m in re.finditer("x+", capitals))
    if c.DIGIT in kinds or apart:
        return "<unk:digit>"
    if not lower + upper:
        return "<unk>" if letters or c.IDEOGRAPH in kinds else "<unk:symbol>"
    if c.PERIOD in kinds:
        return "<unk:dotted>"
    if not upper:
        return "<unk:hyphen>" if c.HYPHEN in kinds else by_suffix(word, SUFFIXES, "<unk:lower>")
    if not lower and upper > 1:
        return "<unk:ALLCAPS>"
    if letters[0] == c.UPPER and c.HYPHEN in kinds:
        return "<unk:Capital-hyphen>"
    if letters[0] == c.UPPER and upper == 1:
        return by_suffix(word, CAPITAL_SUFFIXES, "<unk:Capital>")
    return "<unk:Mixed>"


def by_suffix(word: str, groups: dict[str, tuple[str, ...]], otherwise: str) -> str:
    fitting = [
        (len(suffix), f"<unk:{name}>")
        for name, suffixes in groups.items()
        for suffix in suffixes
        if word.endswith(suffix) and len(word) >= len(suffix) + 2
    ]
    return max(fitting, default=(0, otherwise))[1]
