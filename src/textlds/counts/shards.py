"""Counts in row shards: a folder, on any file system, whose rows lie in several files, each read when it is needed.

    config.json                      as of any counts folder, and "bounds": the first row of every shard, and V
    vocabulary.json                  as of any counts folder
    counts.safetensors               unigrams
    rows-00003-9f2c41d0.safetensors  of the rows of shard 3: pointers (R, n + 1), columns and values of every lag

Whoever sums some rows writes their shard, so that no machine needs to hold all of them. The names carry the run that
made them. ``config.json`` is written last; it has the size and the sum of every file, and a shard is checked against
them when it is read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textlds.corpus.reading.files import is_remote, remote
from textlds.counts import kernels
from textlds.counts.arrays import I32, I64, Values
from textlds.counts.blocks import RowRange
from textlds.counts.sinks import FolderSource, make_csr, narrow
from textlds.errors import REMEDY, FormatError
from textlds.storage.arrays import arrays_of, packed_arrays, read_arrays

ARRAYS = "counts.safetensors"
BOUNDS = "bounds"


@dataclasses.dataclass(frozen=True)
class Place:
    """A folder, on this machine or behind a URL."""

    path: str

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Place:
        """Return the place of a path; one on this machine is made absolute, for processes that run elsewhere."""
        name = os.fspath(path)
        return cls(name if is_remote(name) else os.path.abspath(name))

    @property
    def local(self) -> Path | None:
        """The folder, if it is on this machine."""
        return None if is_remote(self.path) else Path(self.path)

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        try:
            if self.local is not None:
                return (self.local / name).read_bytes()
            system, folder = remote(self.path)
            content: bytes = system.cat_file(posixpath.join(folder, name))
        except FileNotFoundError as error:
            raise FormatError(f"{self.path} is incomplete: {name} is missing. {REMEDY}") from error
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file; where it is on this machine, it appears when it is whole."""
        if self.local is None:
            system, folder = remote(self.path)
            system.makedirs(folder, exist_ok=True)
            system.pipe_file(posixpath.join(folder, name), content)
            return
        temporary = self.local / f".{name}.{os.getpid()}"
        temporary.write_bytes(content)
        os.replace(temporary, self.local / name)

    def names(self) -> list[str]:
        """Return the names of the files, none where there is no folder."""
        if self.local is not None:
            return sorted(os.listdir(self.local)) if self.local.is_dir() else []
        system, folder = remote(self.path)
        return sorted(map(posixpath.basename, system.ls(folder, detail=False))) if system.exists(folder) else []

    def remove(self, name: str) -> None:
        """Remove a file."""
        if self.local is not None:
            (self.local / name).unlink(missing_ok=True)
        else:
            system, folder = remote(self.path)
            system.rm_file(posixpath.join(folder, name))


@dataclasses.dataclass(frozen=True)
class Shard:
    """One file of rows.

    Attributes:
        name: Of the file.
        bytes: Its size.
        sha256: Its sum.
        pairs: How many of each lag it holds.
    """

    name: str
    bytes: int
    sha256: str
    pairs: tuple[int, ...] = ()


Rows = tuple[I64, I32, Values]  # pointers, columns and values of the rows of a shard, of one lag


@dataclasses.dataclass(frozen=True)
class Shards:
    """Where the rows of counts are.

    Attributes:
        place: The folder.
        bounds: The first row of every shard, and V.
        max_lag: R.
        pairs: Of every lag, in all shards.
        files: The shards; none for a folder with one file a lag, of which any rows can be read.
    """

    place: Place
    bounds: tuple[int, ...]
    max_lag: int
    pairs: tuple[int, ...]
    files: tuple[Shard, ...]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def read(self, number: int) -> tuple[Rows, ...]:
        """Return the rows of a shard, lag by lag, checked; those of a shard on this machine are mapped."""
        if not self.files:
            return tuple(self.read_lag(number, k) for k in range(self.max_lag))
        where = f"{self.place.path}/{self.files[number].name}"
        arrays = self._arrays(self.files[number], where, check=True)
        return tuple(self._rows(arrays, where, number, k) for k in range(self.max_lag))

    def read_lag(self, number: int, k: int) -> Rows:
        """Return the rows of a shard of N_{k+1} alone, in memory of their own; sums of files are not checked."""
        low, high = self.bounds[number], self.bounds[number + 1]
        where = f"rows {low}..{high} of lag {k + 1} of {self.place.path}"
        if self.files:
            arrays = self._arrays(self.files[number], where, check=False)
            pointers, columns, values = self._rows(arrays, where, number, k)
            return pointers, np.array(columns), np.array(values)
        folder = Path(self.place.path)
        pointers = read_arrays(folder / ARRAYS)["pointers"]
        source = FolderSource(folder, self.bounds[-1], lambda lag: np.asarray(pointers[lag - 1]))
        source.row_lengths(k + 1)
        own = np.array(pointers[k, low : high + 1]) - pointers[k, low]
        return _checked(where, own, *source.read(k + 1, low, high), self.bounds[-1])

    def _rows(self, arrays: Mapping[str, NDArray[Any]], where: str, number: int, k: int) -> Rows:
        """Return the rows of N_{k+1} in a shard, checked."""
        try:
            pointers, columns, values = (arrays[name] for name in ("pointers", *_names(k + 1)))
        except KeyError as error:
            raise FormatError(f"{where} has no array {error}. {REMEDY}") from error
        needed = self.max_lag, self.bounds[number + 1] - self.bounds[number] + 1
        if pointers.shape != needed or pointers.dtype != np.int64:
            raise FormatError(
                f"{where}: row pointers are {pointers.dtype} {pointers.shape}; needed are int64 {needed}. {REMEDY}"
            )
        return _checked(where, np.array(pointers[k]), columns, values, self.bounds[-1])

    def _arrays(self, file: Shard, where: str, *, check: bool) -> Mapping[str, NDArray[Any]]:
        if self.place.local is None:
            content = self.place.read(file.name)
            found = len(content), hashlib.sha256(content).hexdigest()
            arrays = arrays_of(content, where)
        else:
            path = self.place.local / file.name
            if not path.is_file():
                raise FormatError(f"{self.place.path} is incomplete: {file.name} is missing. {REMEDY}")
            found = path.stat().st_size, file.sha256
            if check:
                with path.open("rb") as opened:
                    found = found[0], hashlib.file_digest(opened, "sha256").hexdigest()
            arrays = read_arrays(path)
        if found != (file.bytes, file.sha256):
            raise FormatError(
                f"{self.place.path}/{file.name} is not the shard that config.json lists: it was altered, or is of "
                f"another run. {REMEDY}"
            )
        return arrays


