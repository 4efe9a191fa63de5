"""LagCounts: all that learning ever sees of a corpus, as exact integers.

``lags[k - 1][i, j]`` is how often row i occurs k positions to the RIGHT of row j: [later, earlier]. Counts of texts
that share a vocabulary add and subtract exactly, because no window crosses the end of a source:
count(a) + count(b) = count(a and b). Everything incremental, distributed and subtractive rests on that.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textlds._version import __version__
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts import kernels
from textlds.counts.blocks import RowRange
from textlds.counts.sinks import FolderSink, columns_file, make_csr, values_file
from textlds.errors import ArgumentError, FormatError
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import new_folder, read_config, read_json, write_config, write_json

if TYPE_CHECKING:
    from textlds.counts.algebra import Pruned

KIND = "counts"
ARRAYS = "counts.safetensors"
VOCABULARY = "vocabulary.json"
_SAVE_ENTRIES = 1 << 22


@dataclasses.dataclass(frozen=True, eq=False)
class LagCounts:
    """Unigram counts and, for each lag, how often each pair of words occurs at that distance.

    Attributes:
        vocabulary: The words of the rows (and columns), with the settings the text was read with.
        unigrams: Occurrences of each row (V,), int64 (float64 if weighted by a fraction).
        lags: One V x V array a lag, [later, earlier]: sorted int32 columns, no stored zeros; uint32 values, int64 where
            a count needs it, float64 if weighted by a fraction.
    """

    vocabulary: Vocabulary
    unigrams: NDArray[Any]
    lags: tuple[sp.csr_array, ...]

    @property
    def max_lag(self) -> int:
        """R, the largest lag counted."""
        return len(self.lags)

    @property
    def tokens(self) -> int | float:
        """T, the number of tokens counted."""
        return self.unigrams.sum().item()  # type: ignore[no-any-return]

    @property
    def settings(self) -> TextSettings:
        """How the text was read."""
        return self.vocabulary.settings

    @property
    def exact(self) -> bool:
        """Whether the counts are integers; False after weighting by a fraction."""
        return bool(self.unigrams.dtype.kind == "i")

    @property
    def pairs(self) -> tuple[int, ...]:
        """Number of distinct pairs of each lag."""
        return tuple(int(lag.nnz) for lag in self.lags)

    def __repr__(self) -> str:
        kind = "" if self.exact else ", weighted"
        return f"LagCounts({self.tokens:,} tokens, {len(self.vocabulary):,} rows, {self.max_lag} lags{kind})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LagCounts):
            return NotImplemented
        return (
            self.max_lag == other.max_lag
            and self.vocabulary == other.vocabulary
            and np.array_equal(self.unigrams, other.unigrams)
            and all(_same(a, b) for a, b in zip(self.lags, other.lags, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: LagCounts) -> LagCounts:
        from textlds.counts.algebra import combine

        return combine([self, other], [1, 1])

    def __sub__(self, other: LagCounts) -> LagCounts:
        from textlds.counts.algebra import combine

        return combine([self, other], [1, -1])

    def __mul__(self, weight: float) -> LagCounts:
        from textlds.counts.algebra import combine

        return combine([self], [weight])

    __rmul__ = __mul__

    def prune(self, min_count: int) -> Pruned:
        """Drop pairs seen fewer than ``min_count`` times at a lag; unigrams stay. Tells what was dropped."""
        from textlds.counts.algebra import prune

        return prune(self, min_count)

    def shrink(self, vocab_size: int) -> LagCounts:
        """Keep the ``vocab_size`` most frequent types; fold the others into their unknown classes, exactly.

        The result equals counting the same text with that ``vocab_size`` in the first place.
        """
        from textlds.counts.algebra import shrink

        return shrink(self, vocab_size)

    def truncate(self, max_lag: int) -> LagCounts:
        """Keep lags 1..max_lag only."""
        if not 1 <= max_lag <= self.max_lag:
            raise ArgumentError(f"max_lag={max_lag} must lie between 1 and {self.max_lag}, the lags counted.")
        return dataclasses.replace(self, lags=self.lags[:max_lag])

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a counts folder, whole or not at all; the same counts are always the same bytes."""
        n_rows = len(self.vocabulary)
        with new_folder(path, force=force) as folder:
            with FolderSink(folder, n_rows, self.max_lag, floating=not self.exact) as sink:
                for k, matrix in enumerate(self.lags):
                    _write_rows(matrix, k + 1, sink)
                sink.finish()
            write_folder(folder, self.vocabulary, self.unigrams, sink.pointers)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LagCounts:
        """Map a counts folder into memory; a truncated, altered or inconsistent one is refused."""
        folder = Path(path)
        config = read_config(folder, kind=KIND)
        try:
            settings = TextSettings.from_json(config["settings"])
            vocabulary = Vocabulary.from_json(read_json(folder / VOCABULARY), settings)
            arrays = read_arrays(folder / ARRAYS)
            unigrams, pointers = np.array(arrays["unigrams"]), np.array(arrays["pointers"])
            max_lag = config["max_lag"]
            _check_unigrams(unigrams, len(vocabulary))
            _check_pointers(pointers, max_lag, len(vocabulary))
            lags = tuple(
                _load_lag(folder, k + 1, pointers[k], floating=unigrams.dtype.kind == "f") for k in range(max_lag)
            )
        except FormatError:
            raise
        except (KeyError, TypeError, ValueError, FileNotFoundError) as error:  # ArgumentError is a ValueError
            reason = f"{type(error).__name__}: {error}"
            raise FormatError(f"{folder} does not hold valid counts ({reason}). Write it anew.") from error
        return cls(vocabulary, unigrams, lags)


