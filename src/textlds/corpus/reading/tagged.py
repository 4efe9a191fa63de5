"""Labelled files: sentences with a tag for every token.

Three formats are read, compressed or not:

    conllu   ten tab-separated columns, ``#`` comments; multiword ranges (3-4) and empty nodes (8.1) are skipped
    conll    columns separated by white space, the word first
    tsv      word, tab, tag

A blank line ends a sentence in each; a ``-DOCSTART-`` line or a ``# newdoc`` comment begins a document.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from textlds.corpus.reading.files import File, compression, decompressed
from textlds.corpus.reading.sources import checked
from textlds.errors import ArgumentError, CorpusError, check_choice

PathLike = str | os.PathLike[str]
Format = Literal["conllu", "conll", "tsv"]
FormatOption = Literal["auto", "conllu", "conll", "tsv"]
Column = str | int

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_WIDTHS = 3  # more different numbers of columns than this are those of running text
_DOCUMENTS = {"conllu": "# newdoc", "conll": "-DOCSTART-", "tsv": "-DOCSTART-"}  # lines that begin documents


@dataclass(frozen=True)
class Tagged:
    """A sentence with a tag for every token.

    Attributes:
        tokens: The words.
        tags: One for each.
        document: The number of its document, from 0; None where the file does not mark documents.
    """

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    document: int | None = None

    def __len__(self) -> int:
        return len(self.tokens)


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
        column: Where the tags are: a name of CoNLL-U (``"upos"``, ``"xpos"``, …), ``"last"``, or a number from 1.
            By default ``"upos"`` in CoNLL-U and the last column elsewhere. ``"misc:NER"`` is the value of NER in the
            column MISC of CoNLL-U, O where it is not given.
        tag_map: What each tag is to be read as, see :func:`read_tag_map`; all tags must be in it.
    """
    name = os.fspath(path)
    lines = read_lines(name)
    kind = _format_of(name, lines, format)
    sentences: list[Tagged] = []
    tokens: list[str] = []
    tags: list[str] = []
    document: int | None = None
    pick = _picker(kind, column)
    for number, line in enumerate([*lines, ""], start=1):
        where = f"{name}, line {number}"
        if line and not line.isspace():
            if is_document_mark(line, kind):
                document = (document or 0) + bool(sentences)
                continue
            row = pick(line, where)
            if row is not None:
                tokens.append(row[0])
                tags.append(row[1] if tag_map is None else _mapped(row[1], tag_map, where))
        elif tokens:
            sentences.append(Tagged(tuple(tokens), tuple(tags), document))
            tokens, tags = [], []
    if document is not None:  # what comes before the first mark is a document too
        sentences = [replace(sentence, document=sentence.document or 0) for sentence in sentences]
    if not sentences:
        raise CorpusError(f"{name} holds no tagged sentence. Check the file and the format (now {kind!r}).")
    if all(tag == "_" for sentence in sentences for tag in sentence.tags):
        raise CorpusError(
            f"{name} has no tags in the column asked for ('_' everywhere). Choose another column{_filled(lines, kind)}."
        )
    if kind == "conllu" and (key := _key(column)) and all(tag == "O" for s in sentences for tag in s.tags):
        _check_key(lines, key, name)
    return sentences


def _key(column: Column | None) -> str:
    """Return NER of ``misc:NER``, or nothing for another column."""
    name, _, key = str(column).partition(":")
    return key if name == "misc" else ""


def _check_key(lines: Sequence[str], key: str, name: str) -> None:
    """Raise an error that lists the keys in MISC if a key is not among them."""
    rows = [line.split("\t") for line in lines if line[:1].isdigit()]
    keys = {pair.partition("=")[0] for row in rows for pair in row[-1].split("|")} - {"_"}
    if key not in keys:
        listed = ", ".join(sorted(keys)) or "empty"
        raise CorpusError(f"{name} has no {key!r} in the column MISC; what is there: {listed}. Choose another column.")


def _filled(lines: Sequence[str], format: Format) -> str:
    """Say which columns of CoNLL-U hold something."""
    if format != "conllu":
        return ""
    rows = [line.split("\t") for line in lines if line[:1].isdigit()]
    names = [name for name, *cells in zip(CONLLU_COLUMNS, *rows, strict=False) if {*cells} != {"_"}]
    return f"; those with something in them are {', '.join(names)}"


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


