"""What a language model answers: the next word's distribution, words' surprisals, a text's perplexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.linalg.types import Vector


class NextWord(Mapping[str, float]):
    """The distribution of the next word: a mapping of the words of the vocabulary to their probabilities.

    The rows of the vocabulary are the events: its words, its unknown classes and, if the text is read with one, the
    boundary token. Their probabilities are positive and sum to one. A word outside the vocabulary is asked for as its
    unknown class: ``[word]`` is the probability that *some* word of that class comes next.

    Attributes:
        probabilities: In the order of the vocabulary, (V,) float64.
        counts: How often its words occur in the training text, (n,); None if that is not known.
    """

    def __init__(self, vocabulary: Vocabulary, probabilities: Vector, counts: Vector | None = None) -> None:
        self._vocabulary, self.probabilities, self.counts = vocabulary, probabilities, counts

    def __getitem__(self, word: str) -> float:
        if not isinstance(word, str):
            raise ArgumentError(f"{word!r:.100} is not a word; ask for a string.")
        return float(self.probabilities[self._vocabulary.id(word)])

    def __contains__(self, word: object) -> bool:
        return word in self._vocabulary or word in self._vocabulary.words[self._vocabulary.n_types :]

    def __iter__(self) -> Iterator[str]:
        return iter(self._vocabulary.words)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.probabilities, dtype=dtype) if copy else np.asarray(self.probabilities, dtype=dtype)

    def top(self, n: int = 10, *, min_count: int = 1) -> list[tuple[str, float]]:
        """Return the n most probable words with their probabilities; unknown classes are left out.

        Args:
            n: How many.
            min_count: Leave out words that occur less often in the training text.
        """
        if n < 1:
            raise ArgumentError(f"n={n} must be at least 1.")
        if min_count < 1:
            raise ArgumentError(f"min_count={min_count} must be at least 1.")
        vocabulary, boundary = self._vocabulary, self._vocabulary.settings.boundary_token
        classes = [row for row in range(vocabulary.n_types, len(self)) if vocabulary.words[row] != boundary]
        order = np.argsort(-self.probabilities, kind="stable")
        order = order[~np.isin(order, classes)]
        if min_count > 1 and self.counts is not None:
            # what is no word (the boundary token) is not rare; counts come from frequencies, and are rounded
            enough = np.append(np.round(self.counts) >= min_count, np.ones(len(self) - len(self.counts), np.bool_))
            order = order[enough[order]]
        order = order[:n].tolist()
        return [(self._vocabulary.words[i], float(self.probabilities[i])) for i in order]

    @property
    def entropy(self) -> float:
        """The expected surprisal of the next word, bits."""
        return float(-(self.probabilities @ np.log2(self.probabilities)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{word!r}: {probability:.3f}" for word, probability in self.top(5))
        return f"NextWord({{{shown}, ...}}, {self._vocabulary.n_types:,} words)"


@dataclass(frozen=True)
class TokenSurprisals:
    """The surprisals of one text.

    Attributes:
        tokens: The tokens as they occur in the text.
        bits: −log₂ P(token | the tokens before it in the text), (n,).
        boundary_bits: The same for the boundary tokens in it, if the model's text is read with one.
        unknown: Which tokens are outside the vocabulary, where their class is predicted, (n,).
    """

    tokens: list[str]
    bits: NDArray[np.float64]
    boundary_bits: NDArray[np.float64]
    unknown: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def perplexity(self) -> Perplexity:
        """The perplexity of this text alone."""
        return Perplexity.of(self)

    def surprising(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the n tokens of the highest surprisal."""
        order = np.argsort(-self.bits, kind="stable")[:n].tolist()
        return [(self.tokens[i], float(self.bits[i])) for i in order]


@dataclass(frozen=True)
class Perplexity:
    """How well a model predicts texts; ``float(...)`` is the perplexity.

    Attributes:
        tokens: How many tokens were predicted, boundary tokens among them.
        bits: Their surprisals, summed.
        boundaries: How many of the tokens are boundary tokens.
        unknown: How many are outside the vocabulary; what is predicted of these is the class, not the word.
        unknown_bits: The surprisals of these classes, summed.
    """

    tokens: int
    bits: float
    boundaries: int
    unknown: int
    unknown_bits: float

    @classmethod
    def of(cls, *texts: TokenSurprisals) -> Perplexity:
        """Sum up some texts."""
        boundaries = sum(len(text.boundary_bits) for text in texts)
        return cls(
            tokens=sum(len(text) for text in texts) + boundaries,
            bits=float(sum(text.bits.sum() + text.boundary_bits.sum() for text in texts)),
            boundaries=boundaries,
            unknown=int(sum(text.unknown.sum() for text in texts)),
            unknown_bits=float(sum(text.bits[text.unknown].sum() for text in texts)),
        )

    def __add__(self, other: Perplexity) -> Perplexity:
        return Perplexity(
            self.tokens + other.tokens,
            self.bits + other.bits,
            self.boundaries + other.boundaries,
            self.unknown + other.unknown,
            self.unknown_bits + other.unknown_bits,
        )

    @property
    def bits_per_token(self) -> float:
        """The mean surprisal; NaN without tokens."""
        return self.bits / self.tokens if self.tokens else float("nan")

    @property
    def perplexity(self) -> float:
        """2 to the mean surprisal."""
        return float(2**self.bits_per_token)

    @property
    def known_perplexity(self) -> float:
        """The perplexity of the tokens of the vocabulary alone (unknown ones are still part of contexts)."""
        known = self.tokens - self.unknown
        return float(2 ** ((self.bits - self.unknown_bits) / known)) if known else float("nan")

    def __float__(self) -> float:
        return self.perplexity

    def __repr__(self) -> str:
        return f"Perplexity({self.perplexity:.2f}, {self.tokens:,} tokens, {self.bits_per_token:.3f} bits per token)"
