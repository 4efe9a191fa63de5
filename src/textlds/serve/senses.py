"""A word in its passage, as a sum with a term per word.

With meaning(w) and z(w) of :mod:`textlds.vectors.meaning`, and s = Σ_j α^(|t−j|−1) z(w_j) over the other words of the
text, ``model.similar(word, context=text)`` looks for the words nearest to

    v = meaning(w_t) + s / |s|

so that word j pulls by c_j = α^(|t−j|−1) z(w_j) / |s|. Shares, c_j · v / |v|², sum to one with that of the word itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.corpus.encoding import EncodedText
from textlds.linalg.types import Matrix, Vector
from textlds.vectors.meaning import LEAK, MeaningSpace


@dataclass(frozen=True, eq=False)
class Sense:
    """A token in its passage.

    Attributes:
        own: meaning(w_t), (d,).
        terms: c_j of every token, (n, d); zeros at the token itself.
        topic: |s|.
    """

    own: Vector
    terms: Matrix
    topic: float

    @property
    def vector(self) -> Vector:
        """v, (d,)."""
        whole: Vector = self.own + self.terms.sum(axis=0)
        return whole

    def without(self, token: int) -> Vector:
        """Return v as it would be without a word of the passage."""
        rest = self.topic * (self.terms.sum(axis=0) - self.terms[token])
        length = float(np.linalg.norm(rest))
        whole: Vector = self.own + (rest / length if length > 1e-5 else 0 * rest)
        return whole


def sense_of(space: MeaningSpace, text: EncodedText, token: int) -> Sense:
    """Return a token of a text in its passage. O(n d)."""
    vocabulary = space.vocabulary
    words = [vocabulary.words[row] for row in text.ids.tolist()]  # boundary tokens count too
    for number, position in enumerate(text.positions.tolist()):
        words[position] = text.tokens[number]
    place = int(text.positions[token])
    apart = np.abs(np.arange(len(words)) - place)
    added = np.stack([space.added(word)[1] for word in words]).astype(np.float64)
    terms = np.where(apart > 0, LEAK ** np.maximum(apart - 1.0, 0), 0)[:, None] * added
    length = float(np.linalg.norm(terms.sum(axis=0)))
    terms = terms / length if length > 1e-5 else 0 * terms
    # what boundary tokens add is not any word's doing: it goes to the nearest token before
    owners = np.maximum(np.searchsorted(text.positions, np.arange(len(words)), side="right") - 1, 0)
    summed = np.zeros((len(text.tokens), terms.shape[1]))
    np.add.at(summed, owners, terms)
    row = int(text.ids[place])
    known = row < vocabulary.n_types or words[place] == vocabulary.words[row]
    own = space.words[row] if known else space.spelt([words[place]])[0]
    return Sense(own.astype(np.float64), summed, length)
