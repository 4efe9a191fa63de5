"""Files of judgements: pairs of words with a similarity, alone or in their contexts."""

from __future__ import annotations

import os
from dataclasses import dataclass

from textlds.corpus.reading.tagged import PathLike, read_lines
from textlds.errors import CorpusError


@dataclass(frozen=True)
class Pair:
    """Two words and how similar people find them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class Place:
    """A word where it occurs: the tokens around it and its position among them."""

    tokens: tuple[str, ...]
    position: int

    @property
    def word(self) -> str:
        """The word itself."""
        return self.tokens[self.position]


@dataclass(frozen=True)
class ContextPair:
    """Two words in their contexts and how similar people find them there."""

    first: Place
    second: Place
    score: float


def read_pairs(path: PathLike) -> list[Pair]:
    """Read pairs of words with a score: two words and the first number after them, separated by tabs, commas or spaces.

    A first line without a number is taken for a heading; blank lines and ``#`` comments are skipped.
    """
    name = os.fspath(path)
    pairs: list[Pair] = []
    for number, line in enumerate(read_lines(name), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line)
        score = next((value for value in map(_number, fields[2:]) if value is not None), None)
        if score is not None:
            pairs.append(Pair(fields[0], fields[1], score))
        elif number > 1:
            raise CorpusError(f"{name}, line {number}: expected two words and a score, found {line!r:.100}.")
    if not pairs:
        raise CorpusError(f"{name} holds no pair of words with a score.")
    return pairs


def read_scws(path: PathLike) -> list[ContextPair]:
    """Read Stanford's contextual word similarities.

    Tab-separated: number, word, part of speech, word, part of speech, context, context, mean score, scores. The words
    occur in their contexts, which are tokenised, as ``<b> word </b>``.
    """
    name = os.fspath(path)
    pairs: list[ContextPair] = []
    for number, line in enumerate(read_lines(name), start=1):
        if not line.strip():
            continue
        fields = line.split("\t")
        where = f"{name}, line {number}"
        score = _number(fields[7]) if len(fields) > 7 else None
        if score is None:
            raise CorpusError(f"{where}: expected at least 8 tab-separated fields, the eighth the mean score.")
        pairs.append(ContextPair(_place(fields[5], where), _place(fields[6], where), score))
    if not pairs:
        raise CorpusError(f"{name} holds no pair of words in context.")
    return pairs


def is_scws(path: PathLike) -> bool:
    """Tell whether a file holds pairs in context, by its first line."""
    first = next((line for line in read_lines(os.fspath(path)) if line.strip()), "")
    return len(first.split("\t")) > 7 and "<b>" in first


def _fields(line: str) -> list[str]:
    separator = "\t" if "\t" in line else "," if line.count(",") > 1 else None
    return [field.strip() for field in line.split(separator)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _place(context: str, where: str) -> Place:
    tokens = context.split()
    if tokens.count("<b>") != 1 or tokens.count("</b>") != 1 or tokens.index("</b>") != tokens.index("<b>") + 2:
        raise CorpusError(f"{where}: expected one word of the context between <b> and </b>, found {context!r:.100}.")
    position = tokens.index("<b>")
    return Place((*tokens[:position], tokens[position + 1], *tokens[position + 3 :]), position)
