"""Compiled inner loops of inference."""

from __future__ import annotations

import numpy as np

from textlds.compiled import kernel_fma
from textlds.linalg.products import add_product
from textlds.linalg.sphere import NOTHING


@kernel_fma
def take_rows(table, extra, rows, out):  # type: ignore[no-untyped-def]
    """Copy rows of a table into ``out``; those beyond its end are of ``extra``, those before its beginning its last."""
    n = len(table)
    for i in range(len(rows)):
        row = rows[i]
        out[i] = extra[row - n] if row >= n else table[row]


@kernel_fma
def filter_steps(AT, shrink, steps, begin, pred, filt, update):  # type: ignore[no-untyped-def]
    """Filter packed sequences from time step ``begin`` on: p_t = A x̂_{t−1}, x̂_t = φ ∘ p_t + k(w_t).

    Fills pred, which is zero, filt, which holds k(w_t), and update with x̂_t − p_t; all (n, h).
    """
    for t in range(begin, len(steps) - 1):
        first, last = steps[t], steps[t + 1]
        if t > 0:
            add_product(filt[steps[t - 1] : steps[t - 1] + last - first], AT, pred[first:last])
        for i in range(first, last):
            for c in range(len(shrink)):
                update[i, c] = filt[i, c] - (1 - shrink[c]) * pred[i, c]
                filt[i, c] += shrink[c] * pred[i, c]


@kernel_fma
def smooth_steps(A, shrink, steps, end, update, right):  # type: ignore[no-untyped-def]
    """Smooth packed sequences down to time step ``end``: r_t = Aᵀ (φ ∘ (r_{t+1} + x̂_{t+1} − p_{t+1})).

    ``update`` holds x̂_t − p_t, ``right`` zeros; both (n, h).
    """
    correction = np.empty_like(right[steps[0] : steps[1]])
    for t in range(len(steps) - 3, end - 1, -1):
        first, last = steps[t + 1], steps[t + 2]
        for i in range(first, last):
            for c in range(len(shrink)):
                correction[i - first, c] = shrink[c] * (right[i, c] + update[i, c])
        add_product(correction[: last - first], A, right[steps[t] : steps[t] + last - first])


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
