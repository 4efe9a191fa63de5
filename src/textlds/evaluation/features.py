"""Sentences to token vectors: one interface for models, word vectors and whatever is compared with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Encoder
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.tagging.texts import plain_texts as plain

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS
    from textlds.vectors.recipes import RecipeLike

Sentences = Sequence[Sequence[str]]
Vectors = NDArray[np.float32]
Features = Callable[[Sentences], Vectors]
"""Sentences -> (tokens, d), one sentence after the other."""


def model_features(model: TextLDS, *, recipe: RecipeLike = "features", threads: int | None = 1) -> Features:
    """Return the token vectors of a model as features.

    Args:
        model: A fitted model.
        recipe: As for :meth:`TextLDS.embed`.
        threads: How many.
    """
    width = model.dimensions(recipe)

    def vectors(sentences: Sentences) -> Vectors:
        texts = plain(sentences, model.vocabulary)
        found = model.embed(texts, recipe=recipe, threads=threads)
        return _stacked([text.vectors for text in found], width)

    return vectors


def word_features(vocabulary: Vocabulary, table: Vectors) -> Features:
    """Return a vector per word type as features; unknown words have those of their class.

    Args:
        vocabulary: Its rows are those of the table.
        table: (V, d).
    """
    if len(table) != len(vocabulary):
        raise ArgumentError(f"the table has {len(table):,} rows, the vocabulary {len(vocabulary):,}; they must agree.")
    encoder = Encoder(vocabulary)

    def vectors(sentences: Sentences) -> Vectors:
        encoded = encoder.encode_many(plain(sentences, vocabulary))
        return _stacked([table[text.ids[text.positions]] for text in encoded], table.shape[1])

    return vectors


def with_neighbours(features: Features, *, reach: int = 1) -> Features:
    """Put the vectors of the words before and after beside each token's own, zeros beyond the ends of a sentence.

    Args:
        features: Gives d numbers per token.
        reach: How many words to each side; the result has (2 reach + 1) d numbers per token.
    """
    if reach < 1:
        raise ArgumentError(f"reach={reach} must be at least 1.")

    def vectors(sentences: Sentences) -> Vectors:
        own = features(sentences)
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        ends = np.repeat(np.cumsum(lengths), lengths)
        starts = ends - np.repeat(lengths, lengths)
        places = np.arange(len(own))
        out = np.zeros((len(own), 2 * reach + 1, own.shape[1]), np.float32)
        for number, shift in enumerate(range(-reach, reach + 1)):
            inside = (places + shift >= starts) & (places + shift < ends)
            out[inside, number] = own[(places + shift)[inside]]
        return out.reshape(len(own), -1)

    return vectors


def remembered(features: Features) -> Features:
    """Return the same features, computed once for each list of sentences and kept in memory."""
    known: dict[Sentences, Vectors] = {}

    def vectors(sentences: Sentences) -> Vectors:
        key = tuple(map(tuple, sentences))
        if key not in known:
            known[key] = features(sentences)
        return known[key]

    return vectors


def _stacked(pieces: list[Vectors], width: int) -> Vectors:
    return np.concatenate(pieces) if pieces else np.zeros((0, width), np.float32)
