"""The texts that a model is asked about: one a line of files or of standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from textlds.cli.output import say
from textlds.corpus.reading.texts import Text, read_documents, read_texts, total_size

if TYPE_CHECKING:
    from textlds.corpus.reading.opening import Source

__all__ = ["Text", "open_texts", "read_documents", "read_texts", "total_size"]


def open_texts(files: list[str], *, text_column: str, encoding_errors: str, quiet: bool) -> list[Source]:
    """Return the files as sources; without files, standard input."""
    from textlds.corpus.reading.opening import open_sources
    from textlds.corpus.settings import ReadSettings

    if files in ([], ["-"]) and sys.stdin.isatty():
        say("Reading standard input, one text a line; end with Ctrl-D.", quiet=quiet)
    options = ReadSettings(text_column=text_column, encoding_errors=encoding_errors)  # type: ignore[arg-type]  # checked
    return open_sources(files or ["-"], options)
