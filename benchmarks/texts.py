"""The beginning of a large text, by tokens."""

from __future__ import annotations

from pathlib import Path

BYTES_A_TOKEN = 5.32  # of English Wikipedia


def first_lines(path: Path, tokens: float) -> list[str]:
    """Return the whole lines with which the first so many tokens, about, of a text begin."""
    return first_bytes(path, tokens).decode("utf-8").splitlines()


def first_bytes(path: Path, tokens: float) -> bytes:
    """Return the same as one piece."""
    with path.open("rb") as file:
        return file.read(int(tokens * BYTES_A_TOKEN)) + file.readline()
