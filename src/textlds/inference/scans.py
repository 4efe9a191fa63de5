"""Compiled inner loops of inference in the filter's eigenbasis (:mod:`textlds.inference.diagonal`).

Coordinates are laid out as real parts of c complex pairs, their imaginary parts, and h − 2c real eigenvalues, so that
a step is three loops over contiguous numbers.
"""

from __future__ import annotations

import numpy as np

from textlds.compiled import kernel, kernel_fma
from textlds.linalg.sphere import NOTHING

_LANES = 16  # sums that are kept apart, so that a row's length is computed by vector instructions


@kernel
def number_words(ids, numbers, seen, distinct):  # type: ignore[no-untyped-def]
    """Number the distinct ids of a window in the order in which they occur; returns how many there are.

    Args:
        ids: Words, below ``len(seen)``.
        numbers: Receives the number of each.
        seen: −1 everywhere; is left so.
        distinct: Receives the id of each number.
    """
    n = 0
    for i in range(len(ids)):
        word = ids[i]
        if seen[word] < 0:
            seen[word] = n
            distinct[n] = word
            n += 1
        numbers[i] = seen[word]
    for i in range(n):
        seen[distinct[i]] = -1
    return n


@kernel
def cut(starts, piece, overlap, bounds):  # type: ignore[no-untyped-def]
    """Cut sequences into pieces: as many whole ones as make about ``piece`` tokens, or a part of a long one.

    Returns the number of pieces; ``bounds`` receives where each begins to be read and to be kept, and where it ends to
    be kept and to be read. A long sequence is cut at multiples of ``piece`` from its own beginning.
    """
    n = 0
    begin = starts[0]
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if last - first <= piece + overlap:
            if last - begin < piece and i + 2 < len(starts):
                continue
            if last > begin:
                bounds[n, 0], bounds[n, 1], bounds[n, 2], bounds[n, 3] = begin, begin, last, last
                n += 1
            begin = last
            continue
        if first > begin:
            bounds[n, 0], bounds[n, 1], bounds[n, 2], bounds[n, 3] = begin, begin, first, first
            n += 1
        begin = first
        while begin < last:
            end = begin + piece if last - begin > piece + piece // 2 else last
            bounds[n, 0], bounds[n, 1] = max(begin - overlap, first), begin
            bounds[n, 2], bounds[n, 3] = end, min(end + overlap, last)
            n += 1
            begin = end
    return n


@kernel_fma
def scan_forward(numbers, fresh, table, real, imaginary, low, high, out):  # type: ignore[no-untyped-def]
    """Set out[t − low, :h] to a_t = Λ (a_{t−1} + g(w_{t−1})), zero where a sequence begins and at ``low``."""
    h, c = len(real), len(imaginary)
    for t in range(low, high):
        now = out[t - low, :h]
        if t == low or fresh[t]:
            now[:] = 0
            continue
        before, g = out[t - 1 - low, :h], table[numbers[t - 1], :h]
        for i in range(c):
            re, im = before[i] + g[i], before[c + i] + g[c + i]
            now[i] = real[i] * re + imaginary[i] * im
            now[c + i] = real[i] * im - imaginary[i] * re
        for i in range(2 * c, h):
            now[i] = real[i] * (before[i] + g[i])


@kernel_fma
def scan_backward(numbers, fresh, table, real, imaginary, low, high, ends, out):  # type: ignore[no-untyped-def]
    """Set out[t − low, h:] to y_t = Λᵀ (y_{t+1} + s(w_{t+1})), zero at ``high`` − 1 and where a sequence ends.

    In the sum, y at the end of a sequence is a row of ``ends``, which has one for each in low..high.
    """
    h, c = len(real), len(imaginary)
    end = len(ends)
    for t in range(high - 1, low - 1, -1):
        now = out[t - low, h:]
        if t == high - 1 or fresh[t + 1]:
            end -= int(fresh[t + 1])
            now[:] = 0
            continue
        after, s = out[t + 1 - low, h:], table[numbers[t + 1], h:]
        if fresh[t + 2]:
            after = ends[end]
        for i in range(c):
            re, im = after[i] + s[i], after[c + i] + s[c + i]
            now[i] = real[i] * re - imaginary[i] * im
            now[c + i] = real[i] * im + imaginary[i] * re
        for i in range(2 * c, h):
            now[i] = real[i] * (after[i] + s[i])


@kernel_fma
def finish(context, own, numbers, begin, end, out, column):  # type: ignore[no-untyped-def]
    """Write context[i] + own[w], scaled to length one, to out[begin + i, column:column + width]; tiny ones are zero."""
    width = context.shape[1]
    lanes = np.empty(_LANES, context.dtype)
    whole = width // _LANES * _LANES
    for t in range(begin, end):
        source, word = context[t - begin], own[numbers[t]]
        target = out[t, column : column + width]
        for i in range(width):
            target[i] = source[i] + word[i]
        scale = 1 / row_length(target, whole, lanes)
        for i in range(width):
            target[i] *= scale


@kernel_fma
def row_length(row, whole, lanes):  # type: ignore[no-untyped-def]
    """Return the length of a row, infinity for one shorter than NOTHING, NaN for one that is not finite.

    ``whole`` is its multiple of the lanes.
    """
    lanes[:] = 0
    for i in range(0, whole, _LANES):
        for k in range(_LANES):
            lanes[k] += row[i + k] * row[i + k]
    total = np.float64(0)
    for k in range(_LANES):
        total += lanes[k]
    for i in range(whole, len(row)):
        total += np.float64(row[i] * row[i])
    if not total < np.inf:
        return row.dtype.type(np.nan)
    return row.dtype.type(np.sqrt(total) if total > NOTHING**2 else np.inf)


@kernel
def copy_words(table, numbers, out, begin, end, column):  # type: ignore[no-untyped-def]
    """Copy row numbers[i] of a table to out[i, column:column + width] for i in begin..end; zeros for −1."""
    width = table.shape[1]
    for i in range(begin, end):
        target = out[i, column : column + width]
        if numbers[i] < 0:
            target[:] = 0
        else:
            target[:] = table[numbers[i]]
