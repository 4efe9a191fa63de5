"""Arrays on disk in the safetensors format: written without a copy in memory, read by mapping the file.

The safetensors library builds the whole file in memory before it is written; counts are larger than memory. The format
is the library's, and the tests read and write these files with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.errors import REMEDY, FormatError

Array = NDArray[Any]


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays in the safetensors format, without a copy of them in memory."""
    with path.open("wb") as file:
        for part in _stored(arrays):
            file.write(part)


def packed_arrays(arrays: Mapping[str, Array]) -> bytes:
    """Return the bytes of such a file, for where there is no file to write."""
    return b"".join(_stored(arrays))


def expect_arrays(
    where: str | Path, arrays: Mapping[str, Array], expected: Mapping[str, tuple[tuple[int, ...], str]]
) -> None:
    """Refuse arrays that are not those expected, by name, shape and type, or hold numbers that are not finite."""
    if set(arrays) != set(expected):
        raise FormatError(f"{where} holds {sorted(arrays)} instead of {sorted(expected)}.")
    for name, (shape, dtype) in expected.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.dtype(dtype):
            raise FormatError(f"{where}: {name} is {array.dtype}{array.shape} instead of {dtype}{shape}.")
        if dtype.startswith("float") and not np.isfinite(array).all():
            raise FormatError(f"{where}: {name} holds values that are not finite.")


def width(array: Array | None) -> int:
    """Return how many columns a matrix has; 1 for anything else, which :func:`expect_arrays` refuses then."""
    return max(array.shape[1], 1) if array is not None and array.ndim == 2 else 1


def _stored(arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    """Yield the header, and the data of every array."""
    header: dict[str, Any] = {}
    offset = 0
    # widest numbers first: with data on a cache line, every array is aligned to its own numbers
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    ordered = {name: np.asarray(arrays[name], order="C") for name in names}
    for name, array in ordered.items():
        header[name] = {
            "dtype": _DTYPE_NAMES[array.dtype.newbyteorder("=")],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    # Data starts on a cache line, so that a memory map of it is aligned.
    text += b" " * (-(8 + len(text)) % 64)
    yield len(text).to_bytes(8, "little") + text
    for array in ordered.values():
        yield array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def read_arrays(path: Path, *, writable: bool = False) -> dict[str, Array]:
    """Map the arrays of a safetensors file into memory; nothing is read until it is used.

    The file may be removed or replaced by another while it is mapped, but must not be written into.

    Args:
        path: The file.
        writable: Changes stay in memory. Kernels are compiled once more for arrays that are read-only.
    """
    try:
        if not path.is_file():  # also what has no end: a pipe, a device
            raise FileNotFoundError(path)
        with path.open("rb") as file:
            length, size = int.from_bytes(file.read(8), "little"), path.stat().st_size
            header = file.read(length) if length <= size else b""
    except FileNotFoundError as error:
        raise FormatError(f"{path} is missing. {REMEDY}") from error

    def take(dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Array:
        mapped = np.memmap(path, dtype=dtype, mode="c" if writable else "r", offset=offset, shape=shape)
        return mapped.view(np.ndarray) if writable else mapped

    return _parsed(str(path), header, length, size, take)


def arrays_of(content: bytes, name: str) -> dict[str, Array]:
    """Return the arrays of the bytes of a safetensors file, without a copy, read-only; errors name the file."""
    length = int.from_bytes(content[:8], "little")

    def take(dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Array:
        return np.frombuffer(content, dtype, math.prod(shape), offset).reshape(shape)

    return _parsed(name, content[8 : 8 + length], length, len(content), take)


def _parsed(
    where: str, text: bytes, length: int, size: int, take: Callable[[np.dtype[Any], tuple[int, ...], int], Array]
) -> dict[str, Array]:
    """Return the arrays that a header describes; ``take`` gives one by type, shape and place in the file."""
    try:
        if not 2 <= length <= size - 8:
            raise ValueError(f"header of {length} bytes in a file of {size}")
        header = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError(f"header is a {type(header).__name__}")
        arrays: dict[str, Array] = {}
        for name, facts in header.items():
            if name == "__metadata__":
                continue
            dtype = np.dtype(_DTYPES[facts["dtype"]])
            shape = tuple(int(n) for n in facts["shape"])
            start, stop = facts["data_offsets"]
            count = math.prod(shape)  # of Python's integers, which do not wrap
            fits = isinstance(start, int) and isinstance(stop, int) and min(shape, default=0) >= 0 <= start
            if not fits or stop - start != count * dtype.itemsize or 8 + length + stop > size:
                raise ValueError(f"array {name!r}: offsets {start}..{stop} do not fit shape {shape} of {dtype}")
            arrays[name] = take(dtype, shape, 8 + length + start) if count else np.empty(shape, dtype)
        return arrays
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{where} is not a valid safetensors file ({error}). {REMEDY}") from error


_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
}  # fmt: skip
_DTYPE_NAMES = {np.dtype(code).newbyteorder("="): name for name, code in _DTYPES.items()}
