"""What a packed model may hold besides tables for vectors: transitions, and probabilities of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from textlds.errors import FormatError
from textlds.language.compact import CompactReadout
from textlds.language.mixture import Mixture
from textlds.linalg.types import Array
from textlds.model.directions import Directions
from textlds.model.exploring import Transition

LANGUAGE, TRANSITIONS = "language", "transitions"
_SOURCE, _TARGET = f"{TRANSITIONS}.source", f"{TRANSITIONS}.target"

Stored = tuple[dict[str, Array], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class PackedLanguage:
    """The language model of a packed one.

    Attributes:
        readout: In few bytes.
        mixture: The weights of unigram and readout.
        facts: How it was calibrated, as JSON.
    """

    readout: CompactReadout
    mixture: Mixture
    facts: dict[str, Any]


def stored_parts(directions: Directions | None, language: PackedLanguage | None) -> Stored:
    """Return the arrays and the facts that are stored of both."""
    arrays: dict[str, Array] = {}
    facts: dict[str, Any] = {}
    if directions is not None:
        arrays |= {_SOURCE: directions.source, _TARGET: directions.target}
        facts[TRANSITIONS] = [asdict(pair) for pair in directions.pairs]
    if language is not None:
        arrays |= language.readout.arrays(LANGUAGE)
        mixture = {"edges": language.mixture.edges.tolist(), "weights": language.mixture.weights.tolist()}
        facts[LANGUAGE] = {**mixture, "facts": language.facts}
    return arrays, facts


def take_parts(
    arrays: dict[str, Array], facts: dict[str, Any], *, size: int, width: int, state_size: int
) -> tuple[Directions | None, PackedLanguage | None]:
    """Take both out of what was stored; anything that does not fit is a FormatError.

    Args:
        arrays: Theirs are taken out.
        facts: Likewise.
        size: V.
        width: How many numbers say how a word is used, and what it is about.
        state_size: h.
    """
    pairs, language = facts.pop(TRANSITIONS, None), facts.pop(LANGUAGE, None)
    own = {name: arrays.pop(name) for name in list(arrays) if name.startswith((f"{LANGUAGE}.", f"{TRANSITIONS}."))}
    try:
        directions = None if pairs is None else _directions(pairs, own, state_size)
        if language is None:
            return directions, None
        mixture = Mixture(np.array(language["edges"], np.float64), np.array(language["weights"], np.float64))
        _check_mixture(mixture)
        parts = {name: array for name, array in own.items() if name.startswith(f"{LANGUAGE}.")}
        readout = CompactReadout.from_arrays(parts, LANGUAGE, size=size, width=width, state_size=state_size)
        return directions, PackedLanguage(readout, mixture, dict(language["facts"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the transitions or the language model of a packed model do not fit: {error}") from error


def _directions(pairs: Any, arrays: Mapping[str, Array], h: int) -> Directions:
    found = [Transition(float(p["strength"]), list(map(str, p["source"])), list(map(str, p["target"]))) for p in pairs]
    source, target = (np.array(arrays[name]) for name in (_SOURCE, _TARGET))
    for array in (source, target):
        if array.shape != (len(found), h) or array.dtype != np.float32 or not np.isfinite(array).all():
            raise FormatError(f"transitions are {array.dtype}{array.shape} instead of float32{(len(found), h)}.")
    return Directions(found, source, target)


def _check_mixture(mixture: Mixture) -> None:
    edges, weights = mixture.edges, mixture.weights
    if edges.ndim != 1 or weights.shape != (len(edges) + 1, 2) or (np.diff(edges) <= 0).any():
        raise FormatError(f"the weights of a language model are {weights.shape}; it has {len(edges) + 1} buckets.")
    if not ((weights >= 0).all() and np.allclose(weights.sum(axis=1), 1) and (weights[:, 0] > 0).all()):
        raise FormatError("the weights of a language model are not probabilities.")
