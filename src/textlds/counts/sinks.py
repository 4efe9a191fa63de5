"""Where finished rows go: into arrays in memory, or straight into the files of a counts folder.

Both give the same content; what a lag's values are stored as follows from the values alone, so that the same counts
are the same bytes: uint32, or int64 if one of them needs it, or float64 for weighted counts.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textlds.counts.arrays import I32, I64
from textlds.counts.blocks import RowRange
from textlds.errors import REMEDY, FormatError

_UINT32_MAX = np.iinfo(np.uint32).max
_HEADER = 128  # bytes before the data of a streamed safetensors file, two cache lines
_NAMES: dict[np.dtype[Any], str] = {
    np.dtype(np.int32): "I32",
    np.dtype(np.uint32): "U32",
    np.dtype(np.int64): "I64",
    np.dtype(np.float64): "F64",
}


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return integer values as uint32 if they all fit; the type follows from the content alone."""
    if values.dtype != np.int64 or (values.size and not 0 <= int(values.min()) <= int(values.max()) <= _UINT32_MAX):
        return values
    return values.astype(np.uint32)


def make_csr(pointers: I64, columns: I32, values: NDArray[Any]) -> sp.csr_array:
    """Wrap a lag's sorted rows as a scipy array without copying columns or values."""
    n_rows = len(pointers) - 1
    index = np.int32 if len(columns) <= np.iinfo(np.int32).max else np.int64
    matrix = sp.csr_array((values, columns, pointers.astype(index)), shape=(n_rows, n_rows))
    matrix.has_canonical_format = True
    return matrix


class MemorySink:
    """Collects rows in memory; ``lags()`` gives one array a lag."""

    def __init__(self, n_rows: int, max_lag: int) -> None:
        self._n_rows = n_rows
        self._parts: list[list[RowRange]] = [[] for _ in range(max_lag)]

    def append(self, rows: RowRange) -> None:
        """Keep a copy of the rows."""
        copy = RowRange(rows.lag, rows.lengths.copy(), rows.columns.copy(), narrow(rows.values.copy()))
        self._parts[rows.lag - 1].append(copy)

    def lags(self) -> tuple[sp.csr_array, ...]:
        """Join the parts, lag after lag, freeing them on the way: twice one lag is the peak."""
        return tuple(self._join(k) for k in range(len(self._parts)))

    def _join(self, k: int) -> sp.csr_array:
        parts, self._parts[k] = self._parts[k], []
        pointers = np.zeros(self._n_rows + 1, np.int64)
        np.cumsum(np.concatenate([part.lengths for part in parts]), out=pointers[1:])
        columns = np.concatenate([part.columns for part in parts])
        values = np.concatenate([part.values for part in parts])  # uint32 and int64 make int64
        return make_csr(pointers, columns, values)


class StreamedArray:
    """A safetensors file with one vector whose length is only known at the end.

    Room for the header is left at the front and filled on ``finish``.
    """

    def __init__(self, path: Path, name: str, dtype: type[Any]) -> None:
        self._path, self._name = path, name
        self._begin(dtype)

    def _begin(self, dtype: type[Any]) -> None:
        self._dtype, self._size = np.dtype(dtype), 0
        self._file: IO[bytes] = self._path.open("wb", buffering=0)
        try:
            self._file.write(bytes(_HEADER))
        except OSError:  # a full disk: nobody else knows this file yet
            self._file.close()
            raise

    def append(self, values: NDArray[Any]) -> None:
        """Write more values, converting them to the file's type."""
        _write_all(self._file, values.astype(self._dtype, copy=False))
        self._size += len(values)

    def widen(self, dtype: type[Any]) -> None:
        """Rewrite what is there in a wider type; needed at most once per file."""
        self._file.close()
        narrow_path, narrow_dtype, left = self._path.with_suffix(".narrow"), self._dtype, self._size
        os.replace(self._path, narrow_path)
        self._begin(dtype)
        offset = _HEADER
        while left:
            part = np.fromfile(narrow_path, narrow_dtype, min(left, 1 << 20), offset=offset)
            self.append(part)
            if not len(part):
                raise FormatError(f"{narrow_path} was truncated while it was being read. {REMEDY}")
            left, offset = left - len(part), offset + part.nbytes
        narrow_path.unlink()

    def finish(self) -> None:
        """Write the header and close the file."""
        facts = {
            "dtype": _NAMES[self._dtype],
            "shape": [self._size],
            "data_offsets": [0, self._size * self._dtype.itemsize],
        }
        header = json.dumps({self._name: facts}, separators=(",", ":")).encode().ljust(_HEADER - 8)
        self._file.seek(0)
        _write_all(self._file, np.frombuffer((len(header)).to_bytes(8, "little") + header, np.uint8))
        self._file.close()

    def close(self) -> None:
        """Give up the file handle, finished or not."""
        self._file.close()


