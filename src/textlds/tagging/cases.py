"""The other case of a word: "bank" of "Bank" and "BANK", "Bank" of "bank".

What a word is in the other case, and how much more often raw text has it so, tells names from other words where the
case at hand does not: at the beginning of a sentence, in titles, in text that is careless about capitals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.linalg.types import Vector

NONE = 0  # the level of what has no other case
_MIDDLE, _MOST = 10, 5  # the level of a word that is as frequent in both cases, and how far others are from it
_STEP = 2.0  # of the binary logarithm of the ratio, from level to level
_NEVER = 1e-9  # the frequency of a word that is not known
_REMEMBERED = 1 << 17  # words


def other_case(word: str) -> str | None:
    """Return a word in lower case or, if it is in lower case, capitalised; None where that changes nothing."""
    lower = word.lower()
    other = lower if lower != word else word[:1].upper() + word[1:]
    return other if other != word else None


class OtherCases:
    """Looks words up in the other case; what it found is remembered.

    Args:
        vocabulary: The known words.
        frequencies: f, (V,).
    """

    def __init__(self, vocabulary: Vocabulary, frequencies: Vector) -> None:
        self._vocabulary, self._frequencies = vocabulary, frequencies
        self._found: dict[str, tuple[int, int]] = {}

    def look_up(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the rows of words in the other case, −1 where that is no known word, and their levels, each (n,).

        The level tells how much more frequent the other case is than the one at hand: 10 for as frequent, one more for
        every factor of four, from 5 to 15; 0 for words that have no other case.
        """
        if len(self._found) > _REMEMBERED:
            self._found.clear()
        found = [self._found.get(word) or self._look_up(word) for word in words]
        both = np.array(found, np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1].astype(np.uint64)

    def _look_up(self, word: str) -> tuple[int, int]:
        other = other_case(word)
        row, level = -1, NONE
        if other is not None:
            row = self._row(other)
            ratio = self._frequency(row) / self._frequency(self._row(word))
            level = _MIDDLE + int(np.clip(np.round(np.log2(ratio) / _STEP), -_MOST, _MOST))
        self._found[word] = row, level
        return row, level

    def _row(self, word: str) -> int:
        return self._vocabulary.id(word) if word in self._vocabulary else -1

    def _frequency(self, row: int) -> float:
        return max(float(self._frequencies[row]), _NEVER) if row >= 0 else _NEVER
