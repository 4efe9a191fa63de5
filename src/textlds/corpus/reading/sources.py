"""What a corpus is read from: sources that give chunks of whole lines of UTF-8.

Every source becomes one stream of bytes. A plain text is that stream itself. Records (of JSON lines, Parquet, a Python
iterable) are written one after the other: the lines of the record that are not blank, each with a newline, and then a
blank line, so that each record is a document. A record that is a list of tokens is one line with U+001F between them.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from textlds.compiled import kernel
from textlds.corpus.settings import EncodingErrors
from textlds.corpus.tokens.memory import byte, word
from textlds.corpus.tokens.tokenizer import BytesLike, separated
from textlds.errors import EncodingError

Record = str | list[str] | tuple[str, ...]

CHUNK_BYTES = 1 << 22
_HIGH_BITS = np.uint64(0x8080808080808080)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some whole lines of a source.

    Attributes:
        data: Valid UTF-8; ends with a newline, except perhaps at the end of the source.
        end: The source ends here.
        offset: Where ``data`` begins in the source's stream of bytes, after decompression.
        size: How much of the source's ``size`` was read for it, for progress.
        separated: ``data`` holds tokens already, with U+001F between them.
    """

    data: bytes
    end: bool
    offset: int
    size: int
    separated: bool = False


class Source(abc.ABC):
    """One text of a corpus. No co-occurrence window crosses its end.

    Attributes:
        name: For messages: the path as given.
        size: Bytes to read (before decompression), or None if nobody knows.
    """

    name: str
    size: int | None

    @abc.abstractmethod
    def chunks(self, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Read the source from its beginning in chunks of about ``chunk_bytes``.

        Where chunks are cut depends on the text and ``chunk_bytes`` alone. At least one chunk comes, the last one
        with ``end`` set (unless the source is a piece of a file, and not its last).
        """

    def identity(self) -> dict[str, Any] | None:
        """Return what tells whether the source is still the same, or None if it cannot be read twice."""
        return None


def checked(data: bytes, *, name: str, offset: int, errors: EncodingErrors) -> bytes:
    """Return ``data`` if it is UTF-8, with replacements if that is the policy, or raise an EncodingError.

    Cost: about 0.1 ns a byte of ASCII and 1 ns a byte of other scripts.
    """
    bad = find_invalid(data)
    if bad < 0:
        return data
    if errors == "replace":
        return data.decode("utf-8", "replace").encode("utf-8")
    hint = " (it looks like UTF-16)" if offset + bad == 0 and data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    raise EncodingError(
        f"{name} is not UTF-8{hint}: byte {data[bad]:#04x} at offset {offset + bad:,} of the text. Convert the file, "
        f"or read such bytes as U+FFFD with encoding_errors='replace' (--encoding-errors replace)."
    )


def find_invalid(data: BytesLike) -> int:
    """Return the position of the first byte that is not UTF-8, or -1."""
    if not len(data):
        return -1
    array = np.frombuffer(data, np.uint8)
    return int(first_invalid(array.ctypes.data, array.size))


@kernel
def first_invalid(text: int, n: int) -> int:
    """Return the position of the first byte that begins no valid UTF-8 sequence, or -1 (Unicode, table 3-7)."""
    i = 0
    while i < n:
        while i + 8 <= n and word(text, i) & _HIGH_BITS == np.uint64(0):
            i += 8
        if i >= n:
            break
        lead = byte(text, i)
        if lead < 0x80:
            i += 1
            continue
        if lead < 0xC2 or lead > 0xF4:
            return i
        length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        if i + length > n:
            return i
        second = byte(text, i + 1)
        low, high = 0x80, 0xBF
        if lead == 0xE0:
            low = 0xA0  # no longer form of a shorter sequence
        elif lead == 0xED:
            high = 0x9F  # no surrogates
        elif lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F  # nothing above U+10FFFF
        if second < low or second > high:
            return i
        for k in range(2, length):
            if byte(text, i + k) & 0xC0 != 0x80:
                return i
        i += length
    return -1


def record_chunks(
    records: Iterable[tuple[Record, int]], chunk_bytes: int, *, name: str, errors: EncodingErrors
) -> Iterator[Chunk]:
    """Serialise records, each given with the part of the source's size it accounts for, into chunks."""
    parts: list[bytes] = []
    length = size = offset = 0
    tokens = False
    for record, amount in records:
        is_tokens = not isinstance(record, str)
        if parts and (is_tokens != tokens or length >= chunk_bytes):
            yield Chunk(b"".join(parts), False, offset, size, tokens)
            offset += length
            parts, length, size = [], 0, 0
        tokens = is_tokens
        part = separated([record]) + b"\n" if not isinstance(record, str) else _document(record, name, errors)
        parts.append(part)
        length += len(part)
        size += amount
    yield Chunk(b"".join(parts), True, offset, size, tokens)


def _document(text: str, name: str, errors: EncodingErrors) -> bytes:
    try:
        data = text.encode("utf-8", "replace" if errors == "replace" else "strict")
    except UnicodeEncodeError as error:
        raise EncodingError(
            f"{name} has a text with the lone surrogate {error.object[error.start]!a} at character {error.start}, "
            f"which is not Unicode. Repair it, or read it as a question mark with encoding_errors='replace'."
        ) from error
    lines = [line for line in data.split(b"\n") if line.strip()]
    return b"\n".join([*lines, b"", b""])
