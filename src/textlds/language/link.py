"""The clipped linear link: the Gaussian model's own prediction, made a distribution.

The model predicts E[w_t] = μ + μ^½ ∘ C p_t for the indicator of the next word, μ being the frequencies smoothed by κ
pseudocounts per type. The pseudocounts represent words inserted at random, of which the state knows nothing; taken out
again, with λ = T / (T + κV) and f the frequencies in the corpus,

    P(i | context) ∝ max(f_i + μ_i^½ (C p_t)_i / λ, ε f_i)

A linear prediction of a probability may be negative: ε is the least share of its frequency that a word keeps. Where
thousands of rare words fit, as after "the", this least share of a frequent word is more than any of them gets, so that
words that do not fit come first. Another scale or ε hardly helps: with h directions for V words, a linear prediction
cannot rule a word out. A readout (:mod:`textlds.language.readout`) can.
"""

from __future__ import annotations

import numpy as np

from textlds.inference.engine import Engine
from textlds.language.contexts import Contexts, Rows
from textlds.linalg.products import product
from textlds.linalg.types import Array, Matrix, Vector

FLOOR = 0.1  # ε
_BLOCK = 1 << 11  # contexts at a time: a block has V columns


class ClippedLink:
    """The clipped linear link of a model.

    Args:
        engine: The filter, float32.
        C: Output matrix in the coordinates of the parameters, (V, h).
        frequencies: μ, (V,).
        unigram: f, (V,), positive.
        share: λ.
    """

    def __init__(self, engine: Engine, C: Matrix, frequencies: Vector, unigram: Vector, share: float) -> None:
        self._engine = engine
        # (h, V): (μ^½ ∘ C p) / λ with p in the coordinates of the engine
        output = engine.system.outputs(np.sqrt(frequencies)[:, None] / share * C)
        self._output = np.ascontiguousarray(output.T, np.float32)
        self._unigram = unigram.astype(np.float32)

    def of(self, contexts: Contexts, words: Rows) -> Vector:
        """Return P(word | context) of each, (n,). O(V h) each."""
        result = np.empty(len(contexts))
        for rows in contexts.blocks(_BLOCK):
            weights = self._weights(contexts[rows])
            chosen = weights[np.arange(len(weights)), words[rows]].astype(np.float64)
            result[rows] = chosen / weights.sum(axis=1, dtype=np.float64)
        return result

    def all(self, contexts: Contexts) -> Matrix:
        """Return the distributions of the next word, (n, V)."""
        weights: Matrix = self._weights(contexts).astype(np.float64)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def _weights(self, contexts: Contexts) -> Array:
        weights = product(contexts.pred(self._engine), self._output)
        weights += self._unigram
        np.maximum(weights, np.float32(FLOOR) * self._unigram, out=weights)
        return weights
