"""Multinomial logistic regression by L-BFGS: convex, deterministic, no learning rate.

    minimise over U, b     −Σ_t log softmax(log f + b + U H x_t)[y_t] + ½ λ ‖U‖² + ½ λ_b ‖b‖²

H = E[x xᵀ]^-½ whitens the features, so that one λ suits all directions. The curvature of row i is then about
n_i = N f_i in every direction, and the variables are scaled by (n_i + λ)^½: L-BFGS meets a nearly round bowl. It starts
on a part of the data and continues with all of it. H is multiplied into the weights, never into the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Array, Matrix, Vector

Features = Callable[[Any], Array]  # rows of the sample -> x, (rows, d) float32

_BLOCK = 1 << 14
_BIAS_PENALTY = 0.1
_FIRST_PART = 8  # the first iterations see every eighth token
_ENOUGH = 1 << 16  # ... unless there are no more than this


@dataclass(frozen=True)
class Logistic:
    """softmax(bias + weights x), x as it is.

    Attributes:
        weights: (K, d).
        bias: (K,), log f included.
    """

    weights: Matrix
    bias: Vector


def fit_logistic(
    features: Features,
    targets: NDArray[np.int64],
    counts: Vector,
    whitener: Matrix,
    *,
    penalty: float,
    iterations: int,
    threads: int = 1,
    passed: Callable[[], None] | None = None,
) -> Logistic:
    """Fit a softmax over K classes.

    Args:
        features: Gives the d features of any rows of the sample.
        targets: The class of each, (N,).
        counts: How often each class is expected, (K,), positive: f up to its sum.
        whitener: H, (d, d).
        penalty: λ.
        iterations: Of L-BFGS at most, on all of the data.
        threads: How many; the result is the same.
        passed: Called after every pass over the data, or a part of it.

    Cost: 4 N K d operations per iteration, in float32; sums are float64.
    """
    from scipy.optimize import minimize

    K, N, d = len(counts), len(targets), len(whitener)
    log_f = np.log(counts / counts.sum())
    scale = np.sqrt(N * counts / counts.sum() + penalty)
    bias_scale = np.sqrt(N * counts / counts.sum() + _BIAS_PENALTY)

    def objective(flat: Vector, rows: NDArray[np.int64]) -> tuple[float, Vector]:
        scaled = flat.reshape(K, d + 1)
        weights, bias = scaled[:, :d] / scale[:, None], scaled[:, d] / bias_scale
        loss, slope, bias_slope = loss_and_slope(features, targets, rows, weights @ whitener, log_f + bias, threads)
        if passed is not None:
            passed()
        share = N / len(rows)  # of a part of the data, as if it were all
        loss = share * loss + 0.5 * penalty * float((weights**2).sum()) + 0.5 * _BIAS_PENALTY * float(bias @ bias)
        slope = (share * slope @ whitener.T + penalty * weights) / scale[:, None]
        bias_slope = (share * bias_slope + _BIAS_PENALTY * bias) / bias_scale
        return loss / N, np.column_stack([slope, bias_slope]).ravel() / N

    stages = [np.arange(N)]
    if N > _ENOUGH:
        stages.insert(0, np.arange(0, N, min(_FIRST_PART, -(-N // _ENOUGH))))
    flat = np.zeros(K * (d + 1))
    for rows in stages:
        options = {"maxiter": iterations, "maxcor": 10, "ftol": 1e-6, "gtol": 1e-6}
        flat = minimize(objective, flat, args=(rows,), jac=True, method="L-BFGS-B", options=options).x
    unknowns = flat.reshape(K, d + 1)
    return Logistic(unknowns[:, :d] / scale[:, None] @ whitener, log_f + unknowns[:, d] / bias_scale)


def loss_and_slope(
    features: Features,
    targets: NDArray[np.int64],
    rows: NDArray[np.int64],
    weights: Matrix,
    bias: Vector,
    threads: int,
) -> tuple[float, Matrix, Vector]:
    """Return −Σ log softmax(bias + weights x)[y] over some rows, and its derivatives by weights and bias."""
    transposed, offset = np.ascontiguousarray(weights.T, np.float32), bias.astype(np.float32)

    def block(part: NDArray[np.int64]) -> tuple[float, Array, Array]:
        x = features(part)
        logits = x @ transposed
        logits += offset
        here, y = np.arange(len(part)), targets[part]
        right = logits[here, y].astype(np.float64)
        totals = exponentiate(logits)
        loss = float((totals - right).sum())
        # logits hold probabilities now; minus the truth, they are the residuals
        logits[here, y] -= 1
        return loss, logits.T @ x, logits.sum(axis=0)

    parts = [rows[begin : begin + _BLOCK] for begin in range(0, len(rows), _BLOCK)]
    loss, slope, bias_slope = 0.0, np.zeros(weights.shape), np.zeros(len(bias))
    for group in range(0, len(parts), 4 * threads):  # a few at a time: each gives K d numbers
        some = parts[group : group + 4 * threads]
        for part_loss, part_slope, part_bias_slope in parallel_map(block, some, threads=threads):
            loss += part_loss
            slope += part_slope
            bias_slope += part_bias_slope
    return loss, slope, bias_slope


def exponentiate(logits: Array) -> Vector:
    """Turn rows of logits into probabilities, in place, and return the logarithm of each row's sum, float64."""
    top = logits.max(axis=1)
    logits -= top[:, None]
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1)
    logits /= sums[:, None]
    totals: Vector = top.astype(np.float64) + np.log(sums.astype(np.float64))
    return totals
