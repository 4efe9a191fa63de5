"""TextLDS: a fitted model with its vocabulary, the object that users hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np

from textlds.corpus.encoding import Encoder
from textlds.corpus.encoding import Text as Text
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, check_choice
from textlds.inference.posterior import SequencePosterior, sequence_posterior
from textlds.inference.windows import check_texts
from textlds.language.language import LanguageModel
from textlds.language.predictor import corpus_counts
from textlds.lds.params import LDSParams
from textlds.lds.second_moments import PosteriorMoments
from textlds.learn.history import History
from textlds.learn.settings import Observations
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.meaning import word_weights
from textlds.lexicon.observed import ObservedLexicon
from textlds.linalg.quantized import Precision
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Array, Matrix, Vector
from textlds.model.exploring import Index, Transition, common_rows, transitions
from textlds.model.files import is_packed, read_model, write_model
from textlds.model.installed import find_model
from textlds.model.lazy import LazyResults
from textlds.model.probabilities import Gains, Probabilities
from textlds.model.sharing import Shared
from textlds.model.words import WordKind, Words, similar_words
from textlds.vectors.pooling import Pooling, check_pooling, pooled_texts
from textlds.vectors.recipes import (
    MEANING_PARTS,
    RECIPES,
    Part,
    Recipe,
    RecipeLike,
    Weighting,
    is_named,
    own_recipes,
    part_size,
    resolve_recipe,
)
from textlds.vectors.space import TokenVectors as TokenVectors
from textlds.vectors.spaces import Spaces
from textlds.vectors.streaming import TokenStream

Dtype = Literal["float32", "float64"]


class TextLDS(Probabilities, Shared):
    """A linear dynamical system fitted to text.

    Get one from :func:`textlds.fit`, :func:`textlds.train` or :func:`textlds.load`.

    Attributes:
        vocabulary: The words, in the order of the rows of every word-sized array.
        frequencies: Smoothed frequency of each word, (V,).
        moments: Second moments of the posterior means over the corpus.
        lexicon: What words are like by themselves, for recipes with equal weighting; or None.
        history: How the model was learnt.
        language: The calibrated language model, or None; see :meth:`with_language_model`.
        encoder: Turns text into rows of the vocabulary, as the corpus was.
        spaces: The filters, smoothers and spaces of its vectors, made when they are first needed.
    """

    def __init__(
        self,
        params: LDSParams,
        vocabulary: Vocabulary,
        frequencies: Vector,
        moments: PosteriorMoments,
        *,
        lexicon: Lexicon | None = None,
        history: History | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        language: LanguageModel | None = None,
        recipes: Mapping[str, Recipe] | None = None,
    ) -> None:
        self._A, self._Q, self._noise = params.A, params.Q, params.noise
        # rounded once, here, so that a model in memory and the same model from disk agree to the last bit
        kind: Any = np.float64 if isinstance(lexicon, ObservedLexicon) else np.float32
        self._C: Matrix = np.ascontiguousarray(params.C, kind)
        self.vocabulary = vocabulary
        self.frequencies = frequencies
        self.moments = moments
        self.lexicon = lexicon
        self.history = history or History()
        self.language = language
        self.encoder = Encoder(vocabulary, tokenizer=tokenizer)
        self._stored = LDSParams(self._A, self._C, self._Q, self._noise)
        self.spaces = Spaces(self._stored, vocabulary, frequencies, moments, lexicon)
        self._own_recipes = dict(recipes or {})

    def __repr__(self) -> str:
        return f"TextLDS(state_size={self.state_size}, vocabulary={len(self.vocabulary):,})"

    def __deepcopy__(self, memo: object) -> TextLDS:
        return self  # nothing of it changes; scikit-learn copies the arguments of an estimator at every fold

    @property
    def state_size(self) -> int:
        """The size of the state, h."""
        return len(self._A)

    @property
    def meaning_size(self) -> int:
        """How many numbers a vector of meaning has; 0 where the model has none."""
        return self.spaces.space("float32", "equal").meaning_size

    @property
    def params(self) -> LDSParams:
        """The parameters A, C, Q and D of one-hot words, in the coordinates in which they were learnt.

        A model that observes profiles is a model of one-hot words too (:mod:`textlds.lexicon.observed`).
        """
        C = self._C.astype(np.float64)
        if isinstance(self.lexicon, ObservedLexicon):
            C = self.lexicon.observed(C)
            C *= np.sqrt(self.frequencies)[:, None]
        return LDSParams(self._A, C, self._Q, self._noise)

    @property
    def observations(self) -> Observations:
        """What the model observes: ``"profiles"``, or one-hot ``"words"`` as in the paper."""
        return "profiles" if isinstance(self.lexicon, ObservedLexicon) else "words"

    def __call__(self, text: Text, *, recipe: RecipeLike = "context", dtype: Dtype = "float32") -> TokenVectors:
        """Return the tokens of one text with a vector for each.

        Args:
            text: A string, or a list of tokens.
            recipe: As for :meth:`embed`.
            dtype: As for :meth:`embed`.
        """
        return next(self.embed([text], recipe=recipe, dtype=dtype))

    def embed(
        self,
        texts: Iterable[Text],
        *,
        recipe: RecipeLike = "context",
        dtype: Dtype = "float32",
        threads: int | None = None,
    ) -> LazyResults[TokenVectors]:
        """Yield the tokens of each text with a vector for each, computed as they are taken.

        Args:
            texts: Strings, which are tokenised, or lists of tokens, which are taken as they are. Any iterable will
                do; it is read as the vectors are taken.
            recipe: What the vectors are made of: ``"context"``, ``"features"`` (for classifiers), ``"paper"``, another
                of :attr:`recipes`, one spelled out such as ``"state+word, fitted, filter"``, or a
                :class:`textlds.Recipe`.
            dtype: Of the vectors and of the computation.
            threads: How many; all cores by default.
        """
        chosen = self.recipe(recipe)
        check_texts(texts)
        space = self.spaces.space(dtype, chosen.weighting)
        found = space.embed_texts(self.encoder, texts, chosen, threads=check_threads(threads))
        return LazyResults(found, "model(text)")

    def encode(
        self,
        texts: Iterable[Text],
        *,
        recipe: RecipeLike = "context",
        pooling: Pooling = "mean",
        dtype: Dtype = "float32",
        threads: int | None = None,
    ) -> Array:
        """Return one vector per text, (n, d): those of its tokens in context, pooled; zeros for a text without tokens.

        Args:
            texts: As for :meth:`embed`.
            recipe: As for :meth:`embed`.
            pooling: ``"mean"``, ``"max"`` or ``"sum"`` over the tokens, dimension by dimension; ``"weighted"``: a
                mean in which rare words count more.
            dtype: Of the vectors and of the computation.
            threads: How many; all cores by default.
        """
        check_pooling(pooling)
        found = self.embed(texts, recipe=recipe, dtype=dtype, threads=threads)
        return pooled_texts(found, pooling, self.token_weights, dimensions=self.dimensions(recipe), dtype=dtype)

    def token_weights(self, tokens: Sequence[str]) -> Array:
        """Return what tokens count for what a passage is about, (n,): 1e-3 / (1e-3 + their frequency)."""
        weights: Array = word_weights(self.frequencies)[self.vocabulary.ids(tokens)]
        return weights

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        """The recipes that have names, with the model's own."""
        return MappingProxyType({**RECIPES, **self._own_recipes})

    def recipe(self, recipe: RecipeLike) -> Recipe:
        """Return the recipe that a name or a spelled-out recipe means for this model.

        ``"features"`` leaves out what the model does not have; a recipe that is spelled out, or one of the model's own,
        must be served.
        """
        chosen = resolve_recipe(recipe, self.recipes)
        if is_named(recipe, but=self._own_recipes):
            served = tuple(part for part in chosen.parts if self._serves(part, chosen.weighting))
            chosen = replace(chosen, parts=served or chosen.parts)
        elif "spelling" in chosen.parts and not self._serves("spelling", chosen.weighting):
            remedy = "'fitted'" if self._serves("spelling", "equal") else "the part"
            raise ArgumentError(
                f"recipe={str(recipe)!r}: the part 'spelling' needs a model that knows words by their spelling, and "
                f"weighting='equal'. Leave {remedy} out."
            )
        if self.observations == "profiles" and chosen.weighting == "fitted":
            raise ArgumentError(
                f"recipe={str(recipe)!r} weights words as a model of one-hot words does, but this model observes "
                f"profiles, which have one weighting. Leave 'fitted' out, or fit with observations='words'."
            )
        if self.observations == "words" and chosen.method == "exact" and chosen.weighting == "equal":
            raise ArgumentError(
                "method='exact' needs the gains of the fitted model, which weighting='equal' replaces. "
                "Use weighting='fitted', or method='smooth'."
            )
        return chosen

    def _serves(self, part: Part, weighting: Weighting) -> bool:
        if part == "spelling":
            return self.lexicon is not None and weighting == "equal"
        return part not in MEANING_PARTS or (self.lexicon is not None and self.lexicon.meaning is not None)

    def dimensions(self, recipe: RecipeLike = "context") -> int:
        """Return d, the length of the vectors of a recipe."""
        parts = self.recipe(recipe).parts
        about = self.meaning_size if set(MEANING_PARTS) & set(parts) else 0
        return sum(part_size(part, self.state_size, about) for part in parts)

    def with_recipes(self, **recipes: RecipeLike) -> TextLDS:
        """Return the same model with recipes of its own, which are saved with it.

        Args:
            recipes: By name, for example ``mine="state+word"``. ``context`` and ``features``, the defaults, may be
                given another meaning for this model.
        """
        served = {name: self.recipe(recipe) for name, recipe in recipes.items()}
        return self._with(recipes={**self._own_recipes, **own_recipes(served, self.recipes)})

    def stream(self, *, recipe: RecipeLike = "context") -> TokenStream:
        """Return an online filter: push one token, get its filtered vector; constant memory.

        Args:
            recipe: As for :meth:`embed`, without parts that need the words to the right. Its filter form is used: a
                stream knows only a token and the words before it.
        """
        chosen = replace(self.recipe(recipe), method="filter")
        engine, space = self.spaces.engine("float32", chosen.weighting), self.spaces.space("float32", chosen.weighting)
        return TokenStream(engine, space, self.vocabulary, chosen)

    def posterior(self, text: Text, *, gains: Gains = "steady") -> SequencePosterior:
        """Return means and covariances of the state at every token of a text, filtered and smoothed.

        They are in the coordinates of inference, in which the steady filtered covariance is the identity.

        Args:
            text: A string or a list of tokens.
            gains: ``"steady"``: those of the steady state; ``"exact"``: exact also at the beginning of the text.
        """
        check_choice("gains", gains, get_args(Gains))
        method: Literal["smooth", "exact"] = "smooth" if gains == "steady" else "exact"
        return sequence_posterior(self.spaces.engine("float64"), self.encoder.encode(text), method)

    @cached_property
    def words(self) -> Words:
        """The known words with a vector each: a mapping, with neighbours and similarities."""
        return Words(self)

    def similar(
        self,
        word: str,
        *,
        context: Text | None = None,
        n: int = 10,
        kind: WordKind = "meaning",
        min_count: int | None = None,
        recipe: RecipeLike | None = None,
    ) -> list[tuple[str, float]]:
        """Return the n words most similar to a word, with their cosines.

        Args:
            word: A known word; with a context, any word that occurs in it.
            context: A text that holds the word: the words that fit *there*. By meaning, the words of the text itself
                are left out.
            n: How many.
            kind: ``"meaning"``: words about the same things; ``"use"``: words that are used in the same way.
            min_count: Leave out words that occur less often; by default 20 times, fewer in a small corpus.
            recipe: Of the vector in context, which is compared with those of words as texts of one word. By default the
                sum of the word's meaning and of its topic or, for ``kind="use"``, ``"context"``.
        """
        return similar_words(self, word, context, n=n, kind=kind, min_count=min_count, recipe=recipe)

    def dynamics(self, n: int = 6, *, words: int = 9, min_count: int | None = None) -> list[Transition]:
        """Return the n strongest transitions of the state, as the words likely before and after (the paper's Table 1).

        Args:
            n: How many singular vector pairs of A.
            words: How many words for each.
            min_count: Leave out words that occur less often; by default once in 100,000 tokens or 20 times, whichever
                is more, and less in a small corpus.
        """
        if n < 1 or words < 1:
            raise ArgumentError(f"n={n} and words={words} must be at least 1.")
        common = self._common(min_count, usual=max(20, 1e-5 * self._occurrences.sum()))
        observed = isinstance(self.lexicon, ObservedLexicon)
        params = (self._stored if observed else self.params).normalised()
        C = params.C if observed else params.C[common]
        if isinstance(self.lexicon, ObservedLexicon):
            # y(w)ᵀ C x / |y(w)|: how near the observation that a state predicts is to that of a word
            y = self.lexicon.observed(np.eye(self.lexicon.size), self.lexicon.profiles[common])
            C = (y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-30)) @ C
        return transitions(params.A, C, self.vocabulary, n, words, common=common)

    def quantized(
        self,
        precision: Precision = "int8",
        *,
        vocab_size: int | None = None,
        dimensions: int | None = None,
        buckets: int | None = None,
    ) -> TextLDS:
        """Return a small model with the same vectors, rounded: for recipes with equal weighting, and no parameters.

        Args:
            precision: Of the tables with a row per word: ``"int8"`` with a scale per row, ``"float16"`` or
                ``"float32"``.
            vocab_size: Keep this many of the most frequent words; the others are read by their spelling.
            dimensions: Numbers per part, at most the state size; meaning keeps its first ones. By default all.
            buckets: Fit the regression from spelling again, with so many rows: a power of two.
        """
        from textlds.model.packed import pack

        return pack(self, precision, vocab_size=vocab_size, dimensions=dimensions, buckets=buckets)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to a folder, whole or not at all; an existing one is only replaced with ``force``."""
        write_model(
            path, self._stored, self.vocabulary, self.frequencies, self.moments,
            lexicon=self.lexicon, history=self.history, language=self.language, recipes=self._own_recipes, force=force,
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Callable[[str], Sequence[str]] | None = None) -> TextLDS:
        """Read a model from a folder, or an installed one by its name.

        Args:
            path: A folder that :meth:`save` wrote, or the name of an installed model, such as ``"en"``.
            tokenizer: The callable the corpus was tokenised with, if it was not a built-in one.
        """
        folder = find_model(path)
        if is_packed(folder):
            from textlds.model.packed import read_packed

            return read_packed(folder, tokenizer=tokenizer)
        return cls(**read_model(folder), tokenizer=tokenizer)

    def with_tokenizer(self, tokenizer: Callable[[str], Sequence[str]] | None) -> TextLDS:
        """Return the same model with a callable that tokenises its strings."""
        return self._with(tokenizer=tokenizer)

    def _with(self, **changes: Any) -> Self:
        kept = {name: getattr(self, name) for name in ("lexicon", "history", "language")}
        options = {**kept, "recipes": self._own_recipes, "tokenizer": self.encoder.tokenizer, **changes}
        return type(self)(self._stored, self.vocabulary, self.frequencies, self.moments, **options)

    @property
    def _occurrences(self) -> Vector:
        return corpus_counts(self.frequencies, self.history.settings)[0]

    def _common(self, min_count: int | None, *, usual: float) -> Index:
        if min_count is not None and min_count < 1:
            raise ArgumentError(f"min_count={min_count} must be at least 1.")
        return common_rows(self._occurrences, self.vocabulary, min_count, usual=usual)
