"""One vector for a text: those of its tokens, pooled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, get_args

import numpy as np

from textlds.errors import check_choice
from textlds.linalg.types import Array
from textlds.vectors.space import TokenVectors

Pooling = Literal["mean", "max", "sum"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
_POOL: dict[str, Callable[..., Array]] = {"mean": np.mean, "max": np.max, "sum": np.sum}


def check_pooling(pooling: str, *others: str) -> None:
    """Refuse a way of pooling that is neither known nor one of ``others``."""
    options = (*others, *POOLINGS)
    check_choice("pooling", pooling, options)


def pooled(vectors: Array, pooling: Pooling) -> Array:
    """Pool the vectors of a text, (n, d) to (d,), dimension by dimension; zeros if it has no token."""
    return _POOL[pooling](vectors, axis=0) if len(vectors) else np.zeros(vectors.shape[1], vectors.dtype)


def pooled_texts(texts: Iterable[TokenVectors], pooling: Pooling, *, dimensions: int, dtype: str) -> Array:
    """Pool the vectors of each of n texts, (n, d)."""
    rows = [pooled(text.vectors, pooling) for text in texts]
    return np.stack(rows) if rows else np.empty((0, dimensions), dtype)
