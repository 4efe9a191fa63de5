"""Words outside the vocabulary, read by their spelling.

Counting puts an unknown word into a class, and the fitted model knows it by that class alone. With a
lexicon and ``weighting="equal"``, the vector predicted from its spelling replaces that of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel_fma
from textlds.corpus.encoding import EncodedText
from textlds.corpus.tokens.characters import normalise_digits, without_ignored
from textlds.corpus.vocabulary import Vocabulary
from textlds.lexicon.features import spelling_features
from textlds.linalg.products import product
from textlds.linalg.quantized import RowTable
from textlds.linalg.sphere import on_sphere
from textlds.linalg.types import Array, Matrix, Vector

# Chosen on the development sets of two treebanks; nothing depends on it sharply.
SHRINKAGE = 2.5  # λ

_ROWS = 4096  # of a table that are worked on at a time


@dataclass(frozen=True, eq=False)
class UnknownWords:
    """Vectors of words that have no row; their numbers continue from the rows of the vocabulary.

    Attributes:
        gains: k'(w), (n, h).
        words: l(w), (n, h).
    """

    gains: Array
    words: Array


@dataclass(frozen=True, eq=False)
class Speller:
    """Gives vectors to words by their spelling.

    Attributes:
        vocabulary: The known words.
        spelling: G, (B, h).
        carry: What carries a word's vector to the coordinates of the state, (h, h).
        centre: Mean of the words' vectors over the text, (h,).
        shift: Mean of the gains, scaled to length one, before it was taken off, (h,); None where they are not scaled.
    """

    vocabulary: Vocabulary
    spelling: NDArray[np.float32] | RowTable
    carry: Matrix
    centre: Vector
    shift: Vector | None

    def vectors(self, words: Sequence[str], dtype: np.dtype[Any]) -> UnknownWords:
        """Return the vectors of words."""
        found = spelt(words, self.spelling, self.vocabulary)
        return UnknownWords(self.gains(found).astype(dtype), found.astype(dtype))

    def gains(self, words: Array) -> Array:
        """Return the gains of words from their vectors l(w), (n, h)."""
        found = product(words - self.centre, self.carry)
        return found if self.shift is None else on_sphere(found) - self.shift


def number_unknown(
    vocabulary: Vocabulary, window: Sequence[EncodedText], ids: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], list[str]]:
    """Give numbers of their own to the unknown words of texts.

    Args:
        vocabulary: The known words.
        window: Texts.
        ids: The rows of all of them, one after the other.
        offsets: Where each text begins.

    Returns:
        The rows with the new numbers, and the new words in the order of these.
    """
    known, size = vocabulary.n_types, len(vocabulary)
    places = np.flatnonzero(ids >= known)
    if len(places) == 0:
        return ids, []
    classes = set(vocabulary.words[known:])
    numbers: dict[str, int] = {}
    ids = ids.copy()
    owners = np.searchsorted(offsets, places, side="right") - 1
    for place, owner, offset in zip(places.tolist(), owners.tolist(), offsets[owners].tolist(), strict=True):
        text = window[owner]
        token = place - offset
        if len(text.positions) != len(text.ids):
            token = int(np.searchsorted(text.positions, token))
        word = text.tokens[token]
        if word not in classes:  # a class that is named in the text is meant
            ids[place] = size + numbers.setdefault(word, len(numbers))
    return ids, list(numbers)


def spelt(
    words: Sequence[str], spelling: NDArray[np.float32] | RowTable, vocabulary: Vocabulary
) -> NDArray[np.float32]:
    """Return what spelling says of words, each of length one, (n, h)."""
    digits = vocabulary.settings.digits
    plain = [without_ignored(normalise_digits(word, digits)) for word in words]
    indptr, indices = spelling_features(plain, len(spelling))
    out = np.zeros((len(words), spelling.shape[1]), np.float32)
    if isinstance(spelling, RowTable):  # only the rows that are needed are widened
        buckets, places = np.unique(indices, return_inverse=True)
        spelling, indices = spelling.rows(buckets), places.astype(np.int32)
    _add_rows(indptr, indices, spelling, out)
    return on_sphere(out, out=out, nothing=1e-20)  # counts of little weight give short vectors, with a direction


def shrunk(table: Matrix, towards: Matrix, frequencies: Vector) -> Matrix:
    """Return the vectors of all words, those of rare ones shrunk towards others, scaled to length one.

    Args:
        table: Of all rows, (V, h).
        towards: Of the known types, (n_types, h): what each is shrunk towards.
        frequencies: μ, (V,).
    """
    weights = SHRINKAGE / (frequencies[: len(towards)] * len(frequencies) + SHRINKAGE)
    result = table.astype(np.float64)
    for start in range(0, len(towards), _ROWS):  # arrays of all words are large, and take longer to get than to fill
        rows = slice(start, min(start + _ROWS, len(towards)))
        result[rows] += weights[rows, None] * towards[rows]
    return on_sphere(result, out=result)


@kernel_fma
def _add_rows(indptr, indices, table, out):  # type: ignore[no-untyped-def]
    """Set out[i] to the sum of the table's rows of word i, over the root of their number."""
    for i in range(len(out)):
        begin, end = indptr[i], indptr[i + 1]
        for p in range(begin, end):
            row = table[indices[p]]
            for c in range(len(row)):
                out[i, c] += row[c]
        scale = out.dtype.type(1 / np.sqrt(end - begin))
        for c in range(out.shape[1]):
            out[i, c] *= scale
