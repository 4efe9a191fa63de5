"""Compiled inner loops of inference."""

from __future__ import annotations

import numpy as np

from textlds.compiled import kernel_fma
from textlds.linalg.sphere import NOTHING


@kernel_fma
def take_rows(table, extra, rows, out):  # type: ignore[no-untyped-def]
    """Copy rows of a table into ``out``; those beyond its end are of ``extra``, those before its beginning its last."""
    n = len(table)
    for i in range(len(rows)):
        row = rows[i]
        out[i] = extra[row - n] if row >= n else table[row]


@kernel_fma
def smooth_one(A, AT, shrink, pred, filt, smooth):  # type: ignore[no-untyped-def]
    """Filter and smooth one short sequence with as little delay as possible.

    The matrices stay in the cache and are read row by row: p += x_j · (row j of Aᵀ) needs no horizontal sums.
    Fills pred, filt and smooth, each (n, h); filt holds k(w_t) before.
    """
    n, h = pred.shape
    for t in range(n):
        p = pred[t]
        p[:] = 0
        if t > 0:
            _accumulate(AT, filt[t - 1], p)
        for i in range(h):
            filt[t, i] += shrink[i] * p[i]
    for i in range(h):
        smooth[n - 1, i] = filt[n - 1, i]
    correction = np.empty(h, pred.dtype)
    for t in range(n - 2, -1, -1):
        for i in range(h):
            correction[i] = shrink[i] * (smooth[t + 1, i] - pred[t + 1, i])
            smooth[t, i] = filt[t, i]
        _accumulate(A, correction, smooth[t])


@kernel_fma
def _accumulate(rows, x, y):  # type: ignore[no-untyped-def]
    """Add Σ_j x_j rows[j] to y, four rows at a time."""
    h = len(y)
    fours = len(x) // 4 * 4
    for j in range(0, fours, 4):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        r0, r1, r2, r3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        for i in range(h):
            y[i] += x0 * r0[i] + x1 * r1[i] + x2 * r2[i] + x3 * r3[i]
    for j in range(fours, len(x)):
        x0, r0 = x[j], rows[j]
        for i in range(h):
            y[i] += x0 * r0[i]


@kernel_fma
def unpack_on_sphere(packed, rows, targets, out, column):  # type: ignore[no-untyped-def]
    """Copy row rows[i] of ``packed``, scaled to length one, to out[targets[i], column:column + width].

    A row shorter than NOTHING becomes zero, one that is not finite NaN as a whole.
    """
    width = packed.shape[1]
    for i in range(len(rows)):
        source = packed[rows[i]]
        total = 0.0
        for c in range(width):
            total += np.float64(source[c]) * np.float64(source[c])
        scale = packed.dtype.type(1.0 / np.sqrt(total)) if total > NOTHING**2 else packed.dtype.type(0)
        if not total < np.inf:
            scale = packed.dtype.type(np.nan)
        target = out[targets[i]]
        for c in range(width):
            target[column + c] = scale * source[c]
