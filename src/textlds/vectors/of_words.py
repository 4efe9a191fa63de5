"""Parts of a vector that are of words alone, whatever the context: copied from a table with a row per distinct word."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from textlds.inference.engine import Index
from textlds.lexicon.unknown import Speller, UnknownWords, spelt
from textlds.linalg.products import product
from textlds.linalg.psd import fix_signs, symmetric
from textlds.linalg.tall import Tall, weighted_gram
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Array, Matrix, Vector
from textlds.vectors.recipes import Part, Recipe, leading

if TYPE_CHECKING:
    from textlds.vectors.space import EmbeddingSpace

SHIFTS: dict[Part, int] = {"previous_word": -1, "word": 0, "next_word": 1}  # parts that are a whole word, and whose
_SEVERAL = 512  # distinct words of a window from which on a table of what spelling says pays
_COMMON = 1 << 14  # words that it has: 13 MB at h = 200
OF_WORDS: tuple[Part, ...] = (*SHIFTS, "neighbours", "spelling")


def pieces_of_words(
    space: EmbeddingSpace, recipe: Recipe, words: NDArray[np.int32], unknown: UnknownWords | None
) -> dict[Part, list[tuple[int, Array, int]]]:
    """Return what the parts of a recipe that are of words consist of.

    Args:
        space: Gives the vectors of words.
        recipe: With any parts.
        words: The distinct words of some texts.
        unknown: Those without a row.

    Returns:
        For each part, its pieces: where in the part one begins, a vector for each of the words, and how many places
        to the right the word stands.
    """
    found: dict[Part, list[tuple[int, Array, int]]] = {}
    if {*SHIFTS, "neighbours"} & set(recipe.parts):
        table = space.words_at(words, unknown)
        found |= {part: [(0, table, shift)] for part, shift in SHIFTS.items()}
    if "neighbours" in recipe.parts:
        short = leading_numbers(space, table)
        found["neighbours"] = [(0, short, -1), (short.shape[1], short, 1)]
    if "spelling" in recipe.parts:
        found["spelling"] = [(0, space.spellings.at(words, unknown), 0)]
    return found


def leading_numbers(space: EmbeddingSpace, words: Array) -> Array:
    """Return the numbers of vectors of words that stand in ``"neighbours"``."""
    return np.ascontiguousarray(words[:, : leading(space.size)]) if space.axes is None else product(words, space.axes)


class Spellings:
    """What the spelling of words says.

    Args:
        speller: Gives vectors to words by their spelling.
        dtype: Of these.
    """

    def __init__(self, speller: Speller, dtype: DTypeLike) -> None:
        self._speller, self._dtype = speller, np.dtype(dtype)

    def at(self, rows: NDArray[Any], unknown: UnknownWords | None = None) -> Array:
        """Return what the spelling of words says, by their rows."""
        size = len(self._speller.vocabulary)
        known = rows < size
        found = np.empty((len(rows), self._speller.spelling.shape[1]), self._dtype)
        if len(rows) >= _SEVERAL or "_common" in vars(self):
            common = rows < len(self._common)
            found[common] = self._common[rows[common]]
            found[known & ~common] = self._spelt(rows[known & ~common])
        else:
            found[known] = self._spelt(rows[known])
        if unknown is not None:
            found[~known] = unknown.words[rows[~known] - size]
        return found

    def of(self, token: str) -> Array:
        """Return what the spelling of one token says."""
        vocabulary = self._speller.vocabulary
        row = vocabulary.id(token)
        name = vocabulary.words[row] if row < vocabulary.n_types else token
        found: Array = spelt([name], self._speller.spelling, vocabulary)[0].astype(self._dtype)
        return found

    @cached_property
    def _common(self) -> Array:
        return self._spelt(np.arange(min(_COMMON, len(self._speller.vocabulary))))

    def _spelt(self, rows: NDArray[Any]) -> Array:
        vocabulary = self._speller.vocabulary
        words = [vocabulary.words[row] for row in rows.tolist()]
        found: Array = spelt(words, self._speller.spelling, vocabulary).astype(self._dtype)
        return found


def principal_axes(words: Tall, frequencies: Vector) -> Matrix:
    """Return the directions in which words differ most, as many as leading numbers are kept, (h, q)."""
    with one_blas_thread():
        centred = words - frequencies @ words
        vectors = np.linalg.eigh(symmetric(weighted_gram(centred, frequencies, centred)))[1]
    axes = vectors[:, ::-1][:, : leading(len(vectors))]
    return fix_signs(axes, axes.T)[0]


def shifted(ids: NDArray[np.int32], starts: Index, shift: int) -> NDArray[np.int32]:
    """Return the row of the word ``shift`` positions on in the same sequence, -1 where there is none."""
    if shift == 0:
        return ids
    found = np.full_like(ids, -1)
    inside = starts[:-1][np.diff(starts) > 0]  # the first positions of sequences that are not empty
    if shift < 0:
        found[1:] = ids[:-1]
        found[inside] = -1
    else:
        found[:-1] = ids[1:]
        found[inside[1:] - 1] = -1
    return found