def shards_of(place: Place, config: Mapping[str, Any], n_rows: int) -> Shards:
    """Return the shards that a ``config.json`` lists; without files where the folder has one file a lag."""
    max_lag, pairs = int(config["max_lag"]), tuple(int(n) for n in config["pairs"])
    if len(pairs) != max_lag:
        raise FormatError(f"{place.path}: max_lag={max_lag} in config.json and {len(pairs)} numbers of pairs. {REMEDY}")
    if BOUNDS not in config:
        return Shards(place, (0, n_rows), max_lag, pairs, ())
    bounds, names = [int(n) for n in config[BOUNDS]], config["shards"]
    ends = bounds[:1] + bounds[-1:]  # none of either where there are no bounds
    if max_lag < 1 or ends != [0, n_rows] or sorted(set(bounds)) != bounds:
        raise FormatError(f"{place.path}: shards must cover rows 0..{n_rows} in order, not {bounds}. {REMEDY}")
    if len(names) != len(bounds) - 1 or any(name not in config["files"] for name in names):
        raise FormatError(f"{place.path}: config.json does not list a file for each of {len(bounds) - 1} shards.")
    files = (Shard(name, config["files"][name]["bytes"], config["files"][name]["sha256"]) for name in names)
    return Shards(place, tuple(bounds), max_lag, pairs, tuple(files))


def _names(lag: int) -> tuple[str, str]:
    """Return the names of the arrays of a lag in a shard."""
    return f"columns{lag:02}", f"values{lag:02}"


def row_bounds(lengths: I64, entries: int) -> list[int]:
    """Return where blocks of rows begin, with the number of rows at the end; each has about so many entries."""
    numbers = np.cumsum(lengths) // max(entries, 1)
    begins = np.flatnonzero(np.diff(numbers)) + 1
    return [0, *begins.tolist(), len(lengths)]


def _checked(where: str, pointers: I64, columns: I32, values: Values, n_columns: int) -> Rows:
    n = int(pointers[-1])
    if pointers[0] != 0 or (np.diff(pointers) < 0).any():
        raise FormatError(f"{where}: row pointers must start at 0 and never decrease.")
    if columns.shape != (n,) or columns.dtype != np.int32 or values.shape != (n,):
        raise FormatError(f"{where}: {columns.shape} columns and {values.shape} values; needed are {n} of each.")
    if values.dtype not in (np.dtype(np.uint32), np.dtype(np.int64)) or (n and not values.min() > 0):
        raise FormatError(f"{where}: counts must be positive integers.")
    if kernels.first_bad_row(pointers, columns, n_columns) >= 0:
        raise FormatError(f"{where}: columns are not increasing within 0..{n_columns - 1}.")
    return pointers, columns, values


def write_shard(place: Place, name: str, block: Sequence[RowRange]) -> Shard:
    """Write the rows of a shard; the same rows are the same bytes."""
    arrays: dict[str, Any] = {}
    pointers = np.zeros((len(block), len(block[0].lengths) + 1), np.int64)
    for k, rows in enumerate(block):
        np.cumsum(rows.lengths, out=pointers[k, 1:])
        columns, values = _names(k + 1)
        arrays[columns], arrays[values] = rows.columns, narrow(rows.values)
    content = packed_arrays({"pointers": pointers, **arrays})
    place.write(name, content)
    return Shard(name, len(content), hashlib.sha256(content).hexdigest(), tuple(pointers[:, -1].tolist()))


class ShardedLags(Sequence[sp.csr_array]):
    """The lags of counts in shards, each put together when it is first asked for, and kept."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self._rows: dict[int, tuple[Rows, ...]] = {}
        self._lags: dict[int, sp.csr_array] = {}

    def __len__(self) -> int:
        return self._shards.max_lag

    @overload
    def __getitem__(self, index: int) -> sp.csr_array: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[sp.csr_array, ...]: ...

    def __getitem__(self, index: int | slice) -> sp.csr_array | tuple[sp.csr_array, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        k = range(len(self))[index]
        if k not in self._lags:
            self._lags[k] = self._joined(k)
        return self._lags[k]

    def _joined(self, k: int) -> sp.csr_array:
        parts = list(self._parts(k))
        ends = itertools.accumulate((int(pointers[-1]) for pointers, _, _ in parts), initial=0)
        pointers = [pointers[:-1] + start for (pointers, _, _), start in zip(parts, ends, strict=False)]
        total = np.array([sum(len(columns) for _, columns, _ in parts)], np.int64)
        columns, values = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return make_csr(np.concatenate([*pointers, total]), columns, values)

    def _parts(self, k: int) -> Iterator[Rows]:
        for number in range(len(self._shards)):
            if number not in self._rows:
                self._rows[number] = self._shards.read(number)
            yield self._rows[number][k]
