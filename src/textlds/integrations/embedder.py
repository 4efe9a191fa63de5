"""An embedder for batches: small to send, and the same for every framework that maps a function over batches.

    embed = textlds.Embedder("model", recipe="context", pooling="mean")
    frame.map_partitions(embed)            Dask
    dataset.map_batches(embed)             Ray Data
    dataset.map(embed, batched=True)       Hugging Face datasets
    pandas_udf("array<float>")             Spark, of a function with types that calls it

It holds the path of a model, not the model. Each process reads the model when it first needs it, and keeps it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from textlds.errors import ArgumentError
from textlds.integrations.frames import (
    TOKENS,
    VECTOR,
    VECTORS,
    Columns,
    add_vectors,
    check_column,
    check_new,
    columns_of,
)
from textlds.model.loading import open_model
from textlds.vectors.pooling import Pooling, check_pooling
from textlds.vectors.recipes import RecipeLike, check_recipe


class Embedder:
    """Adds vectors to batches of texts.

    Called with

    - a list of texts (strings or lists of tokens), it returns their vectors: an array (n, d), or with
      ``pooling="none"`` a list of arrays, one row per token;
    - a dictionary of columns, it returns the dictionary with a column added;
    - a pandas, polars or pyarrow table, the table with a column added (see :func:`add_vectors`);
    - a pandas Series of texts, a Series of vectors.

    Args:
        model: The path of a model folder that every worker can read, or the name of an installed model.
        recipe: As for :meth:`textlds.TextLDS.embed`: ``"context"`` by default, also for the vectors of tokens.
        pooling: ``"mean"``, ``"max"`` or ``"sum"``: one vector per text; ``"none"``: one per token, and the tokens.
        column: The column with the text.
        name: Of the new column; ``"vector"`` by default, ``"vectors"`` if they are not pooled.
        dtype: Of the vectors.
        threads: Per process; one, because frameworks run several processes.
    """

    kind = "model"

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        recipe: RecipeLike | None = None,
        pooling: Pooling | Literal["none"] = "mean",
        column: str = "text",
        name: str | None = None,
        dtype: Literal["float32", "float64"] = "float32",
        threads: int = 1,
    ) -> None:
        if not isinstance(model, str | os.PathLike):
            raise ArgumentError(
                f"model is a {type(model).__name__}; an Embedder is sent to other processes, so give the path of a "
                f"folder that they can read. Write one with model.save(path)."
            )
        check_pooling(pooling, "none")
        if recipe is not None:
            check_recipe(recipe)
        elif pooling == "none":
            recipe = "context"  # as of all that embeds tokens; add_vectors, for taggers, has another default
        self.model = os.fspath(model)
        self.column = column
        self._options: dict[str, Any] = {
            "recipe": recipe, "pooling": pooling, "name": name, "dtype": dtype, "threads": threads
        }  # fmt: skip

    def __repr__(self) -> str:
        chosen = "".join(f", {name}={value!r}" for name, value in self._options.items() if value is not None)
        return f"Embedder({self.model!r}{chosen})"

    @property
    def name(self) -> str:
        """The name of the new column."""
        return self._options["name"] or (VECTORS if self._options["pooling"] == "none" else VECTOR)

    @property
    def dimensions(self) -> int:
        """d, the length of a vector. Reads the model."""
        return self._columns().dimensions

    def check(self) -> None:
        """Refuse a recipe that the model does not have. Reads the model."""
        self._columns()

    def __call__(self, batch: Any) -> Any:
        """Return the batch with vectors, or the vectors of a list of texts."""
        if isinstance(batch, str | bytes):
            raise ArgumentError("the batch is a single string; give a list of texts, such as [text].")
        if isinstance(batch, Mapping):
            return self._mapping(batch)
        if type(batch).__name__ == "Series" and type(batch).__module__.startswith("pandas"):
            return self._series(batch)
        if isinstance(batch, np.ndarray | Sequence):
            return self._of_texts(batch)
        return add_vectors(batch, open_model(self.model), column=self.column, **self._options)

    def _columns(self) -> Columns:
        return columns_of(open_model(self.model), **self._options)

    def _cells(self, texts: Any) -> Iterator[Any]:
        yield from self._columns().cells(None if _missing(text) else text for text in texts)

    def _of_texts(self, texts: Any) -> Any:
        columns = self._columns()
        found = list(columns.embedded(None if _missing(text) else text for text in texts))
        if columns.pooling == "none":
            return [np.empty((0, columns.dimensions), columns.dtype) if t is None else t.vectors for t in found]
        return columns.pooled_rows(found)

    def _mapping(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        check_column(list(batch), self.column)
        texts = batch[self.column]
        if isinstance(texts, str | bytes):
            raise ArgumentError(
                f"the column {self.column!r} is a single string, {texts!r:.60}; give a list of texts, such as [text]."
            )
        if self._options["pooling"] != "none":
            check_new(list(batch), [self.name])
            return {**batch, self.name: self._of_texts(texts)}
        strings = any(isinstance(text, str) for text in texts)
        check_new(list(batch), [TOKENS, self.name] if strings else [self.name])
        cells = [([], []) if cell is None else cell for cell in self._cells(texts)]
        added = {TOKENS: [tokens for tokens, _ in cells]} if strings else {}
        return {**batch, **added, self.name: [vectors for _, vectors in cells]}

    def _series(self, texts: Any) -> Any:
        cells = [None if cell is None else cell[1] for cell in self._cells(texts)]
        return texts.__class__(cells, index=texts.index, name=self.name, dtype=object)


def _missing(text: Any) -> bool:
    """Tell whether a cell is empty: None, or the NaN and NA of pandas."""
    return text is None or (not isinstance(text, str) and np.isscalar(text) and text != text) or str(text) == "<NA>"