def read_lines(name: str) -> list[str]:
    """Read the lines of a text file, without their ends."""
    file = File(name)
    with file.open() as stored:
        data = decompressed(stored, name).read()
    text = checked(data, name=name, offset=0, errors="strict").decode("utf-8-sig")
    # str.splitlines would also break at U+0085 and U+2028, which may occur inside tokens
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
    if len(first.split("\t")) == 2:
        return "tsv"
    widths = {len(row.split()) for row in rows if not row.startswith(_DOCUMENTS["conll"])}
    if len(widths) > _WIDTHS:
        raise CorpusError(
            f"{name} does not look like labelled text: its lines have {min(widths)} to {max(widths)} columns. Give a "
            f"file with a word and its tag on every line, or name its format (--format)."
        )
    return "conll"


Picker = Callable[[str, str], tuple[str, str] | None]


def _picker(format: Format, column: Column | None) -> Picker:
    """Return a function of a line and its place that gives the word and the tag, or None for a line without."""
    if format == "conllu":
        if key := _key(column):
            return lambda line, where: _misc_row(line, key, where)
        index = _index(column if column is not None else "upos", CONLLU_COLUMNS)
        return lambda line, where: conllu_row(line, index, where)
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
    raise ArgumentError(f"the column {column!r} is not one of {known}, nor a number from 1.")


def is_document_mark(line: str, format: Format) -> bool:
    """Tell whether a line begins a document."""
    return line.startswith(_DOCUMENTS[format])


def conllu_row(line: str, index: int, where: str) -> tuple[str, str] | None:
    """Return the word of a line of CoNLL-U and the field with a number; None for a line without a word of its own."""
    if line.startswith("#"):
        return None
    fields = line.split("\t")
    if len(fields) != len(CONLLU_COLUMNS):
        raise CorpusError(
            f"{where}: expected the {len(CONLLU_COLUMNS)} tab-separated columns of CoNLL-U, found {len(fields)}: "
            f"{line!r:.100}. If the file has another format, say which."
        )
    if not fields[0].isdigit():  # 3-4: a range whose words follow; 8.1: a word that was left out
        if fields[0].replace("-", "", 1).isdigit() or fields[0].replace(".", "", 1).isdigit():
            return None
        raise CorpusError(f"{where}: expected the number of a token, found {fields[0]!r:.100}.")
    return fields[1], _field(fields, index, where)


def _misc_row(line: str, key: str, where: str) -> tuple[str, str] | None:
    row = conllu_row(line, CONLLU_COLUMNS.index("misc"), where)
    if row is None:
        return None
    values = dict(pair.partition("=")[::2] for pair in row[1].split("|"))
    return row[0], values.get(key) or "O"


def _plain_row(line: str, index: int, separator: str | None, where: str) -> tuple[str, str] | None:
    fields = line.split(separator)
    if len(fields) < 2 or not fields[0]:
        raise CorpusError(f"{where}: expected a word and its tag, found {line!r:.100}.")
    return fields[0], _field(fields, index, where)


def _field(fields: Sequence[str], index: int, where: str) -> str:
    if index >= len(fields) or not fields[index]:
        listed = ", ".join(f"{number} ({field!r:.20})" for number, field in enumerate(fields, start=1))
        raise CorpusError(f"{where}: there is no tag in column {index + 1}; the columns are {listed}.")
    return fields[index]


def _mapped(tag: str, tag_map: Mapping[str, str], where: str) -> str:
    if tag not in tag_map:
        raise CorpusError(f"{where}: the tag {tag!r} is not in the tag map. Add a line for it, or check the column.")
    return tag_map[tag]


def tokens_of(sentences: Sequence[Tagged]) -> Iterator[str]:
    """Yield all tokens, one sentence after the other."""
    return (token for sentence in sentences for token in sentence.tokens)


def tags_of(sentences: Sequence[Tagged]) -> Iterator[str]:
    """Yield all tags, one sentence after the other."""
    return (tag for sentence in sentences for tag in sentence.tags)
