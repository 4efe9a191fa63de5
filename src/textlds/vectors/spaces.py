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
from textlds.vectors.space import EmbeddingSpace
from textlds.vectors.weighting import Evidence, Prepared, equal_evidence


class Spaces:
    """Engines and spaces by floating-point type and evidence."""

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
        self._engines: dict[tuple[str, Evidence], Engine] = {}
        self._spaces: dict[tuple[str, Evidence], EmbeddingSpace] = {}

    def engine(self, dtype: str, evidence: Evidence = "model") -> Engine:
        """Return the filter and smoother."""
        if dtype not in ("float32", "float64"):
            raise ArgumentError(f"dtype={dtype!r} is not one of 'float32', 'float64'.")
        if (dtype, evidence) not in self._engines:
            made = self._made(evidence)
            self._engines[dtype, evidence] = Engine(made.system, made.gains, np.dtype(dtype).type)
        return self._engines[dtype, evidence]

    def space(self, dtype: str, evidence: Evidence = "model") -> EmbeddingSpace:
        """Return what turns posteriors into vectors."""
        if (dtype, evidence) not in self._spaces:
            engine = self.engine(dtype, evidence)
            with one_blas_thread():
                made = self._made(evidence)
                self._spaces[dtype, evidence] = EmbeddingSpace(
                    engine, made.moments, self._frequencies, made.words, made.speller
                )
        return self._spaces[dtype, evidence]

    def _made(self, evidence: Evidence) -> Prepared:
        return self._model if evidence == "model" else self._equal

    @cached_property
    def _model(self) -> Prepared:
        with one_blas_thread():
            params = replace(self._params, C=self._params.C.astype(np.float64))
            system, gains = canonical_system(params, steady_state(params), np.sqrt(self._frequencies))
            return Prepared(system, gains, self._moments.transformed(system.T))

    @cached_property
    def _equal(self) -> Prepared:
        fitted = self._model
        with one_blas_thread():
            C = fitted.system.outputs(self._params.C)
            return equal_evidence(fitted.system, fitted.gains, C, self._frequencies, self._vocabulary, self._lexicon)
