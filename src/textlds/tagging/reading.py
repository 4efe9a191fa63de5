"""Texts that are cut into tokens already: CoNLL-U, or one sentence per line with spaces between the tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textlds.corpus.reading.tagged import Tagged, conllu_row, is_document_mark, read_lines
from textlds.errors import CorpusError
from textlds.tagging.labels import by_document


class GivenSentence(NamedTuple):
    """A sentence that was cut into tokens before.

    Attributes:
        tokens: The words.
        lines: Its lines in CoNLL-U, comments included; none for tokens with spaces between them.
    """

    tokens: list[str]
    lines: list[str]


def read_documents(name: str, *, tokens: bool = False) -> Iterator[list[GivenSentence]]:
    """Yield the documents of a file.

    Args:
        name: The file, or ``-``.
        tokens: One sentence per line; a blank line ends a document. Otherwise the file is CoNLL-U.
    """
    if tokens:
        document: list[GivenSentence] = []
        for line in [*read_lines(name), ""]:
            words = line.split()
            if words:
                document.append(GivenSentence(words, []))
            elif document:
                yield document
                document = []
        return
    yield from _conllu_documents(name)


def _conllu_documents(name: str) -> Iterator[list[GivenSentence]]:
    """Yield the documents of a CoNLL-U file; a file that marks none has one for each sentence."""
    sentences: list[GivenSentence] = []
    documents: list[int | None] = []
    words: list[str] = []
    lines: list[str] = []
    document: int | None = None
    for number, line in enumerate([*read_lines(name), ""], start=1):
        if line and not line.isspace():
            if is_document_mark(line, "conllu"):
                document = (document or 0) + bool(sentences)
            row = conllu_row(line, 1, f"{name}, line {number}")
            lines.append(line)
            if row is not None:
                words.append(row[0])
        elif words:
            sentences.append(GivenSentence(words, lines))
            documents.append(document)
            words, lines = [], []
    if not sentences:
        raise CorpusError(f"{name} holds no sentence in CoNLL-U. Check the file, or name its format (--input).")
    first = None if document is None else 0  # what comes before the first mark is a document too
    order = [Tagged((), (), first if of is None else of) for of in documents]
    given = iter(sentences)
    for group in by_document(order):
        yield [next(given) for _ in group]
