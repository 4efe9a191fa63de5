"""The network: token vectors and hashed features into a hidden layer, scores of tags out of it, a chain of tags.

    z_t = Σ_p x_p[t] W_p + Σ_{f ∈ features(t)} E[f] + b
    s_t = max(z_t, 0) V + v                                      then a linear chain (:mod:`textlds.tagging.chains`)

x_p are the parts of a token's vector. A part that is a word's own vector is stored once per word type, as a table and
the row of every token, so that Wikipedia-sized windows take a fifth of the products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel_fma
from textlds.linalg.products import product
from textlds.linalg.threads import one_blas_thread
from textlds.tagging.chains import marginals, viterbi
from textlds.tagging.features import Buckets

Array = Any  # arrays inside kernels: numba infers dtype and layout
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the tokens' vectors: token t has ``table[rows[t]]``. The last row of a table is zero, for row −1."""

    table: Floats
    rows: Ints


@dataclass(frozen=True, eq=False)
class Inputs:
    """Sentences as the network sees them.

    Attributes:
        parts: Of the vectors; may be none.
        buckets: Of the hashed features, (n, features); (n, 0) for none.
        starts: Where sentences begin, with n at the end.
        memories: Which parts, and which columns of the buckets, are about the rest of the document.
    """

    parts: Sequence[Part]
    buckets: Buckets
    starts: Ints
    memories: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())

    def __len__(self) -> int:
        return len(self.buckets)


@dataclass(frozen=True, eq=False)
class Weights:
    """What is learnt.

    Attributes:
        vectors: W, (d, H), the rows of all parts one after the other.
        features: E, (buckets, H); (0, H) for none.
        bias: b, (H,).
        out: V, (H, K).
        out_bias: v, (K,).
        first: Score of a tag at the beginning, (K,).
        last: At the end, (K,).
        transitions: T, (K, K).
    """

    vectors: Floats
    features: Floats
    bias: Floats
    out: Floats
    out_bias: Floats
    first: Floats
    last: Floats
    transitions: Floats


def joined(networks: Sequence[Weights]) -> Weights:
    """Return one network whose scores, and whose chain, are the means of those of some networks.

    Its hidden layer has all their units, so that it takes as long as all of them.
    """
    share = np.float32(1 / len(networks))

    def mean(name: str) -> Floats:
        return np.sum([share * getattr(one, name) for one in networks], axis=0, dtype=np.float32)  # type: ignore[no-any-return]

    def beside(name: str, axis: int) -> Floats:
        return np.concatenate([getattr(one, name) for one in networks], axis=axis)

    return Weights(
        vectors=beside("vectors", 1),
        features=beside("features", 1),
        bias=beside("bias", 0),
        out=share * beside("out", 0),
        **{name: mean(name) for name in ("out_bias", "first", "last", "transitions")},
    )


def scores(weights: Weights, inputs: Inputs) -> Floats:
    """Return s, (n, K)."""
    hidden = np.empty((len(inputs), len(weights.bias)), np.float32)
    hidden[:] = weights.bias
    begin = 0
    with one_blas_thread():
        for part in inputs.parts:
            width = part.table.shape[1]
            add_rows(product(part.table, weights.vectors[begin : begin + width]), part.rows, hidden)
            begin += width
        if inputs.buckets.shape[1]:
            add_bags(weights.features, inputs.buckets, hidden)
        np.maximum(hidden, 0, out=hidden)
        out: Floats = product(hidden, weights.out)
    out += weights.out_bias
    return out


def best_tags(weights: Weights, scored: Floats, starts: Ints) -> NDArray[np.int32]:
    """Return the best tags of every sentence, (n,)."""
    out = np.empty(len(scored), np.int32)
    viterbi(scored, starts, weights.first, weights.last, weights.transitions, out)
    return out


def probabilities(weights: Weights, scored: Floats, starts: Ints, temperature: float = 1.0) -> NDArray[np.float64]:
    """Return the probability of every tag of every token, (n, K), of the chain with all scores over a temperature."""
    beta = np.float32(1 / temperature)
    out = np.empty(scored.shape)
    marginals(beta * scored, starts, beta * weights.first, beta * weights.last, beta * weights.transitions, out)
    return out


@kernel_fma
def add_rows(table: Array, rows: Array, out: Array) -> None:
    """Add row rows[i] of a table to out[i]; row −1 is its last."""
    n = len(table)
    for i in range(len(rows)):
        row = rows[i]
        source, target = table[row if row >= 0 else n - 1], out[i]
        for c in range(len(target)):
            target[c] += source[c]


@kernel_fma
def add_bags(table: Array, buckets: Array, out: Array) -> None:
    """Add the rows of a token's buckets to out[i], four at a time; those below 0 are left out."""
    n, F = buckets.shape
    for i in range(n):
        target = out[i]
        f = 0
        while f + 4 <= F:
            a, b, c, d = buckets[i, f], buckets[i, f + 1], buckets[i, f + 2], buckets[i, f + 3]
            if a < 0 or b < 0 or c < 0 or d < 0:
                break
            ra, rb, rc, rd = table[a], table[b], table[c], table[d]
            for j in range(len(target)):
                target[j] += (ra[j] + rb[j]) + (rc[j] + rd[j])
            f += 4
        while f < F:
            if buckets[i, f] >= 0:
                row = table[buckets[i, f]]
                for j in range(len(target)):
                    target[j] += row[j]
            f += 1