def stored_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Read the vocabulary of a counts folder, with its settings, so that other text can be counted against it."""
    config = read_config(path, kind=KIND)
    return Vocabulary.from_json(read_json(Path(path) / VOCABULARY), TextSettings.from_json(config["settings"]))


def write_folder(
    folder: Path,
    vocabulary: Vocabulary,
    unigrams: NDArray[Any],
    pointers: NDArray[np.int64],
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Complete a counts folder whose columns and values a FolderSink has written."""
    write_json(folder / VOCABULARY, vocabulary.to_json(), indent=None)
    write_arrays(folder / ARRAYS, {"unigrams": unigrams, "pointers": pointers})
    content = {
        "textlds_version": __version__,
        "settings": vocabulary.settings.to_json(),
        "rows": len(vocabulary),
        "types": vocabulary.n_types,
        "max_lag": len(pointers),
        "tokens": unigrams.sum().item(),
        "pairs": pointers[:, -1].tolist(),
        "exact": unigrams.dtype.kind == "i",
        **(facts or {}),
    }
    write_config(folder, kind=KIND, content=content)


def _write_rows(matrix: sp.csr_array, lag: int, sink: FolderSink) -> None:
    lengths = np.diff(matrix.indptr).astype(np.int64)
    sink.append(RowRange(lag, lengths, matrix.indices[:0], matrix.data[:0]))
    none = lengths[:0]
    for begin in range(0, matrix.nnz, _SAVE_ENTRIES):
        part = slice(begin, begin + _SAVE_ENTRIES)
        sink.append(RowRange(lag, none, matrix.indices[part], matrix.data[part]))


def _check_unigrams(unigrams: NDArray[Any], n_rows: int) -> None:
    if unigrams.shape != (n_rows,) or unigrams.dtype not in (np.dtype(np.int64), np.dtype(np.float64)):
        raise FormatError(f"unigrams are {unigrams.dtype} {unigrams.shape}; needed are int64 or float64 ({n_rows},).")
    if not np.isfinite(unigrams).all() or (unigrams < 0).any():
        raise FormatError("unigrams hold a negative or non-finite count.")


def _check_pointers(pointers: NDArray[Any], max_lag: Any, n_rows: int) -> None:
    if not isinstance(max_lag, int) or max_lag < 1:
        raise FormatError(f"max_lag is {max_lag!r}, not a positive integer.")
    if pointers.shape != (max_lag, n_rows + 1) or pointers.dtype != np.int64:
        raise FormatError(
            f"row pointers are {pointers.dtype} {pointers.shape}; needed are int64 {(max_lag, n_rows + 1)}."
        )
    if (pointers[:, 0] != 0).any() or (pointers[:, 1:] < pointers[:, :-1]).any():
        raise FormatError("row pointers must start at 0 and never fall.")


def _load_lag(folder: Path, lag: int, pointers: NDArray[np.int64], *, floating: bool) -> sp.csr_array:
    columns = read_arrays(columns_file(folder, lag))["columns"]
    values = read_arrays(values_file(folder, lag))["values"]
    n_rows, n_pairs = len(pointers) - 1, int(pointers[-1])
    kinds = (np.float64,) if floating else (np.uint32, np.int64)
    if columns.shape != (n_pairs,) or columns.dtype != np.int32:
        raise FormatError(f"columns of lag {lag} are {columns.dtype} {columns.shape}; needed are int32 ({n_pairs},).")
    if values.shape != (n_pairs,) or values.dtype not in kinds:
        raise FormatError(f"values of lag {lag} are {values.dtype} {values.shape}; needed are {kinds} ({n_pairs},).")
    row = kernels.first_bad_row(pointers, columns, n_rows)
    if row >= 0:
        raise FormatError(f"columns of lag {lag}, row {row}, are not increasing within 0..{n_rows - 1}.")
    if n_pairs and (not values.min() > 0 or not np.isfinite(values.max())):
        raise FormatError(f"values of lag {lag} hold a count that is not positive and finite.")
    return make_csr(pointers, columns, values)


def _same(a: sp.csr_array, b: sp.csr_array) -> bool:
    return (
        np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices) and np.array_equal(a.data, b.data)
    )
