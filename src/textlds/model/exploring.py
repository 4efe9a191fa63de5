"""What a model has learnt, in words: neighbours, and the transitions of the state; words that were misspelled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.linalg.types import Array, Matrix, Vector
from textlds.vectors.space import TokenVectors

Index = NDArray[np.int64]

_SHORT = 4  # letters up to which a word is misspelled by one letter at most
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
        raise ArgumentError(
            f"min_count={least:,.12g} leaves no word: the most frequent occurs {known.max():,.12g} times. Lower it."
        )
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


def close_words(word: str, known: Iterable[str], *, n: int = 3) -> list[str]:
    """Return the words that a misspelled one may have been meant for: fewest slips first, then in their order.

    A slip is a letter too much, too few or wrong, or two that changed places; short words have one at most, others
    two. Of spellings that differ in case only one is shown, without capitals if none was typed. About 0.1 s for
    100,000 words.

    Args:
        word: As it was typed.
        known: Most frequent first.
        n: How many.
    """
    typed = word.casefold()
    most, letters = 1 if len(typed) <= _SHORT else 2, set(typed)
    found: dict[str, tuple[int, str]] = {}
    for other in known:
        if abs(len(other) - len(typed)) <= most:
            plain = other.casefold()
            # a slip changes the set of letters by two at most
            if len(letters.symmetric_difference(plain)) <= 2 * most:
                distance = slips(typed, plain)
                if distance <= most and (plain not in found or (other == plain and word == typed)):
                    found[plain] = (distance, other)
    return [other for _, other in sorted(found.values(), key=lambda pair: pair[0])[:n]]


def slips(first: str, second: str) -> int:
    """Return how many letters to insert, delete, replace or swap with the next make one word the other. O(n m)."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        earlier, before, row = before, row, [i, *[0] * len(second)]
        for j, b in enumerate(second, start=1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                row[j] = min(row[j], earlier[j - 2] + 1)
    return row[-1]
