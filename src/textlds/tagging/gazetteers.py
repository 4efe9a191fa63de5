"""Gazetteers: lists of names, whose matches in a sentence are features."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.reading.tagged import read_lines
from textlds.errors import CorpusError

Names = dict[tuple[str, ...], int]

LONGEST = 8  # tokens of a name


def read_gazetteer(path: str | os.PathLike[str]) -> tuple[str, list[list[str]]]:
    """Read a file with one name per line, its tokens separated by spaces; return what the file is called and the names.

    Names of more than eight tokens are left out.
    """
    names = [tokens for line in read_lines(os.fspath(path)) if 0 < len(tokens := line.split()) <= LONGEST]
    if not names:
        raise CorpusError(f"{os.fspath(path)} holds no name of one to {LONGEST} tokens, one per line.")
    return Path(path).name.partition(".")[0], names


def read_gazetteers(paths: Iterable[str | os.PathLike[str]]) -> dict[str, list[list[str]]]:
    """Read several; one that is called as another before is numbered."""
    found: dict[str, list[list[str]]] = {}
    for path in paths:
        name, names = read_gazetteer(path)
        number = 1
        while (own := name if number == 1 else f"{name} {number}") in found:
            number += 1
        found[own] = names
    return found


def gazetteer_set(
    names: Iterable[Sequence[str]], split: Callable[[str], Sequence[str]] | None = None
) -> set[tuple[str, ...]]:
    """Return names in a form that :func:`gazetteer_marks` looks up: in lower case.

    Args:
        names: Lists of tokens.
        split: A tokeniser; names are also looked up as it cuts them, such as ``AT & T``.
    """
    found = {tuple(token.lower() for token in name) for name in names}
    if split is not None:
        cut = (tuple(token.lower() for token in split(" ".join(name))) for name in list(found))
        found |= {name for name in cut if 0 < len(name) <= LONGEST}
    return found


def gazetteer_marks(
    tokens: Sequence[str], starts: NDArray[np.int64], names: set[tuple[str, ...]]
) -> NDArray[np.uint64]:
    """Return for every token whether it begins (1), continues (2), ends (3) or is (4) the longest name there; else 0.

    Cost: about 1 µs a token, in Python; only taggers with gazetteers pay it.
    """
    out = np.zeros(len(tokens), np.uint64)
    lower = [token.lower() for token in tokens]
    firsts = {name[0] for name in names}
    for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        i = a
        while i < b:
            length = 0
            if lower[i] in firsts:
                length = next((n for n in range(min(LONGEST, b - i), 0, -1) if tuple(lower[i : i + n]) in names), 0)
            if length:
                out[i : i + length] = [4] if length == 1 else [1, *[2] * (length - 2), 3]
            i += length or 1
    return out
