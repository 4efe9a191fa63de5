"""Altered folders: each is refused with a clear error, or gives right results. Never a signal, a hang, or a NaN.

An alteration is one of bytes (as a bad disk or a copy that broke off makes it), of JSON or of arrays (as a forger makes
it, who also puts the sums right). Folders with wrong sums must be refused, or used as if nothing had happened; resealed
ones may hold other numbers, but what comes of them must be finite.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.attacks.targets import TARGETS, write_inputs
from textlds.errors import TextLDSError
from textlds.storage.arrays import read_arrays
from textlds.storage.folders import config_sum
from textlds.storage.parts import _line, _sums
from textlds.storage.work import LOG, MANIFEST, PARTS

_JSON_VALUES = [
    None, True, -1, 0, 1, 3, 10**18, 1e308, -1e-308, 0.5, "", "x", "../../etc/passwd", "a\0b", [], {}, [[]], [1, "a"],
    {"a": 1}, "\ud800",
]  # fmt: skip
_JSON_TEXTS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1" * 5000,
    "[" * 3000 + "]" * 3000,
    '"\\ud800"',
    "1e999",
    "{",
    "'a'",
    "",
]
_NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    2**31 - 1,
    -(2**31),
    2**63 - 1,
    1e-300,
    1e300,
    -1e300,
    float("nan"),
    float("inf"),
    0.5,
    1e38,
]


def mutate(folder: Path, seed: int) -> str:
    """Alter a folder in one way; return what was done."""
    rng = random.Random(seed)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    file = rng.choice(files)
    name = file.relative_to(folder).as_posix()
    ways = [_bytes, _bytes, _cut]
    if file.suffix == ".json":
        ways += [_json] * 4
    elif file.suffix == ".safetensors":
        ways += [_array, _array, _header]
    done = rng.choice(ways)(file, rng, files)
    if rng.random() < 0.6:
        sealed = [_reseal(f) for f in sorted(files, key=lambda f: -len(f.parts)) if f.name == "config.json"]
        sealed += [_reseal_work(f.parent, rng) for f in files if f.name == MANIFEST]
        # all of them, or it is for the sums to notice
        done += min(sealed, key=lambda text: text.endswith(", resealed"))
    return f"{name}: {done}"


def _bytes(file: Path, rng: random.Random, files: list[Path]) -> str:
    data = bytearray(file.read_bytes())
    if not data:
        return "nothing to alter"
    if rng.random() < 0.5:
        places = [rng.randrange(len(data)) for _ in range(rng.choice([1, 1, 4, 64]))]
        for place in places:
            data[place] = rng.randrange(256)
        text = f"bytes at {places[:4]}"
    else:
        place = rng.randrange(0, max(len(data) - 8, 1)) // 4 * 4
        word = struct.pack("<q", rng.choice([0, -1, 1, 2**31, 2**62, -(2**63), 255]))
        data[place : place + 8] = word
        text = f"8 bytes at {place}"
    file.write_bytes(data)
    return text


def _cut(file: Path, rng: random.Random, files: list[Path]) -> str:
    data = file.read_bytes()
    way = rng.choice(["cut", "cut", "empty", "remove", "longer", "zeros", "exchange", "directory"])
    if way == "cut":
        file.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif way == "empty":
        file.write_bytes(b"")
    elif way in ("remove", "directory"):
        file.unlink()
        if way == "directory":
            file.mkdir()
    elif way == "longer":
        file.write_bytes(data + os.urandom(0) + b"\0" * rng.choice([1, 7, 4096]))
    elif way == "zeros":
        start = rng.randrange(len(data) + 1)
        file.write_bytes(data[:start] + bytes(len(data) - start))
    else:
        other = rng.choice(files)
        file.write_bytes(other.read_bytes())
    return way


def _json(file: Path, rng: random.Random, files: list[Path]) -> str:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return "not JSON"
    spots: list[tuple[Any, Any]] = []
    stack = [content]
    while stack:
        node = stack.pop()
        items = (
            list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
        )
        spots += [(node, key) for key, _ in items[:50]]
        stack += [value for _, value in items[:50]]
    if not spots:
        return "no JSON to alter"
    node, key = rng.choice(spots)
    way = rng.random()
    if way < 0.15:
        del node[key]
        text, shown = json.dumps(content), "removed"
    elif way < 0.3 and isinstance(node, dict):
        node["more"] = node.pop(key)
        text, shown = json.dumps(content), "renamed"
    elif way < 0.7:
        value = rng.choice(_JSON_VALUES)
        node[key] = value
        text, shown = json.dumps(content), repr(value)
    else:
        raw = rng.choice(_JSON_TEXTS)
        node[key] = "@@here@@"
        text, shown = json.dumps(content).replace('"@@here@@"', raw), raw[:20]
    file.write_text(text, encoding="utf-8")
    return f"{key!r} = {shown}"


def _array(file: Path, rng: random.Random, files: list[Path]) -> str:
    try:
        arrays = {name: np.array(array) for name, array in read_arrays(file).items()}
    except TextLDSError:
        return "no arrays"
    names = [name for name, array in arrays.items() if array.size]
    if not names:
        return "no numbers"
    name = rng.choice(names)
    array, value = arrays[name].reshape(-1), rng.choice(_NUMBERS)
    with np.errstate(all="ignore"):
        cast = np.array(value if array.dtype.kind == "f" or value == value else 0, np.float64)
        limits = (
            (-np.inf, np.inf) if array.dtype.kind == "f" else (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        )
        number = np.clip(cast, *limits) if array.dtype.kind != "f" else cast
        places = [rng.randrange(array.size) for _ in range(rng.choice([1, 1, 3, array.size]))]
        array[places] = number.astype(array.dtype)
    # in place: what else is in the file stays where it is
    data = bytearray(file.read_bytes())
    length = struct.unpack("<Q", data[:8])[0]
    begin = 8 + length + json.loads(data[8 : 8 + length])[name]["data_offsets"][0]
    data[begin : begin + array.nbytes] = array.tobytes()
    file.write_bytes(data)
    return f"{name}[{places[:3]}] = {value}"


def _header(file: Path, rng: random.Random, files: list[Path]) -> str:
    data = file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    try:
        header = json.loads(data[8 : 8 + length])
        name = rng.choice(sorted(header))
        facts = header[name]
        field = rng.choice(sorted(facts))
        values: list[Any] = [None, "F32", "I64", "U8", "BF16", [], [1], [2**40, 2**40], [-1, -1], [0, 8], "x", 1e9, {}]
        facts[field] = rng.choice(values)
    except (ValueError, LookupError, TypeError):
        return "no header"
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    return f"header {name}.{field} = {facts[field]}"


def _reseal(config: Path) -> str:
    """Put the sums of a folder right, as one who means harm would."""
    try:
        content = json.loads(config.read_text(encoding="utf-8"))
        for name, facts in content["files"].items():
            data = (config.parent / name).read_bytes()
            facts["bytes"], facts["sha256"] = len(data), hashlib.sha256(data).hexdigest()
        if "model_sha256" in content:
            content["model_sha256"] = hashlib.sha256((config.parent / "model" / "config.json").read_bytes()).hexdigest()
        content.pop("config_sha256", None)
        config.write_text(json.dumps({**content, "config_sha256": config_sum(content)}), encoding="utf-8")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ", not resealed"
    return ", resealed"


def _reseal_work(folder: Path, rng: random.Random) -> str:
    """Put the sums of unfinished work right; now and then, alter a record of its log as well."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        manifest.pop("crc32")
        crc = zlib.crc32(json.dumps(manifest, sort_keys=True).encode())
        (folder / MANIFEST).write_text(json.dumps({**manifest, "crc32": crc}))
        records = [json.loads(line.partition(b" ")[2]) for line in (folder / LOG).read_bytes().splitlines()]
        done = ", resealed"
        for record in records:
            part = folder / PARTS / f"{record.get('part')}.{record.get('number')}"
            if part.exists():
                record["files"] = _sums(part)
        if rng.random() < 0.2:
            record = rng.choice(records)
            key = rng.choice(sorted(record))
            record[key] = rng.choice(_JSON_VALUES)
            done = f", record {key} = {record[key]!r}, resealed"
        (folder / LOG).write_bytes(b"".join(map(_line, records)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ", not resealed"
    return done


class Damager:
    """Alters folders of every kind, and uses them.

    Args:
        folder: For the originals, and the places of attacks.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._opened = folder, Opened(folder)
        write_inputs(folder / "inputs")
        self._originals: dict[str, Original] = {}
        self._right: dict[str, bytes] = {}
        for kind, target in TARGETS.items():
            target.make(folder / kind)
            self._originals[kind] = Original(folder / kind)
            for _ in range(2):  # once, so that every fork finds all code loaded
                self._right[kind] = target.use(self._copy(kind))
        # resuming takes longer than loading
        self._kinds = [kind for kind in TARGETS for _ in range(1 if kind.endswith(".work") else 3)]

    def _copy(self, kind: str) -> Path:
        place = self._folder / f"altered-{os.getpid()}"
        if place.exists():
            shutil.rmtree(place)
        self._originals[kind].write(place)
        return place

    def attack(self, seed: int) -> str | None:
        """Alter a copy of a folder and use it; return what went wrong, or None."""
        kind = self._kinds[seed % len(self._kinds)]
        place = self._copy(kind)
        done = mutate(place, seed)
        with self._opened.watched(place):
            wrong = self._use(kind, place, resealed=done.endswith(", resealed"))
        wrong = wrong or self._opened.outside()
        return f"{kind}, {done}: {wrong}"[:400] if wrong else None

    def _use(self, kind: str, place: Path, *, resealed: bool) -> str | None:
        try:
            found = TARGETS[kind].use(place)
        except TextLDSError as error:
            return None if str(error) else "an error without a word"
        except OSError as error:  # a directory in the place of a file, which the system names
            return None if error.filename else repr(error)
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        return "accepted, with other results" if found != self._right[kind] and not resealed else None


class Original:
    """A folder in memory, which is written many times.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        found = sorted(folder.rglob("*"))
        self._folders = [path.relative_to(folder) for path in found if path.is_dir()]
        self._files = {path.relative_to(folder): path.read_bytes() for path in found if path.is_file()}

    def write(self, place: Path) -> None:
        """Write the folder to a place where nothing is."""
        place.mkdir()
        for name in self._folders:  # sorted: what holds a folder comes before it
            (place / name).mkdir()
        for name, data in self._files.items():
            (place / name).write_bytes(data)


class Opened:
    """Watches which files Python opens, to tell those outside the folder that is read.

    Args:
        folder: The inputs in it, and the counts and model that work continues with, may be opened.
    """

    def __init__(self, folder: Path) -> None:
        package = Path(sys.modules["textlds"].__file__ or "").parent
        given = [str(folder / name) for name in ("inputs", "counts", "profiles")]
        self._rooms = (*given, str(package), sys.prefix, sys.base_prefix, "/proc", "/sys", "/dev")
        self._place: str | None = None
        self._found: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._place is not None and event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            if not path.startswith((self._place, *self._rooms)) and os.path.exists(path):
                self._found.append(path)

    @contextlib.contextmanager
    def watched(self, place: Path) -> Iterator[None]:
        """Watch while a folder is used."""
        self._place, self._found = str(place), []
        try:
            yield
        finally:
            self._place = None

    def outside(self) -> str | None:
        """Return what was opened elsewhere, or None."""
        return f"opened {self._found[0]}" if self._found else None
