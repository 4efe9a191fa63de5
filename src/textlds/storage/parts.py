"""Finished parts of unfinished work, on disk, believed only if they are whole.

A part is a file or a folder. It is written under another name, flushed to the disk, renamed, and only then recorded in
a log, with the size and CRC-32 of each of its files (CRC-32: 1.1 GB/s where SHA-256 does 0.4; it guards against damage,
not against forgery). What a later process finds is believed only if all of that is right. Otherwise it is as if the
part had never been there: it is made again. A line of the log that is damaged is skipped.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from textlds.errors import TextLDSError
from textlds.linalg.threads import parallel_map, threads_for_bytes
from textlds.storage.folders import flush, flush_tree, new_file, remove

Content = TypeVar("Content")

_BLOCK = 1 << 20

_log = logging.getLogger("textlds")


class Parts:
    """Finished parts of some work, by name. All methods may be called by any thread.

    Args:
        folder: Where they are kept; it is made if need be.
        log: The file that records them, or None: then they serve this process only, without sums and flushes.
    """

    def __init__(self, folder: Path, log: Path | None = None) -> None:
        self._folder, self._log, self._lock = folder, log, threading.Lock()
        self._records: dict[str, dict[str, Any]] = {}
        self._notes: dict[str, Any] = {}
        self._trusted: set[str] = set()  # written or checked by this process
        self._number = 0
        if log is not None and log.exists():
            self._read(log)
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def durable(self) -> bool:
        """Whether parts can be found by a later process."""
        return self._log is not None

    def keep(self, name: str, write: Callable[[Path], None]) -> Path:
        """Make a part, in place of one of the same name; ``write`` makes a file or a folder of the path it is given."""
        with self._lock:
            self._number += 1
            number = self._number
        place = self._place(name, number)
        temporary = place.with_name(place.name + ".partial")
        write(temporary)
        record = {"part": name, "number": number, "files": {}}
        if self.durable:
            flush_tree(temporary)
            record["files"] = _sums(temporary)
        os.replace(temporary, place)
        if self.durable:
            flush(self._folder)
        with self._lock:
            old = self._records.get(name)
            self._append(record)
            self._records[name] = record
            self._trusted.add(name)
        if old is not None:
            remove(self._place(name, old["number"]))
        return place

    def find(self, name: str) -> Path | None:
        """Return a part that is there and whole, or None."""
        record = self._records.get(name)
        if record is None:
            return None
        place = self._place(name, record["number"])
        if name not in self._trusted:
            if not (place.is_dir() or place.is_file()) or _sums(place) != record["files"]:
                _log.warning("%s is damaged or missing; it is made again.", place)
                del self._records[name]
                return None
            self._trusted.add(name)
        return place

    def read(self, name: str, reader: Callable[[Path], Content]) -> Content | None:
        """Return what ``reader`` makes of a part, or None if there is none, or none that it can make sense of."""
        place = self.find(name)
        if place is None:
            return None
        try:
            return reader(place)
        except (TextLDSError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            _log.warning("%s does not hold what it should (%s); it is made again.", place, error)
            self._records.pop(name, None)
            return None

    def damaged(self) -> list[str]:
        """Return the names of parts that are recorded but not whole."""
        return [name for name in list(self._records) if self.find(name) is None]

    def forget(self, *names: str) -> None:
        """Remove parts and notes."""
        for name in names:
            with self._lock:
                self._append({"forget": name})
                self._notes.pop(name, None)
                record = self._records.pop(name, None)
            if record is not None:
                remove(self._place(name, record["number"]))

    def note(self, name: str, value: Any) -> None:
        """Record a value."""
        with self._lock:
            self._append({"note": name, "value": value})
            self._notes[name] = value

    def noted(self, name: str) -> Any:
        """Return a value that was recorded, or None."""
        return self._notes.get(name)

    def _place(self, name: str, number: int) -> Path:
        return self._folder / f"{name}.{number}"

    def _append(self, record: dict[str, Any]) -> None:
        if self._log is not None:
            with self._log.open("ab") as file:
                file.write(_line(record))
                file.flush()
                os.fsync(file.fileno())

    def _read(self, log: Path) -> None:
        """Take up the records of an earlier process."""
        for line in log.read_bytes().splitlines():
            match _record(line):
                case {"note": str(name), "value": value}:
                    self._notes[name] = value
                case {"part": str(name), "number": int(number), "files": dict()} as record if _is_name(name, number):
                    self._records[name] = record
                case {"forget": str(name)}:
                    self._notes.pop(name, None)
                    self._records.pop(name, None)
        self._number = max((record["number"] for record in self._records.values()), default=0)

    def tidy(self) -> None:
        """Remove what no record names, and lines of the log that are torn: the next one would be appended to them."""
        known = {self._place(name, record["number"]) for name, record in self._records.items()}
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path not in known:
                remove(path)
        if self._log is None:
            return
        with new_file(self._log, force=True) as file:
            for name, value in self._notes.items():
                file.write(_line({"note": name, "value": value}))
            for record in self._records.values():
                file.write(_line(record))


def _sums(path: Path) -> dict[str, list[int]]:
    """Return size and CRC-32 of a file, or of all files in a folder."""
    files = sorted(inner for inner in path.rglob("*") if inner.is_file()) if path.is_dir() else [path]
    sizes = [file.stat().st_size for file in files]
    sums = parallel_map(_crc_of_file, files, threads=threads_for_bytes(sum(sizes)))
    return {str(file.relative_to(path)): [n, sum_] for file, n, sum_ in zip(files, sizes, sums, strict=True)}


def _crc_of_file(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def _is_name(name: str, number: int) -> bool:
    """Tell whether a part has a name that this library gives: one that leads out of the folder is not among them."""
    return re.fullmatch(r"[a-z0-9-]+", name) is not None and 0 < number < 1 << 60


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record)
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def _record(line: bytes) -> dict[str, Any]:
    """Return a record, or an empty one if the line is damaged."""
    crc, _, text = line.partition(b" ")
    try:
        record = json.loads(text) if crc == b"%08x" % zlib.crc32(text) else {}
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
