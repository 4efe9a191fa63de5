"""Data frames: vectors as columns of pandas, polars and pyarrow tables.

    add_vectors(frame, model)                       one vector per text, pooled over its tokens: a column "vector"
    add_vectors(frame, model, pooling="none")       one vector per token: columns "tokens" and "vectors"

A table in memory gives a table. What is lazy stays lazy: a polars LazyFrame, and a pyarrow RecordBatchReader or
Dataset, from which a reader comes that embeds some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from textlds.errors import ArgumentError, MissingExtraError
from textlds.linalg.types import Array
from textlds.model.loading import ModelLike, open_model
from textlds.model.textlds import TextLDS, TokenVectors
from textlds.vectors.pooling import Pooling, check_pooling, pooled
from textlds.vectors.recipes import RecipeLike

TOKENS, VECTORS, VECTOR = "tokens", "vectors", "vector"
_ROWS = 1024  # embedded at a time: what a lazy frame holds of its vectors
_KINDS = (
    "a pandas DataFrame, a polars DataFrame or LazyFrame, or a pyarrow Table, RecordBatch, RecordBatchReader or Dataset"
)


@dataclass(frozen=True)
class Columns:
    """The columns to be added.

    Attributes:
        model: Gives the vectors.
        pooling: One vector per text, or ``"none"``.
        name: Of the column with vectors.
        options: Of :meth:`TextLDS.embed`.
        dimensions: d, the length of a vector.
    """

    model: TextLDS
    pooling: Pooling | Literal["none"]
    name: str
    options: dict[str, Any]
    dimensions: int

    @property
    def dtype(self) -> Any:
        """Of the vectors."""
        return self.options["dtype"]

    def embedded(self, texts: Iterable[Any]) -> Iterator[TokenVectors | None]:
        """Yield the vectors of each text, None where there is none; texts are read as vectors are taken."""
        missing: list[bool] = []

        def given() -> Iterator[Any]:
            for number, text in enumerate(texts):
                missing.append(text is None)
                yield "" if text is None else _text(text, number)

        for number, vectors in enumerate(self.model.embed(given(), **self.options)):
            yield None if missing[number] else vectors

    def names(self, *, tokens: bool) -> list[str]:
        """Return the names of the columns; tokens are added unless they are what the texts are made of."""
        return [TOKENS, self.name] if self.pooling == "none" and tokens else [self.name]

    def cells(self, texts: Iterable[Any]) -> Iterator[tuple[list[str], Any] | None]:
        """Yield for each text its tokens and its vector, or its vectors as a list of arrays."""
        for text in self.embedded(texts):
            if text is None:
                yield None
            elif self.pooling == "none":
                yield text.tokens, list(text.vectors)
            else:
                yield [], pooled(text, self.pooling, self.model.token_weights)

    def types(self, pa: Any, *, tokens: bool) -> list[Any]:
        """Return the Arrow types of the columns."""
        numbers = vector_type(pa, self.dimensions, self.options["dtype"])
        if self.pooling != "none":
            return [numbers]
        return [pa.list_(pa.string()), pa.list_(numbers)] if tokens else [pa.list_(numbers)]

    def pooled_rows(self, found: Sequence[TokenVectors | None]) -> Array:
        """Return one vector per text, (n, d); zeros where there is none."""
        rows = np.zeros((len(found), self.dimensions), self.dtype)
        for row, text in zip(rows, found, strict=True):
            if text is not None and self.pooling != "none":
                row[:] = pooled(text, self.pooling, self.model.token_weights)
        return rows

    def arrays(self, pa: Any, texts: Iterable[Any], *, tokens: bool) -> list[Any]:
        """Return the columns as Arrow arrays."""
        numbers = vector_type(pa, self.dimensions, self.options["dtype"])
        found = list(self.embedded(texts))
        if self.pooling == "none":
            of_tokens, of_vectors = token_arrays(pa, found, numbers)
            return [of_tokens, of_vectors] if tokens else [of_vectors]
        rows = self.pooled_rows(found)
        absent = pa.array([text is None for text in found], pa.bool_())
        return [pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), type=numbers, mask=absent)]


def add_vectors(
    frame: Any,
    model: ModelLike,
    *,
    column: str = "text",
    pooling: Pooling | Literal["none"] = "mean",
    name: str | None = None,
    recipe: RecipeLike | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    threads: int | None = None,
) -> Any:
    """Return a data frame with vectors added as a column. The frame that is given does not change.

    A text that is missing has no vector (null); one without a token has zeros, or an empty list of token vectors.

    Args:
        frame: A table of pandas, polars or pyarrow.
        model: A model or the path of its folder.
        column: The column with the text: strings, or lists of tokens.
        pooling: ``"mean"``, ``"max"`` or ``"sum"``: one vector per text; ``"none"``: one per token, and the tokens.
        name: Of the new column; ``"vector"`` by default, ``"vectors"`` if they are not pooled.
        recipe: As for :meth:`textlds.TextLDS.embed`; by default ``"context"``, and ``"features"`` for token vectors
            (``pooling="none"``), which taggers are fed with.
        dtype: Of the vectors.
        threads: How many; all cores by default.

    Returns:
        A frame of the same library. Vectors are arrays of d numbers (pandas), ``Array`` (polars) or fixed-size lists
        (pyarrow); token vectors are lists of them.
    """
    check_pooling(pooling, "none")
    libraries = {base.__module__.partition(".")[0] for base in type(frame).__mro__} & set(_ADD)
    if not libraries:
        raise ArgumentError(f"frame is of type {type(frame).__name__}; give {_KINDS}.")
    columns = columns_of(
        open_model(model), pooling=pooling, name=name, recipe=recipe, dtype=dtype, threads=threads
    )  # fmt: skip
    return _ADD[libraries.pop()](frame, columns, column)


def columns_of(
    model: TextLDS,
    *,
    pooling: Pooling | Literal["none"],
    name: str | None,
    recipe: RecipeLike | None,
    dtype: str,
    threads: int | None,
) -> Columns:
    """Return the columns that :func:`add_vectors` adds with these arguments."""
    chosen = model.recipe(recipe or ("features" if pooling == "none" else "context"))
    options = {"recipe": chosen, "dtype": dtype, "threads": threads}
    named = name or (VECTORS if pooling == "none" else VECTOR)
    return Columns(model, pooling, named, options, model.dimensions(chosen))


def token_arrays(pa: Any, texts: Sequence[TokenVectors | None], numbers: Any) -> tuple[Any, Any]:
    """Return the tokens and the vectors of texts as Arrow arrays of lists, a row per text; None becomes null.

    Args:
        pa: The module pyarrow.
        texts: The texts.
        numbers: The type of a vector, from :func:`vector_type`.
    """
    lengths = [0 if text is None else len(text) for text in texts]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    tokens = pa.array([token for text in texts if text is not None for token in text.tokens], pa.string())
    some = [text.vectors for text in texts if text is not None and len(text)]
    vectors = np.concatenate(some) if some else np.empty((0, numbers.list_size), numbers.value_type.to_pandas_dtype())
    of_vectors = pa.FixedSizeListArray.from_arrays(vectors.ravel(), type=numbers)
    absent = pa.array([text is None for text in texts], pa.bool_())
    mask = absent if any(text is None for text in texts) else None
    return (
        pa.ListArray.from_arrays(offsets, tokens, mask=mask),
        pa.ListArray.from_arrays(offsets, of_vectors, mask=mask),
    )


def vector_type(pa: Any, dimensions: int, dtype: str) -> Any:
    """Return the Arrow type of a vector: a list of fixed size."""
    return pa.list_(pa.from_numpy_dtype(np.dtype(dtype)), dimensions)


def _text(value: Any, number: int) -> str | list[str]:
    """Return a cell as a text: a string, or any sequence of tokens as a list."""
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable) and not isinstance(value, bytes | dict | set):
        tokens = list(value)
        if all(isinstance(token, str) for token in tokens):
            return tokens
    raise ArgumentError(
        f"row {number} of the text column is {value!r:.60}, of type {type(value).__name__}; "
        f"give strings or lists of tokens."
    )


def check_column(found: Sequence[str], column: str) -> None:
    """Refuse a frame without the column of the text."""
    if column not in found:
        raise ArgumentError(
            f"the frame has no column {column!r}; it has {', '.join(map(repr, found)) or 'none'}. "
            f"Name the one with the text: column=..."
        )


def check_new(found: Sequence[str], new: Sequence[str]) -> None:
    """Refuse a frame that has a column of a name that is to be added."""
    for name in new:
        if name in found:
            remedy = "Rename it." if name == TOKENS else "Rename it, or name the new one: name=..."
            raise ArgumentError(f"the frame has a column {name!r} already. {remedy}")


# pandas


def _to_pandas(frame: Any, columns: Columns, column: str) -> Any:
    import pandas

    if not isinstance(frame, pandas.DataFrame):
        raise ArgumentError(f"frame is a pandas {type(frame).__name__}; give {_KINDS}.")
    found = [str(name) for name in frame.columns]
    check_column(found, column)
    cells, absent = frame[column], frame[column].isna()
    texts = (None if gone else cell for cell, gone in zip(cells, absent, strict=True))
    names = columns.names(tokens=any(isinstance(cell, str) for cell in cells))
    check_new(found, names)
    values: list[tuple[Any, Any]] = [(None, None) if cell is None else cell for cell in columns.cells(texts)]
    added = {columns.name: [vectors for _, vectors in values]}
    if TOKENS in names:
        added[TOKENS] = [tokens for tokens, _ in values]
    series = {name: pandas.Series(added[name], index=frame.index, dtype=object) for name in names}
    return frame.assign(**series)


# pyarrow


def _to_arrow(frame: Any, columns: Columns, column: str) -> Any:
    import pyarrow as pa

    if hasattr(frame, "scanner"):  # pyarrow.dataset.Dataset
        frame = frame.scanner(batch_size=_ROWS).to_reader()
    if not isinstance(frame, pa.RecordBatch | pa.Table | pa.RecordBatchReader):
        raise ArgumentError(f"frame is a pyarrow {type(frame).__name__}; give {_KINDS}.")
    check_column(frame.schema.names, column)
    tokens = _holds_strings(frame.schema.field(column).type)
    names = columns.names(tokens=tokens)
    check_new(frame.schema.names, names)
    schema = frame.schema
    for name, kind in zip(names, columns.types(pa, tokens=tokens), strict=True):
        schema = schema.append(pa.field(name, kind))

    def extended(batch: Any) -> Any:
        added = columns.arrays(pa, batch.column(column).to_pylist(), tokens=tokens)
        return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)

    if isinstance(frame, pa.RecordBatch):
        return extended(frame)
    batches = frame.to_batches() if isinstance(frame, pa.Table) else frame
    few = (batch.slice(start, _ROWS) for batch in batches for start in range(0, batch.num_rows, _ROWS))
    if isinstance(frame, pa.Table):
        return pa.Table.from_batches(map(extended, few), schema)
    return pa.RecordBatchReader.from_batches(schema, map(extended, few))


def _holds_strings(kind: Any) -> bool:
    """Tell a column of strings from one of token lists, by its Arrow type."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        return True
    if str(kind).startswith(("list", "large_list", "fixed_size_list")):
        return False
    raise ArgumentError(f"the text column is of type {kind}; give one of strings or of lists of tokens.")


