"""Linear chains: the best sequence of tags, the probability of each tag, and the gradient of the likelihood.

    p(y | s) ∝ exp(a[y_1] + Σ_t s[t, y_t] + Σ_t T[y_t, y_{t+1}] + b[y_n])

A transition that is not allowed has T = −inf. Sentences follow each other; ``starts`` says where each begins.
All sums are in float64, scaled at every token, so that a sentence may have any length. Cost: O(n K²).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textlds.compiled import kernel

Array = Any  # arrays inside kernels: numba infers dtype and layout


@kernel
def viterbi(scores: Array, starts: Array, first: Array, last: Array, transitions: Array, out: Array) -> None:
    """Write the best tag of every token into ``out``, (n,).

    Args:
        scores: s, (n, K) float32.
        starts: (sentences + 1,).
        first: a, (K,).
        last: b, (K,).
        transitions: T, (K, K), from row to column.
    """
    K = scores.shape[1]
    longest = 1
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    back = np.empty((longest, K), np.int16)
    now, then = np.empty(K, np.float32), np.empty(K, np.float32)
    best = np.empty(K, np.int32)
    for s in range(len(starts) - 1):
        begin, n = starts[s], starts[s + 1] - starts[s]
        if n == 0:
            continue
        for j in range(K):
            now[j] = first[j] + scores[begin, j]
        for t in range(1, n):
            for j in range(K):
                then[j] = now[0] + transitions[0, j]
                best[j] = 0
            for i in range(1, K):
                value, row = now[i], transitions[i]
                for j in range(K):
                    candidate = value + row[j]
                    better = candidate > then[j]
                    then[j] = candidate if better else then[j]
                    best[j] = i if better else best[j]
            for j in range(K):
                back[t, j] = best[j]
                now[j] = then[j] + scores[begin + t, j]
        tag = 0
        for j in range(1, K):
            if now[j] + last[j] > now[tag] + last[tag]:
                tag = j
        out[begin + n - 1] = tag
        for t in range(n - 1, 0, -1):
            tag = back[t, tag]
            out[begin + t - 1] = tag


@kernel
def _share(part: float, whole: float) -> float:
    """Return part / whole; NaN if all parts are too small for a number, which scores of any use never make them."""
    return part / whole if whole > 0 else np.nan


@kernel
def marginals(scores: Array, starts: Array, first: Array, last: Array, transitions: Array, out: Array) -> float:
    """Write the probability of every tag at every token into ``out``, (n, K); return Σ log Z. See :func:`viterbi`."""
    K = scores.shape[1]
    moves = np.empty((K, K), np.float64)
    for i in range(K):
        for j in range(K):
            moves[i, j] = np.exp(transitions[i, j])
    back, spare = np.empty(K), np.empty(K)
    total = 0.0
    for s in range(len(starts) - 1):
        begin, end = starts[s], starts[s + 1]
        if end == begin:
            continue
        total += _forward(scores, begin, end, first, last, moves, out, spare)
        _ending(last, back)
        for t in range(end - 1, begin - 1, -1):
            sum_ = 0.0
            for j in range(K):
                spare[j] = out[t, j] * back[j]
                sum_ += spare[j]
            if t > begin:
                _step_back(scores[t], moves, back)
            for j in range(K):
                out[t, j] = _share(spare[j], sum_)
    return total


@kernel
def chain_gradient(
    scores: Array, starts: Array, gold: Array, first: Array, last: Array, transitions: Array,
    d_scores: Array, d_first: Array, d_last: Array, d_transitions: Array,
) -> float:  # fmt: skip
    """Return Σ −log p(gold) and write its gradients; those of the chain's own parameters are added to.

    Args:
        scores: s, (n, K) float32.
        starts: (sentences + 1,).
        gold: The right tags, (n,).
        first: a, (K,).
        last: b, (K,).
        transitions: T, (K, K).
        d_scores: (n, K) float64, overwritten.
        d_first: Added to, as the two that follow.
        d_last: (K,).
        d_transitions: (K, K).
    """
    K = scores.shape[1]
    moves = np.empty((K, K), np.float64)
    for i in range(K):
        for j in range(K):
            moves[i, j] = np.exp(transitions[i, j])
    back, spare, sums = np.empty(K), np.empty(K), np.empty(K)
    loss = 0.0
    for s in range(len(starts) - 1):
        begin, end = starts[s], starts[s + 1]
        if end == begin:
            continue
        loss += _forward(scores, begin, end, first, last, moves, d_scores, spare)
        loss -= first[gold[begin]] + last[gold[end - 1]]
        _ending(last, back)
        for t in range(end - 1, begin - 1, -1):
            sum_ = 0.0
            for j in range(K):
                spare[j] = d_scores[t, j] * back[j]
                sum_ += spare[j]
            for j in range(K):
                spare[j] = _share(spare[j], sum_)
            if t > begin:
                _step_back(scores[t], moves, back)
                _pairs(d_scores[t - 1], moves, spare, sums, d_transitions)
                loss -= transitions[gold[t - 1], gold[t]]
                d_transitions[gold[t - 1], gold[t]] -= 1
            else:
                for j in range(K):
                    d_first[j] += spare[j]
            if t == end - 1:
                for j in range(K):
                    d_last[j] += spare[j]
            for j in range(K):
                d_scores[t, j] = spare[j]
            loss -= scores[t, gold[t]]
            d_scores[t, gold[t]] -= 1
        d_first[gold[begin]] -= 1
        d_last[gold[end - 1]] -= 1
    return loss


@kernel
def _largest(values: Array) -> float:
    """Return the largest value. Loading a kernel that calls numba's own max imports scipy, half a second."""
    top = values[0]
    for value in values:
        top = max(top, value)
    return top  # type: ignore[no-any-return]  # a number inside kernels


