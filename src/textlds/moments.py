"""From counts to moments: the smoothed, whitened lag covariances Ψ_k, never written down.

With n the unigram counts, T their sum and κ pseudocounts a type:

    μ = (n + κ) / (T + κV),   λ = T / (T + κV),   W = diag(μ)^-½,   m = μ^½ (a unit vector)
    Ψ_0 = I − m mᵀ
    Ψ_k = λ W (P_k − a_k b_kᵀ) W,   P_k = N_k / N_k.sum(),   a_k = P_k 1,   b_k = P_kᵀ 1

Each lag is centred by its own marginals a_k and b_k, not by μ: that makes Ψ_k m = 0 and Ψ_kᵀ m = 0 exactly, whatever
the sentence edges and pseudocounts, and so keeps every C that learning finds orthogonal to m.
Ψ_k is sparse minus rank one. As an array it would take V² numbers (80 GB at V = 100,000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from textlds.errors import ArgumentError, CountsError
from textlds.linalg.operators import Operator
from textlds.linalg.sparse import SparseMatrix
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Matrix, Vector

Panel = TypeVar("Panel", NDArray[np.float32], NDArray[np.float64])
Pseudocount = float | Literal["paper"]

# The paper adds 1000 pseudocounts to each of 200,000 types at a billion tokens: κV/T = 0.2.
PAPER_SMOOTHING = 1000 * 200_000 / 1e9


@dataclass(frozen=True)
class Moments:
    """All that learning ever sees: Ψ_1..Ψ_R and the space they act on.

    Attributes:
        lags: Ψ_1..Ψ_R, each square. `lags[k − 1]` is E[w_{t+k} w_tᵀ].
        null: m, the direction in which the observations have no variance, or None where coordinates leave it out.
        rank: The dimension of the observations, V − 1.
        threads: How many products with different lags may run at a time; 1 where a product has threads of its own.
    """

    lags: Sequence[Operator]
    null: Vector | None
    rank: int
    threads: int = field(default=1, kw_only=True)

    @property
    def size(self) -> int:
        """The number of coordinates of an observation."""
        return self.lags[0].shape[0]

    def lag0(self, X: Matrix) -> Matrix:
        """Return Ψ_0 X = X − m mᵀ X."""
        return X if self.null is None else X - np.outer(self.null, self.null @ X)


@dataclass(frozen=True)
class LagOperator:
    """Ψ_k = λ W (N_k / total − a bᵀ) W, in the type of the panel it meets."""

    counts: SparseMatrix
    total: float
    smoothing: float  # λ
    whitening: Vector  # the diagonal of W
    later: Vector  # a
    earlier: Vector  # b

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.counts.shape

    def matmat(self, X: Panel) -> Panel:
        """Return Ψ_k X: one sparse product."""
        return self._product(self.counts, self.later, self.earlier, X)

    def rmatmat(self, X: Panel) -> Panel:
        """Return Ψ_kᵀ X: one sparse product with the transpose."""
        return self._product(self.counts.transpose(), self.earlier, self.later, X)

    def _product(self, counts: SparseMatrix, left: Vector, right: Vector, X: Panel) -> Panel:
        W = self.whitening
        return counts.scaled_matmat(X, self.smoothing / self.total * W, W, self.smoothing * W * left, right)

    def to_dense(self) -> Matrix:
        """Return Ψ_k as an array; for small V only."""
        rows, columns = self.shape
        P = np.zeros((rows, columns))
        row_of = np.repeat(np.arange(rows), np.diff(self.counts.indptr))
        P[row_of, self.counts.indices] = self.counts.data / self.total
        centred = P - np.outer(self.later, self.earlier)
        return self.smoothing * self.whitening[:, None] * centred * self.whitening[None, :]


@dataclass(frozen=True)
class WordMoments(Moments):
    """The moments of a corpus, with the word frequencies that whiten them.

    Attributes:
        frequencies: μ, smoothed, (V,).
        pseudocount: κ, the number behind the rule.
        tokens: T.
    """

    frequencies: Vector
    pseudocount: float
    tokens: float


def resolve_pseudocount(pseudocount: Pseudocount, *, tokens: float, vocabulary: int) -> float:
    """Return κ: a number as it is; ``"paper"`` as κ = 0.2 T / V, which is 1000 at T = 10⁹ and V = 200,000."""
    if pseudocount == "paper":
        return PAPER_SMOOTHING * tokens / vocabulary
    if not isinstance(pseudocount, int | float) or not 0 <= pseudocount < float("inf"):
        raise ArgumentError(f"pseudocount={pseudocount!r} must be a number of 0 or more, or 'paper'.")
    return float(pseudocount)


def word_moments(
    unigrams: NDArray[Any], lags: Sequence[Any], *, pseudocount: Pseudocount = "paper", threads: int | None = None
) -> WordMoments:
    """Turn counts into moments.

    Args:
        unigrams: n, (V,).
        lags: N_1..N_R as scipy CSR arrays, [later, earlier].
        pseudocount: κ a type, or the paper's rule.
        threads: How many threads products use; all cores by default.
    """
    tokens, size = float(np.sum(unigrams)), len(unigrams)
    if tokens <= 0:
        raise CountsError("these counts hold no tokens. Count a corpus with at least a few thousand.")
    if np.count_nonzero(unigrams) < 2:
        raise CountsError("these counts hold a single type; a model needs at least two different words.")
    kappa = resolve_pseudocount(pseudocount, tokens=tokens, vocabulary=size)
    frequencies = (np.asarray(unigrams, np.float64) + kappa) / (tokens + kappa * size)
    root = np.sqrt(frequencies)
    # a type that was never seen and has no pseudocount does not vary: it is left out of every product
    whitening = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    smoothing = tokens / (tokens + kappa * size)
    threads = check_threads(threads)
    operators = []
    for k, matrix in enumerate(lags, start=1):
        total = float(matrix.sum(dtype=np.float64))
        if total <= 0:
            shorter = f"are shorter than max_lag={len(lags)}. Count with max_lag={k - 1}, or with boundaries='none'."
            alone = "hold a single word each. Count with boundaries='none'."
            raise CountsError(
                f"no two words stand {k} positions apart in these counts: the texts {shorter if k > 1 else alone}"
            )
        later = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel() / total
        earlier = np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel() / total
        counts = SparseMatrix.from_scipy(matrix, threads=threads)
        operators.append(LagOperator(counts, total, smoothing, whitening, later, earlier))
    rank = int(np.count_nonzero(root)) - 1
    return WordMoments(tuple(operators), root, rank, frequencies, kappa, tokens)
