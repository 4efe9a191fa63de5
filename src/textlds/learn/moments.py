"""From counts to moments: the smoothed, whitened lag covariances Ψ_k, never written down.

With n the unigram counts, T their sum, f = n / T and κ pseudocounts per type:

    μ = (n + κ) / (T + κV),   λ = T / (T + κV),   W = diag(μ)^-½,   m = μ^½ (a unit vector)
    Ψ_0 = I − m mᵀ
    Ψ_k = λ W [Σ (e_i − f)(e_j − f)ᵀ / T] W          over all pairs (later i, earlier j) that occur k apart
        = λ W (N_k − a fᵀ − f bᵀ + s f fᵀ) W / T,    a = N_k 1,  b = N_kᵀ 1,  s = 1ᵀ N_k 1

Two properties hold exactly, whatever the boundaries and pseudocounts:

- Ψ_k m = 0 and Ψ_kᵀ m = 0, which keeps every C that learning finds orthogonal to m.
- Ψ_0..Ψ_R is the autocovariance of a process (the block Toeplitz matrix is positive semidefinite): of the corpus with
  zeros between its sequences, mixed with independent words of uniform frequency. Dividing each N_k by its own sum
  instead, and centring by its own marginals, is the same for long sequences, but not positive for short ones: EM then
  diverges.

Ψ_k is sparse minus rank two. As an array it would take V² numbers (80 GB at V = 100,000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from textlds.errors import ArgumentError, CountsError
from textlds.linalg.elementwise import inverse_or_zero
from textlds.linalg.operators import Operator
from textlds.linalg.sparse import CountMatrix, as_counts
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Matrix, Vector

Panel = TypeVar("Panel", NDArray[np.float32], NDArray[np.float64])
Pseudocount = float | Literal["auto", "paper"]

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
    """Ψ_k = scale · W (N_k − U Vᵀ) W, in the type of the panel it meets.

    Attributes:
        counts: N_k.
        scale: λ / T.
        whitening: The diagonal of W.
        U: [a − s f / 2, f], (V, 2).
        V: [f, b − s f / 2], (V, 2); U Vᵀ = a fᵀ + f bᵀ − s f fᵀ.
    """

    counts: CountMatrix
    scale: float
    whitening: Vector
    U: Matrix
    V: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.counts.shape

    def matmat(self, X: Panel) -> Panel:
        """Return Ψ_k X: one sparse product."""
        left = self.scale * self.whitening
        return self.counts.scaled_matmat(X, left, self.whitening, left[:, None] * self.U, self.V)

    def rmatmat(self, X: Panel) -> Panel:
        """Return Ψ_kᵀ X: one sparse product with the transpose."""
        left = self.scale * self.whitening
        return self.counts.scaled_rmatmat(X, left, self.whitening, left[:, None] * self.V, self.U)

    def to_dense(self) -> Matrix:
        """Return Ψ_k as an array; for small V only."""
        N = self.counts.to_dense()
        return self.scale * self.whitening[:, None] * (N - self.U @ self.V.T) * self.whitening[None, :]


@dataclass(frozen=True)
class WordMoments(Moments):
    """The moments of a corpus, with the word frequencies that whiten them.

    Attributes:
        frequencies: μ, smoothed, (V,).
        pseudocount: κ, the number behind the rule.
        tokens: T.
    """

    lags: Sequence[LagOperator]
    frequencies: Vector
    pseudocount: float
    tokens: float


def resolve_pseudocount(pseudocount: Pseudocount, *, tokens: float, vocabulary: int) -> float:
    """Return κ: a number as it is; ``"paper"`` as κ = 0.2 T / V, which is 1000 at T = 10⁹ and V = 200,000."""
    if pseudocount in ("auto", "paper"):
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
        lags: N_1..N_R, [later, earlier], as scipy CSR arrays or as matrices that are known by their products.
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
    whitening = inverse_or_zero(root)
    scale = 1 / (tokens + kappa * size)  # λ / T
    f = np.asarray(unigrams, np.float64) / tokens
    threads = check_threads(threads)
    operators = []
    for k, matrix in enumerate(lags, start=1):
        counts = as_counts(matrix, threads=threads)
        a, b = counts.marginals()
        pairs = float(a.sum())
        if k == 1 and pairs <= 0:
            raise CountsError(
                "no two words occur side by side in these counts: every line holds a single word. "
                "Count with boundaries='none' or 'document'."
            )
        U = np.stack([a - pairs / 2 * f, f], axis=1)
        V = np.stack([f, b - pairs / 2 * f], axis=1)
        operators.append(LagOperator(counts, scale, whitening, U, V))
    rank = int(np.count_nonzero(root)) - 1
    return WordMoments(tuple(operators), root, rank, frequencies, kappa, tokens)
