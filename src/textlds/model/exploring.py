"""What a model has learnt, in words: neighbours, and the transitions of the state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.linalg.types import Array, Matrix, Vector
from textlds.vectors.space import TokenVectors

Index = NDArray[np.int64]

_ENOUGH = 1000  # words that are never too rare, as none is left in a small corpus otherwise


@dataclass(frozen=True)
class Transition:
    """One singular vector pair of the transition matrix: A · source = strength · target.

    Attributes:
        strength: The singular value.
        source: The words most likely in the right singular vector.
        target: The words most likely in the left one, to which A leads.
    """

    strength: float
    source: list[str]
    target: list[str]


def common_rows(occurrences: Vector, vocabulary: Vocabulary, least: float | None, *, usual: float) -> Index:
    """Return the rows of the words that occur often enough to be judged, unknown classes left out.

    Args:
        occurrences: n of every row, (V,).
        vocabulary: The words.
        least: How often at least; None for the usual, or as often as the thousandth word if that is less.
        usual: What is often enough in a large corpus.
    """
    known = occurrences[: vocabulary.n_types]
    if least is None:
        enough = np.sort(known)[-min(_ENOUGH, len(known)) :][:1]
        least = min(usual, float(enough[0])) if len(enough) else 0.0
    rows = np.flatnonzero(known >= least)
    if not len(rows):
        raise ArgumentError(f"min_count={least:g} leaves no word: the most frequent occurs {known.max():g} times.")
    return rows


def word_in_context(text: TokenVectors, word: str) -> Array:
    """Return the mean of a word's vectors in a text, in whatever case it is spelled there, (d,)."""
    return mean_at(text, [i for i, token in enumerate(text.tokens) if token.casefold() == word.casefold()], word)


def mean_at(text: TokenVectors, places: list[int], word: str) -> Array:
    """Return the mean of the vectors of a word at its places in a text, (d,); an error where there is none."""
    if not len(text):
        raise ArgumentError(f"the context is empty; give a text that holds the word {word!r}.")
    if not places:
        several = " It is several words: give one word." if len(word.split()) > 1 else ""
        raise ArgumentError(
            f"the word {word!r} is not a token of the context.{several} Its tokens are: {' '.join(text.tokens[:30])}"
        )
    mean: Array = text.vectors[places].mean(axis=0)
    return mean


def transitions(A: Matrix, C: Matrix, vocabulary: Vocabulary, n: int, words: int, *, common: Index) -> list[Transition]:
    """Return the n strongest singular vector pairs of A with the words most likely in each state.

    Args:
        A: Transition matrix in coordinates with Q = I, in which singular vectors are the same for every fit.
        C: Output matrix in the same coordinates; (C x)_i is how likely a state x makes word i, in units of that
            word's own standard deviation.
        vocabulary: For the words.
        n: How many pairs.
        words: How many words for each state.
        common: The rows of the words to choose from.
    """
    U, strengths, Vt = np.linalg.svd(A)
    result = []
    for i in range(min(n, len(A))):
        source, target = C @ Vt[i], C @ U[:, i]
        # (v, u) and (−v, −u) are the same pair: take the sign under which the words stand out more
        if np.sort(source)[-words:].sum() + np.sort(target)[-words:].sum() < -(
            np.sort(source)[:words].sum() + np.sort(target)[:words].sum()
        ):
            source, target = -source, -target
        result.append(
            Transition(
                float(strengths[i]),
                [vocabulary.words[common[j]] for j in np.argsort(-source, kind="stable")[:words]],
                [vocabulary.words[common[j]] for j in np.argsort(-target, kind="stable")[:words]],
            )
        )
    return result
