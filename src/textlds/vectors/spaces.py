"""The engines of a model and the spaces of its vectors, made when they are first needed."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.inference.engine import Engine
from textlds.lds.canonical import CanonicalSystem, canonical_system, word_gains
from textlds.lds.params import LDSParams
from textlds.lds.second_moments import PosteriorMoments
from textlds.lds.steady import steady_state
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.observed import ObservedLexicon
from textlds.lexicon.unknown import Speller
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Matrix, Vector
from textlds.vectors.meaning import MeaningSpace
from textlds.vectors.recipes import Weighting
from textlds.vectors.space import EmbeddingSpace
from textlds.vectors.stored import observed_space
from textlds.vectors.weighting import Prepared, equal_weighting


class Spaces:
    """Engines and spaces by floating-point type and weighting; a model that observes profiles has one weighting."""

    def __init__(
        self,
        params: LDSParams,
        vocabulary: Vocabulary,
        frequencies: Vector,
        moments: PosteriorMoments,
        lexicon: Lexicon | None,
    ) -> None:
        self._params, self._vocabulary, self._frequencies, self._moments = params, vocabulary, frequencies, moments
        self._lexicon = lexicon
        self._engines: dict[tuple[str, Weighting], Engine] = {}
        self._spaces: dict[tuple[str, Weighting], EmbeddingSpace] = {}

    def engine(self, dtype: str, weighting: Weighting = "fitted") -> Engine:
        """Return the filter and smoother."""
        check_dtype(dtype)
        if (dtype, weighting) not in self._engines:
            made = self._made(weighting)
            self._engines[dtype, weighting] = Engine(made.system, made.gains, np.dtype(dtype).type)
        return self._engines[dtype, weighting]

    def space(self, dtype: str, weighting: Weighting = "fitted") -> EmbeddingSpace:
        """Return what turns posteriors into vectors."""
        if (dtype, weighting) not in self._spaces:
            with one_blas_thread():
                self._spaces[dtype, weighting] = self._space(dtype, weighting)
        return self._spaces[dtype, weighting]

    def _space(self, dtype: str, weighting: Weighting) -> EmbeddingSpace:
        lexicon, fast = self._lexicon, weighting == "equal"
        if fast and isinstance(lexicon, ObservedLexicon) and lexicon.size == len(self._params.A):
            # nothing with a row per word is computed: a model is ready as soon as it is read
            check_dtype(dtype)
            return observed_space(
                lexicon, *self._observed, self._vocabulary, self._frequencies, np.dtype(dtype).type,
                meaning=self.meaning,
            )  # fmt: skip
        made = self._made(weighting)
        engine = self.engine(dtype, weighting)
        return EmbeddingSpace(engine, made.moments, self._frequencies, made.words, made.speller, fast, self.meaning)

    @cached_property
    def meaning(self) -> MeaningSpace | None:
        """What words are about, if the model knows."""
        if self._lexicon is None or self._lexicon.meaning is None:
            return None
        return MeaningSpace.of(self._lexicon.meaning, self._vocabulary, self._frequencies)

    def _made(self, weighting: Weighting) -> Prepared:
        return self._fitted if weighting == "fitted" or isinstance(self._lexicon, ObservedLexicon) else self._equal

    @cached_property
    def _fitted(self) -> Prepared:
        with one_blas_thread():
            lexicon = self._lexicon
            if isinstance(lexicon, ObservedLexicon):
                system, moments, carry = self._observed
                speller = Speller(self._vocabulary, lexicon.spelling, carry, lexicon.centre, None)
                return Prepared(system, speller.gains(lexicon.profiles), moments, lexicon.profiles, speller)
            params = replace(self._params, C=self._params.C.astype(np.float64))
            steady = steady_state(params)
            system, gains = canonical_system(params, steady, word_gains(steady, np.sqrt(self._frequencies)))
            return Prepared(system, gains, self._moments.transformed(system.T))

    @cached_property
    def _observed(self) -> tuple[CanonicalSystem, PosteriorMoments, Matrix]:
        """Where y(w) is observed: the system, its moments, and what takes l(w) − l̄ to k(w) = K y(w), (p, h)."""
        assert isinstance(self._lexicon, ObservedLexicon)
        with one_blas_thread():
            params = replace(self._params, C=self._params.C.astype(np.float64))
            steady = steady_state(params)
            system, gains = canonical_system(params, steady, steady.KT)
            return system, self._moments.transformed(system.T), self._lexicon.whitening @ gains

    @cached_property
    def _equal(self) -> Prepared:
        fitted = self._fitted
        with one_blas_thread():
            C = fitted.system.outputs(self._params.C)
            return equal_weighting(fitted.system, fitted.gains, C, self._frequencies, self._vocabulary, self._lexicon)


def check_dtype(dtype: str) -> None:
    """Refuse a floating-point type that vectors do not have."""
    if dtype not in ("float32", "float64"):
        raise ArgumentError(f"dtype={dtype!r} is not one of 'float32', 'float64'.")
