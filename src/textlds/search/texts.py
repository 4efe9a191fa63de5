"""Texts on disk: those of a corpus while an index is built, and the ones it keeps, compressed in blocks.

A text is a string, or a list of tokens, which is kept with U+001F between them.
"""

from __future__ import annotations

import array
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.reading.texts import Text
from textlds.corpus.tokens.tokenizer import SEPARATOR
from textlds.errors import REMEDY, FormatError
from textlds.linalg.types import Array

Content = str | list[str]

_BLOCK = 1 << 16  # bytes of text compressed together: half a millisecond to read one of them


def encode(content: Content) -> bytes:
    """Return a text as bytes; :func:`decode` reads it."""
    text = content if isinstance(content, str) else SEPARATOR.join(content)
    return text.encode("utf-8", "replace")


def decode(data: bytes, *, is_list: bool, errors: str = "strict") -> Content:
    """Return a text from its bytes."""
    text = data.decode("utf-8", errors)
    return text.split(SEPARATOR) if is_list else text


@dataclass(frozen=True)
class Place:
    """Where a text is: the number of its file, and its line or record in it."""

    file: int
    line: int


class Places:
    """The places of many texts, 13 bytes each."""

    def __init__(self) -> None:
        self.file, self.line, self.is_list = array.array("i"), array.array("q"), array.array("B")

    def add(self, file: int, line: int, *, is_list: bool) -> None:
        """Append one."""
        self.file.append(file)
        self.line.append(line)
        self.is_list.append(is_list)

    def __len__(self) -> int:
        return len(self.file)

    def arrays(self) -> dict[str, Array]:
        """Return the places as arrays to be stored."""
        return {
            "text_file": np.array(self.file, np.int32),
            "text_line": np.array(self.line, np.int64),
            "text_is_list": np.array(self.is_list, np.uint8),
        }


class Spool:
    """The texts of a corpus and their token types in two temporary files, to be read once more.

    A corpus may be a stream, and files may change: what is embedded is what was counted.

    Args:
        texts: An open file.
        types: Another.
        arrays: What :meth:`arrays` returned when the files were written; None to write them.
    """

    def __init__(self, texts: IO[bytes], types: IO[bytes], arrays: Mapping[str, Array] | None = None) -> None:
        self._texts, self._types = texts, types
        self._sizes, self._tokens = array.array("q"), array.array("q")
        self.places = Places()
        if arrays is not None:
            self._sizes.frombytes(arrays["text_bytes"].tobytes())
            self._tokens.frombytes(arrays["text_tokens"].tobytes())
            self.places.file.frombytes(arrays["text_file"].tobytes())
            self.places.line.frombytes(arrays["text_line"].tobytes())
            self.places.is_list.frombytes(arrays["text_is_list"].tobytes())

    def arrays(self) -> dict[str, Array]:
        """Return what has to be known to read the files again."""
        sizes = {"text_bytes": np.array(self._sizes, np.int64), "text_tokens": np.array(self._tokens, np.int64)}
        return {**sizes, **self.places.arrays()}

    def add(self, text: Text, types: NDArray[np.int32]) -> None:
        """Append one text."""
        data = encode(text.content)
        self._texts.write(data)
        self._types.write(types.tobytes())
        self._sizes.append(len(data))
        self._tokens.append(len(types))
        self.places.add(text.file, text.line, is_list=not isinstance(text.content, str))

    @property
    def tokens(self) -> int:
        """How many tokens the texts have."""
        return sum(self._tokens)

    def windows(self, tokens: int) -> Iterator[tuple[range, list[Content], NDArray[np.int32], list[int]]]:
        """Yield some texts at a time: their numbers, themselves, their types in one array, and the length of each."""
        self._texts.seek(0)
        self._types.seek(0)
        start = 0
        while start < len(self.places):
            stop, size = start, 0
            while stop < len(self.places) and (size < tokens or stop == start):
                size += self._tokens[stop] + 1
                stop += 1
            lengths = self._tokens[start:stop].tolist()
            contents = [
                decode(self._texts.read(size), is_list=bool(is_list), errors="replace")
                for size, is_list in zip(self._sizes[start:stop], self.places.is_list[start:stop], strict=True)
            ]
            yield range(start, stop), contents, np.frombuffer(self._types.read(4 * sum(lengths)), np.int32), lengths
            start = stop


