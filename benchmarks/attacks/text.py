"""Hostile text through counting, embedding and a tagger: a result or a clear error, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import textlds
from benchmarks.attacks.targets import TARGETS, write_inputs
from textlds.corpus.settings import CountSettings
from textlds.errors import TextLDSError
from textlds.tagging.tagger import Tagger

# Above what a worker had when it began, for a budget of 64 MB: chunks, one line of 64 MB, and what unpacks it.
ALLOWED = 500 << 20
_UNPACKED = 40 << 20
_NEWLINES = ["\n", "\r\n", "\r", "\x85", "\u2028", "\x0b", "\n\n\n", ""]


def _bytes(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice([0, 1, 100, 10_000]))


def _unicode(rng: random.Random) -> bytes:
    planes = [(0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF), (0x300, 0x36F), (0xE0000, 0xE007F)]
    characters = []
    for _ in range(rng.choice([10, 1000, 20_000])):
        low, high = rng.choice(planes)
        characters.append(chr(rng.randint(low, high)) if rng.random() < 0.8 else rng.choice([" ", "\n", "a", "é"]))
    return "".join(characters).encode("utf-8", "surrogatepass" if rng.random() < 0.3 else "replace")


def _lines(rng: random.Random) -> bytes:
    words = [
        "the",
        "w1",
        "of",
        "ﬁ",
        "😀",
        "12,5",
        "a" * rng.choice([1, 300, 100_000]),
        "\u0301",
        "\0",
        "\ufeff",
        "x\x1fy",
    ]
    return "".join(
        " ".join(rng.choices(words, k=rng.randint(0, 20))) + rng.choice(_NEWLINES) for _ in range(rng.randint(1, 300))
    ).encode("utf-8", "replace")


def _endless(rng: random.Random) -> bytes:
    return rng.choice([b"a ", b"a", b"\xc3\xa9", b"1", b"\0"]) * rng.choice([1 << 20, 70 << 20])


def _records(rng: random.Random) -> bytes:
    values = [
        '{"text": "a b c"}', '{"text": ["a", "b"]}', '{"text": null}', '{"text": 5}', '{"no": 1}', "[" * 10_000,
        "NaN", "1" * 5000, '{"text": "\\ud800"}', '{"text": "' + "a " * 1000 + '"}', "", "null", '{"text": [[]]}', "{",
    ]  # fmt: skip
    return "\n".join(rng.choices(values, k=rng.choice([1, 1, 5]))).encode()


def _bomb(rng: random.Random) -> bytes:
    line = rng.choice([b"ab cd\n", b"a\n", b"\n", b"a b c d " * 1000 + b"\n", b"a"])
    return line * (_UNPACKED // len(line))


def _zst(data: bytes) -> bytes:
    import zstandard

    packed: bytes = zstandard.ZstdCompressor(level=3).compress(data)
    return packed


def _gz(data: bytes) -> bytes:
    return gzip.compress(data, 6)


def _bz2(data: bytes) -> bytes:
    return bz2.compress(data[: 1 << 20]) * max(len(data) >> 20, 1)


def _xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


def _parquet(data: bytes) -> bytes:
    import pyarrow
    import pyarrow.parquet as pages

    text, file = data.decode("utf-8", "replace"), io.BytesIO()
    step = max(len(text) // 1000, 1)
    rows = [text[start : start + step] for start in range(0, len(text), step)] or [""]
    pages.write_table(pyarrow.table({"text": rows}), file, compression="zstd")
    return file.getvalue()


_KINDS: dict[str, Callable[[random.Random], bytes]] = {
    "bytes": _bytes, "unicode": _unicode, "lines": _lines, "endless": _endless, "records": _records, "bomb": _bomb,
}  # fmt: skip
_PACKERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": _gz, ".bz2": _bz2, ".xz": _xz, ".zst": _zst}


class Reader:
    """Gives hostile texts to counting, to a model and to a tagger.

    Args:
        folder: For the model and the tagger.
    """

    def __init__(self, folder: Path) -> None:
        write_inputs(folder / "inputs")
        for kind in ("model", "tagger"):
            TARGETS[kind].make(folder / kind)
        self._model, self._tagger = textlds.load(folder / "model"), Tagger.load(folder / "tagger")
        self._use(b"the w1 of w4\n", "warm.txt", "strict", folder)

    def attack(self, seed: int) -> str | None:
        """Read one text; return what went wrong, or None."""
        rng = random.Random(seed)
        kind = rng.choice([*_KINDS, "lines", "unicode", "records", "bytes"])
        data = _KINDS[kind](rng)
        packer = rng.choice(list(_PACKERS)) if kind != "endless" else rng.choice(["", ".zst"])
        table = kind in ("unicode", "lines", "bomb") and rng.random() < 0.15
        packed = _parquet(data) if table else _PACKERS[packer](data)
        if rng.random() < 0.2:
            packed = packed[: rng.randrange(len(packed) + 1)]
        name = "text.parquet" if table else f"text{'.jsonl' if kind == 'records' else '.txt'}{packer}"
        errors = rng.choice(["strict", "replace"])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        del data
        with tempfile.TemporaryDirectory() as place:
            wrong = self._use(packed, name, errors, Path(place))
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - max(before, _now())
        if more > ALLOWED:
            wrong = f"took {more >> 20} MB"
        return f"{kind} as {name}, {errors}: {wrong}" if wrong else None

    def _use(self, packed: bytes, name: str, errors: str, place: Path) -> str | None:
        path = place / name
        path.write_bytes(packed)
        settings = CountSettings(memory="64MB", encoding_errors=errors)
        try:
            counts = textlds.count(path, vocab_size=1000, max_lag=3, counting=settings, threads=1)
            if any(lag.sum() > counts.tokens for lag in counts.lags):
                return "more pairs than tokens"
        except TextLDSError:
            pass
        text = packed[:20_000].decode("utf-8", "replace")
        for vectors in self._model.embed([text, text.split()], recipe="features", threads=1):
            if not np.isfinite(vectors.vectors).all() or len(vectors.tokens) != len(vectors.vectors):
                return "vectors that are not finite, or not one per token"
        for sentence in self._tagger.tag([text, text.split()], threads=1):
            if not np.isfinite(sentence.confidences).all() or len(sentence.tokens) != len(sentence.tags):
                return "tags that are not sure of themselves, or not one per token"
        return None


def _now() -> int:
    with Path("/proc/self/status").open() as file:
        found = re.search(r"VmRSS:\s+(\d+)", file.read())
    return int(found[1]) << 10 if found else 0
