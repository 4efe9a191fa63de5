"""A space of vectors that is ready when it is read: nothing with a row per word has to be computed.

What a model is fitted as and what inference needs are different things. The latter is one table with the vectors of
words, l(w), a few small matrices, and how a gain follows from a word's vector (:mod:`textlds.vectors.weighting`),

    k'(w) = (l(w) − centre) Ξ, scaled to length one, − shift        k(w) = (l(w) − centre) Ξ where profiles are observed

which is computed for the words of a text when they are met. A model without a lexicon has a table of gains instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.inference.engine import Consumer, Engine, Index
from textlds.lds.canonical import CanonicalSystem
from textlds.lds.second_moments import PosteriorMoments
from textlds.lexicon.meaning import Meaning
from textlds.lexicon.observed import ObservedLexicon
from textlds.lexicon.unknown import Speller, UnknownWords
from textlds.linalg.psd import symmetric
from textlds.linalg.quantized import Precision, RowTable, quantized
from textlds.linalg.sphere import on_sphere
from textlds.linalg.types import Array, Matrix, Vector
from textlds.vectors.meaning import MeaningSpace, require_meaning
from textlds.vectors.of_context import inverse_root, second_moments_of
from textlds.vectors.recipes import Recipe
from textlds.vectors.space import EmbeddingSpace

WHITENED = ("state", "filter", "left_context", "right_context")
SMALL = ("A", "shrink", *(f"whitener.{part}" for part in WHITENED))
CARRY = ("carry", "centre", "shift")
CONTEXTS = "meaning.contexts"


@dataclass(frozen=True, eq=False)
class StoredTables:
    """What inference needs of a model with equal weighting, in few bytes.

    Attributes:
        small: By the names of SMALL: A, (h, h), and φ, (h,), of the system; what whitens each part, (h, d). And, with a
            lexicon, those of CARRY: Ξ, (d, h), the mean of the words' vectors, (d,), and that of the gains, (h,).
        words: l(w), (V, d).
        gains: k'(w), (V, h), of a model without a lexicon.
        spelling: G, (B, d), of one with.
        meaning: What words are about, (V, m), of one with meaning; ``small`` has its ``contexts`` then.
        meaning_spelling: The same by spelling, (B, m).
    """

    small: Mapping[str, Array]
    words: RowTable
    gains: RowTable | None
    spelling: RowTable | None
    meaning: RowTable | None = None
    meaning_spelling: RowTable | None = None

    @classmethod
    def of(
        cls,
        space: EmbeddingSpace,
        meaning: Meaning | None,
        rows: Index,
        *,
        precision: Precision,
        spelling: Array | RowTable | None = None,
    ) -> StoredTables:
        """Take them from a space with equal weighting.

        Args:
            space: In double precision.
            meaning: What words are about, or None.
            rows: Words to keep.
            precision: Of the tables with a row per word or bucket.
            spelling: G in place of the space's own.
        """
        system = space.system
        small: dict[str, Array] = {"A": system.A, "shrink": system.shrink}
        small |= {f"whitener.{part}": space.whitener(part) for part in WHITENED}
        speller = space.speller
        if speller is not None:
            spelling = speller.spelling if spelling is None else spelling
            small |= {name: getattr(speller, name) for name in CARRY if getattr(speller, name) is not None}
        if meaning is not None:
            small[CONTEXTS] = meaning.contexts
        return cls(
            {name: np.ascontiguousarray(array, np.float32) for name, array in small.items()},
            quantized(space.words[rows], precision),
            quantized(space.all_gains[rows], precision) if speller is None else None,
            None
            if speller is None
            else quantized(_dense(speller.spelling if spelling is None else spelling), precision),
            None if meaning is None else quantized(meaning.vectors[rows], precision),
            None if meaning is None else quantized(meaning.spelling, precision),
        )

    def space(self, vocabulary: Vocabulary, frequencies: Vector, dtype: str) -> StoredSpace:
        """Return the space."""
        return StoredSpace(self, vocabulary, frequencies, np.dtype(dtype).type)


class StoredSpace(EmbeddingSpace):
    """The space of :class:`StoredTables`. Rows are widened and gains computed for the words that are met."""

    def __init__(
        self,
        tables: StoredTables,
        vocabulary: Vocabulary,
        frequencies: Vector,
        dtype: type[np.floating[Any]],
        meaning: MeaningSpace | None = None,
    ) -> None:
        small = tables.small
        h = len(small["A"])
        system = CanonicalSystem(
            np.eye(h), small["A"].astype(np.float64), small["shrink"].astype(np.float64), np.eye(h), 0.0
        )
        speller = None
        if tables.spelling is not None:
            of_words = {name: small[name].astype(dtype) for name in CARRY if name in small}
            speller = Speller(vocabulary, tables.spelling, of_words["carry"], of_words["centre"], of_words.get("shift"))
        self._tables, self._vocabulary, self._frequencies = tables, vocabulary, frequencies
        self._start(Engine(system, np.empty((0, h)), dtype), speller=speller, fast=True, meaning=meaning)
        self._whiteners = {part: tables.small[f"whitener.{part}"].astype(dtype) for part in WHITENED}

    @property
    def size(self) -> int:
        """How many numbers the state has."""
        return self._tables.words.shape[1]

    @property
    def engine(self) -> Engine:
        """The system, without a table of gains."""
        return self._engine

    @cached_property
    def meaning(self) -> MeaningSpace:
        """What words are about; an error where the model does not know."""
        if self._meaning is not None:
            return self._meaning
        words, spelling = self._tables.meaning, self._tables.meaning_spelling
        if words is None or spelling is None:
            return require_meaning(None)
        contexts = self._tables.small[CONTEXTS]
        return MeaningSpace(words, spelling, contexts, self._vocabulary, self._frequencies)

    @property
    def meaning_size(self) -> int:
        """How many numbers a vector of meaning has; 0 where the model has none."""
        table = self._tables.meaning
        return super().meaning_size if table is None else table.shape[1]

    @cached_property
    def words(self) -> Array:
        """The vectors of all words, (V, d)."""
        return self._tables.words.all().astype(self._engine.dtype, copy=False)

    @cached_property
    def all_gains(self) -> Array:
        """k'(w) of every word, (V, h)."""
        return self.gains_at(np.arange(len(self._tables.words)))

    def words_at(self, rows: NDArray[Any], unknown: UnknownWords | None = None) -> Array:
        """Return the vectors of words by their rows; zeros for -1."""
        return self._looked_up(self._tables.words, rows, None if unknown is None else unknown.words)

    def gains_at(self, rows: NDArray[Any], unknown: UnknownWords | None = None) -> Array:
        """Return k'(w) of words by their rows."""
        if self._tables.gains is not None:
            return self._looked_up(self._tables.gains, rows, None)
        assert self._speller is not None
        return self._speller.gains(self.words_at(rows, unknown)).astype(self._engine.dtype, copy=False)

    def _looked_up(self, table: RowTable, rows: NDArray[Any], extra: Array | None) -> Array:
        known = len(table)
        found = table.rows(np.where((rows < 0) | (rows >= known), 0, rows)).astype(self._engine.dtype, copy=False)
        found[rows < 0] = 0
        if extra is not None:
            found[rows >= known] = extra[rows[rows >= known] - known]
        return found

    def _run(
        self, ids: NDArray[np.int32], starts: Index, recipe: Recipe, write: Consumer, unknown: UnknownWords | None,
        threads: int,
    ) -> None:  # fmt: skip
        if len(ids) and Engine.is_short(starts) and recipe.method == "smooth":
            places = np.arange(len(ids), dtype=np.int64)
            write(self._engine.smoothed(self.gains_at(ids, unknown)), places, places)
        else:
            self._lockstep.run(ids, starts, recipe.method, write, unknown=unknown, threads=threads)

    @cached_property
    def _lockstep(self) -> Engine:
        return Engine(self._engine.system, self.all_gains, self._engine.dtype.type)


