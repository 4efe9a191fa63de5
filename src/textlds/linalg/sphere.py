"""Vectors of length one."""

from __future__ import annotations

import numpy as np

from textlds.linalg.types import Array

# A whitened mean is of length sqrt(h) on average. One this short is rounding: that of a word that was never seen, say.
NOTHING = 1e-5


def on_sphere(X: Array, *, out: Array | None = None, nothing: float = NOTHING) -> Array:
    """Scale every row to length one; one not longer than ``nothing`` becomes zero. ``out`` may be X itself."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    scaled: Array = np.divide(X, np.where(lengths > nothing, lengths, X.dtype.type(np.inf))[:, None], out=out)
    return scaled
