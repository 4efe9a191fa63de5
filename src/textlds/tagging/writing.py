"""Files of tagged sentences: .conllu, .jsonl, .tsv and .parquet, written sentence by sentence."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, get_type_hints

from textlds.corpus.reading.tagged import CONLLU_COLUMNS
from textlds.errors import ArgumentError
from textlds.storage.tables import parquet_library
from textlds.tagging.labels import Task
from textlds.tagging.results import EntitySpan, TaggedSentence

FORMATS = ("conllu", "jsonl", "tsv", "parquet")
_ROWS = 1024  # sentences of a row group
Write = Callable[[TaggedSentence, Sequence[str]], None]


def format_of(path: Path) -> str:
    """Return the format that the name of an output says, or raise an error that names the formats."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ArgumentError(f"--output {path}: the name must end in .{', .'.join(FORMATS)} (the format).")
    if kind == "parquet":
        parquet_library()
    return kind


@contextlib.contextmanager
def sentence_writer(file: IO[bytes], kind: str, task: Task, column: str | None = None) -> Iterator[Write]:
    """Yield a function that writes a sentence, given the lines of CoNLL-U that it was read from, if any.

    CoNLL-U out of CoNLL-U keeps these lines, and changes nothing but the column of the tags and MISC.

    Args:
        file: Opened for bytes.
        kind: One of FORMATS.
        task: What the tags are: those of entities go to MISC in CoNLL-U.
        column: Where they were learnt from in CoNLL-U, and go; UPOS by default.
    """
    if kind == "parquet":
        with _parquet_writer(file, task) as write:
            yield write
    elif kind == "jsonl":
        yield lambda sentence, _: _put(file, _jsonl(sentence, task))
    elif kind == "tsv":
        yield lambda sentence, _: _put(file, _tsv(sentence))
    else:
        place = _place(task, column)
        yield lambda sentence, lines: _put(file, _conllu(sentence, lines, place))


def _put(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8", "replace"))


def _jsonl(sentence: TaggedSentence, task: Task) -> str:
    found = sentence.to_json()
    if task == "entities":
        found.setdefault("entities", [])
    return json.dumps(found, ensure_ascii=False) + "\n"


def _tsv(sentence: TaggedSentence) -> str:
    rows = zip(sentence.tokens, sentence.tags, sentence.confidences, strict=True)
    return "".join(f"{token}\t{tag}\t{value:.4f}\n" for token, tag, value in rows) + "\n"


def _place(task: Task, column: str | None) -> int | str:
    """Return where tags go in CoNLL-U: the number of a column, or a key of MISC."""
    name, _, key = str(column or "").partition(":")
    name = name.lower()
    if name == "misc" and key:
        return key
    if task == "entities":
        return "NER"
    columns = CONLLU_COLUMNS[2:9]
    if name.isdigit() and 0 <= int(name) - 3 < len(columns):
        name = columns[int(name) - 3]
    return CONLLU_COLUMNS.index(name if name in columns else "upos")


def _conllu(sentence: TaggedSentence, lines: Sequence[str], place: int | str) -> str:
    rows = zip(sentence.tags, sentence.confidences, strict=True)
    out = []
    for line in lines or _new_lines(sentence):
        if line.partition("\t")[0].isdigit():
            cells, (tag, value) = line.split("\t"), next(rows)
            replaced = {"Confidence": f"{value:.4f}"}
            if isinstance(place, str):
                replaced[place] = "" if tag == "O" else tag
            else:
                cells[place] = tag
            cells[-1] = _misc(cells[-1], replaced)
            line = "\t".join(cells)
        out.append(line)
    return "\n".join(out) + "\n\n"


def _new_lines(sentence: TaggedSentence) -> Iterator[str]:
    """Yield the lines of a sentence that was no CoNLL-U before."""
    if sentence.first == 0:
        yield "# newdoc"
    yield f"# text = {sentence.string}"
    spans, last = sentence.spans, len(sentence) - 1
    for number, token in enumerate(sentence.tokens):
        together = number < last and spans[number][1] == spans[number + 1][0]
        yield "\t".join([str(number + 1), token, *["_"] * 7, "SpaceAfter=No" if together else "_"])


def _misc(before: str, replaced: dict[str, str]) -> str:
    """Return the column MISC with some values replaced; one that is empty is left out."""
    kept = [pair for pair in before.split("|") if pair != "_" and pair.partition("=")[0] not in replaced]
    return "|".join([*kept, *(f"{name}={value}" for name, value in replaced.items() if value)])


@contextlib.contextmanager
def _parquet_writer(file: IO[bytes], task: Task) -> Iterator[Write]:
    pa, parquet = parquet_library()
    schema = _arrow_schema(pa, task)
    waiting: list[TaggedSentence] = []

    def flush() -> None:
        rows = [{name: _plain(getattr(sentence, name)) for name in schema.names} for sentence in waiting]
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
        waiting.clear()

    def write(sentence: TaggedSentence, _: Sequence[str]) -> None:
        waiting.append(sentence)
        if len(waiting) >= _ROWS:
            flush()

    with contextlib.closing(parquet.ParquetWriter(file, schema)) as writer:
        yield write
        flush()


def _arrow_schema(pa: Any, task: Task) -> Any:
    """Return the columns of tagged sentences: a row per sentence."""
    strings, number = pa.list_(pa.string()), pa.int64()
    columns = [("text", number), ("tokens", strings), ("tags", strings), ("confidences", pa.list_(pa.float32()))]
    if task == "entities":
        columns.append(("entities", entity_type(pa)))
    return pa.schema(columns)


def entity_type(pa: Any) -> Any:
    """Return the type of a column of entities: a list of records with the fields of an :class:`EntitySpan`."""
    kinds = {int: pa.int64(), str: pa.string(), float: pa.float32()}
    return pa.list_(pa.struct([(name, kinds[of]) for name, of in get_type_hints(EntitySpan).items()]))


def _plain(value: Any) -> Any:
    """Return a value as pyarrow takes it; entities become dictionaries."""
    if isinstance(value, list) and value and isinstance(value[0], EntitySpan):
        return [entity._asdict() for entity in value]
    return value
