"""Tables with a row per word in few bytes: int8 with a scale per row, or float16; rows are widened when they are read.

A row is scale · int8, |int8| ≤ 127, with the scale that keeps the row's length. An entry is off by about 1/254 of the
largest of its row, in directions that differ from row to row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.errors import check_choice
from textlds.linalg.types import Array

Precision = Literal["int8", "float16", "float32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_STEPS = 127
_BLOCK = 4096  # rows


@dataclass(frozen=True, eq=False)
class RowTable:
    """A table whose rows are read as float32.

    Attributes:
        values: (n, d) of int8, float16 or float32; may be mapped from a file.
        scale: (n,) float32 for int8, else None.
    """

    values: NDArray[Any]
    scale: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.values.shape[0], self.values.shape[1]

    def rows(self, numbers: NDArray[Any]) -> NDArray[np.float32]:
        """Return some rows, (m, d)."""
        if self.scale is None:
            found: NDArray[np.float32] = self.values[numbers].astype(np.float32, copy=False)
            return found
        out = np.empty((len(numbers), self.shape[1]), np.float32)
        _widen(self.values, self.scale, numbers, out)
        return out

    def all(self) -> NDArray[np.float32]:
        """Return the whole table, (n, d)."""
        if self.scale is None:
            return np.asarray(self.values, np.float32)
        return self.rows(np.arange(len(self)))

    def weighted_sum(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return Σ_i weights[i] · row i, (d,), a block of rows at a time where they have to be widened."""
        if self.values.dtype == np.float32:
            whole: NDArray[np.float32] = weights @ self.values
            return whole
        blocks = (np.arange(start, min(start + _BLOCK, len(self))) for start in range(0, len(self), _BLOCK))
        return sum((weights[block] @ self.rows(block) for block in blocks), np.zeros(self.shape[1], np.float32))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return what is stored of it."""
        return {name: self.values} | ({} if self.scale is None else {f"{name}.scale": self.scale})


def quantized(table: Array, precision: Precision) -> RowTable:
    """Round a table, (n, d)."""
    check_choice("precision", precision, PRECISIONS)
    if precision != "int8":
        return RowTable(np.ascontiguousarray(table, precision))
    table = np.asarray(table, np.float32)
    largest = np.abs(table).max(axis=1, initial=0, keepdims=True)
    values = np.rint(table * np.divide(_STEPS, largest, out=np.zeros_like(largest), where=largest > 0))
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    own = np.sqrt(np.einsum("ij,ij->i", table, table))
    scale = np.divide(own, lengths, out=np.zeros_like(own), where=lengths > 0)
    return RowTable(values.astype(np.int8), scale.astype(np.float32))


@kernel
def _widen(values, scale, numbers, out):  # type: ignore[no-untyped-def]
    """Set out[i] to scale · values of row numbers[i]."""
    for i in range(len(numbers)):
        row = numbers[i]
        factor = scale[row]
        for c in range(out.shape[1]):
            out[i, c] = factor * values[row, c]
