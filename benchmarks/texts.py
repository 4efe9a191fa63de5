"""The beginning of a large text, by tokens; how a text of the literature is counted; a table of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textlds import CountSettings, TextSettings

BYTES_A_TOKEN = 5.32  # of English Wikipedia
# How to count the language-model split of the Penn Treebank, so that tokens are those of the literature: it is
# tokenised, has its own <unk>, and the end of a sentence is a token.
PENN_TREEBANK = TextSettings(tokenizer="whitespace", digits="keep", unknown="single", boundary_token="</s>")
PENN_TREEBANK_WORDS = CountSettings(min_count=1)  # all 10,000, the rare ones of the text being <unk> already


def first_lines(path: Path, tokens: float) -> list[str]:
    """Return the whole lines with which the first so many tokens, about, of a text begin."""
    return first_bytes(path, tokens).decode("utf-8").splitlines()


def first_bytes(path: Path, tokens: float) -> bytes:
    """Return the same as one piece."""
    with path.open("rb") as file:
        return file.read(int(tokens * BYTES_A_TOKEN)) + file.readline()


def markdown_table(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the lines of a table in Markdown, with an empty one after them."""
    made = [f"| {' | '.join(map(str, head))} |", "|---" * len(head) + "|"]
    return [*made, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]
