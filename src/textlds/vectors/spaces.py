"""The engines of a model and the spaces of its vectors, made when they are first needed."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.inference.engine import Engine
from textlds.lds.canonical import canonical_system
from textlds.lds.params import LDSParams
from textlds.lds.second_moments import PosteriorMoments
from textlds.lds.steady import steady_state
from textlds.lexicon.lexicon import Lexicon
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Vector
from textlds.vectors.recipes import Weighting
from textlds.vectors.space import EmbeddingSpace
from textlds.vectors.weighting import Prepared, equal_weighting


class Spaces:
    """Engines and spaces by floating-point type and weighting."""

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
        if dtype not in ("float32", "float64"):
            raise ArgumentError(f"dtype={dtype!r} is not one of 'float32', 'float64'.")
        if (dtype, weighting) not in self._engines:
            made = self._made(weighting)
            self._engines[dtype, weighting] = Engine(made.system, made.gains, np.dtype(dtype).type)
        return self._engines[dtype, weighting]

    def space(self, dtype: str, weighting: Weighting = "fitted") -> EmbeddingSpace:
        """Return what turns posteriors into vectors."""
        if (dtype, weighting) not in self._spaces:
            engine = self.engine(dtype, weighting)
            with one_blas_thread():
                made = self._made(weighting)
                self._spaces[dtype, weighting] = EmbeddingSpace(
                    engine, made.moments, self._frequencies, made.words, made.speller, fast=weighting == "equal"
                )
        return self._spaces[dtype, weighting]

    def _made(self, weighting: Weighting) -> Prepared:
        return self._fitted if weighting == "fitted" else self._equal

    @cached_property
    def _fitted(self) -> Prepared:
        with one_blas_thread():
            params = replace(self._params, C=self._params.C.astype(np.float64))
            system, gains = canonical_system(params, steady_state(params), np.sqrt(self._frequencies))
            return Prepared(system, gains, self._moments.transformed(system.T))

    @cached_property
    def _equal(self) -> Prepared:
        fitted = self._fitted
        with one_blas_thread():
            C = fitted.system.outputs(self._params.C)
            return equal_weighting(fitted.system, fitted.gains, C, self._frequencies, self._vocabulary, self._lexicon)
