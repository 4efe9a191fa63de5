"""Linear interpolation: the weights of several distributions, chosen by the likelihood of held-out text.

    P(w | context) = Σ_m α_{b,m} P_m(w | context)

b is a bucket of contexts: those whose last word is about equally frequent, since a bigram deserves more trust after a
word that was seen often. EM on the weights climbs to the one maximum there is (the likelihood is concave in them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.linalg.types import Matrix, Vector

_ROUNDS = 200
_TOLERANCE = 1e-7  # nats per token
_PRIOR = 50.0  # tokens that vote for the weights of all buckets together
_LEAST = 1e-4  # of the unigram's weight: no word gets probability zero, whatever the other parts say


@dataclass(frozen=True)
class Mixture:
    """Weights by bucket.

    Attributes:
        edges: Occurrences of the last word at which a new bucket begins, increasing, (B − 1,).
        weights: α, each row sums to one, (B, M); the first column is the unigram's.
    """

    edges: Vector
    weights: Matrix

    def rows(self, seen: Vector) -> Matrix:
        """Return the weights for contexts whose last word was seen so often, (n, M)."""
        rows: Matrix = self.weights[np.searchsorted(self.edges, seen, side="right")]
        return rows


def fit_mixture(probabilities: Matrix, seen: Vector) -> Mixture:
    """Choose weights.

    Args:
        probabilities: Of each held-out token by each part, (n, M), the unigram first.
        seen: Occurrences of the word before each token in the corpus, zero for none, (n,).
    """
    edges = np.concatenate([[0.5], 4.0 ** np.arange(1, 11)])
    bucket = np.searchsorted(edges, seen, side="right")
    together = _climb(probabilities, np.full(probabilities.shape[1], 1 / probabilities.shape[1]), 0.0)
    rows = [_climb(probabilities[bucket == b], together, _PRIOR) for b in range(len(edges) + 1)]
    weights = np.array(rows)
    weights[:, 0] = np.maximum(weights[:, 0], _LEAST)
    return Mixture(edges, weights / weights.sum(axis=1, keepdims=True))


def _climb(probabilities: Matrix, start: Vector, prior: float) -> Vector:
    """Maximise Σ log Σ_m α_m P_m + prior · Σ_m start_m log α_m by EM."""
    n = len(probabilities)
    if n == 0:
        return start
    weights, before = start, -np.inf
    for _ in range(_ROUNDS):
        joint = probabilities * weights
        totals = joint.sum(axis=1)
        likelihood = float(np.log(totals).sum()) + prior * float(start @ np.log(np.maximum(weights, 1e-300)))
        if likelihood - before < n * _TOLERANCE:
            break
        before = likelihood
        weights = ((joint / totals[:, None]).sum(axis=0) + prior * start) / (n + prior)
    return weights
