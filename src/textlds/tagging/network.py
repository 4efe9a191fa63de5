"""The network: token vectors and hashed features into a hidden layer, scores of tags out of it, a chain of tags.

    z_t = Σ_p x_p[t] W_p + Σ_{f ∈ features(t)} E[f] + b          a_t = max(z_t, 0)
    c_t = max(a_{t−1} U_1 + a_t U_2 + a_{t+1} U_3 + u, 0)        nothing before and after a sentence
    s_t = a_t V + c_t V' + v                                     then a linear chain (:mod:`textlds.tagging.chains`)

The second layer, c, may have no units: the scores are then those of the token's own layer.
x_p are the parts of a token's vector. A part that is a word's own vector is stored once per word type, as a table and
the row of every token, so that Wikipedia-sized windows take a fifth of the products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

_CACHED = 512  # tokens, about, whose layers are computed together


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
        around: U, (H, 3 C): U_1, U_2 and U_3 beside each other.
        around_bias: u, (C,); (0,) without a second layer.
        around_out: V', (C, K).
        out: V, (H, K).
        out_bias: v, (K,).
        first: Score of a tag at the beginning, (K,).
        last: At the end, (K,).
        transitions: T, (K, K).
    """

    vectors: Floats
    features: Floats
    bias: Floats
    around: Floats
    around_bias: Floats
    around_out: Floats
    out: Floats
    out_bias: Floats
    first: Floats
    last: Floats
    transitions: Floats


def joined(networks: Sequence[Weights]) -> Weights:
    """Return one network whose scores, and whose chain, are the means of those of some networks.

    Its layers have all their units, so that it takes as long as all of them, and longer with a second layer, most of
    whose weights are zero.
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
        around=_around_of_all(networks),
        around_bias=beside("around_bias", 0),
        around_out=share * beside("around_out", 0),
        out=share * beside("out", 0),
        **{name: mean(name) for name in ("out_bias", "first", "last", "transitions")},
    )


def _around_of_all(networks: Sequence[Weights]) -> Floats:
    """Return U of networks beside each other: the units of each see those of its own."""
    H, C = (sum(len(getattr(one, name)) for one in networks) for name in ("bias", "around_bias"))
    out = np.zeros((H, 3, C), np.float32)
    row = column = 0
    for one in networks:
        h, c = len(one.bias), len(one.around_bias)
        out[row : row + h, :, column : column + c] = one.around.reshape(h, 3, c)
        row, column = row + h, column + c
    return out.reshape(H, 3 * C)


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
        out = np.empty((len(inputs), len(weights.out_bias)), np.float32)
        for starts in _cached(inputs.starts):
            begin, end = starts[0], starts[-1]
            out[begin:end] = _of_hidden(weights, hidden[begin:end], starts - begin)
    return out


def _cached(starts: Ints) -> Iterator[Ints]:
    """Return the sentences in groups whose layers stay in the cache, each by where its sentences begin and end."""
    first, last = 0, len(starts) - 1
    while first < last:
        after = max(first + 1, int(np.searchsorted(starts, starts[first] + _CACHED, side="right")) - 1)
        yield starts[first : after + 1]
        first = after


def _of_hidden(weights: Weights, hidden: Floats, starts: Ints) -> Floats:
    """Return s of some sentences from z, which is overwritten."""
    np.maximum(hidden, 0, out=hidden)
    out: Floats = product(hidden, weights.out)
    if len(weights.around_bias):
        around = np.tile(weights.around_bias, (len(hidden), 1))
        add_around(product(hidden, weights.around), starts, around)
        np.maximum(around, 0, out=around)
        out += product(around, weights.around_out)
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


@kernel_fma
def add_around(shares: Array, starts: Array, out: Array) -> None:
    """Add what a token and its neighbours in the sentence say to out[i]; shares[i] is a_i U, (n, 3 C)."""
    C = out.shape[1]
    for s in range(len(starts) - 1):
        first, last = starts[s], starts[s + 1]
        for i in range(first, last):
            target, own = out[i], shares[i, C : 2 * C]
            for c in range(C):
                target[c] += own[c]
            if i > first:
                before = shares[i - 1, :C]
                for c in range(C):
                    target[c] += before[c]
            if i + 1 < last:
                after = shares[i + 1, 2 * C :]
                for c in range(C):
                    target[c] += after[c]


@kernel_fma
def spread_around(gradient: Array, starts: Array, out: Array) -> None:
    """Write the gradient of the shares, (n, 3 C), from that of what :func:`add_around` added to, (n, C)."""
    C = gradient.shape[1]
    for s in range(len(starts) - 1):
        first, last = starts[s], starts[s + 1]
        for i in range(first, last):
            target = out[i]
            for c in range(C):
                target[c] = gradient[i + 1, c] if i + 1 < last else np.float32(0)
                target[C + c] = gradient[i, c]
                target[2 * C + c] = gradient[i - 1, c] if i > first else np.float32(0)
