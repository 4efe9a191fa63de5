"""A language model at work: contexts in, probabilities out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from textlds.errors import TextLDSWarning
from textlds.inference.engine import Engine
from textlds.language.contexts import NONE, Contexts, Rows
from textlds.language.language import LanguageModel, smoothed_unigram
from textlds.language.link import ClippedLink
from textlds.language.mixture import Mixture
from textlds.language.readout import BoundReadout
from textlds.linalg.threads import one_blas_thread, parallel_map
from textlds.linalg.types import Matrix, Vector

_BLOCK = 1 << 14
# Without calibration: the share of the unigram next to the clipped link.
DEFAULT_MIXTURE = Mixture(np.empty(0), np.array([[0.1, 0.9]]))
_ROUGH = (
    "this model is not calibrated: the next word is a rough linear prediction, in which frequent words come first "
    "whether they fit or not. Calibrate it with model.with_language_model(texts) or textlds calibrate."
)


class Part(Protocol):
    """One distribution of a mixture."""

    def of(self, contexts: Contexts, words: Rows) -> Vector:
        """Return P(word | context) of each, (n,)."""
        ...

    def all(self, contexts: Contexts) -> Matrix:
        """Return the distributions of the next word, (n, V)."""
        ...


class Unigram:
    """The frequencies of words, whatever the context."""

    def __init__(self, unigram: Vector) -> None:
        self._unigram = unigram

    def of(self, contexts: Contexts, words: Rows) -> Vector:
        """Return P(word) of each, (n,)."""
        chosen: Vector = self._unigram[words]
        return chosen

    def all(self, contexts: Contexts) -> Matrix:
        """Return the same distribution for each context, (n, V)."""
        return np.tile(self._unigram, (len(contexts), 1))


class Predictor:
    """Mixes the parts of a language model.

    Args:
        parts: The unigram first.
        mixture: Their weights.
        counts: Occurrences of each word, (V,).
        calibrated: Whether the weights were chosen for this model; if not, the first who asks is warned.
    """

    def __init__(self, parts: Sequence[Part], mixture: Mixture, counts: Vector, *, calibrated: bool = True) -> None:
        self._parts, self._mixture, self._counts = parts, mixture, counts
        self._silent = calibrated

    def seen(self, contexts: Contexts) -> Vector:
        """Return how often the last word of each context occurs in the corpus, zero for none, (n,)."""
        last = contexts.words[:, 0]
        seen: Vector = np.where(last == NONE, 0, self._counts[last])
        return seen

    def parts_of(self, contexts: Contexts, words: Rows, *, threads: int = 1) -> Matrix:
        """Return P_m(word | context) of each token by each part, (n, M)."""

        def block(rows: slice) -> Matrix:
            return np.stack([part.of(contexts[rows], words[rows]) for part in self._parts], axis=1)

        with one_blas_thread():
            blocks = parallel_map(block, contexts.blocks(_BLOCK), threads=threads)
        return np.concatenate([np.empty((0, len(self._parts))), *blocks])

    def of(self, contexts: Contexts, words: Rows, *, threads: int = 1) -> Vector:
        """Return P(word | context) of each token, (n,)."""
        weights = self._mixture.rows(self.seen(contexts))
        mixed: Vector = np.einsum("nm,nm->n", weights, self.parts_of(contexts, words, threads=threads))
        return mixed

    def all(self, contexts: Contexts) -> Matrix:
        """Return the distributions of the next word, (n, V); each sums to one to the last bits of float64."""
        if contexts.asked and not self._silent:
            self._silent = True
            warnings.warn(_ROUGH, TextLDSWarning, stacklevel=3)
        weights = self._mixture.rows(self.seen(contexts))
        with one_blas_thread():
            mixed = sum(weights[:, [m]] * part.all(contexts) for m, part in enumerate(self._parts))
        result: Matrix = np.asarray(mixed) / np.sum(mixed, axis=1, keepdims=True)
        return result


def corpus_counts(frequencies: Vector, settings: dict[str, Any]) -> tuple[Vector, float]:
    """Return n, occurrences of words, and λ, as far as they can be told from a model: n = μ (T + κV) − κ.

    Args:
        frequencies: μ, (V,).
        settings: Of the model's history. Without κ and T in it, μ itself is taken for the frequencies.
    """
    tokens, kappa = settings.get("tokens"), settings.get("pseudocount_used")
    if not isinstance(tokens, int | float) or not isinstance(kappa, int | float) or not tokens > 0:
        return frequencies * 1e6, 1.0
    total = tokens + kappa * len(frequencies)
    counts: Vector = np.maximum(np.round(frequencies * total - kappa, 3), 0)
    return counts, tokens / total


def make_predictor(
    language: LanguageModel | None, engine: Engine, C: Matrix, frequencies: Vector, settings: dict[str, Any]
) -> Predictor:
    """Bind a language model to its filter; without one, the clipped link with default weights.

    Args:
        language: Calibrated, or None.
        engine: The filter, float32.
        C: Output matrix in the coordinates of the parameters, (V, h).
        frequencies: μ, (V,).
        settings: Of the model's history.
    """
    counts, share = corpus_counts(frequencies, settings)
    if language is not None:
        counts = language.counts
    unigram = smoothed_unigram(counts)
    parts: list[Part] = [Unigram(unigram)]
    if language is not None and language.readout is not None:
        parts.append(BoundReadout(language.readout, engine))
    else:
        parts.append(ClippedLink(engine, C, frequencies, unigram, share))
    if language is None:
        return Predictor(parts, DEFAULT_MIXTURE, counts, calibrated=False)
    return Predictor([*parts, *language.bigrams], language.mixture, counts)
