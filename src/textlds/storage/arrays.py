"""Arrays on disk in the safetensors format: written without a copy in memory, read by mapping the file.

The safetensors library builds the whole file in memory before it is written; counts are larger than memory. The format
is the library's, and the tests read and write these files with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.errors import REMEDY, FormatError

Array = NDArray[Any]


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays in the safetensors format, without a copy of them in memory."""
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
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in ordered.values():
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data)


def read_arrays(path: Path) -> dict[str, Array]:
    """Map the arrays of a safetensors file into memory, read-only; nothing is read until it is used."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            size = path.stat().st_size
            if not 2 <= length <= size - 8:
                raise ValueError(f"header of {length} bytes in a file of {size}")
            header = json.loads(file.read(length))
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
            if count == 0:
                arrays[name] = np.empty(shape, dtype)
            else:
                arrays[name] = np.memmap(path, dtype=dtype, mode="r", offset=8 + length + start, shape=shape)
        return arrays
    except FileNotFoundError as error:
        raise FormatError(f"{path} is missing. {REMEDY}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{path} is not a valid safetensors file ({error}). {REMEDY}") from error


_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
}  # fmt: skip
_DTYPE_NAMES = {np.dtype(code).newbyteorder("="): name for name, code in _DTYPES.items()}
