"""Numbers as the report writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Cells = Mapping[str, Mapping[str, Any]]


def figures(cells: Cells, prefix: str) -> list[dict[str, Any]]:
    """Return the figures of the cells whose key begins with a prefix, in order: the seeds of one contender."""
    return [dict(cell["figures"]) for key, cell in cells.items() if key.startswith(prefix)]


def earlier(folder: Path, study: str) -> dict[str, Any]:
    """Return what a study showed when its test sets were read before, or nothing; ``earlier.json`` keeps it."""
    path = folder / "earlier.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))[study] if path.exists() else {}
    return found


def values(cells: Cells, prefix: str, name: str) -> list[float]:
    """Return one number of each of these cells."""
    return [float(found[name]) for found in figures(cells, prefix)]


def spread(some: Sequence[float], digits: int = 2) -> str:
    """Return mean ± standard deviation over seeds, or the one value there is."""
    if not some:
        return "–"
    mean = f"{np.mean(some):.{digits}f}"
    return f"{mean} ± {np.std(some, ddof=1):.{digits}f}" if len(some) > 1 else mean


def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def p_value(p: float) -> str:
    """Return a probability, small ones as a bound."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def two_proportions(first: float, second: float, n: float) -> float:
    """Return the probability of a difference at least as large between two percentages of n that are one by nature."""
    pooled = (first + second) / 200
    error = math.sqrt(2 * pooled * (1 - pooled) / n)
    return math.erfc(abs(first - second) / 100 / error / math.sqrt(2)) if error else 1.0


def significant(p: float) -> bool:
    """Tell whether a difference counts as more than chance, at the paper's level."""
    return p < 0.05


def tagger(classifier: Mapping[str, Any]) -> str:
    """Return what the local tagger is, from its settings."""
    limit = classifier["sentences"]
    learnt = "all training sentences" if limit is None else f"the first {limit:,} training sentences"
    return f"local tagger, {classifier['hidden']} hidden units, learnt from {learnt}"


def tokens(number: float | None) -> str:
    """Return an amount of text in words."""
    return "all the text" if number is None else f"{number / 1e6:g}M tokens"
