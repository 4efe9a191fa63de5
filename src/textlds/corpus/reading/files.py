"""Files as sources: plain text, compressed or not, on this machine or behind a URL."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from textlds.corpus.reading.sources import CHUNK_BYTES, Chunk, Source, checked
from textlds.corpus.settings import ReadSettings
from textlds.errors import ArgumentError, CorpusError, CorpusNotFoundError, MissingExtraError

_BOM = b"\xef\xbb\xbf"
_BUFFER = 1 << 18
_WINDOW = 1 << 27  # bytes that a decompressor may look back on; the best levels of zstd and xz need no more


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL (``s3://``, ``https://``, ``memory://``)."""
    protocol, separator, _ = path.partition("://")
    return bool(separator) and protocol.isalnum()


class File:
    """Bytes that can be opened: a path, a URL, or ``-`` for standard input.

    Attributes:
        name: The path as given.
        size: Bytes as stored, or None if nobody knows.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.size: int | None = None
        if is_remote(name):
            with contextlib.suppress(Exception):  # a server need not tell; reading will, if there is a fault
                filesystem, path = remote(name)
                self.size = filesystem.size(path)
        elif name != "-":
            self.size = self._stat().st_size

    def _stat(self) -> os.stat_result:
        try:
            return os.stat(self.name)
        except FileNotFoundError as error:
            raise CorpusNotFoundError(f"there is no file {self.name}. Check the path.") from error
        except OSError as error:
            raise unreadable(self.name, error) from error

    def identity(self) -> dict[str, Any] | None:
        """Return path, size and time of a local file; None for anything else."""
        if self.name == "-" or is_remote(self.name):
            return None
        stat = self._stat()
        return {"path": os.path.abspath(self.name), "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the stored bytes; what goes wrong then or while reading becomes a CorpusError."""
        try:
            if self.name == "-":
                if sys.stdin is None:
                    raise CorpusError("standard input is closed. Name a file, or pipe the text in.")
                yield sys.stdin.buffer
            elif is_remote(self.name):
                filesystem, path = remote(self.name)
                with filesystem.open(path, "rb") as file:
                    yield cast(BinaryIO, io.BufferedReader(file, _BUFFER))  # its own readline() takes no limit
            else:
                with Path(self.name).open("rb", buffering=_BUFFER) as file:
                    yield file
        except FileNotFoundError as error:
            raise missing(self.name, error) from error
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise CorpusError(f"{self.name} is truncated or damaged: {error}. Fetch or write it again.") from error
        except OSError as error:
            raise unreadable(self.name, error) from error


def missing(name: str, error: OSError) -> CorpusError:
    """Return the error for a file that is not there, or a server that was not reached; fsspec says the same of both."""
    cause = error.__cause__
    if is_remote(name) and cause is not None and getattr(cause, "status", None) not in (404, 410):
        return CorpusError(f"cannot read {name}: {cause}. Check the address and the connection.")
    return CorpusNotFoundError(f"there is no file {name}. Check the path.")


def unreadable(name: str, error: OSError) -> CorpusError:
    """Return the error for a file that the system does not let us read."""
    return CorpusError(f"cannot read {name}: {error.strerror or error}. Check the file and its permissions.")


def remote(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError(f"reading {url}", "remote") from error
    try:
        filesystem, path = url_to_fs(url)
    except ImportError as error:  # the library of this protocol, such as s3fs
        raise CorpusError(f"cannot read {url}: {error}") from error
    except ValueError as error:
        raise CorpusError(f"cannot read {url}: {error}. Check the part before '://'.") from error
    return filesystem, cast(str, path)


class _Unpacker(io.RawIOBase):
    """Unpacks streams that follow one another, a bounded piece at a time, and notices when the last one is cut off.

    Args:
        file: The packed bytes.
        new_stream: Makes a decompressor with the methods of :class:`lzma.LZMADecompressor`.
    """

    def __init__(self, file: BinaryIO, new_stream: Callable[[], Any]) -> None:
        self._file, self._new_stream = file, new_stream
        self._stream: Any = None
        self._rest = b""  # packed bytes after the end of a stream

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while True:
            block = b""
            if self._stream is None or self._stream.needs_input:
                block = self._rest or self._file.read(_BUFFER)
                self._rest = b""
                if self._stream is None:
                    if not block:
                        return 0
                    block = block.lstrip(b"\0")  # zeros may occur between streams of xz
                    if not block:
                        continue
                    self._stream = self._new_stream()
                elif not block:
                    raise EOFError("the last stream has no end")
            try:
                data = self._stream.decompress(block, len(target))
            except Exception as error:  # of any of the libraries
                raise EOFError(str(error)) from error
            if self._stream.eof:
                self._rest = self._stream.unused_data
                self._stream = None
            if data:
                target[: len(data)] = data
                return len(data)


class _ZstdStream:
    """A frame of the library ``zstandard``, whose own objects take no limit for what they return.

    A block of four bytes unpacks to 128 KB at most, so input goes in so little at a time that no more than 16 MB come.
    """

    _INPUT = 512

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._input = self._output = memoryview(b"")

    @property
    def needs_input(self) -> bool:
        return not self._input and not self._output

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof) and not self._output

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + bytes(self._input)

    def decompress(self, data: bytes, max_length: int) -> memoryview:
        if data:
            self._input = memoryview(data)
        while not self._output and self._input and not self._frame.eof:
            self._output = memoryview(self._frame.decompress(self._input[: self._INPUT]))
            self._input = self._input[self._INPUT :]
        ready, self._output = self._output[:max_length], self._output[max_length:]
        return ready


