"""Parts of a vector that are of words alone, whatever the context: copied from a table with a row per distinct word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textlds.inference.engine import Index
from textlds.lexicon.unknown import UnknownWords
from textlds.linalg.types import Array
from textlds.vectors.recipes import Part, Recipe, leading

if TYPE_CHECKING:
    from textlds.vectors.space import EmbeddingSpace

SHIFTS: dict[Part, int] = {"previous_word": -1, "word": 0, "next_word": 1}  # parts that are a whole word, and whose
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
        few = leading(space.size)
        short = np.ascontiguousarray(table[:, :few])
        found["neighbours"] = [(0, short, -1), (few, short, 1)]
    if "spelling" in recipe.parts:
        found["spelling"] = [(0, space.spellings_at(words, unknown), 0)]
    return found


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
