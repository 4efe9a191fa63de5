"""The treebanks of the tagging studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from benchmarks.paper.data import Data
from textlds.corpus.reading.tagged import Tagged, read_tag_map, read_tagged
from textlds.errors import ArgumentError
from textlds.evaluation.features import Features

Bank = Literal["ewt", "ptb"]
Tags = Literal["universal", "ptb"]
Part = Literal["train", "dev", "test"]

NAMES: dict[Bank, str] = {"ewt": "UD English EWT", "ptb": "Penn Treebank"}


def sentences(data: Data, bank: Bank, part: Part, *, tags: Tags = "universal") -> list[Tagged]:
    """Read a part of a treebank: ``"ewt"`` from CoNLL-U, ``"ptb"`` from word<TAB>tag with a map to universal tags."""
    path = data.split(bank, part)
    if bank == "ewt":
        return read_tagged(path, column="upos" if tags == "universal" else "xpos")
    if tags == "ptb":
        return read_tagged(path)
    maps = sorted(data.path("ptb").glob("*.map"))
    if len(maps) != 1:
        raise ArgumentError(f"--ptb: {data.path('ptb')} must hold one map to universal tags, *.map; found {len(maps)}.")
    return read_tagged(path, tag_map=read_tag_map(maps[0]))


def running(features: Features) -> Features:
    """Return features that read all sentences as one text, so that the context of each goes on into the next."""

    def vectors(sentences: Sequence[Sequence[str]]) -> object:
        return features([[token for sentence in sentences for token in sentence]])

    return vectors  # type: ignore[return-value]
