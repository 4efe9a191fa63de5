"""The texts that a model is asked about: one per line of files or of standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from textlds.cli.output import say
from textlds.corpus.reading.texts import Text, read_documents, read_texts, total_size
from textlds.errors import CorpusError

if TYPE_CHECKING:
    from textlds.corpus.reading.opening import Source

__all__ = ["Text", "check_some", "open_texts", "read_documents", "read_texts", "total_size"]


def check_some(texts: int, sources: list[Source]) -> None:
    """Refuse an input without a text: it is the wrong file, or a command before this one failed."""
    if not texts:
        names = ", ".join("standard input" if source.name == "-" else source.name for source in sources[:5])
        raise CorpusError(f"there is no text in {names}. Give a file with one text per line.")


def open_texts(files: list[str], *, text_column: str, encoding_errors: str, quiet: bool) -> list[Source]:
    """Return the files as sources; without files, standard input."""
    from textlds.corpus.reading.opening import open_sources
    from textlds.corpus.settings import ReadSettings

    if files in ([], ["-"]) and sys.stdin.isatty():
        say("Reading standard input, one text per line; end with Ctrl-D.", quiet=quiet)
    options = ReadSettings(text_column=text_column, encoding_errors=encoding_errors)  # type: ignore[arg-type]  # checked
    return open_sources(files or ["-"], options)
