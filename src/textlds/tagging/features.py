"""Lexical features: combinations of what a token and its neighbours look like, each hashed to a bucket.

A template names columns of the base (:mod:`textlds.tagging.spelling`, clusters and the like beside it) at places
relative to the token: ``(("lower", -1), ("lower", 0))`` is the pair of the word before and the word. A token has one
feature a template, so that a matrix of buckets, (n, templates), holds them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.errors import FormatError
from textlds.tagging.spelling import Base, step

Array = Any  # arrays inside kernels: numba infers dtype and layout
Buckets = NDArray[np.int32]
Template = tuple[tuple[str, int], ...]

BUCKETS: Final = 1 << 17
MOST_TERMS: Final = 3


def _own(*columns: str) -> tuple[Template, ...]:
    return tuple(((column, 0),) for column in columns)


def _around(column: str, *places: int) -> tuple[Template, ...]:
    return tuple(((column, place),) for place in places)


LEXICAL: Final[tuple[Template, ...]] = (
    *_own("form", "lower", "prefix1", "prefix2", "prefix3", "prefix4", "suffix1", "suffix2", "suffix3", "suffix4"),
    *_own("shape", "outline"),
    *_around("lower", -2, -1, 1, 2),
    *_around("suffix3", -1, 1),
    *_around("shape", -1, 1),
    (("lower", -1), ("lower", 0)),
    (("lower", 0), ("lower", 1)),
    (("lower", -1), ("lower", 1)),
    (("lower", -2), ("lower", -1)),
    (("lower", 1), ("lower", 2)),
    (("suffix2", 0), ("lower", -1)),
    (("suffix2", 0), ("lower", 1)),
    (("outline", -1), ("outline", 0), ("outline", 1)),
)
"""The word, its affixes and shape, its neighbours and pairs with them."""


ELSEWHERE: Final = ("before_previous", "before_next", "after_previous", "after_next")
"""Columns of what is beside the same word where it occurs before and after in the document."""

REPEATED: Final[tuple[Template, ...]] = _own(*ELSEWHERE)
"""The words beside the same word elsewhere: "Mr. Jordan" says what "Jordan" is where nothing else does."""


CASE: Final = "case"
"""The column of how much more frequent a word is in the other case: :mod:`textlds.tagging.cases`."""

CASES: Final[tuple[Template, ...]] = (
    ((CASE, 0),),
    ((CASE, 0), ("shape", 0)),
    ((CASE, 0), ("outline", -1)),  # before the first word of a sentence there is none
)


def cluster_columns(granularities: int) -> list[str]:
    """Return the names of the columns of word clusters."""
    return [f"cluster{number}" for number in range(granularities)]


def cluster_templates(names: Sequence[str]) -> tuple[Template, ...]:
    """Return templates of word clusters: of each granularity two to each side, and pairs with the neighbours."""
    singles = [template for name in names for template in _around(name, -2, -1, 0, 1, 2)]
    pairs = [((name, a), (name, a + 1)) for name in names for a in (-1, 0)]
    return (*singles, *pairs)


def gazetteer_column(name: str) -> str:
    """Return the name of the column of a list of names."""
    return f"gazetteer {name}"


def gazetteer_templates(names: Iterable[str]) -> tuple[Template, ...]:
    """Return templates of gazetteers: one to each side."""
    return tuple(template for name in names for template in _around(gazetteer_column(name), -1, 0, 1))


def naming_columns(templates: Sequence[Template]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return which features name the previous word, which the word, and which the next word."""

    def of(place: int) -> tuple[int, ...]:
        names = {(column, place) for column in ("form", "lower")}
        return tuple(number for number, template in enumerate(templates) if names & set(template))

    return of(-1), of(0), of(1)


def hashed(base: Base, starts: NDArray[np.int64], templates: Sequence[Template], columns: Sequence[str]) -> Buckets:
    """Return the buckets of all features, (n, templates); about 5 ns each.

    Args:
        base: (n, columns).
        starts: Where sentences begin, with n at the end.
        templates: What the features are made of.
        columns: Names of the columns of the base.
    """
    out = np.empty((len(base), len(templates)), np.int32)
    combine(base, starts, _compiled(templates, columns), np.uint64(BUCKETS - 1), out)
    return out


def _compiled(templates: Sequence[Template], columns: Sequence[str]) -> NDArray[np.int64]:
    """Return templates as numbers, (templates, MOST_TERMS, 2): columns and places; column −1 for none."""
    numbers = {name: number for number, name in enumerate(columns)}
    out = np.full((len(templates), MOST_TERMS, 2), -1, np.int64)
    for row, template in zip(out, templates, strict=True):
        for term, (column, place) in zip(row, template, strict=False):
            if column not in numbers:
                raise FormatError(f"a feature uses the column {column!r}, which is not one of {', '.join(columns)}.")
            term[:] = numbers[column], place
    return out


@kernel
def combine(base: Array, starts: Array, templates: Array, mask: Any, out: Array) -> None:
    """Write the bucket of every feature; see :func:`hashed`."""
    for s in range(len(starts) - 1):
        first, last = starts[s], starts[s + 1]
        for i in range(first, last):
            for f in range(len(templates)):
                value = step(np.uint64(0xCBF29CE484222325), f)
                for t in range(templates.shape[1]):
                    column = templates[f, t, 0]
                    if column < 0:
                        break
                    place = i + templates[f, t, 1]
                    # 1 and 2 mean what is before and after the sentence
                    term = np.uint64(1) if place < first else np.uint64(2) if place >= last else base[place, column]
                    value = (value ^ term) * np.uint64(0x9E3779B97F4A7C15)
                    value ^= value >> np.uint64(29)
                value *= np.uint64(0xBF58476D1CE4E5B9)
                value ^= value >> np.uint64(32)
                out[i, f] = np.int32(value & mask)
