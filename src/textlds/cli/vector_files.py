"""Files of token vectors: .jsonl, .parquet and .npz, written text by text so that they never sit in memory.

jsonl     a line per text: {"file", "line", "tokens": [...], "vectors": [[...], ...]}
parquet   a row per text: file, line, tokens (list of strings), vectors (list of lists of d numbers)
npz       all texts one after the other: tokens (n,), vectors (n, d), starts (m + 1,) where each of the m texts begins,
          lines (m,) and file (m,), which counts in files (k,)

Of vectors that are pooled, one per text: jsonl and parquet have "vector" in place of tokens and vectors, npz has
vectors (m, d) and neither tokens nor starts.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from textlds.errors import ArgumentError
from textlds.integrations.frames import TOKENS, VECTOR, VECTORS, token_arrays, vector_type
from textlds.model.textlds import TokenVectors
from textlds.storage.folders import new_file
from textlds.storage.tables import parquet_library

FORMATS = (".npz", ".parquet", ".jsonl")
_ROW_GROUP = 1 << 15  # tokens; 25 MB of vectors at d = 200
_LONGEST = 1 << 12  # characters of a token in .npz, where each takes the room of the longest
_COPY = 1 << 20  # bytes of vectors copied at a time
_COPY_TOKENS = 1 << 14  # likewise of tokens, which take more room as Python strings


@dataclass(frozen=True)
class Shape:
    """What all vectors of a file have in common.

    Attributes:
        dimensions: d, the length of a vector.
        dtype: Of the numbers.
        pooled: A text has one vector, and no tokens are written.
    """

    dimensions: int
    dtype: str
    pooled: bool = False


class VectorWriter(Protocol):
    """What vectors are written to."""

    def add(self, file: int, line: int, text: TokenVectors) -> None:
        """Write the vectors of one text."""


def check_format(path: Path) -> str:
    """Return the suffix that says the format of an output, or raise an error that names the formats."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ArgumentError(f"--output {path}: the name must end in {', '.join(FORMATS)} (the format).")
    if suffix == ".parquet":
        parquet_library()
    return suffix


@contextlib.contextmanager
def vector_file(path: Path, files: Sequence[str], shape: Shape, *, force: bool) -> Iterator[VectorWriter]:
    """Open a file for vectors; it takes its name if and only if the block ends without an error.

    Args:
        path: The file; its suffix says the format.
        files: Names of the files that texts come from.
        shape: Of the vectors.
        force: Overwrite a file that is there.
    """
    suffix = check_format(path)
    with new_file(path, force=force) as file:
        if suffix == ".npz":
            with tempfile.TemporaryFile(dir=path.parent) as vectors, tempfile.TemporaryFile(dir=path.parent) as tokens:
                npz = NpzWriter(vectors, tokens)
                yield npz
                npz.finish(file, files, shape)
        elif suffix == ".parquet":
            with contextlib.closing(ParquetWriter(file, files, shape)) as parquet:
                yield parquet
                parquet.finish()
        else:
            yield JsonLinesWriter(file, files, shape)


class JsonLinesWriter:
    """Writes a line of JSON a text.

    Args:
        file: Opened for bytes.
        files: Names of the files that texts come from; empty to leave them out.
        shape: Decides the digits: as many as it takes to read the same numbers back.
    """

    def __init__(self, file: IO[bytes], files: Sequence[str], shape: Shape) -> None:
        self._file, self._files, self._pooled = file, files, shape.pooled
        self._number = "%.9g" if shape.dtype == "float32" else "%.17g"

    def add(self, file: int, line: int, text: TokenVectors) -> None:
        """Write one line. Formatting takes about 0.2 µs a number, five times less than json.dumps."""
        row = "[" + ",".join([self._number] * text.vectors.shape[1]) + "]"
        vectors = ",".join([row] * len(text)) % tuple(text.vectors.ravel().tolist())
        place = f'"file":{json.dumps(self._files[file], ensure_ascii=False)},' if self._files else ""
        if self._pooled:
            numbers = f'"vector":{vectors}'
        else:
            numbers = f'"tokens":{json.dumps(list(text.tokens), ensure_ascii=False)},"vectors":[{vectors}]'
        content = f'{{{place}"line":{line},{numbers}}}\n'
        self._file.write(content.encode("utf-8", "replace"))


