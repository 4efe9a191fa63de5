"""Altered folders: each is refused with a clear error, or gives right results. Never a signal, a hang, or a NaN.

An alteration is one of bytes (as a bad disk or a copy that broke off makes it), of JSON or of arrays (as a forger makes
it, who also puts the sums right). Folders with wrong sums must be refused, or used as if nothing had happened; resealed
ones may hold other numbers, but what comes of them must be finite.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from textlds.errors import TextLDSError
from textlds.learn.settings import FitSettings
from textlds.storage.arrays import read_arrays

TEXT = "\n".join(f"the w{i % 7} of w{i * i % 13} is Number{i % 3} a w{i % 5} ." for i in range(400))
TEXTS = ["the w1 of w4 is", ["w3", "unheard", "a"], ""]


@dataclasses.dataclass(frozen=True)
class Target:
    """A kind of folder: how one is made, and what is done with one; the latter returns all results as bytes."""

    make: Callable[[Path], None]
    use: Callable[[Path], bytes]


def _counts() -> textlds.LagCounts:
    return textlds.count(texts=[TEXT], max_lag=3, vocab_size=40, threads=1)


def _model(observations: Any = "words") -> textlds.TextLDS:
    of_words = {"ssid_horizon": 2} if observations == "words" else {}
    settings = FitSettings(state_size=4, iterations=2, em_horizon=3, observations=observations, **of_words)
    return textlds.fit(_counts(), settings=settings, threads=1)


def _finite(*arrays: Any) -> bytes:
    if not all(np.isfinite(array).all() for array in arrays):
        raise AssertionError("a result is not finite")
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def use_counts(path: Path) -> bytes:
    """Load counts, add them to themselves, and make moments of them."""
    counts = textlds.LagCounts.load(path)
    twice = counts + counts
    found = [counts.unigrams, *(lag.data for lag in counts.lags), *(lag.indices for lag in twice.lags)]
    return _finite(*found) + repr(counts.vocabulary.words).encode()


def use_model(path: Path) -> bytes:
    """Load a model and ask it for everything."""
    model = textlds.load(path)
    recipes = ("context", "features", *(["paper"] if model.observations == "words" else []))
    found = [text.vectors for recipe in recipes for text in model.embed(TEXTS, recipe=recipe)]
    found += [scores.values for scores in model.log_likelihood(TEXTS)]
    words = model.similar(model.vocabulary.words[0], n=3)
    return _finite(*found, [score for _, score in words]) + repr(words).encode()


def use_index(path: Path) -> bytes:
    """Open an index and search in it."""
    from textlds.search import OccurrenceIndex

    index = OccurrenceIndex.load(path)
    found = index.find("w1", "the w1 of w4 is", n=3) + index.find("w4", "the w1 of w4 is", n=3, match="any")
    return _finite([hit.score for hit in found]) + repr([dataclasses.replace(hit, score=0) for hit in found]).encode()


def make_index(path: Path) -> None:
    """Index the corpus."""
    from textlds.search import OccurrenceIndex

    OccurrenceIndex.build(_model(), iter(TEXT.split("\n")), path, threads=1)


TARGETS = {
    "counts": Target(lambda path: _counts().save(path), use_counts),
    "model": Target(lambda path: _model().save(path), use_model),
    "profiles": Target(lambda path: _model("profiles").save(path), use_model),
    "index": Target(make_index, use_index),
}

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
        for config in sorted((f for f in files if f.name == "config.json"), key=lambda f: -len(f.parts)):
            done += _reseal(config)
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
        config.write_text(json.dumps(content), encoding="utf-8")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ", not resealed"
    return ", resealed"


def attack(kind: str, original: Path, right: bytes, place: Path, seed: int) -> str | None:
    """Alter a copy of a folder and use it; return what went wrong, or None."""
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(original, place)
    done = mutate(place, seed)
    try:
        found = TARGETS[kind].use(place)
    except TextLDSError as error:
        return None if str(error) else f"{done}: an error without a word"
    except OSError as error:  # a directory in the place of a file, which the system names
        return None if error.filename else f"{done}: {error!r}"
    except BaseException as error:
        return f"{done}: {type(error).__name__}: {error}"[:300]
    if found != right and not done.endswith(", resealed"):
        return f"{done}: accepted, with other results"
    return None
