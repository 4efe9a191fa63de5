"""LagCounts: all that learning ever sees of a corpus, as exact integers.

``lags[k - 1][i, j]`` is how often row i occurs k positions to the RIGHT of row j: [later, earlier]. Counts of texts
that share a vocabulary add and subtract exactly, because no window crosses the end of a source:
count(a) + count(b) = count(a and b). Everything incremental, distributed and subtractive rests on that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textlds._version import __version__
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts import kernels
from textlds.counts.arrays import I64
from textlds.counts.blocks import RowRange
from textlds.counts.record import Record, read_record
from textlds.counts.shards import ARRAYS, BOUNDS, Place, Shard, ShardedLags, Shards, row_bounds, shards_of
from textlds.counts.sinks import FolderSink, columns_file, make_csr, values_file
from textlds.errors import REMEDY, ArgumentError, CountsError, FormatError
from textlds.storage.arrays import arrays_of, packed_arrays, read_arrays, write_arrays
from textlds.storage.folders import (
    CONFIG,
    check_config,
    check_files,
    json_bytes,
    make_config,
    new_folder,
    parse_json,
    read_config,
    read_json,
    write_config,
    write_json,
)

if TYPE_CHECKING:
    from textlds.counts.algebra import Pruned

KIND = "counts"
VOCABULARY = "vocabulary.json"
_SAVE_ENTRIES = 1 << 22
_ENTRY_BYTES = 8


@dataclasses.dataclass(frozen=True, eq=False)
class LagCounts:
    """Unigram counts and, for each lag, how often each pair of words occurs at that distance.

    Attributes:
        vocabulary: The words of the rows (and columns), with the settings the text was read with.
        unigrams: Occurrences of each row (V,), int64 (float64 if weighted by a fraction).
        lags: One V x V array a lag, [later, earlier]: sorted int32 columns, no stored zeros; uint32 values, int64 where
            a count needs it, float64 if weighted by a fraction. Those of a folder in shards are read when they are
            first asked for.
        record: What was left out of the text (:mod:`textlds.counts.record`). It is stored, and not compared.
    """

    vocabulary: Vocabulary
    unigrams: NDArray[Any]
    lags: Sequence[sp.csr_array]
    record: Record = dataclasses.field(default_factory=dict)

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
            write_folder(folder, self.vocabulary, self.unigrams, sink.pointers, self.record)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LagCounts:
        """Map a counts folder into memory; a truncated, altered or inconsistent one is refused."""
        place = Place.at(path)
        config = _read_config(place)
        with _refusing(place):
            vocabulary, unigrams, shards = _opened(place, config)
            record = read_record(config)
            if shards.files:
                return cls(vocabulary, unigrams, ShardedLags(shards), record)
            folder = Path(path)
            check_files(folder, config, check="sums")
            pointers = np.array(read_arrays(folder / ARRAYS)["pointers"])
            _check_pointers(pointers, shards.max_lag, len(vocabulary))
            floating = unigrams.dtype.kind == "f"
            lags = tuple(_load_lag(folder, k + 1, pointers[k], floating=floating) for k in range(shards.max_lag))
        return cls(vocabulary, unigrams, lags, record)


def open_shards(
    path: str | os.PathLike[str], *, block_bytes: int, check: Literal["all", "whole"] = "all"
) -> tuple[Vocabulary, NDArray[Any], Shards]:
    """Return the words of a counts folder, how often they occur, and where its rows are; no row is kept.

    Args:
        path: A folder or a URL.
        block_bytes: Of the rows that are read at a time, where the folder itself has no shards.
        check: Whose sums are checked here: those of all files, or of those that are not shards (a shard's own is
            checked by :meth:`Shards.read`).
    """
    place = Place.at(path)
    config = _read_config(place)
    with _refusing(place):
        vocabulary, unigrams, shards = _opened(place, config)
        if place.local is not None and (check == "all" or not shards.files):
            check_files(place.local, config, check="sums")
        if shards.files:
            return vocabulary, unigrams, shards
        if unigrams.dtype.kind == "f":
            raise CountsError(
                f"{place.path} holds weighted counts, which cannot be read in blocks. Fit them on one machine, without "
                f"a memory limit."
            )
        pointers = np.array(read_arrays(Path(path) / ARRAYS)["pointers"])
        _check_pointers(pointers, shards.max_lag, len(vocabulary))
        lengths = np.diff(pointers, axis=1).sum(axis=0)
        bounds = tuple(row_bounds(lengths, block_bytes // _ENTRY_BYTES))
        return vocabulary, unigrams, dataclasses.replace(shards, bounds=bounds)


def with_record(counts: LagCounts, path: str | os.PathLike[str]) -> LagCounts:
    """Return counts that were opened in some other way with what the ``config.json`` of their folder has on record."""
    place = Place.at(path)
    with _refusing(place):
        return dataclasses.replace(counts, record=read_record(_read_config(place)))


def counts_bytes(path: str | os.PathLike[str]) -> int:
    """Return how many bytes the files of a counts folder have."""
    return sum(int(facts["bytes"]) for facts in _read_config(Place.at(path))["files"].values())


def _read_config(place: Place) -> dict[str, Any]:
    if place.local is not None:
        return read_config(place.local, kind=KIND, check="sizes")
    config = parse_json(place.read(CONFIG), f"{place.path}/{CONFIG}")
    return check_config(config, place.path, kind=KIND)


def _opened(place: Place, config: dict[str, Any]) -> tuple[Vocabulary, NDArray[Any], Shards]:
    settings = TextSettings.from_json(config["settings"])
    vocabulary = Vocabulary.from_json(parse_json(_checked_file(place, config, VOCABULARY), VOCABULARY), settings)
    unigrams = np.array(arrays_of(_checked_file(place, config, ARRAYS), ARRAYS)["unigrams"])
    _check_unigrams(unigrams, len(vocabulary))
    shards = shards_of(place, config, len(vocabulary))
    if not shards.files and place.local is None:
        raise FormatError(
            f"{place.path} has no shards, and other folders are mapped from a disk. Copy it to this machine, or count "
            f"on a cluster (--scheduler), which writes shards."
        )
    return vocabulary, unigrams, shards


def _checked_file(place: Place, config: dict[str, Any], name: str) -> bytes:
    content = place.read(name)
    if hashlib.sha256(content).hexdigest() != config["files"][name]["sha256"]:
        raise FormatError(f"{place.path}/{name} was altered: its SHA-256 is not the one in {CONFIG}. {REMEDY}")
    return content


@contextlib.contextmanager
def _refusing(place: Place) -> Iterator[None]:
    """Let whatever invalid content leads to be a FormatError."""
    try:
        yield
    except (FormatError, CountsError):
        raise
    except (KeyError, TypeError, ValueError, FileNotFoundError) as error:  # ArgumentError is a ValueError
        reason = f"{type(error).__name__}: {error}"
        raise FormatError(f"{place.path} does not hold valid counts ({reason}). Write it again.") from error


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
    content = _content(vocabulary, unigrams, pointers[:, -1].tolist())
    write_config(folder, kind=KIND, content=content | dict(facts or {}))


def write_shards(
    place: Place,
    vocabulary: Vocabulary,
    unigrams: I64,
    bounds: Sequence[int],
    shards: Sequence[Shard],
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Complete a counts folder whose shards were written: the small files, and ``config.json`` after all others."""
    small = {
        VOCABULARY: json_bytes(vocabulary.to_json(), indent=None),
        ARRAYS: packed_arrays({"unigrams": unigrams}),
    }
    files = {shard.name: {"bytes": shard.bytes, "sha256": shard.sha256} for shard in shards}
    for name, data in small.items():
        place.write(name, data)
        files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    pairs = np.array([shard.pairs for shard in shards]).sum(axis=0).tolist()
    layout = {BOUNDS: list(bounds), "shards": [shard.name for shard in shards]}
    content = _content(vocabulary, unigrams, pairs) | dict(facts or {}) | layout
    place.write(CONFIG, json_bytes(make_config(KIND, content, files)))


def _content(vocabulary: Vocabulary, unigrams: NDArray[Any], pairs: list[int]) -> dict[str, Any]:
    return {
        "textlds_version": __version__,
        "settings": vocabulary.settings.to_json(),
        "rows": len(vocabulary),
        "types": vocabulary.n_types,
        "max_lag": len(pairs),
        "tokens": unigrams.sum().item(),
        "pairs": pairs,
        "exact": unigrams.dtype.kind == "i",
    }


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
        raise FormatError("row pointers must start at 0 and never decrease.")


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