# polars


def _to_polars(frame: Any, columns: Columns, column: str) -> Any:
    import polars

    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("adding vectors to a polars frame", "polars") from error
    if isinstance(frame, polars.LazyFrame):
        empty = polars.DataFrame(schema=frame.collect_schema())
        return frame.map_batches(
            lambda batch: _to_polars(batch, columns, column),
            schema=_to_polars(empty, columns, column).schema,
            predicate_pushdown=False,  # a filter may be on the vectors, and nobody may drop the text
            projection_pushdown=False,
            streamable=True,
        )
    if not isinstance(frame, polars.DataFrame):
        raise ArgumentError(f"frame is a polars {type(frame).__name__}; give {_KINDS}.")
    check_column(frame.columns, column)
    kind = frame.schema[column]
    if kind not in (polars.String, polars.Categorical, polars.Enum, polars.List, polars.Array):
        raise ArgumentError(f"the text column is of type {kind}; give one of strings or of lists of tokens.")
    tokens = kind not in (polars.List, polars.Array)
    names = columns.names(tokens=tokens)
    check_new(frame.columns, names)
    pieces = [
        columns.arrays(pa, some.get_column(column).to_list(), tokens=tokens) for some in frame.iter_slices(_ROWS)
    ] or [columns.arrays(pa, [], tokens=tokens)]
    added = [
        cast(Any, polars.from_arrow(pa.chunked_array([piece[number] for piece in pieces]))).alias(name)
        for number, name in enumerate(names)
    ]
    return frame.with_columns(added)


_ADD = {"pandas": _to_pandas, "polars": _to_polars, "pyarrow": _to_arrow}
