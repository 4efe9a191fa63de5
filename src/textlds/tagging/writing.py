"""Files of tagged sentences: .conllu, .jsonl, .tsv and .parquet, written sentence by sentence."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from textlds.corpus.reading.tagged import CONLLU_COLUMNS
from textlds.errors import ArgumentError, MissingExtraError
from textlds.tagging.labels import Task
from textlds.tagging.results import TaggedSentence

FORMATS = ("conllu", "jsonl", "tsv", "parquet")
_ROWS = 1024  # sentences of a row group
Write = Callable[[TaggedSentence], None]


def format_of(path: Path) -> str:
    """Return the format that the name of an output says, or raise an error that names the formats."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ArgumentError(f"--output {path}: the name must end in .{', .'.join(FORMATS)} (the format).")
    if kind == "parquet":
        _pyarrow()
    return kind


@contextlib.contextmanager
def sentence_writer(file: IO[bytes], kind: str, task: Task, column: str | None = None) -> Iterator[Write]:
    """Yield a function that writes a sentence.

    Args:
        file: Opened for bytes.
        kind: One of FORMATS.
        task: What the tags are: those of entities go to MISC in CoNLL-U.
        column: Of CoNLL-U, for other tags; UPOS by default.
    """
    if kind == "parquet":
        with _parquet_writer(file) as write:
            yield write
    elif kind == "jsonl":
        yield lambda sentence: _put(file, json.dumps(sentence.to_json(), ensure_ascii=False) + "\n")
    elif kind == "tsv":
        yield lambda sentence: _put(file, _tsv(sentence))
    else:
        index = CONLLU_COLUMNS.index(column) if column in CONLLU_COLUMNS[2:9] else CONLLU_COLUMNS.index("upos")
        yield lambda sentence: _put(file, _conllu(sentence, index, entities=task == "entities"))


def _put(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8", "replace"))


def _tsv(sentence: TaggedSentence) -> str:
    rows = zip(sentence.tokens, sentence.tags, sentence.confidences, strict=True)
    return "".join(f"{token}\t{tag}\t{value:.4f}\n" for token, tag, value in rows) + "\n"


def _conllu(sentence: TaggedSentence, index: int, *, entities: bool) -> str:
    spans, last = sentence.spans, len(sentence) - 1
    lines = [f"# text = {sentence.string}"]
    if sentence.first == 0:
        lines.insert(0, "# newdoc")
    for number, (token, tag, value) in enumerate(
        zip(sentence.tokens, sentence.tags, sentence.confidences, strict=True)
    ):
        misc = [f"NER={tag}"] if entities and tag != "O" else []
        if number < last and spans[number][1] == spans[number + 1][0]:
            misc.append("SpaceAfter=No")
        misc.append(f"Confidence={value:.4f}")
        cells = [str(number + 1), token, *["_"] * 7, "|".join(misc)]
        if not entities:
            cells[index] = tag
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n\n"


@contextlib.contextmanager
def _parquet_writer(file: IO[bytes]) -> Iterator[Write]:
    pa, parquet = _pyarrow()
    schema = arrow_schema(pa)
    waiting: list[TaggedSentence] = []

    def flush() -> None:
        writer.write_batch(arrow_batch(pa, waiting))
        waiting.clear()

    def write(sentence: TaggedSentence) -> None:
        waiting.append(sentence)
        if len(waiting) >= _ROWS:
            flush()

    with contextlib.closing(parquet.ParquetWriter(file, schema)) as writer:
        yield write
        flush()


def arrow_schema(pa: Any) -> Any:
    """Return the columns of tagged sentences: a row per sentence."""
    strings = pa.list_(pa.string())
    return pa.schema(
        [("text", pa.int64()), ("tokens", strings), ("tags", strings), ("confidences", pa.list_(pa.float32()))]
    )


def arrow_batch(pa: Any, sentences: list[TaggedSentence]) -> Any:
    """Return tagged sentences as a record batch of :func:`arrow_schema`."""
    rows = [{name: getattr(sentence, name) for name in arrow_schema(pa).names} for sentence in sentences]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(pa))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "parquet") from error
    return pyarrow, pyarrow.parquet
