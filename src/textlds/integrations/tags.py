"""The tags of a tagger as columns: of pandas, polars and pyarrow tables, and of batches in any framework."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textlds.errors import ArgumentError
from textlds.storage.folders import CONFIG
from textlds.tagging.tagger import Tagger
from textlds.tagging.writing import entity_type

COLUMNS = ("tokens", "tags", "confidences")
ENTITIES = "entities"  # a column more, if that is what the tagger finds
_KINDS = "a pandas DataFrame, a polars DataFrame or a pyarrow Table"


def add_tags(
    frame: Any, tagger: Tagger, *, column: str = "text", min_confidence: float = 0.0, threads: int | None = None
) -> Any:
    """Return a table with the columns tokens, tags and confidences added: a list each, of the tokens of the text.

    A tagger that finds entities adds the column entities: a list of records with kind, text, first token and the token
    after the last (start, end), characters (start_char, end_char) and confidence. A text that is missing has none of
    these (null).

    Args:
        frame: A table of pandas, polars or pyarrow; it does not change.
        tagger: Gives the tags.
        column: The column with the text: strings, or lists of tokens.
        min_confidence: As for :meth:`textlds.Tagger.tag`.
        threads: How many; all cores by default.
    """
    library = next((b.__module__.partition(".")[0] for b in type(frame).__mro__ if type(frame).__name__ in _FRAMES), "")
    if library not in ("pandas", "polars", "pyarrow"):
        raise ArgumentError(f"frame is of type {type(frame).__name__}; give {_KINDS}.")
    names = list(frame.column_names if library == "pyarrow" else frame.columns)
    if column not in names:
        raise ArgumentError(f"the frame has no column {column!r}; it has {', '.join(map(repr, names)) or 'none'}.")
    wanted = columns_of(tagger)
    for name in wanted:
        if name in names and name != column:
            raise ArgumentError(f"the frame has a column {name!r} already. Rename it.")
    cells = frame[column].to_pylist() if library == "pyarrow" else frame[column].to_list()
    found = _tagged(cells, tagger, min_confidence, threads)
    added = {name: found[name] for name in wanted if name != column}
    if library == "pandas":
        import pandas

        return frame.assign(**{name: pandas.Series(of, index=frame.index, dtype=object) for name, of in added.items()})
    if library == "polars":
        import polars

        return frame.with_columns([polars.Series(name, _arrow(name, of)) for name, of in added.items()])
    for name, of in added.items():
        frame = frame.append_column(name, _arrow(name, of))
    return frame


def columns_of(tagger: Tagger) -> tuple[str, ...]:
    """Return the names of the columns that a tagger adds."""
    return (*COLUMNS, ENTITIES) if tagger.task == "entities" else COLUMNS


def _arrow(name: str, cells: list[Any]) -> Any:
    import pyarrow as pa

    if name == ENTITIES:
        return pa.array(cells, entity_type(pa))
    return pa.array(cells, pa.list_(pa.float32() if name == "confidences" else pa.string()))


class BatchTagger:
    """Adds tags to batches of texts, as :class:`textlds.Embedder` adds vectors: a path to send, read where it is used.

    Called with a list of texts or a dictionary of columns, it returns a dictionary with the columns tokens, tags and
    confidences, and entities if it finds such; with a pandas, polars or pyarrow table, the table with these columns
    (see :func:`add_tags`).

    Args:
        tagger: The path of a tagger folder that every worker can read.
        column: The column with the text.
        min_confidence: As for :meth:`textlds.Tagger.tag`.
        threads: Per process; one, because frameworks run several processes.
    """

    kind = "tagger"

    def __init__(
        self, tagger: str | os.PathLike[str], *, column: str = "text", min_confidence: float = 0.0, threads: int = 1
    ) -> None:
        if not isinstance(tagger, str | os.PathLike):
            raise ArgumentError(
                f"tagger is a {type(tagger).__name__}; a BatchTagger is sent to other processes, so give the path of a "
                f"folder that they can read. Write one with tagger.save(path)."
            )
        self.model, self.column = os.fspath(tagger), column
        self._options: dict[str, Any] = {"min_confidence": min_confidence, "threads": threads}

    def __repr__(self) -> str:
        return f"BatchTagger({self.model!r}, {', '.join(f'{name}={of!r}' for name, of in self._options.items())})"

    def __call__(self, batch: Any) -> Any:
        """Return the batch with tags."""
        if isinstance(batch, str | bytes):
            raise ArgumentError("the batch is a single string; give a list of texts, such as [text].")
        if isinstance(batch, list | tuple):
            return self._columns(list(batch))
        if not isinstance(batch, Mapping):
            return add_tags(batch, self._tagger(), column=self.column, **self._options)
        if self.column not in batch:
            raise ArgumentError(f"the batch has no column {self.column!r}; it has {', '.join(map(repr, batch))}.")
        taken = [name for name in columns_of(self._tagger()) if name in batch and name != self.column]
        if taken:
            raise ArgumentError(f"the batch has a column {taken[0]!r} already. Rename it.")
        return {**self._columns(list(batch[self.column])), **batch}

    def _columns(self, texts: list[Any]) -> dict[str, list[Any]]:
        return _tagged(texts, self._tagger(), self._options["min_confidence"], self._options["threads"])

    def _tagger(self) -> Tagger:
        path = Path(os.path.abspath(self.model))
        stamp = (path / CONFIG).stat().st_mtime_ns if (path / CONFIG).exists() else 0
        return _read(path, stamp)


@functools.lru_cache(maxsize=2)
def _read(path: Path, stamp: int) -> Tagger:
    return Tagger.load(path)


_FRAMES = ("DataFrame", "Table")


def _tagged(cells: list[Any], tagger: Tagger, least: float, threads: int | None) -> dict[str, list[Any]]:
    texts: list[Any] = []
    for number, cell in enumerate(cells):
        if _missing(cell):
            texts.append(None)
        elif isinstance(cell, str):
            texts.append(cell)
        else:
            texts.append(_tokens(cell, number))
    found: dict[str, list[Any]] = {
        name: [None if text is None else [] for text in texts] for name in columns_of(tagger)
    }
    for sentence in tagger.tag(("" if text is None else text for text in texts), min_confidence=least, threads=threads):
        for name in COLUMNS:
            found[name][sentence.text].extend(getattr(sentence, name))
        if ENTITIES in found:
            first = sentence.first  # spans count tokens within the sentence, the columns within the text
            found[ENTITIES][sentence.text].extend(
                one._replace(start=one.start + first, end=one.end + first)._asdict() for one in sentence.entities
            )
    return found


def _missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ == "NAType"


def _tokens(cell: Any, number: int) -> Any:
    try:
        tokens = list(cell)
    except TypeError:
        tokens = [cell]
    if not all(isinstance(token, str) for token in tokens):
        raise ArgumentError(
            f"row {number} of the text column is {cell!r:.60}, of type {type(cell).__name__}; give strings or lists of "
            f"tokens."
        )
    return tokens
