"""The texts of a corpus one by one, with their places: a line of a plain text, or a record.

Importing this module is cheap: the command line names its types before it knows what will run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textlds.corpus.reading.sources import Chunk, Source

_CHUNK_BYTES = 1 << 20
_DOCUMENT_BYTES = 1 << 18  # about fifty thousand tokens


@dataclass(frozen=True)
class Text:
    """One text and where it occurs.

    Attributes:
        file: Number of the file, from 0.
        line: Number of the line in the file, or of the record of a .jsonl or .parquet file, from 1.
        content: A string, or a list of tokens if the file holds tokens.
        size: How much of the files' sizes was read since the text before, bytes.
    """

    file: int
    line: int
    content: str | list[str]
    size: int


def read_texts(sources: list[Source]) -> Iterator[Text]:
    """Yield the texts of all sources; blank lines are skipped, their numbers are not."""
    from textlds.corpus.reading.files import TextSource

    for number, source in enumerate(sources):
        yield from _lines(source, number) if isinstance(source, TextSource) else _records(source, number)


def read_documents(sources: list[Source]) -> Iterator[str | list[str]]:
    """Yield what counting would take for connected text: records, and many whole lines of a plain text at a time.

    The model's settings say where in them a context ends. It also ends between two pieces, every 256 KB.
    """
    from textlds.corpus.reading.files import TextSource

    for source in sources:
        for chunk in source.chunks(_DOCUMENT_BYTES):
            if isinstance(source, TextSource):
                yield chunk.data.decode("utf-8")
            else:
                yield from (content for content in _contents(chunk) if content)


def total_size(sources: list[Source]) -> int | None:
    """Return the bytes of all sources, or None if nobody knows."""
    sizes = [source.size for source in sources if source.size is not None]
    return sum(sizes) if len(sizes) == len(sources) else None


def _lines(source: Source, file: int) -> Iterator[Text]:
    line = size = 0
    for chunk in source.chunks(_CHUNK_BYTES):
        size += chunk.size
        for raw in chunk.data.decode("utf-8").removesuffix("\n").split("\n"):
            line += 1
            if raw and not raw.isspace():
                yield Text(file, line, raw, size)
                size = 0


def _records(source: Source, file: int) -> Iterator[Text]:
    number = size = 0
    for chunk in source.chunks(_CHUNK_BYTES):
        size += chunk.size
        for content in _contents(chunk):
            number += 1
            if content:
                yield Text(file, number, content, size)
                size = 0


def _contents(chunk: Chunk) -> Iterator[str | list[str]]:
    """Undo the serialisation of :mod:`textlds.corpus.reading.sources`: a blank line ends a record."""
    lines = chunk.data.decode("utf-8").split("\n")[:-1]
    if chunk.separated:
        yield from (line.split("\x1f") if line else [] for line in lines[::2])
        return
    record: list[str] = []
    for line in lines:
        if line:
            record.append(line)
        else:
            yield "\n".join(record)
            record = []
