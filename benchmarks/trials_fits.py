"""Other fits that benchmarks.trials measures: other observations, other sizes, more iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from textlds.evaluation.features import Features, Sentences, Vectors, plain
from textlds.learn.run import FitRun
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.profiles import word_profiles
from textlds.lexicon.spelling import fit_spelling
from textlds.lexicon.unknown import shrunk, spelt
from textlds.linalg.sphere import on_sphere
from textlds.linalg.tall import Tall
from textlds.linalg.threads import one_blas_thread
from textlds.model.training import model_of
from textlds.progress import SilentProgress

Words = Callable[[textlds.LagCounts, int], Tall]  # vectors of all words, (V, p), rows of length one


@dataclass(frozen=True)
class Fit:
    """How a model is fitted.

    Attributes:
        words: Gives what is observed.
        settings: Of the fit.
    """

    words: Words
    settings: dict[str, Any] = field(default_factory=dict)


def profiles(size: int) -> Words:
    """Observe profiles as the default does, with so many numbers."""
    return lambda counts, threads: _profiles(counts, size, threads)


def apart(size: int, second: float) -> Words:
    """Observe left and right neighbours apart, those at the second place with a weight."""

    def words(counts: textlds.LagCounts, threads: int) -> Tall:
        from scipy import sparse
        from scipy.sparse.linalg import svds

        blocks = []
        for lag, weight in ((0, 1.0), (1, second)):
            if weight:
                matrix = sparse.csr_array(counts.lags[lag]).astype(np.float32)
                left = np.maximum(matrix.sum(axis=1), 1) ** -0.25
                right = np.maximum(matrix.sum(axis=0), 1) ** -0.25
                matrix.data = np.sqrt(matrix.data)
                scaled = sparse.diags_array(left) @ matrix @ sparse.diags_array(right) * weight
                blocks += [scaled, scaled.T]
        wide = sparse.hstack(blocks, format="csr").astype(np.float32)
        u, s, _ = svds(wide, k=size + 1, random_state=0, solver="arpack", tol=1e-2)
        order = np.argsort(-s)[1:]
        return on_sphere(u[:, order] * np.sqrt(s[order])).astype(np.float32)

    return words


def with_meaning(size: int) -> Words:
    """Observe a profile and what the word is about, side by side."""

    def words(counts: textlds.LagCounts, threads: int) -> Tall:
        from textlds.lexicon.meaning import make_meaning

        rng = np.random.default_rng([0, 5])
        meaning = make_meaning(
            counts.lags, counts.unigrams, counts.vocabulary, size, rng=rng, threads=threads, on_step=lambda: None
        )
        return on_sphere(np.hstack([_profiles(counts, size, threads), meaning.vectors])).astype(np.float32)

    return words


def _profiles(counts: textlds.LagCounts, size: int, threads: int) -> Tall:
    from textlds.learn.moments import word_moments

    moments = word_moments(counts.unigrams, counts.lags[:1], pseudocount=0, threads=threads)
    return word_profiles(moments.lags[0].counts, size, rng=np.random.default_rng([0, 4]), threads=threads)


def long_words(counts_folder: Path, threads: int) -> Features:
    """Return words by profiles of 400 numbers; rare ones lean on their spelling, unknown ones have that alone."""
    counts = textlds.LagCounts.load(counts_folder)
    vocabulary = counts.vocabulary
    known = vocabulary.words[: vocabulary.n_types]
    with one_blas_thread():
        table = _profiles(counts, 400, threads)
        by_spelling = fit_spelling(known, counts.unigrams[: len(known)], table, threads=threads)
    frequencies = counts.unigrams / counts.unigrams.sum()
    words = shrunk(table, spelt(known, by_spelling, vocabulary), frequencies).astype(np.float32)

    def vectors(sentences: Sentences) -> Vectors:
        tokens = [token for sentence in plain(sentences, vocabulary) for token in sentence]
        rows = vocabulary.ids(tokens)
        found: Vectors = words[rows]
        unknown = np.flatnonzero(rows >= vocabulary.n_types)
        found[unknown] = spelt([tokens[i] for i in unknown.tolist()], by_spelling, vocabulary)
        return found

    return vectors


FITS: dict[str, Fit] = {
    "5 iterations": Fit(profiles(200), {"iterations": 5}),
    "50 iterations": Fit(profiles(200), {"iterations": 50}),
    "150 iterations": Fit(profiles(200), {"iterations": 150}),
    "h = 100 of p = 200": Fit(profiles(200), {"state_size": 100}),
    "p = h = 400": Fit(profiles(400), {"state_size": 400}),
    "sides apart, lags 1 and 2, p = h = 200": Fit(apart(200, 0.7)),
    "sides apart, lags 1 and 2, p = 400, h = 200": Fit(apart(400, 0.7)),
    "sides apart, lags 1 and 2, p = h = 400": Fit(apart(400, 0.7), {"state_size": 400}),
    "profile and meaning, p = 400, h = 200": Fit(with_meaning(200)),
    "profile and meaning, p = h = 400": Fit(with_meaning(200), {"state_size": 400}),
}


@lru_cache(maxsize=1)
def fitted(name: str, counts_folder: Path, threads: int) -> textlds.TextLDS:
    """Return the model of a fit; the last one is kept."""
    counts, fit = textlds.LagCounts.load(counts_folder), FITS[name]
    settings = textlds.FitSettings(**{"state_size": 200, "iterations": 20, **fit.settings})
    with one_blas_thread():
        vectors = fit.words(counts, threads)
        known = counts.vocabulary.n_types
        spelling = fit_spelling(counts.vocabulary.words[:known], counts.unigrams[:known], vectors, threads=threads)
        lexicon = Lexicon(vectors, spelling)
        return FitRun(counts, settings, model_of, None, threads, SilentProgress(), lexicon=lexicon).run(None)
