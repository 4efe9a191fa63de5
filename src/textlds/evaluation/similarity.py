"""Similarity of words as people judge it: pairs by themselves, and pairs in their contexts."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.evaluation.data import ContextPair, Pair, Place
from textlds.evaluation.features import Features, Vectors
from textlds.evaluation.measures import Correlation, spearman


@dataclass(frozen=True)
class SimilarityRow:
    """How vectors agree with people on one set.

    Attributes:
        name: Of the set.
        vectors: ``"word"``: by itself; otherwise the recipe of the vectors in context.
        correlation: Spearman's.
    """

    name: str
    vectors: str
    correlation: Correlation

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {"set": self.name, "vectors": self.vectors, **self.correlation.to_json()}


def evaluate_pairs(features: Features, pairs: Sequence[Pair], known: Container[str]) -> Correlation:
    """Compare the cosines of words, each by itself, with people's scores.

    A word that is not known as it is spelt is looked for in lower case, capitalised and in capitals.

    Args:
        features: Vectors of words, such as those of ``recipe="word"``.
        pairs: The words and their scores.
        known: The vocabulary; pairs with a word outside it are left out.
    """
    spelt = {word: form for pair in pairs for word in (pair.first, pair.second) if (form := _spelt(word, known))}
    cosines = np.full(len(pairs), np.nan)
    found = [i for i, pair in enumerate(pairs) if pair.first in spelt and pair.second in spelt]
    if found:
        names = sorted(set(spelt.values()))
        rows = {name: row for row, name in enumerate(names)}
        vectors = features([[name] for name in names])
        first = [rows[spelt[pairs[i].first]] for i in found]
        second = [rows[spelt[pairs[i].second]] for i in found]
        cosines[found] = _cosines(vectors[first], vectors[second])
    return spearman([pair.score for pair in pairs], cosines)


def evaluate_context_pairs(features: Features, pairs: Sequence[ContextPair]) -> Correlation:
    """Compare the cosines of words in their contexts with people's scores; features decide what unknown words are.

    Args:
        features: Token vectors.
        pairs: The words in their contexts and their scores.
    """
    first = _vectors_at(features, [pair.first for pair in pairs])
    second = _vectors_at(features, [pair.second for pair in pairs])
    return spearman([pair.score for pair in pairs], _cosines(first, second))


def _vectors_at(features: Features, places: Sequence[Place]) -> Vectors:
    lengths = [len(place.tokens) for place in places]
    rows = np.cumsum([0, *lengths[:-1]]) + np.array([place.position for place in places])
    vectors: Vectors = features([place.tokens for place in places])[rows]
    return vectors


def _cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    x, y = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", x, y) / np.maximum(lengths, 1e-30)
    return cosines


def _spelt(word: str, known: Container[str]) -> str | None:
    return next((form for form in (word, word.lower(), word.capitalize(), word.upper()) if form in known), None)