def _zstd(file: BinaryIO) -> BinaryIO:
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor as new_stream
        else:
            from zstandard import ZstdDecompressor

            def new_stream() -> _ZstdStream:
                return _ZstdStream(ZstdDecompressor(max_window_size=_WINDOW).decompressobj())
    except ImportError as error:
        raise MissingExtraError("reading .zst files", "zstd") from error
    return cast(BinaryIO, io.BufferedReader(_Unpacker(file, new_stream), _BUFFER))


def _xz(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Unpacker(file, lambda: lzma.LZMADecompressor(memlimit=_WINDOW)), _BUFFER))


_DECOMPRESSORS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": _xz,
    ".zst": _zstd,
}


def compression(name: str) -> str:
    """Return the suffix that says how a file is compressed, or an empty string."""
    suffix = os.path.splitext(name)[1].lower()
    return suffix if suffix in _DECOMPRESSORS else ""


def decompressed(file: BinaryIO, name: str) -> BinaryIO:
    """Return the uncompressed bytes of an open file, as its name's suffix says."""
    suffix = compression(name)
    return cast(BinaryIO, _DECOMPRESSORS[suffix](file)) if suffix else file


class TextSource(Source):
    """A plain text, perhaps compressed.

    Args:
        file: Where it is.
        options: How it is read.
        start: First byte to read; must follow a newline. Only for files that are not compressed.
        stop: The byte after the last one to read, or None for all.
    """

    def __init__(self, file: File, options: ReadSettings, *, start: int = 0, stop: int | None = None) -> None:
        self.file, self.options, self.start, self.stop = file, options, start, stop
        self.name = file.name
        self.size = file.size if stop is None or file.size is None else min(stop, file.size) - start

    def identity(self) -> dict[str, Any] | None:
        """Return path, size, time and range of a local file; None for anything else."""
        known = self.file.identity()
        return known and {**known, "start": self.start, "stop": self.stop}

    def chunks(self, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Read chunks; each ends with the first newline at or after ``chunk_bytes``."""
        with self.file.open() as stored:
            text = decompressed(stored, self.name)
            if self.start:
                text.seek(self.start)
            offset, told = self.start, self.start
            data = self._read(text, chunk_bytes, offset)
            while True:
                following = self._read(text, chunk_bytes, offset + len(data)) if data else b""
                last = not following
                position = _tell(stored, self.name)
                size = 0 if self.size is None else self.start + self.size - told if last else position - told
                told = max(told, position)
                end = last and (self.stop is None or self.file.size is None or self.stop >= self.file.size)
                body = data.removeprefix(_BOM) if offset == 0 else data
                errors = self.options.encoding_errors
                valid = checked(body, name=self.name, offset=offset + len(data) - len(body), errors=errors)
                yield Chunk(valid, end, offset, max(size, 0))
                if last:
                    return
                offset += len(data)
                data = following

    def _read(self, text: BinaryIO, chunk_bytes: int, offset: int) -> bytes:
        """Read up to the first newline at or after ``chunk_bytes``, within the range and the limit for lines."""
        limit = self.options.max_line_bytes
        room = sys.maxsize if self.stop is None else self.stop - offset
        data = text.read(max(0, min(chunk_bytes, limit, room)))
        if not data or data.endswith(b"\n") or len(data) >= room:
            return data
        line = len(data) - (data.rfind(b"\n") + 1)
        tail = text.readline(limit - line + 2)
        if line + len(tail) - tail.endswith(b"\n") > limit:
            raise CorpusError(
                f"{self.name} has a line of more than {limit:,} bytes at offset {offset + len(data) - line:,} of the "
                f"text; a line is held in memory as a whole. Break the text into lines, or raise max_line_bytes "
                f"(--max-line-bytes)."
            )
        return data + tail


def _tell(file: BinaryIO, name: str) -> int:
    try:
        return 0 if name == "-" else file.tell()
    except OSError:
        return 0  # a stream from a server


def split(path: str | os.PathLike[str], pieces: int, *, options: ReadSettings | None = None) -> list[TextSource]:
    """Cut a plain, uncompressed text into at most ``pieces`` sources of about equal size, at line ends.

    Only the last piece has the END of the source. Reading all pieces in order is reading the file.
    """
    file = File(os.fspath(path))
    options = options or ReadSettings()
    if pieces < 1:
        raise ArgumentError(f"pieces={pieces} must be at least 1.")
    if compression(file.name) or file.size is None:
        raise ArgumentError(f"{file.name} cannot be split: only files of known size that are not compressed can.")
    cuts = [0]
    with file.open() as text:
        for piece in range(1, pieces):
            wanted = max(file.size * piece // pieces, 1)
            text.seek(wanted - 1)  # the byte before may be the newline itself
            text.readline()
            if cuts[-1] < text.tell() < file.size:
                cuts.append(text.tell())
    ends = [*cuts[1:], file.size]
    return [TextSource(file, options, start=a, stop=b) for a, b in zip(cuts, ends, strict=True)]
