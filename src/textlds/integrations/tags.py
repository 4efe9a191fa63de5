"""Data frames: the tags of a tagger as columns of pandas, polars and pyarrow tables."""

from __future__ import annotations

from typing import Any

from textlds.errors import ArgumentError
from textlds.tagging.tagger import Tagger

COLUMNS = ("tokens", "tags", "confidences")
_KINDS = "a pandas DataFrame, a polars DataFrame or a pyarrow Table"


def add_tags(
    frame: Any, tagger: Tagger, *, column: str = "text", min_confidence: float = 0.0, threads: int | None = None
) -> Any:
    """Return a table with the columns tokens, tags and confidences added: a list each, of the tokens of the text.

    A text that is missing has none (null).

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
    for name in COLUMNS:
        if name in names and name != column:
            raise ArgumentError(f"the frame has a column {name!r} already. Rename it.")
    cells = frame[column].to_pylist() if library == "pyarrow" else frame[column].to_list()
    found = _tagged(cells, tagger, min_confidence, threads)
    added = {name: found[name] for name in COLUMNS if name != column}
    if library == "pandas":
        import pandas

        return frame.assign(**{name: pandas.Series(of, index=frame.index, dtype=object) for name, of in added.items()})
    if library == "polars":
        import polars

        kinds = {"tokens": polars.String, "tags": polars.String, "confidences": polars.Float32}
        return frame.with_columns(
            [polars.Series(name, of, dtype=polars.List(kinds[name])) for name, of in added.items()]
        )
    import pyarrow as pa

    types = {"tokens": pa.string(), "tags": pa.string(), "confidences": pa.float32()}
    for name, of in added.items():
        frame = frame.append_column(name, pa.array(of, pa.list_(types[name])))
    return frame


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
    found: dict[str, list[Any]] = {name: [None if text is None else [] for text in texts] for name in COLUMNS}
    for sentence in tagger.tag(("" if text is None else text for text in texts), min_confidence=least, threads=threads):
        for name in COLUMNS:
            found[name][sentence.text].extend(getattr(sentence, name))
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
