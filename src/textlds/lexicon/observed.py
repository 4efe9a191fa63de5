"""What a model observes of a word: the word's vector, whitened over the corpus.

With l(w) the vector of a word, f its frequency and l̄ = Σ_w f(w) l(w):

    Ψ_0 = Σ_w f(w) (l(w) − l̄)(l(w) − l̄)ᵀ          y(w) = Ψ_0^-½ (l(w) − l̄)          Σ_w f(w) y(w) y(w)ᵀ = I

The rows B_w = f(w)^½ y(w)ᵀ make an orthonormal basis, orthogonal to m = f^½, and y(w) = Bᵀ (e_w / m_w − m). So
observing y is observing the one-hot word through B: a model of y with output matrix c is the model of one-hot words
that has C = B c and D = I − m mᵀ − C M Cᵀ. What is defined for one is defined for the other, the likelihood included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import CountsError
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.unknown import shrunk, spelt
from textlds.linalg.tall import Tall, times, weighted_gram
from textlds.linalg.types import Array, Matrix, Vector

_RANK_TOLERANCE = 1e-6  # of the largest variance: what is left in float32 of a direction that the vectors do not have


@dataclass(frozen=True, eq=False)
class ObservedLexicon(Lexicon):
    """A lexicon whose vectors a model observes. ``profiles`` is l: those of rare words are shrunk already.

    Attributes:
        centre: l̄, (p,).
        whitening: Ψ_0^-½, (p, p).
    """

    centre: Vector
    whitening: Matrix

    @property
    def size(self) -> int:
        """The number of coordinates of an observation, p."""
        return len(self.centre)

    def observed(self, matrix: Matrix, vectors: Tall | None = None) -> Array:
        """Return y(w)ᵀ · matrix of every word, (V, n), or of words with other vectors; float64.

        Args:
            matrix: (p, n).
            vectors: l of words that have no row, (k, p).
        """
        small = self.whitening @ matrix
        result: Array = (self.profiles if vectors is None else vectors) @ small
        result -= self.centre @ small
        return result

    def basis(self, frequencies: Vector, threads: int) -> Tall:
        """Return B, (V, p)."""
        basis = times(self.profiles, self.whitening.astype(np.float32), threads)
        basis -= (self.centre @ self.whitening).astype(np.float32)
        basis *= np.sqrt(frequencies).astype(np.float32)[:, None]
        return basis


def observe(lexicon: Lexicon, frequencies: Vector, vocabulary: Vocabulary) -> ObservedLexicon:
    """Make observations of the profiles of words: shrink those of rare words and whiten. O(V p²).

    Vectors that span fewer directions than they have coordinates are turned into vectors that have no more.

    Args:
        lexicon: Profiles and spelling.
        frequencies: f, (V,), which sum to one.
        vocabulary: The words.
    """
    predicted = spelt(vocabulary.words[: vocabulary.n_types], lexicon.spelling, vocabulary)
    vectors, spelling = shrunk(lexicon.profiles, predicted, frequencies), lexicon.spelling
    centre = frequencies @ vectors
    values, directions = np.linalg.eigh(weighted_gram(vectors - centre, frequencies, vectors - centre))
    kept = values > _RANK_TOLERANCE * values[-1]
    if values[-1] < _RANK_TOLERANCE:
        raise CountsError(
            "all words of these counts have the same neighbours, so their profiles cannot tell them apart. "
            "Count more text, or fit with observations='words'."
        )
    if not kept.all():
        values, directions = values[kept][::-1], directions[:, kept][:, ::-1]  # what tells most words apart first
        vectors, centre = vectors @ directions, centre @ directions
        spelling = (spelling @ directions).astype(np.float32)
        directions = np.eye(len(values))
    whitening = directions / np.sqrt(values) @ directions.T
    return ObservedLexicon(vectors.astype(np.float32), spelling, centre, whitening, meaning=lexicon.meaning)
