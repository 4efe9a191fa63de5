"""The gradient of the network's loss on a batch of sentences, and steps of Adam."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel_fma
from textlds.tagging.chains import chain_gradient
from textlds.tagging.features import Buckets
from textlds.tagging.network import Floats, Inputs, Ints, Weights, add_around, add_bags, spread_around

Array = Any  # arrays inside kernels: numba infers dtype and layout

_SECOND = 0.5  # of the dropout of the first layer, that of the second


def gradients(
    weights: Weights,
    inputs: Inputs,
    gold: Ints,
    scale: Floats,
    dropped: tuple[float, float, float],
    generator: np.random.Generator,
    alone: NDArray[np.bool_] | None = None,
) -> tuple[float, dict[str, Floats], Floats, Buckets]:
    """Return the mean −log p of a batch per token and its gradients.

    Args:
        weights: For vectors that are scaled.
        inputs: The batch, n tokens.
        gold: The right tags, (n,).
        scale: What the vectors are multiplied by, (d,).
        dropped: Shares of hidden units (of the second layer half as many), of numbers of vectors and of features that
            are left out.
        generator: Chooses which.
        alone: Tokens that are read without what is about the rest of their document, (n,); None for none.

    Returns:
        The loss, the gradients by name, that of z, (n, H), and the buckets that were not left out: the gradient of a
        row of the features is the sum of the rows of z's where it occurs.
    """
    w, n = weights, len(inputs)
    z = np.tile(w.bias, (n, 1))
    x = np.empty((n, 0), np.float32)
    if inputs.parts:
        x = np.concatenate([part.table[part.rows] for part in inputs.parts], axis=1)
        if alone is not None:
            _forget(x, inputs, alone)
        x *= scale
        drop(x, dropped[1], generator)
        z += x @ w.vectors
    buckets = inputs.buckets
    if buckets.shape[1]:
        if alone is not None:
            for column in inputs.memories[1]:
                buckets[alone, column] = -1  # a copy of the batch's own
        if dropped[2]:
            buckets = np.where(generator.random(buckets.shape, np.float32) < dropped[2], np.int32(-1), buckets)
        add_bags(w.features, buckets, z)
    a = np.maximum(z, 0)
    mask = drop(a, dropped[0], generator)
    scored = a @ w.out + w.out_bias
    c = np.tile(w.around_bias, (n, 1))
    if c.shape[1]:
        add_around(a @ w.around, inputs.starts, c)
        np.maximum(c, 0, out=c)
        of_c = drop(c, dropped[0] * _SECOND, generator)
        scored += c @ w.around_out
    K = scored.shape[1]
    chain = {"first": np.zeros(K), "last": np.zeros(K), "transitions": np.zeros((K, K))}
    of_scores = np.empty((n, K))
    loss = chain_gradient(scored, inputs.starts, gold, w.first, w.last, w.transitions, of_scores, *chain.values())
    ds = (of_scores / n).astype(np.float32)
    found: dict[str, Floats] = {name: (value / n).astype(np.float32) for name, value in chain.items()}
    found["out"], found["out_bias"] = a.T @ ds, ds.sum(axis=0)
    dz = ds @ w.out.T
    if c.shape[1]:
        dc = ds @ w.around_out.T
        dc *= of_c
        dc *= c > 0
        shares = np.empty((n, 3 * c.shape[1]), np.float32)
        spread_around(dc, inputs.starts, shares)
        found["around"], found["around_bias"], found["around_out"] = a.T @ shares, dc.sum(axis=0), c.T @ ds
        dz += shares @ w.around.T
    dz *= mask
    dz *= z > 0
    found["bias"] = dz.sum(axis=0)
    if x.shape[1]:
        found["vectors"] = x.T @ dz
    return loss / n, found, dz, buckets


def _forget(x: Floats, inputs: Inputs, alone: NDArray[np.bool_]) -> None:
    """Put to zero what some tokens see of the rest of their document."""
    ends = np.cumsum([0, *(part.table.shape[1] for part in inputs.parts)])
    for number in inputs.memories[0]:
        x[alone, ends[number] : ends[number + 1]] = 0


def drop(array: Floats, share: float, generator: np.random.Generator) -> Floats:
    """Put a share of the numbers to zero, to the next 256th, and scale the others up; return the factors."""
    limit = round(256 * share)
    if not limit:
        return np.ones(1, np.float32)
    kept = np.frombuffer(generator.bytes(array.size), np.uint8).reshape(array.shape) >= limit
    factors: Floats = kept * np.float32(256 / (256 - limit))
    array *= factors
    return factors


def scatter(gradient: Floats, buckets: Buckets, slots: Any) -> tuple[Any, Floats]:
    """Sum the gradients of tokens by bucket; return the buckets and their sums.

    Args:
        gradient: (n, H).
        buckets: (n, features), −1 for none.
        slots: Room for the kernel, (buckets,), −1 before and after.
    """
    room = min(buckets.size, len(slots))
    rows, sums = np.empty(room, np.int32), np.zeros((room, gradient.shape[1]), np.float32)
    count = scatter_rows(gradient, buckets, slots, rows, sums)
    return rows[:count], sums[:count]


@kernel_fma
def scatter_rows(gradient: Array, buckets: Array, slots: Array, rows: Array, out: Array) -> int:
    """Fill what :func:`scatter` returns; return how many rows there are."""
    n, F = buckets.shape
    count = 0
    for i in range(n):
        source = gradient[i]
        for f in range(F):
            bucket = buckets[i, f]
            if bucket < 0:
                continue
            slot = slots[bucket]
            if slot < 0:
                slot = slots[bucket] = count
                rows[count] = bucket
                count += 1
            target = out[slot]
            for c in range(len(source)):
                target[c] += source[c]
    for k in range(count):
        slots[rows[k]] = -1
    return count


@kernel_fma
def adam(array: Array, gradient: Array, first: Array, second: Array, rate: Any, correction: Any) -> None:
    """Take a step of Adam (Kingma & Ba 2015), in place."""
    for i in range(len(array)):
        g = gradient[i]
        first[i] = np.float32(0.9) * first[i] + np.float32(0.1) * g
        second[i] = np.float32(0.999) * second[i] + np.float32(0.001) * g * g
        array[i] -= rate * first[i] / (np.sqrt(second[i]) * correction + np.float32(1e-8))


@kernel_fma
def adam_rows(
    table: Array, rows: Array, gradients: Array, first: Array, second: Array, rate: Any, correction: Any
) -> None:
    """Take a step of Adam for the rows of a table that have a gradient."""
    for k in range(len(rows)):
        adam(table[rows[k]], gradients[k], first[rows[k]], second[rows[k]], rate, correction)