class FolderSink:
    """Writes rows into a folder as they come; memory does not grow with the counts.

    A folder has, for lag 3, ``lag03-columns.safetensors`` and ``lag03-values.safetensors``; ``pointers`` (R, V + 1)
    is left to the caller to store. Use as a context manager, which closes the files.
    """

    def __init__(self, folder: Path, n_rows: int, max_lag: int, *, floating: bool = False) -> None:
        self.pointers = np.zeros((max_lag, n_rows + 1), np.int64)
        self._rows_done = [0] * max_lag
        self._dtype: list[type[Any]] = [np.float64 if floating else np.uint32] * max_lag
        self._columns: list[StreamedArray] = []
        self._values: list[StreamedArray] = []
        try:
            for lag in range(1, max_lag + 1):
                self._columns.append(StreamedArray(columns_file(folder, lag), "columns", np.int32))
                self._values.append(StreamedArray(values_file(folder, lag), "values", self._dtype[0]))
        except OSError:  # a full disk: those that are open are closed
            self.__exit__(None, None, None)
            raise

    def append(self, rows: RowRange) -> None:
        """Write the rows behind those of the same lag."""
        k = rows.lag - 1
        done, n = self._rows_done[k], len(rows.lengths)
        self.pointers[k, done + 1 : done + n + 1] = rows.lengths
        self._rows_done[k] += n
        if self._dtype[k] is np.uint32 and narrow(rows.values).dtype == np.int64:
            self._values[k].widen(np.int64)
            self._dtype[k] = np.int64
        self._columns[k].append(rows.columns)
        self._values[k].append(rows.values)

    def finish(self) -> None:
        """Complete the files and turn row lengths into pointers."""
        np.cumsum(self.pointers, axis=1, out=self.pointers)
        for array in (*self._columns, *self._values):
            array.finish()

    def __enter__(self) -> FolderSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for array in (*self._columns, *self._values):
            with contextlib.suppress(OSError):
                array.close()


def columns_file(folder: Path, lag: int) -> Path:
    """Return the file of a lag's columns."""
    return folder / f"lag{lag:02d}-columns.safetensors"


def values_file(folder: Path, lag: int) -> Path:
    """Return the file of a lag's values."""
    return folder / f"lag{lag:02d}-values.safetensors"


def _write_all(file: IO[bytes], values: NDArray[Any]) -> None:
    left = np.ascontiguousarray(values).view(np.uint8).data
    while left:
        left = left[file.write(left) :]


class CsrSource:
    """Counts in memory, read range by range."""

    def __init__(self, lags: Sequence[sp.csr_array]) -> None:
        self.n_rows = lags[0].shape[0]
        self._lags = lags

    def row_lengths(self, lag: int) -> I64:
        """Number of entries of every row of a lag."""
        return np.asarray(np.diff(self._lags[lag - 1].indptr), np.int64)

    def read(self, lag: int, low: int, high: int) -> tuple[I32, NDArray[Any]]:
        """Columns and values of rows low..high-1."""
        matrix = self._lags[lag - 1]
        part = slice(matrix.indptr[low], matrix.indptr[high])
        return matrix.indices[part], matrix.data[part]


class FolderSource:
    """Rows of a folder that a :class:`FolderSink` wrote, read range by range without mapping the files.

    Reading instead of mapping keeps what is resident to the range at hand. One lag is read at a time.
    """

    def __init__(self, folder: Path, n_rows: int, pointers: Callable[[int], I64]) -> None:
        self.n_rows = n_rows
        self._folder, self._read_pointers = folder, pointers

    def row_lengths(self, lag: int) -> I64:
        """Number of entries of every row of a lag; ``read`` is for the same lag until this is called again."""
        self._pointers = self._read_pointers(lag)
        self._dtype = _stored_dtype(values_file(self._folder, lag))
        lengths = np.asarray(np.diff(self._pointers))
        if len(lengths) != self.n_rows or self._pointers[0] != 0 or (lengths < 0).any():
            raise FormatError(
                f"the row pointers of lag {lag} in {self._folder} must start at 0 and never decrease. {REMEDY}"
            )
        return lengths

    def read(self, lag: int, low: int, high: int) -> tuple[I32, NDArray[Any]]:
        """Read columns and values of rows low..high-1."""
        begin, n = int(self._pointers[low]), int(self._pointers[high] - self._pointers[low])
        width = self._dtype.itemsize
        columns = np.fromfile(columns_file(self._folder, lag), np.int32, n, offset=_HEADER + 4 * begin)
        values = np.fromfile(values_file(self._folder, lag), self._dtype, n, offset=_HEADER + width * begin)
        # compiled code takes columns as indices
        if len(columns) != n or len(values) != n or (n and not 0 <= columns.min() <= columns.max() < self.n_rows):
            raise FormatError(f"lag {lag} of {self._folder} is truncated or has columns out of range. {REMEDY}")
        return columns, values


def _stored_dtype(path: Path) -> np.dtype[Any]:
    try:
        with path.open("rb") as file:
            if int.from_bytes(file.read(8), "little") != _HEADER - 8:
                raise ValueError("a header of another size")
            name = json.loads(file.read(_HEADER - 8))["values"]["dtype"]
        return next(dtype for dtype, known in _NAMES.items() if known == name)
    except (ValueError, LookupError, TypeError, StopIteration, RecursionError) as error:
        raise FormatError(f"{path} is not a file of counts ({error}). {REMEDY}") from error
