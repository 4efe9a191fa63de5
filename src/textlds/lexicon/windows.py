"""The shape of the window that meaning looks through: what every lag counts. Importing this module is cheap."""

from __future__ import annotations

import math
from collections.abc import Callable

from textlds.errors import ArgumentError

_SHAPES: dict[str, Callable[[int, int], float]] = {  # of lag k among R
    "near": lambda k, lags: 1 / max(1, k - 1),
    "triangular": lambda k, lags: 1 - (k - 1) / lags,
    "flat": lambda k, lags: 1.0,
    "harmonic": lambda k, lags: 1 / k,
}


def check_window(window: str) -> None:
    """Raise ArgumentError unless the window is a shape or weights."""
    if window in _SHAPES:
        return
    weights = _explicit(window)
    if not weights or not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        shapes = ", ".join(map(repr, _SHAPES))
        raise ArgumentError(
            f"meaning_window={window!r:.200} must be one of {shapes}, or the weights of lags 1, 2, ... with "
            "commas between them, such as '1,0.5': numbers of at least 0, not all of them 0."
        )


def check_lags(window: str, max_lag: int) -> None:
    """Raise ArgumentError if a window, which is checked, weighs lags that the counts do not have."""
    asked = 1 if window in _SHAPES else len(_explicit(window))
    if asked > max_lag:
        raise ArgumentError(
            f"meaning_window={window!r:.200} has weights of {asked} lags, but the counts hold {max_lag}. Count with "
            f"max_lag={asked}, or give at most {max_lag} of them."
        )


def window_weights(window: str, lags: int) -> list[float]:
    """Return s_1..s_R of a window that is checked; lags beyond explicit weights count nothing."""
    shape = _SHAPES.get(window)
    if shape is not None:
        return [shape(k, lags) for k in range(1, lags + 1)]
    return [*_explicit(window), *[0.0] * lags][:lags]


def _explicit(window: str) -> list[float]:
    """Return the weights that are spelled out; none if they are not numbers."""
    try:
        return [float(weight) for weight in window.split(",")]
    except ValueError:
        return []
