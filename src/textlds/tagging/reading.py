"""Texts that are cut into tokens already: CoNLL-U, or one sentence per line with spaces between the tokens."""

from __future__ import annotations

from collections.abc import Iterator

from textlds.corpus.reading.tagged import read_lines, read_tagged
from textlds.tagging.labels import documents_of


def read_documents(name: str, *, tokens: bool = False) -> Iterator[list[list[str]]]:
    """Yield the documents of a file: sentences, each a list of tokens.

    Args:
        name: The file, or ``-``.
        tokens: One sentence per line; a blank line ends a document. Otherwise the file is CoNLL-U.
    """
    if tokens:
        document: list[list[str]] = []
        for line in [*read_lines(name), ""]:
            words = line.split()
            if words:
                document.append(words)
            elif document:
                yield document
                document = []
        return
    for group in documents_of(read_tagged(name, format="conllu", column="form")):  # whatever its tags are
        yield [list(sentence) for sentence in group]
