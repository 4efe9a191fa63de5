"""Meaning in context: what a word is about, and what the passage around it is about.

The topic of a passage is a slow state. Every word adds its vector of :mod:`textlds.lexicon.meaning`, rare words more
than frequent ones, and the sum leaks from word to word; both sides together are the smoother of a system with A = α I:

    z(w) = a(w) meaning(w) − μ                        a, μ: see textlds.lexicon.meaning
    left_t = α left_{t−1} + z(w_{t−1})                right_t = α right_{t+1} + z(w_{t+1})

    word_meaning   meaning(w_t)
    topic          left_t + right_t, scaled to length one; zeros for a text of one word
    sense          meaning(w_t) + β topic_t, scaled to length one

With method="filter" only the left side is known. A topic runs through a text, whatever sequences the text is cut into.
Work: O(n d), without a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel_fma
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.inference.diagonal import distinct_words
from textlds.inference.engine import Index
from textlds.lexicon.meaning import Meaning, passage_weights, word_weights
from textlds.lexicon.unknown import spelt
from textlds.linalg.quantized import RowTable
from textlds.linalg.sphere import on_sphere
from textlds.linalg.tall import Tall
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Array, Vector

# Chosen on one half of SCWS and on pseudo-words; nothing depends on them sharply.
LEAK = 0.9  # α
_TOPIC = 0.25  # β
_UNKNOWN = 0.5  # length of the vector of a word that only its spelling is known of; not measured

_TOKENS = 1 << 14  # that a thread takes at a time


class MeaningSpace:
    """Gives tokens the vectors of what they are about.

    Args:
        table: Of every row of the vocabulary, (V, d), of length one. Only the rows of words that are met are widened.
        spelling: G, (B, d): the same from the features of a word's spelling.
        contexts: What takes the topic of a word's places to the word, (d, d).
        vocabulary: The known words.
        frequencies: μ, (V,).

    Attributes:
        weights: What each counts for a topic, (V,).
    """

    def __init__(
        self, table: RowTable, spelling: Tall | RowTable, contexts: Tall, vocabulary: Vocabulary, frequencies: Vector
    ) -> None:
        self._table, self.spelling, self._contexts, self.vocabulary = table, spelling, contexts, vocabulary
        self.weights = word_weights(frequencies)
        self._frequencies = frequencies

    @classmethod
    def of(cls, meaning: Meaning, vocabulary: Vocabulary, frequencies: Vector) -> MeaningSpace:
        """Return the space of tables in full precision."""
        return cls(RowTable(meaning.vectors), meaning.spelling, meaning.contexts, vocabulary, frequencies)

    @property
    def size(self) -> int:
        """How many numbers a vector has, d."""
        return self._table.shape[1]

    @cached_property
    def words(self) -> Tall:
        """The vectors of all rows of the vocabulary, (V, d), widened when they are first needed."""
        return self._table.all()

    @cached_property
    def _mean(self) -> NDArray[np.float32]:
        return self._table.weighted_sum(passage_weights(self._frequencies))

    def spelt(self, words: Sequence[str]) -> Tall:
        """Return the vectors that the spelling of words predicts, (n, d), of length one."""
        return spelt(words, self.spelling, self.vocabulary)

    def parts(
        self,
        names: Sequence[str],
        ids: NDArray[np.int32],
        unknown: Sequence[str],
        offsets: Index,
        *,
        ahead: bool,
        threads: int,
    ) -> dict[str, Tall]:
        """Return the parts with these names of all tokens of texts, each (n, d).

        Args:
            names: Any of ``"word_meaning"``, ``"topic"``, ``"sense"``.
            ids: Rows of all texts, one after the other; those of unknown words continue the vocabulary's.
            unknown: The unknown words, in the order of their rows.
            offsets: Where each text begins.
            ahead: Whether the words to the right count.
            threads: How many.
        """
        met = self._met(ids, unknown)
        found: dict[str, Tall] = {}
        if "word_meaning" in names:
            found["word_meaning"] = met.vectors[met.numbers]
        if "topic" in names or "sense" in names:
            topics = on_sphere(self._sums(met, offsets, ahead=ahead, threads=threads))
            if "topic" in names:
                found["topic"] = topics
            if "sense" in names:
                met.vectors[met.new] *= np.float32(_UNKNOWN)
                found["sense"] = self.mixed(met.vectors[met.numbers], topics)
        return found

    def mixed(self, words: Tall, topics: Tall) -> Tall:
        """Return words with their topics, both (n, d) and of length one, as vectors of length one."""
        return on_sphere(words + np.float32(_TOPIC) * topics)

    def sums(
        self, ids: NDArray[np.int32], unknown: Sequence[str], offsets: Index, *, ahead: bool, threads: int
    ) -> Tall:
        """Return left_t + right_t of all tokens, (n, d)."""
        return self._sums(self._met(ids, unknown), offsets, ahead=ahead, threads=threads)

    def _met(self, ids: NDArray[np.int32], unknown: Sequence[str]) -> _Met:
        size = len(self._table)
        numbers, rows = distinct_words(ids, size + len(unknown))
        new = rows >= size
        vectors = self._table.rows(np.where(new, 0, rows))
        if unknown:
            own = rows[new] - size
            vectors[new] = self.spelt(unknown)[own]
            rows[new] = self.vocabulary.ids(unknown)[own]
        return _Met(numbers, vectors, self.weights[rows], new)

    def _sums(self, met: _Met, offsets: Index, *, ahead: bool, threads: int) -> Tall:
        out = np.empty((len(met.numbers), self.size), np.float32)
        bounds = np.append(offsets, len(out)).astype(np.int64)

        def work(texts: Index) -> None:
            _leak(met.vectors, met.weights, self._mean, np.float32(LEAK), met.numbers, texts, ahead, out)

        cuts = np.flatnonzero(np.diff(bounds[:-1] // _TOKENS)) + 1  # between texts
        pieces = [bounds[a : b + 1] for a, b in zip([0, *cuts], [*cuts, len(bounds) - 1], strict=True)]
        parallel_map(work, pieces, threads=threads)
        return out

    def added(self, token: str) -> tuple[Tall, Tall]:
        """Return the vector of one token as it goes into its meaning, and what it adds to a topic, each (d,)."""
        row = self.vocabulary.id(token)
        vector, length = self._table.rows(np.array([row]))[0], np.float32(1)
        if row >= self.vocabulary.n_types and token != self.vocabulary.words[row]:
            vector, length = self.spelt([token])[0], np.float32(_UNKNOWN)
        return length * vector, self.weights[row] * vector - self._mean

    def leaked(self, topic: Array, added: Array) -> Array:
        """Return the left side of the next token."""
        return np.float32(LEAK) * topic + added

    def inferred(self, sums: Tall) -> Tall:
        """Return the vector of a new word from left + right at the places where it occurs, (n, d) to (d,)."""
        vector: Tall = on_sphere(on_sphere(sums).mean(axis=0, keepdims=True) @ self._contexts)[0]
        return vector


def require_meaning(meaning: MeaningSpace | None) -> MeaningSpace:
    """Return what words are about; an error where a model does not know."""
    if meaning is None:
        raise ArgumentError(
            "the model has no meaning vectors: it was made before there were any, or of parameters alone. Fit it "
            "again from its counts, or use other vectors: recipe='context', kind='use', --vectors use."
        )
    return meaning


@dataclass(frozen=True, eq=False)
class _Met:
    """The distinct words of some texts.

    Attributes:
        numbers: The number of each token's word, (n,).
        vectors: Of every number, (m, d).
        weights: Of every number, (m,).
        new: Whether its vector is from the spelling, (m,).
    """

    numbers: NDArray[np.int32]
    vectors: Tall
    weights: NDArray[np.float32]
    new: NDArray[np.bool_]


@kernel_fma
def _leak(vectors, weights, mean, leak, ids, bounds, ahead, out):  # type: ignore[no-untyped-def]
    """Set out[t] to the leaky sum of the words on the left of t within its text, and if ``ahead`` on its right."""
    width = len(mean)
    state = np.empty(width, np.float32)
    for text in range(len(bounds) - 1):
        state[:] = 0
        for t in range(bounds[text], bounds[text + 1]):
            own, weight = vectors[ids[t]], weights[ids[t]]
            target = out[t]
            for c in range(width):
                target[c] = state[c]
                state[c] = leak * state[c] + (weight * own[c] - mean[c])
        if ahead:
            state[:] = 0
            for t in range(bounds[text + 1] - 1, bounds[text] - 1, -1):
                own, weight = vectors[ids[t]], weights[ids[t]]
                target = out[t]
                for c in range(width):
                    target[c] += state[c]
                    state[c] = leak * state[c] + (weight * own[c] - mean[c])
