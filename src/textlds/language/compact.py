"""A readout in few bytes, for packed models: the weights of a word within its class follow from its vectors.

    U_w = l(w) R        l(w) of length D: how a word is used, and what it is about

R, (D, 2h), is fitted to the weights of a readout by least squares, words weighted by their frequencies. Both sides are
centred within classes before: what the words of a class share cancels in its softmax. A word then takes its class and
its bias, four bytes, instead of 2h numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textlds.errors import FormatError
from textlds.language.classes import Classes
from textlds.language.readout import Readout
from textlds.linalg.quantized import RowTable, quantized
from textlds.linalg.types import Array, Matrix, Vector
from textlds.storage.arrays import expect_arrays

_RIDGE = 1e-3  # of the mean variance of l within classes
_SMALL, _TABLES = ("classes", "class_bias", "word_bias"), ("class_weights", "carry")


@dataclass(frozen=True, eq=False)
class CompactReadout:
    """A readout whose words share one matrix, rounded.

    Attributes:
        classes: The class of each word, (V,).
        class_weights: (K, 2h) int8.
        class_bias: (K,) float32.
        carry: R, (D, 2h) int8.
        word_bias: (V,) float16.
    """

    classes: NDArray[np.uint16]
    class_weights: RowTable
    class_bias: NDArray[np.float32]
    carry: RowTable
    word_bias: NDArray[np.float16]

    @classmethod
    def of(cls, readout: Readout, words: Array, unigram: Vector) -> CompactReadout:
        """Fit R to a readout.

        Args:
            readout: For states in the coordinates of inference.
            words: l(w), (V, D).
            unigram: Frequencies of all words, (V,).
        """
        inner = _centred(words.astype(np.float64), readout.classes, unigram)
        goals = _centred(readout.word_weights.astype(np.float64), readout.classes, unigram)
        weighted = unigram[:, None] * inner
        second_moment = weighted.T @ inner
        second_moment += _RIDGE * max(float(np.trace(second_moment)) / len(second_moment), 1e-30) * np.eye(len(inner.T))
        carry = np.linalg.solve(second_moment, weighted.T @ goals)
        return cls(
            readout.classes.astype(np.uint16),
            quantized(readout.class_weights, "int8"),
            readout.class_bias,
            quantized(carry, "int8"),
            readout.word_bias.astype(np.float16),
        )

    def readout(self, words: Array) -> Readout:
        """Return the readout with the weights of every word. O(V D h)."""
        return Readout(
            self.classes.astype(np.int32),
            self.class_weights.all(),
            self.class_bias,
            words @ self.carry.all(),
            self.word_bias.astype(np.float32),
        )

    def arrays(self, name: str) -> dict[str, Array]:
        """Return what is stored of it."""
        arrays: dict[str, Array] = {f"{name}.{part}": getattr(self, part) for part in _SMALL}
        for table in _TABLES:
            arrays |= getattr(self, table).arrays(f"{name}.{table}")
        return arrays

    @classmethod
    def from_arrays(
        cls, stored: Mapping[str, Array], name: str, *, size: int, width: int, state_size: int
    ) -> CompactReadout:
        """Put a stored readout together again; anything that does not fit is a FormatError.

        Args:
            stored: Arrays by name, this readout's under ``name``.
            name: What the names begin with.
            size: V.
            width: D.
            state_size: h.
        """
        arrays = {part.removeprefix(f"{name}."): np.array(array) for part, array in stored.items()}
        K = len(arrays["class_bias"]) if "class_bias" in arrays and arrays["class_bias"].ndim else 0
        expected: dict[str, tuple[tuple[int, ...], str]] = {
            "classes": ((size,), "uint16"),
            "class_weights": ((K, 2 * state_size), "int8"),
            "class_weights.scale": ((K,), "float32"),
            "class_bias": ((K,), "float32"),
            "carry": ((width, 2 * state_size), "int8"),
            "carry.scale": ((width,), "float32"),
            "word_bias": ((size,), "float16"),
        }
        named = {f"{name}.{part}": array for part, array in arrays.items()}
        expect_arrays("a packed language model", named, {f"{name}.{part}": of for part, of in expected.items()})
        if not (np.bincount(arrays["classes"], minlength=K) > 0).all() or arrays["classes"].max(initial=0) >= K:
            raise FormatError(f"{name}.classes does not name each of the {K} classes.")
        return cls(
            arrays["classes"],
            RowTable(arrays["class_weights"], arrays["class_weights.scale"]),
            arrays["class_bias"],
            RowTable(arrays["carry"], arrays["carry.scale"]),
            arrays["word_bias"],
        )


def _centred(table: Matrix, classes: Classes, weights: Vector) -> Matrix:
    """Return rows less the weighted mean of their class."""
    sums = np.zeros((int(classes.max()) + 1, table.shape[1]))
    np.add.at(sums, classes, weights[:, None] * table)
    centred: Matrix = table - (sums / np.bincount(classes, weights)[:, None])[classes]
    return centred
