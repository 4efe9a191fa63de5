"""Labelled files: sentences with a tag for every token, and pairs of words with a similarity.

Three formats of tagged text are read, compressed or not:

    conllu   ten tab-separated columns, ``#`` comments; multiword ranges (3-4) and empty nodes (8.1) are skipped
    conll    columns separated by white space, the word first; -DOCSTART- lines are skipped
    tsv      word, tab, tag

A blank line ends a sentence in each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from textlds.corpus.reading.files import File, compression, decompressed
from textlds.corpus.reading.sources import checked
from textlds.errors import ArgumentError, CorpusError, check_choice

PathLike = str | os.PathLike[str]
Format = Literal["conllu", "conll", "tsv"]
FormatOption = Literal["auto", "conllu", "conll", "tsv"]
Column = str | int

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_DOCUMENT = "-DOCSTART-"


@dataclass(frozen=True)
class Tagged:
    """A sentence with a tag for every token."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tokens)


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


def read_tagged(
    path: PathLike,
    *,
    format: FormatOption = "auto",
    column: Column | None = None,
    tag_map: Mapping[str, str] | None = None,
) -> list[Tagged]:
    """Read sentences with a tag for every token.

    Args:
        path: A file, perhaps compressed (.gz .bz2 .xz .zst), a URL, or ``-``.
        format: By default what the file looks like.
        column: Where the tags stand: a name of CoNLL-U (``"upos"``, ``"xpos"``, …), ``"last"``, or a number from 1.
            By default ``"upos"`` in CoNLL-U and the last column elsewhere.
        tag_map: What each tag is to be read as, see :func:`read_tag_map`; all tags must be in it.
    """
    name = os.fspath(path)
    lines = read_lines(name)
    kind = _format_of(name, lines, format)
    sentences: list[Tagged] = []
    tokens: list[str] = []
    tags: list[str] = []
    pick = _picker(kind, column)
    for number, line in enumerate(lines, start=1):
        where = f"{name}, line {number}"
        if line and not line.isspace():
            row = pick(line, where)
            if row is not None:
                tokens.append(row[0])
                tags.append(row[1] if tag_map is None else _mapped(row[1], tag_map, where))
        elif tokens:
            sentences.append(Tagged(tuple(tokens), tuple(tags)))
            tokens, tags = [], []
    if tokens:
        sentences.append(Tagged(tuple(tokens), tuple(tags)))
    if not sentences:
        raise CorpusError(f"{name} holds no tagged sentence. Check the file and the format (now {kind!r}).")
    if all(tag == "_" for sentence in sentences for tag in sentence.tags):
        raise CorpusError(f"{name} has no tags in the column asked for ('_' everywhere). Choose another column.")
    return sentences


def read_tag_map(path: PathLike) -> dict[str, str]:
    """Read a file of ``tag<TAB>coarser tag`` lines."""
    name = os.fspath(path)
    found: dict[str, str] = {}
    for number, line in enumerate(read_lines(name), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2:
            raise CorpusError(f"{name}, line {number}: expected a tag and what it becomes, found {line!r:.100}.")
        found[fields[0]] = fields[1]
    return found


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
    stand in their contexts, which are tokenised, as ``<b> word </b>``.
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


def read_lines(name: str) -> list[str]:
    """Read the lines of a text file, without their ends."""
    file = File(name)
    with file.open() as stored:
        data = decompressed(stored, name).read()
    text = checked(data, name=name, offset=0, errors="strict").decode("utf-8-sig")
    # str.splitlines would also break at U+0085 and U+2028, which may stand inside tokens
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _format_of(name: str, lines: Sequence[str], format: FormatOption) -> Format:
    check_choice("format", format, get_args(FormatOption))
    if format != "auto":
        return format
    if name.removesuffix(compression(name)).endswith(".conllu"):
        return "conllu"
    rows = [line for line in lines[:1000] if line.strip() and not line.startswith("#")]
    first = rows[0] if rows else ""
    if len(first.split("\t")) == len(CONLLU_COLUMNS) and first[0].isdigit():
        return "conllu"
    return "tsv" if len(first.split("\t")) == 2 else "conll"


Picker = Callable[[str, str], tuple[str, str] | None]


def _picker(format: Format, column: Column | None) -> Picker:
    """Return a function of a line and its place that gives the word and the tag, or None for a line without."""
    if format == "conllu":
        index = _index(column if column is not None else "upos", CONLLU_COLUMNS)
        return lambda line, where: _conllu_row(line, index, where)
    index = _index(column if column is not None else "last", ())
    separator = "\t" if format == "tsv" else None
    return lambda line, where: _plain_row(line, index, separator, where)


def _index(column: Column, names: Sequence[str]) -> int:
    """Return the place of a column in a list of fields."""
    text = str(column).lower()
    if text in names:
        return names.index(text)
    if text == "last":
        return -1
    if text.isdigit() and int(text) > 0:
        return int(text) - 1
    known = ", ".join(map(repr, [*names, "last"]))
    raise ArgumentError(f"column={column!r} is not one of {known}, nor a number from 1.")


def _conllu_row(line: str, index: int, where: str) -> tuple[str, str] | None:
    if line.startswith("#"):
        return None
    fields = line.split("\t")
    if len(fields) != len(CONLLU_COLUMNS):
        raise CorpusError(
            f"{where}: expected the {len(CONLLU_COLUMNS)} tab-separated columns of CoNLL-U, found {len(fields)}: "
            f"{line!r:.100}. Another format is chosen with format='conll' or 'tsv'."
        )
    if not fields[0].isdigit():  # 3-4: a range whose words follow; 8.1: a word that was left out
        if fields[0].replace("-", "", 1).isdigit() or fields[0].replace(".", "", 1).isdigit():
            return None
        raise CorpusError(f"{where}: expected the number of a token, found {fields[0]!r:.100}.")
    return fields[1], _field(fields, index, where)


def _plain_row(line: str, index: int, separator: str | None, where: str) -> tuple[str, str] | None:
    fields = line.split(separator)
    if fields[0] == _DOCUMENT:
        return None
    if len(fields) < 2 or not fields[0]:
        raise CorpusError(f"{where}: expected a word and its tag, found {line!r:.100}.")
    return fields[0], _field(fields, index, where)


def _field(fields: Sequence[str], index: int, where: str) -> str:
    if index >= len(fields) or not fields[index]:
        raise CorpusError(f"{where}: expected a tag in column {index + 1} of {len(fields)}; there is none.")
    return fields[index]


def _mapped(tag: str, tag_map: Mapping[str, str], where: str) -> str:
    if tag not in tag_map:
        raise CorpusError(f"{where}: the tag {tag!r} is not in the tag map. Add a line for it, or check the column.")
    return tag_map[tag]


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


def tokens_of(sentences: Sequence[Tagged]) -> Iterator[str]:
    """Yield all tokens, one sentence after the other."""
    return (token for sentence in sentences for token in sentence.tokens)


def tags_of(sentences: Sequence[Tagged]) -> Iterator[str]:
    """Yield all tags, one sentence after the other."""
    return (tag for sentence in sentences for tag in sentence.tags)