class TextWriter:
    """Writes the texts that an index keeps."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._block = bytearray()
        self._raw, self._stored = 0, 0
        self._starts = array.array("q", [0])  # where each text begins, and the last one ends, before compression
        self._raw_starts, self._stored_starts = array.array("q"), array.array("q", [0])
        self.places = Places()

    def add(self, content: Content, place: Place) -> int:
        """Append a text and return its number."""
        self._block += encode(content)
        self._starts.append(self._raw + len(self._block))
        self.places.add(place.file, place.line, is_list=not isinstance(content, str))
        if len(self._block) >= _BLOCK:
            self._flush()
        return len(self.places) - 1

    def _flush(self) -> None:
        self._raw_starts.append(self._raw)
        self._stored += self._file.write(zlib.compress(self._block))
        self._stored_starts.append(self._stored)
        self._raw += len(self._block)
        self._block = bytearray()

    def finish(self) -> dict[str, Array]:
        """Write the last block; return the arrays that say where texts are."""
        if self._block:
            self._flush()
        self._file.flush()
        return {
            **self.places.arrays(),
            "text_starts": np.array(self._starts, np.int64),
            "block_raw_starts": np.array(self._raw_starts, np.int64),
            "block_starts": np.array(self._stored_starts, np.int64),
        }


class TextReader:
    """Reads texts that an index kept, one block a text.

    Args:
        arrays: What :meth:`TextWriter.finish` returned.
        blocks: What was written to its file.
        folder: Of the index, for messages.
    """

    def __init__(self, arrays: Mapping[str, Array], blocks: NDArray[np.uint8], folder: Path) -> None:
        self._arrays, self._blocks, self._folder = arrays, blocks, folder
        n = max(np.shape(arrays.get("text_starts", ()))[:1], default=1) - 1
        n_blocks = max(np.shape(arrays.get("block_starts", ()))[:1], default=1) - 1
        file = folder / "occurrences.safetensors"
        expect(file, arrays, "text_starts", np.int64, n + 1, rising=True)
        expect(file, arrays, "text_line", np.int64, n)
        expect(file, arrays, "text_file", np.int32, n)
        expect(file, arrays, "text_is_list", np.uint8, n)
        expect(file, arrays, "block_starts", np.int64, n_blocks + 1, rising=True)
        expect(file, arrays, "block_raw_starts", np.int64, n_blocks, rising=True)
        if blocks.dtype != np.uint8 or blocks.shape != (arrays["block_starts"][-1],):
            raise FormatError(f"{folder / 'texts.safetensors'} is not as long as {file.name} says. {REMEDY}")

    def __len__(self) -> int:
        return len(self._arrays["text_file"])

    def text(self, number: int) -> Content:
        """Return one text."""
        start, stop = self._arrays["text_starts"][number : number + 2].tolist()
        raw_starts, starts = self._arrays["block_raw_starts"], self._arrays["block_starts"]
        block = int(np.searchsorted(raw_starts, start, side="right")) - 1
        first = int(raw_starts[block])
        unpacker = zlib.decompressobj()
        try:
            # no more than is needed: a block says nothing of how much it holds
            data = unpacker.decompress(self._blocks[starts[block] : starts[block + 1]].tobytes(), stop - first + 1)
            if len(data) < stop - first:
                raise ValueError(f"it has {len(data):,} bytes instead of {stop - first:,}")
            return decode(data[start - first : stop - first], is_list=bool(self._arrays["text_is_list"][number]))
        except (zlib.error, ValueError) as error:
            raise FormatError(
                f"{self._folder / 'texts.safetensors'}: block {block} is damaged ({error}). {REMEDY}"
            ) from error

    def place(self, number: int) -> Place:
        """Return where a text is."""
        return Place(int(self._arrays["text_file"][number]), int(self._arrays["text_line"][number]))


def expect(
    file: Path,
    arrays: Mapping[str, Array],
    name: str,
    dtype: type[np.generic],
    length: int,
    *,
    below: int | None = None,
    rising: bool = False,
) -> None:
    """Raise FormatError unless an array is there, of this type and length, with its numbers in 0..below or rising."""
    array = arrays.get(name)
    if array is None or array.dtype != np.dtype(dtype) or array.shape != (length,):
        found = "missing" if array is None else f"{array.dtype}{array.shape}"
        raise FormatError(f"{file}: {name} is {found} instead of {np.dtype(dtype)}({length},). {REMEDY}")
    if below is not None and length and (array.min() < 0 or array.max() >= below):
        raise FormatError(f"{file}: {name} holds a number that is not between 0 and {below - 1}. {REMEDY}")
    if rising and length and (array[0] != 0 or (array[1:] < array[:-1]).any()):
        raise FormatError(f"{file}: {name} must start at 0 and never decrease. {REMEDY}")


def mapped(path: Path) -> NDArray[np.uint8]:
    """Map a file that was just written, to be copied into another without being read as a whole."""
    return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
