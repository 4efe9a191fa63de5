"""From posterior means to token vectors.

A token's vector is made of parts, side by side. Each is whitened by its own second moment over the corpus, which ASOS
gave, and projected on the unit sphere; distances in the raw state mean nothing, because the likelihood does not change
under any linear map of it. Where there is a lexicon (:mod:`textlds.vectors.weighting`), a word alone has its vector
instead.

    state          x̄_t             what the whole sequence says about this position (with method="filter": x̂_t)
    left_context   p_t = A x̂_{t−1}   what the words to the left predict
    right_context  x̄_t − x̂_t        what the words to the right add
    word           k(w_t)          what the word says by itself, whatever the context
    previous_word  k(w_{t−1})      what the previous word says by itself; zeros at the beginning of a sequence
    next_word      k(w_{t+1})      what the next word says by itself; zeros at the end of a sequence
    neighbours     leading quarters of previous_word and next_word, along principal axes: classifiers need little more
    spelling       s(w_t)          what the spelling of the word says, of known words too

and sense, word_meaning and topic: see :mod:`textlds.vectors.meaning`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import EncodedText, Encoder, Text
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, check_finite
from textlds.inference.diagonal import CommonWords, DiagonalEngine, Reading, distinct_words
from textlds.inference.engine import Consumer, Engine, Index, Posterior, taken
from textlds.inference.kernels import unpack_on_sphere
from textlds.inference.scans import copy_words
from textlds.inference.windows import flatten, visible, windows
from textlds.lds.canonical import CanonicalSystem
from textlds.lds.second_moments import PosteriorMoments
from textlds.lexicon.unknown import Speller, UnknownWords, number_unknown
from textlds.linalg.products import product
from textlds.linalg.sphere import on_sphere
from textlds.linalg.tall import Tall
from textlds.linalg.threads import lazy_map
from textlds.linalg.types import Array, Vector
from textlds.vectors.meaning import MeaningSpace, require_meaning
from textlds.vectors.of_context import inverse_root, moment_of, part_means, second_moments_of
from textlds.vectors.of_words import OF_WORDS, Spellings, pieces_of_words, principal_axes, shifted
from textlds.vectors.recipes import MEANING_PARTS, Part, Recipe, leading, part_size

_MANY = 2048  # distinct words of a window from which on tables of frequent words pay
_COMMON = 1 << 14  # words that such tables have: 13 MB a part and 26 MB at h = 200
_ALONE = ("state", "word", "spelling", "sense", "word_meaning")  # parts that a word has by itself


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """A text with a vector for each of its tokens.

    Attributes:
        vectors: (n, d), d of ``model.dimensions(recipe)``.
    """

    _tokens: Sequence[str]
    vectors: Array

    @cached_property
    def tokens(self) -> list[str]:
        """The n tokens as they occur in the text."""
        return list(self._tokens)

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"TokenVectors({self.tokens}, {self.vectors.shape[1]} dimensions)"


class EmbeddingSpace:
    """Turns posteriors into unit vectors.

    Args:
        engine: The filter and smoother in lock step.
        moments: Second moments of what it gives.
        frequencies: μ, (V,).
        words: The vector of a word alone, (V, h); None for its whitened gain.
        speller: Gives vectors to unknown words; None where their class is used instead.
        fast: Whether to use the same filter and smoother in the eigenbasis, which is faster and rounds differently,
            where rounding errors stay small in it.
        meaning: What words are about; None for a model that does not know.
    """

    def __init__(
        self,
        engine: Engine,
        moments: PosteriorMoments,
        frequencies: Vector,
        words: Tall | None = None,
        speller: Speller | None = None,
        fast: bool = False,
        meaning: MeaningSpace | None = None,
    ) -> None:
        self._start(engine, speller=speller, fast=fast, meaning=meaning)
        self._given_words, self._frequencies = words, frequencies
        self._second_moments = second_moments_of(engine.system, moments)

    def _start(
        self, engine: Engine, *, speller: Speller | None, fast: bool, meaning: MeaningSpace | None = None
    ) -> None:
        self._engine, self._speller, self._fast, self._meaning = engine, speller, fast, meaning
        self._whiteners: dict[str, Array] = {}
        self._readings: dict[str, Reading] = {}

    @property
    def system(self) -> CanonicalSystem:
        """The filter and smoother."""
        return self._engine.system

    @property
    def speller(self) -> Speller | None:
        """What gives vectors to unknown words, if there is a lexicon."""
        return self._speller

    @property
    def size(self) -> int:
        """How many numbers the state has."""
        return len(self._engine.A)

    @cached_property
    def axes(self) -> Array | None:
        """What the leading numbers of a word are along, (h, q); None where a word's first numbers are those."""
        if self._speller is not None:  # lexicons have their numbers in order
            return None
        return principal_axes(self.words, self._frequencies).astype(self._engine.dtype)

    @cached_property
    def _diagonal(self) -> DiagonalEngine | None:
        diagonal = DiagonalEngine(self._engine.system, self._engine.dtype.type) if self._fast else None
        return diagonal if diagonal is not None and diagonal.usable else None

    def whitener(self, part: str) -> Array:
        """Return E[y yᵀ]^-½ of a part, (h, h)."""
        if part not in self._whiteners:
            if part == "word" and part not in self._second_moments:
                self._second_moments[part] = (self._frequencies[:, None] * self.all_gains).T @ self.all_gains
            inverse = inverse_root(self._second_moments[part], part)
            self._whiteners[part] = np.ascontiguousarray(inverse, self._engine.dtype)
        return self._whiteners[part]

    @property
    def meaning(self) -> MeaningSpace:
        """What words are about; an error where the model does not know."""
        return require_meaning(self._meaning)

    @property
    def meaning_size(self) -> int:
        """How many numbers a vector of meaning has; 0 where the model has none."""
        return 0 if self._meaning is None else self._meaning.size

    @cached_property
    def words(self) -> Array:
        """The "word" part of every word, (V, h), each of length one (or zero for a word without a gain)."""
        if self._given_words is not None:
            words = self._given_words.astype(self._engine.dtype)
        else:
            words = on_sphere(self._engine.gains @ self.whitener("word"))
        check_finite(words, "vectors of words")
        return words

    @property
    def all_gains(self) -> Array:
        """k(w) of every word, (V, h)."""
        return self._engine.gains

    def gains_at(self, rows: NDArray[Any], unknown: UnknownWords | None = None) -> Array:
        """Return k(w) of words by their rows."""
        return taken(self._engine.gains, rows, None if unknown is None else unknown.gains)

    def words_at(self, rows: NDArray[Any], unknown: UnknownWords | None = None) -> Array:
        """Return the vectors of words by their rows; zeros for -1."""
        vectors = taken(self.words, rows, None if unknown is None else unknown.words)
        vectors[rows < 0] = 0
        return vectors

    @cached_property
    def spellings(self) -> Spellings:
        """What the spelling of words says; an error where there is no lexicon."""
        if self._speller is None:
            raise ArgumentError(
                "the part 'spelling' needs a model that knows words by their spelling, and weighting='equal'."
            )
        return Spellings(self._speller, self._engine.dtype)

    def of_token(self, token: str, vocabulary: Vocabulary, *, alone: bool) -> tuple[Array, Array]:
        """Return the gain of one token, and its vector as a word alone if that is wanted (it takes a table of all)."""
        row = vocabulary.id(token)
        if self._speller is not None and row >= vocabulary.n_types and token != vocabulary.words[row]:
            own = self._speller.vectors([token], self._engine.dtype)
            return own.gains[0], own.words[0]
        rows = np.array([row])
        word = self.words_at(rows)[0] if alone else np.zeros(self.size, self._engine.dtype)
        return self.gains_at(rows)[0], word

    def columns(self, recipe: Recipe) -> list[int]:
        """Return where each part of a recipe begins in its vectors, with their length at the end."""
        about = self.meaning.size if set(MEANING_PARTS) & set(recipe.parts) else 0
        widths = (part_size(part, self.size, about) for part in recipe.parts)
        return list(itertools.accumulate(widths, initial=0))

    def alone(self, recipe: Recipe) -> Array:
        """Return the vectors that words would have as texts of one word, with steady gains, (V, d). O(V h²).

        Each is a unit vector; parts that come from other words are zero.
        """
        if not set(_ALONE) & set(recipe.parts):
            raise ArgumentError(
                f"the recipe '{recipe}' has no part that a word has by itself ({', '.join(map(repr, _ALONE))}), so "
                f"there is nothing to compare with. Use the recipe 'meaning' or 'context'."
            )
        return on_sphere(np.hstack([self._alone(part, recipe) for part in recipe.parts]))

    def _alone(self, part: Part, recipe: Recipe) -> Array:
        if part == "word":
            return self.words
        if part == "spelling":
            return self.spellings.at(np.arange(len(self.words)))
        if part in ("sense", "word_meaning"):
            return self.meaning.words.astype(self._engine.dtype)
        if part != "state":
            return np.zeros((len(self.words), self.columns(Recipe([part]))[-1]), self._engine.dtype)
        return on_sphere(self.all_gains @ self.whitener(moment_of(part, recipe)))

    def embed_texts(
        self, encoder: Encoder, texts: Iterable[Text], recipe: Recipe, *, threads: int
    ) -> Iterator[TokenVectors]:
        """Yield the tokens of each text with their vectors, a window of texts at a time."""
        made: Iterator[list[TokenVectors]]
        if not self._fast:
            made = (self._token_vectors(window, recipe, threads) for window in windows(encoder, texts))
        else:
            encoded = windows(encoder, texts, width=self.columns(recipe)[-1])
            # windows side by side; one that is a single long text has all threads
            made = lazy_map(
                lambda window: self._token_vectors(window, recipe, threads if len(window) == 1 else 1),
                encoded,
                threads=threads,
            )
        for window in made:
            yield from window

    def _token_vectors(self, window: Sequence[EncodedText], recipe: Recipe, threads: int) -> list[TokenVectors]:
        vectors, offsets = self.embed(window, recipe, threads=threads)
        pairs = zip(window, offsets.tolist(), strict=True)
        return [TokenVectors(text.tokens, visible(vectors, text, offset)) for text, offset in pairs]

    def embed(self, window: Sequence[EncodedText], recipe: Recipe, *, threads: int) -> tuple[Array, Index]:
        """Return the vectors of all rows of texts, one after the other, and where each text begins."""
        ids, starts, offsets = flatten(window)
        columns = self.columns(recipe)
        vectors = np.empty((len(ids), columns[-1]), self._engine.dtype)
        about = [part for part in recipe.parts if part in MEANING_PARTS]
        if about:
            numbers, words = number_unknown(self.meaning.vocabulary, window, ids, offsets)
            ahead = recipe.method != "filter"
            found = self.meaning.parts(about, numbers, words, offsets, ahead=ahead, threads=threads)
            for part, table in found.items():
                start = columns[recipe.parts.index(part)]
                vectors[:, start : start + table.shape[1]] = table
        if len(about) < len(recipe.parts):
            self._from_states(window, recipe, ids, starts, offsets, vectors, threads)
        begins = columns[:-1]
        if "neighbours" in recipe.parts:  # which are two words
            begins.append(begins[recipe.parts.index("neighbours")] + leading(self.size))
        check_finite(vectors[:, begins], "vectors")  # a row without a length is NaN as a whole
        return vectors, offsets

    def _from_states(
        self, window: Sequence[EncodedText], recipe: Recipe, ids: NDArray[np.int32], starts: Index, offsets: Index,
        out: Array, threads: int,
    ) -> None:  # fmt: skip
        """Write all parts but those about meaning."""
        unknown = None
        if self._speller is not None:
            ids, words = number_unknown(self._speller.vocabulary, window, ids, offsets)
            unknown = self._speller.vectors(words, self._engine.dtype) if words else None
            if unknown is not None:
                check_finite(unknown.words, "vectors of unknown words")
        if self._fast and recipe.method != "exact" and self._diagonal is not None:
            self._scan(self._diagonal, recipe, ids, starts, out, unknown, threads)
        else:
            self._run(ids, starts, recipe, self.writer(recipe, ids, starts, out, unknown), unknown, threads)

    def _run(
        self, ids: NDArray[np.int32], starts: Index, recipe: Recipe, write: Consumer, unknown: UnknownWords | None,
        threads: int,
    ) -> None:  # fmt: skip
        self._engine.run(ids, starts, recipe.method, write, unknown=unknown, threads=threads)

    def _scan(
        self, diagonal: DiagonalEngine, recipe: Recipe, ids: NDArray[np.int32], starts: Index, out: Array,
        unknown: UnknownWords | None, threads: int,
    ) -> None:  # fmt: skip
        """Write the vectors of ``ids`` into ``out`` by the engine in the eigenbasis."""
        numbers, distinct = distinct_words(ids, int(ids.max(initial=-1)) + 1)
        placed = zip(self.columns(recipe), recipe.parts, strict=False)
        own = [(column, part) for column, part in placed if part not in MEANING_PARTS]
        readings = [(self._reading(part, recipe), column) for column, part in own if part not in OF_WORDS]
        if readings:
            common = self._common if len(distinct) >= _MANY else None
            gains = self._distinct_gains(distinct, unknown, common)
            diagonal.run(numbers, gains, starts, readings, out, threads=threads, common=common, words=distinct)
        if len(readings) < len(own):
            of_words = pieces_of_words(self, recipe, distinct, unknown)
            for column, part in own:
                for offset, table, shift in of_words.get(part, ()):
                    copy_words(table, shifted(numbers, starts, shift), out, 0, len(ids), column + offset)

    @cached_property
    def _common(self) -> CommonWords:
        return CommonWords(self.gains_at(np.arange(min(_COMMON, len(self._frequencies)), dtype=np.int32)))

    def _distinct_gains(
        self, words: NDArray[np.int32], unknown: UnknownWords | None, common: CommonWords | None
    ) -> Array:
        if common is None:
            return self.gains_at(words, unknown)
        kept = words < len(common.gains)
        gains = np.empty((len(words), common.gains.shape[1]), self._engine.dtype)
        gains[kept] = common.gains[words[kept]]
        gains[~kept] = self.gains_at(words[~kept], unknown)
        return gains

    def _reading(self, part: Part, recipe: Recipe) -> Reading:
        name = moment_of(part, recipe)
        if name not in self._readings and self._diagonal is not None:
            matrix = self.whitener(name).astype(np.float64)
            self._readings[name] = self._diagonal.reading(part, matrix, smooth=recipe.method != "filter")
        return self._readings[name]

    def writer(
        self,
        recipe: Recipe,
        ids: NDArray[np.int32],
        starts: Index,
        out: Array,
        unknown: UnknownWords | None = None,
    ) -> Consumer:
        """Return a consumer of posteriors that writes the vectors of ``ids`` into ``out``, (n, d).

        Parts about meaning, which need no posterior, are left as they are.

        Args:
            recipe: Its parts are in the order of the columns; its method is the one that gave the posteriors.
            ids: Word rows of all sequences.
            starts: Where each sequence begins, with the total at the end.
            out: The vectors.
            unknown: Those of words without a row.
        """
        columns = self.columns(recipe)
        numbers, distinct = distinct_words(ids, int(ids.max(initial=-1)) + 1)
        of_words = {
            part: [(offset, table, shifted(numbers, starts, shift)) for offset, table, shift in pieces]
            for part, pieces in pieces_of_words(self, recipe, distinct, unknown).items()
        }

        def consume(posterior: Posterior, rows: Index, places: Index) -> None:
            for part, start in zip(recipe.parts, columns, strict=False):
                if part in MEANING_PARTS:
                    continue
                if part in OF_WORDS:
                    for offset, table, whose in of_words[part]:
                        whose = whose[places]
                        begin = start + offset
                        out[places, begin : begin + table.shape[1]] = np.where(whose[:, None] < 0, 0, table[whose])
                else:
                    packed = product(part_means(posterior, part), self.whitener(moment_of(part, recipe)))
                    unpack_on_sphere(packed, rows, places, out, start)

        return consume
