"""How large the pages of a Parquet file become, told from their headers before any of them is unpacked.

A page is what Parquet unpacks as a whole, and its size is limited by nothing but 31 bits: 50 KB may hold 2 GB. The
library that reads them takes no limit, so the headers are read here first (a struct of Thrift's compact protocol each).
"""

from __future__ import annotations

from typing import Any, BinaryIO

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 16


def largest_page(file: BinaryIO, chunk: Any) -> int:
    """Return the bytes of the largest page of a column chunk, unpacked. Raises ValueError if a header is damaged.

    Args:
        file: The file; its position changes.
        chunk: The chunk's metadata, a ``pyarrow.parquet.ColumnChunkMetaData``.

    Cost: 20 µs a page.
    """
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        starts.append(chunk.dictionary_page_offset)
    position, largest = min(starts), 0
    end = position + chunk.total_compressed_size
    while position < end:
        file.seek(position)
        header = _struct(file)
        unpacked, packed = header.get(2), header.get(3)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or unpacked < 0 or packed < 0:
            raise ValueError(f"the page at byte {position:,} has no valid header")
        largest = max(largest, unpacked)
        position = file.tell() + packed
    return largest


def _struct(file: BinaryIO, depth: int = 0) -> dict[int, int]:
    """Read a struct; return its integer fields and skip the others."""
    if depth > _DEEPEST:
        raise ValueError(f"a page header is nested more than {_DEEPEST} deep")
    fields: dict[int, int] = {}
    number = 0
    while True:
        head = _byte(file)
        kind = head & 15
        if kind == _STOP:
            return fields
        number = number + (head >> 4) if head >> 4 else _signed(file)
        if kind in _INTEGERS:
            fields[number] = _signed(file)
        elif kind not in (_TRUE, _FALSE):
            _skip(file, kind, depth)


def _skip(file: BinaryIO, kind: int, depth: int) -> None:
    if kind in _INTEGERS:
        _varint(file)
    elif kind in (_TRUE, _FALSE, _BYTE):  # a truth value in a list takes a byte
        _byte(file)
    elif kind == _DOUBLE:
        file.seek(8, 1)
    elif kind == _BINARY:
        file.seek(_varint(file), 1)
    elif kind == _STRUCT:
        _struct(file, depth + 1)
    elif kind in (_LIST, _SET):
        head = _byte(file)
        for _ in range(_varint(file) if head >> 4 == 15 else head >> 4):
            _skip(file, head & 15, depth + 1)
    else:  # no version of the format has a map here
        raise ValueError(f"a page header has a field of unknown kind {kind}")


def _byte(file: BinaryIO) -> int:
    data = file.read(1)
    if not data:
        raise ValueError("a page header is cut off")
    return data[0]


def _varint(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError("a page header has a number of more than 64 bits")


def _signed(file: BinaryIO) -> int:
    value = _varint(file)
    return (value >> 1) ^ -(value & 1)
