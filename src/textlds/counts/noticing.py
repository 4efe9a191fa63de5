"""Text that is no running text: tables, records, markup, tagged words, lists of words. It is counted, but said so.

Only the beginning of every file is looked at, some 16 KB: half a millisecond.
"""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import re

from textlds.corpus.reading.files import TextSource, compression
from textlds.corpus.reading.records import IterableSource
from textlds.corpus.reading.sources import Chunk, Source
from textlds.corpus.settings import Boundaries

_log = logging.getLogger("textlds")

_LOOK = 1 << 14  # bytes
_ROWS = 20  # different lines, at least, that tell a table from text
_LINES = 200  # lines, at least, that tell a list of words from text
_TOKENS = 200  # less is too little to tell by shares of marks
_TAGS = 5  # of markup, and keys of JSON, at least; a text about either has some

_MARKUP = "looks like markup (HTML or XML), not like running text. Take the text out of it first."
_JSON_LINES = "looks like JSON records, not like running text. Name the file .jsonl, and the field with --text-column."
_JSON = (
    "looks like JSON, not like running text. Convert it to JSON lines (.jsonl), one record per line, and name the "
    "field with --text-column."
)
_TABLE = (
    "looks like a table (CSV or similar), not like running text. Take the column with the text out of it first, or "
    "convert it to JSON lines or Parquet."
)
_TAGGED = (
    "looks like a table of words and their tags (such as CoNLL-U), not like running text. Write the words of a "
    "sentence on one line, and count with tokenizer='whitespace'."
)
_WORDS = (
    "has about one word on each line. Contexts end with the line: if it is running text, count with "
    "boundaries='document'."
)
_SUFFIXES = {
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xml"), _MARKUP), **dict.fromkeys((".csv", ".tsv"), _TABLE),
    ".json": _JSON, ".conllu": _TAGGED,
}  # fmt: skip

_HEAD = re.compile(r"\s*<(?:!doctype\b|html\b|\?xml\b)", re.IGNORECASE)
# closing tags, tags with attributes and empty tags; not <unk>, <s> and </s>, which are tokens, nor <https://...>
_TAG = re.compile(r"</(?!s>)[A-Za-z][\w:.-]*\s*>|<[A-Za-z][\w:.-]*(?:\s[^<>]*=[^<>]*|\s*/)>")
_KEY = re.compile(r"[\"'][^\"'\n]*[\"']\s*:")
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATORS = {  # in text, a space or a closing quote follows a comma
    mark: re.compile(pattern)
    for mark, pattern in (("\t", "\t"), (",", r",(?=[^\s”’'\")])"), (";", r";(?=\S)"), ("|", r"\|"))
}
_WIDE = "\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7ff\U00020000-\U0003ffff"  # scripts without spaces
_TOKEN = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+|[^\w\s]")


class Noticer:
    """Looks at the beginning of every source, and says at the end what looks odd: one line for each kind.

    Args:
        boundaries: Those of the text.
    """

    def __init__(self, boundaries: Boundaries) -> None:
        self._by_line = boundaries in ("line", "sentence")
        self._found: dict[str, list[str]] = {}

    def look(self, source: Source, chunk: Chunk) -> None:
        """Look at the first chunk of a source."""
        what = not_running_text(chunk.data, by_line=self._by_line, tokens=chunk.separated)
        if what is None and chunk.data and isinstance(source, TextSource):
            name = source.name[: len(source.name) - len(compression(source.name))].lower()
            what = next((said for suffix, said in _SUFFIXES.items() if name.endswith(suffix)), None)
        if what is not None:
            own = isinstance(source, IterableSource) or source.name == "-"
            self._found.setdefault(what, []).append("The text" if own else source.name)

    def report(self) -> None:
        """Warn of what was seen."""
        for what, names in self._found.items():
            more = f" (and {len(names) - 1:,} more)" if len(names) > 1 else ""
            _log.warning("%s%s %s", names[0], more, what)


def not_running_text(data: bytes, *, by_line: bool = True, tokens: bool = False) -> str | None:
    """Return what text looks like that is not running text, and what to do about it; None if it looks like text.

    Args:
        data: Its beginning.
        by_line: Contexts end with the line.
        tokens: It is a list of tokens, one text per line.
    """
    if len(data) > _LOOK:
        data = data[: data.rfind(b"\n", 0, _LOOK) + 1 or _LOOK]
    text = data.decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line.strip()]
    if not tokens and (what := _structured(text, lines)) is not None:
        return what
    short = by_line and len(lines) >= _LINES and len(text.split()) < 1.5 * len(lines)
    return _WORDS if short and len(_TOKEN.findall(text)) < 1.5 * len(lines) else None


def _structured(text: str, lines: list[str]) -> str | None:
    words = len(text.split())
    if _HEAD.match(text) or ("<" in text and _many(len(_TAG.findall(text)), words, 50)):
        return _MARKUP
    if text.lstrip()[:1] in ("{", "["):
        if len(lines) >= _TAGS and all(map(_is_json, lines[:_TAGS])):
            return _JSON_LINES
        if _many(len(_KEY.findall(text)), words, 20):
            return _JSON
    return _columns(text, lines)


def _many(number: int, words: int, each: int) -> bool:
    """Tell whether something occurs once in so many words or more."""
    return number >= _TAGS and number * each >= words


def _is_json(line: str) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        return isinstance(json.loads(line.rstrip().rstrip(",")), dict | list)
    return False


def _columns(text: str, lines: list[str]) -> str | None:
    """Tell whether lines have columns: the same number of separators in nine of ten."""
    rows = list(dict.fromkeys(line.lstrip().rstrip(" \r") for line in lines if not line.startswith("#")))
    occurrences = {mark: text.count(mark) for mark in _SEPARATORS}
    for mark, separator in _SEPARATORS.items():
        if len(rows) < _ROWS or occurrences[mark] < 0.9 * len(rows):
            continue
        numbers = collections.Counter(len(separator.findall(_QUOTED.sub("x", row))) for row in rows)
        number, times = numbers.most_common(1)[0]
        if number and times >= 0.9 * len(rows):
            return _TAGGED if mark == "\t" and _are_tagged(rows, number) else _TABLE
    marks = sum(occurrences.values())
    if marks > 0.3 * len(text.split()) and marks >= _TOKENS // 4:  # seldom: text has one in ten
        total = len(_TOKEN.findall(text)) + occurrences["\t"]
        return _TABLE if total >= _TOKENS and marks > 0.3 * total else None
    return None


def _are_tagged(rows: list[str], tabs: int) -> bool:
    """Tell whether rows are those of CoNLL-U, or a word and a tag each."""
    numbered = tabs == 9 and sum(row[:1].isdigit() for row in rows) >= 0.9 * len(rows)
    return numbered or (tabs == 1 and sum(len(row.split()) == 2 for row in rows) >= 0.9 * len(rows))
