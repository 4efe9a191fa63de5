"""Elementwise functions of vectors."""

from __future__ import annotations

import numpy as np

from textlds.linalg.types import Vector


def inverse_or_zero(x: Vector) -> Vector:
    """Return 1 / x, and 0 where x is 0: a word without a frequency has no weight."""
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)
