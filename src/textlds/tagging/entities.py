"""Entities and their tags: IOB1, IOB2 and BIOES."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError, check_choice

Scheme = Literal["iob1", "iob2", "bioes"]


class Entity(NamedTuple):
    """Tokens ``start`` to ``end`` (without) of a sentence, of a kind such as ``PER``."""

    start: int
    end: int
    kind: str


def entities(tags: Sequence[str]) -> list[Entity]:
    """Read the entities of a sentence from tags of any scheme, as conlleval does.

    One begins at B- and S-, and at I- and E- where the token before is outside, of another kind, or ended one.
    """
    return list(_entities(tags))


def _entities(tags: Sequence[str]) -> Iterator[Entity]:
    start, open_kind = 0, ""
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        if open_kind and (prefix in "BSO" or kind != open_kind):
            yield Entity(start, place, open_kind)
            open_kind = ""
        if prefix != "O" and not open_kind:
            start, open_kind = place, kind
        if prefix in "ES" and open_kind:
            yield Entity(start, place + 1, open_kind)
            open_kind = ""


def convert_tags(tags: Sequence[str], scheme: Scheme) -> tuple[str, ...]:
    """Write the entities of a sentence, tagged in any scheme, in the one asked for."""
    check_choice("scheme", scheme, get_args(Scheme))
    out = ["O"] * len(tags)
    before = Entity(-1, -1, "")
    for entity in entities(tags):
        touches = before.end == entity.start and before.kind == entity.kind
        for place in range(entity.start, entity.end):
            first, last = place == entity.start, place == entity.end - 1
            out[place] = f"{_prefix(scheme, first, last, touches)}-{entity.kind}"
        before = entity
    return tuple(out)


def _prefix(scheme: Scheme, first: bool, last: bool, touches: bool) -> str:
    if scheme == "bioes":
        return "S" if first and last else "B" if first else "E" if last else "I"
    return "B" if first and (touches or scheme == "iob2") else "I"


def with_scheme(sentences: Sequence[Tagged], scheme: Scheme) -> list[Tagged]:
    """Return sentences with their entities tagged in a scheme."""
    return [replace(sentence, tags=convert_tags(sentence.tags, scheme)) for sentence in sentences]


def check_entity_tags(sentences: Sequence[Tagged], name: str) -> None:
    """Raise an error if tags are no entity tags, such as parts of speech read from the wrong column."""
    for sentence in sentences:
        for tag in sentence.tags:
            prefix, dash, kind = tag.partition("-")
            if tag != "O" and (prefix not in ("B", "I", "E", "S") or not dash or not kind):
                raise ArgumentError(
                    f"{name}: {tag!r} is no tag of an entity; expected O, or B-, I-, E- or S- and a kind. Check the "
                    f"column."
                )