@kernel
def _ending(last: Array, back: Array) -> None:
    top = _largest(last)
    for j in range(len(back)):
        back[j] = np.exp(last[j] - top)


@kernel
def _forward(
    scores: Array, begin: int, end: int, first: Array, last: Array, moves: Array, out: Array, spare: Array
) -> float:
    """Write the scaled forward probabilities of one sentence; return log Z."""
    K = scores.shape[1]
    log_z = 0.0
    for t in range(begin, end):
        if t == begin:
            for j in range(K):
                out[t, j] = first[j] + scores[t, j]
            top = _largest(out[t])
            for j in range(K):
                out[t, j] = np.exp(out[t, j] - top)
        else:
            for j in range(K):
                spare[j] = 0.0
            for i in range(K):
                value, row = out[t - 1, i], moves[i]
                for j in range(K):
                    spare[j] += value * row[j]
            top = np.float64(_largest(scores[t]))
            for j in range(K):
                out[t, j] = spare[j] * np.exp(scores[t, j] - top)
        sum_ = 0.0
        for j in range(K):
            sum_ += out[t, j]
        for j in range(K):
            out[t, j] = _share(out[t, j], sum_)
        log_z += top + np.log(sum_)
    sum_ = 0.0
    top = np.float64(_largest(last))
    for j in range(K):
        sum_ += out[end - 1, j] * np.exp(last[j] - top)
    return log_z + top + float(np.log(sum_))


@kernel
def _step_back(scores: Array, moves: Array, back: Array) -> None:
    """Turn β_t into β_{t−1}[i] = Σ_j T[i, j] e^{s_t[j]} β_t[j], scaled to a sum of one."""
    K = len(back)
    inner = np.empty(K)
    top = np.float64(_largest(scores))
    for j in range(K):
        inner[j] = np.exp(scores[j] - top) * back[j]
    sum_ = 0.0
    for i in range(K):
        value = 0.0
        for j in range(K):
            value += moves[i, j] * inner[j]
        back[i] = value
        sum_ += value
    for i in range(K):
        back[i] = _share(back[i], sum_)


@kernel
def _pairs(before: Array, moves: Array, now: Array, sums: Array, d_transitions: Array) -> None:
    """Add p(y_{t−1} = i, y_t = j) = p(y_t = j) α_{t−1}[i] T[i, j] / Σ_i α_{t−1}[i] T[i, j] to the gradient."""
    K = len(now)
    for j in range(K):
        sums[j] = 0.0
    for i in range(K):
        value, row = before[i], moves[i]
        for j in range(K):
            sums[j] += value * row[j]
    for j in range(K):
        sums[j] = now[j] / sums[j] if sums[j] > 0 else 0.0
    for i in range(K):
        value, row, target = before[i], moves[i], d_transitions[i]
        for j in range(K):
            target[j] += value * row[j] * sums[j]
