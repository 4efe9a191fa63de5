"""From posterior means to token vectors.

A token's vector is made of parts, side by side. Each is whitened by its own second moment over the corpus, which ASOS
gave, and projected on the unit sphere; distances in the raw state mean nothing, because the likelihood does not change
under any linear map of it. Where there is a lexicon (:mod:`textlds.vectors.weighting`), a word alone has its vector
instead.

    state   x̄_t             what the whole sequence says of this position (with method="filter": x̂_t)
    left    p_t = A x̂_{t−1}   what the words to the left predict
    word    k(w_t)          what the word brings by itself, whatever the context
    right   x̄_t − x̂_t        what the words to the right add
    before  k(w_{t−1})      what the word before brings by itself; zeros at the beginning of a sequence
    after   k(w_{t+1})      what the word after brings by itself; zeros at its end
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import EncodedText
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.inference.engine import Consumer, Engine, Index, Method, Posterior, taken
from textlds.inference.kernels import unpack_on_sphere
from textlds.inference.windows import flatten
from textlds.lds.second_moments import PosteriorMoments
from textlds.lexicon.unknown import Speller, UnknownWords
from textlds.linalg.psd import sqrt_and_inverse
from textlds.linalg.sphere import on_sphere
from textlds.linalg.tall import Tall
from textlds.linalg.types import Array, Matrix, Vector

Part = Literal["state", "left", "word", "right", "before", "after"]
PARTS: tuple[Part, ...] = get_args(Part)
METHODS: tuple[Method, ...] = get_args(Method)
_AHEAD = ("right", "after")  # parts that know the words to the right
_SHIFTS = {"before": -1, "word": 0, "after": 1}  # parts that are a word's own vector, and whose


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """A text with a vector for each of its tokens.

    Attributes:
        vectors: (n, d), d = state_size times the number of parts.
    """

    _tokens: Sequence[str]
    vectors: Array

    @cached_property
    def tokens(self) -> list[str]:
        """The n tokens as they stand in the text."""
        return list(self._tokens)

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"TokenVectors({self.tokens}, {self.vectors.shape[1]} dimensions)"


class EmbeddingSpace:
    """Turns posteriors into unit vectors."""

    def __init__(
        self,
        engine: Engine,
        moments: PosteriorMoments,
        frequencies: Vector,
        words: Tall | None = None,
        speller: Speller | None = None,
    ) -> None:
        self._engine, self._given_words, self._speller = engine, words, speller
        system = engine.system
        filt, cross, smooth = moments.filt_filt, moments.smooth_filt, moments.smooth_smooth
        self._second_moments: dict[str, Matrix] = {
            "state": smooth,
            "filter": filt,
            "left": system.A @ filt @ system.A.T,
            "right": smooth - cross - cross.T + filt,
            "word": (frequencies[:, None] * engine.gains).T @ engine.gains,
        }
        self._whiteners: dict[str, Array] = {}

    def whitener(self, part: str) -> Array:
        """Return E[y yᵀ]^-½ of a part, (h, h)."""
        if part not in self._whiteners:
            # Σ_filt = I here, so a variance of 1e-30 is none; with it the root stays finite for a model with C = 0
            ridge = 1e-30 * np.eye(len(self._engine.A))
            _, inverse = sqrt_and_inverse(self._second_moments[part] + ridge, floor=1e-8)
            self._whiteners[part] = np.ascontiguousarray(inverse, self._engine.dtype)
        return self._whiteners[part]

    @cached_property
    def words(self) -> Array:
        """The "word" part of every word, (V, h), each of length one (or zero for a word without a gain)."""
        if self._given_words is not None:
            return self._given_words.astype(self._engine.dtype)
        return on_sphere(self._engine.gains @ self.whitener("word"))

    def words_at(self, rows: NDArray[Any], unknown: UnknownWords | None = None) -> Array:
        """Return the vectors of words by their rows; zeros for -1."""
        vectors = taken(self.words, rows, None if unknown is None else unknown.words)
        vectors[rows < 0] = 0
        return vectors

    def evidence_of(self, token: str, vocabulary: Vocabulary, *, alone: bool) -> tuple[Array, Array]:
        """Return the gain of one token, and its vector as a word alone if that is wanted (it takes a table of all)."""
        row = vocabulary.id(token)
        if self._speller is not None and row >= vocabulary.n_types and token != vocabulary.words[row]:
            own = self._speller.vectors([token], self._engine.dtype)
            return own.gains[0], own.words[0]
        gain = self._engine.gains[row]
        return gain, self.words[row] if alone else np.zeros_like(gain)

    def embed(
        self, window: Sequence[EncodedText], parts: Sequence[Part], method: Method, *, threads: int
    ) -> tuple[Array, Index]:
        """Return the vectors of all rows of texts, one after the other, and where each text begins."""
        ids, starts, offsets = flatten(window)
        unknown = None
        if self._speller is not None:
            ids, words = self._speller.read(window, ids, offsets)
            unknown = self._speller.vectors(words, self._engine.dtype) if words else None
        vectors = np.empty((len(ids), len(parts) * len(self._engine.A)), self._engine.dtype)
        write = self.writer(parts, method, ids, starts, vectors, unknown)
        self._engine.run(ids, starts, method, write, unknown=unknown, threads=threads)
        return vectors, offsets

    def writer(
        self,
        parts: Sequence[Part],
        method: Method,
        ids: NDArray[np.int32],
        starts: Index,
        out: Array,
        unknown: UnknownWords | None = None,
    ) -> Consumer:
        """Return a consumer of posteriors that writes the vectors of ``ids`` into ``out``, (n, parts · h).

        Args:
            parts: In the order of the columns.
            method: By which the posteriors come.
            ids: Word rows of all sequences.
            starts: Where each sequence begins, with the total at the end.
            out: The vectors.
            unknown: Those of words without a row.
        """
        h = len(self._engine.A)
        words = {part: _shifted(ids, starts, _SHIFTS[part]) for part in parts if part in _SHIFTS}

        def consume(posterior: Posterior, rows: Index, places: Index) -> None:
            for number, part in enumerate(parts):
                if part in words:
                    out[places, number * h : (number + 1) * h] = self.words_at(words[part][places], unknown)
                else:
                    name = "filter" if part == "state" and method == "filter" else part
                    packed = part_means(posterior, part) @ self.whitener(name)
                    unpack_on_sphere(packed, rows, places, out, number * h)

        return consume


def _shifted(ids: NDArray[np.int32], starts: Index, shift: int) -> NDArray[np.int32]:
    """Return the row of the word ``shift`` positions on in the same sequence, -1 where there is none."""
    if shift == 0:
        return ids
    shifted = np.full_like(ids, -1)
    inside = starts[:-1][np.diff(starts) > 0]  # the first positions of sequences that are not empty
    if shift < 0:
        shifted[1:] = ids[:-1]
        shifted[inside] = -1
    else:
        shifted[:-1] = ids[1:]
        shifted[inside[1:] - 1] = -1
    return shifted


def part_means(posterior: Posterior, part: Part) -> Array:
    """Return the posterior mean that a part is made of."""
    if part == "left":
        return posterior.pred
    if posterior.smooth is None:
        return posterior.filt
    return posterior.smooth if part == "state" else posterior.smooth - posterior.filt


def check_parts(parts: str | Sequence[str], method: str) -> tuple[Part, ...]:
    """Validate the ``parts`` and ``method`` arguments of embedding."""
    names = (parts,) if isinstance(parts, str) else tuple(parts)
    if method not in METHODS:
        raise ArgumentError(f"method={method!r} is not one of {', '.join(map(repr, METHODS))}.")
    if not names:
        raise ArgumentError(f"parts is empty; name at least one of {', '.join(map(repr, PARTS))}.")
    for name in names:
        if name not in PARTS:
            raise ArgumentError(f"parts={parts!r}: {name!r} is not one of {', '.join(map(repr, PARTS))}.")
    if len(set(names)) < len(names):
        raise ArgumentError(f"parts={parts!r} names a part twice.")
    for name in _AHEAD:
        if method == "filter" and name in names:
            raise ArgumentError(f"parts: {name!r} needs the words to the right, which method='filter' does not see.")
    return tuple(name for name in names if name in PARTS)