class ParquetWriter:
    """Writes a row per text, in row groups of bounded size."""

    def __init__(self, file: IO[bytes], files: Sequence[str], shape: Shape) -> None:
        pa, parquet = parquet_library()
        self._pa, self._files, self._pooled = pa, files, shape.pooled
        self._numbers = vector_type(pa, shape.dimensions, shape.dtype)
        of_tokens = [(TOKENS, pa.list_(pa.string())), (VECTORS, pa.list_(self._numbers))]
        own = [(VECTOR, self._numbers)] if shape.pooled else of_tokens
        self._schema = pa.schema([("file", pa.string()), ("line", pa.int64()), *own])
        # vectors do not compress; a dictionary of them would only cost
        words = ["file"] if shape.pooled else ["file", "tokens.list.element"]
        self._writer = parquet.ParquetWriter(file, self._schema, use_dictionary=words)
        self._rows: list[tuple[int, int, TokenVectors]] = []
        self._size = 0

    def add(self, file: int, line: int, text: TokenVectors) -> None:
        """Keep one text until its row group is full."""
        self._rows.append((file, line, text))
        self._size += len(text) + 1  # texts without a token fill a row group too
        if self._size >= _ROW_GROUP:
            self._flush()

    def finish(self) -> None:
        """Write the last row group."""
        if self._rows:
            self._flush()

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()

    def _flush(self) -> None:
        pa, rows = self._pa, self._rows
        texts = [text for _, _, text in rows]
        if self._pooled:
            vectors = np.concatenate([text.vectors for text in texts])
            own = [pa.FixedSizeListArray.from_arrays(vectors.ravel(), type=self._numbers)]
        else:
            own = list(token_arrays(pa, texts, self._numbers))
        columns = [
            pa.array([self._files[file] for file, _, _ in rows], pa.string()),
            pa.array([line for _, line, _ in rows], pa.int64()),
            *own,
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
        self._rows, self._size = [], 0


class NpzWriter:
    """Collects texts in temporary files; the shapes that a .npz begins with are known at the end only."""

    def __init__(self, vectors: IO[bytes], tokens: IO[bytes]) -> None:
        self._vectors, self._tokens = vectors, tokens
        self._starts, self._lines, self._file = [0], [], []  # type: tuple[list[int], list[int], list[int]]
        self._longest = 1

    def add(self, file: int, line: int, text: TokenVectors) -> None:
        """Append one text."""
        self._vectors.write(np.ascontiguousarray(text.vectors).data)
        for token in text.tokens:
            self._longest = max(self._longest, len(token))
            self._tokens.write(token.encode("utf-8", "replace") + b"\n")
        self._starts.append(self._starts[-1] + len(text))
        self._lines.append(line)
        self._file.append(file)

    def finish(self, output: IO[bytes], files: Sequence[str], shape: Shape) -> None:
        """Write the archive."""
        if self._longest > _LONGEST:
            raise ArgumentError(
                f"a token has {self._longest:,} characters, and in .npz every token takes the room of the longest "
                f"(at most {_LONGEST:,}). Write .parquet or .jsonl instead, or break the text into words."
            )
        n = self._starts[-1]
        with zipfile.ZipFile(output, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            with _member(archive, "vectors", (n, shape.dimensions), np.dtype(shape.dtype)) as member:
                self._vectors.seek(0)
                while block := self._vectors.read(_COPY):
                    member.write(block)
            small = {"lines": self._lines, "file": self._file}
            if not shape.pooled:
                small = {"starts": self._starts} | small
                width = np.dtype(f"<U{self._longest}")
                with _member(archive, "tokens", (n,), width) as member:
                    self._tokens.seek(0)
                    while lines := self._tokens.readlines(_COPY_TOKENS):
                        words = [line[:-1].decode("utf-8") for line in lines]
                        member.write(np.array(words, width).tobytes())
            for name, values in small.items():
                _small(archive, name, np.array(values, np.int64))
            _small(archive, "files", np.array(list(files), np.str_))


def _small(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    with _member(archive, name, array.shape, array.dtype) as member:
        member.write(array.tobytes())


@contextlib.contextmanager
def _member(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[IO[bytes]]:
    """Open one array of a .npz for writing, its header written."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(cast(Any, member), header)
        yield member