def observed_space(
    lexicon: ObservedLexicon, system: CanonicalSystem, moments: PosteriorMoments, carry: Matrix, vocabulary: Vocabulary,
    frequencies: Vector, dtype: type[np.floating[Any]], *, meaning: MeaningSpace | None,
) -> StoredSpace:  # fmt: skip
    """Return the space of a model that observes the vectors of words, whose table is the one that is stored. O(h³).

    Args:
        lexicon: The vectors.
        system: The filter and smoother.
        moments: Second moments of what it gives.
        carry: What takes l(w) − l̄ to k(w), (p, h), p = h.
        vocabulary: The words.
        frequencies: μ, (V,).
        dtype: Of the vectors.
        meaning: What words are about.
    """
    whiteners = {f"whitener.{part}": inverse_root(m, part) for part, m in second_moments_of(system, moments).items()}
    small = {"A": system.A, "shrink": system.shrink, "carry": carry, "centre": lexicon.centre, **whiteners}
    tables = StoredTables(small, RowTable(lexicon.profiles), None, RowTable(lexicon.spelling))
    return StoredSpace(tables, vocabulary, frequencies, dtype, meaning)


def reduced(space: EmbeddingSpace, frequencies: Vector, dimensions: int) -> EmbeddingSpace:
    """Return a space whose parts have fewer dimensions; the state itself keeps its size.

    Words keep the d directions in which they differ most, weighted by the roots of their frequencies, and are scaled to
    length one again; Ξ is fitted again. Parts of the context keep the d directions that vary most in the coordinates of
    inference, that is, relative to how uncertain the filter is about them.
    """
    return _Reduced(space, frequencies, dimensions)


class _Reduced(EmbeddingSpace):
    def __init__(self, space: EmbeddingSpace, frequencies: Vector, dimensions: int) -> None:
        self._start(Engine(space.system, space.all_gains, np.float64), speller=space.speller, fast=False)
        root = np.sqrt(frequencies)
        words = np.asarray(space.words, np.float64)
        axes = np.linalg.eigh(symmetric((root[:, None] * words).T @ words))[1][:, ::-1][:, :dimensions]
        self.words = on_sphere(words @ axes)
        self._whiteners = {part: _leading(space.whitener(part), dimensions) for part in WHITENED}
        if space.speller is not None:
            centre = frequencies @ self.words
            shift = space.speller.shift
            centred, goals = self.words - centre, space.all_gains + (0 if shift is None else shift)
            weighted = root[:, None] * centred
            carry = np.linalg.lstsq(weighted.T @ centred, weighted.T @ goals, rcond=1e-12)[0]
            if shift is not None:
                shift = frequencies @ on_sphere(centred @ carry)
            spelling = _dense(space.speller.spelling) @ axes
            self._speller = replace(space.speller, spelling=spelling, carry=carry, centre=centre, shift=shift)


def _dense(table: Array | RowTable) -> Array:
    return table.all() if isinstance(table, RowTable) else table


def _leading(whitener: Array, dimensions: int) -> Matrix:
    """Return what whitens the directions of the largest variances, (h, d): the whitener's smallest eigenvalues."""
    values, vectors = np.linalg.eigh(symmetric(np.asarray(whitener, np.float64)))
    scaled: Matrix = vectors[:, :dimensions] * values[:dimensions]
    return scaled
