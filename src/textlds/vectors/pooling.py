"""One vector for a text: those of its tokens, pooled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from textlds.errors import check_choice
from textlds.linalg.types import Array
from textlds.vectors.space import TokenVectors

Pooling = Literal["mean", "max", "sum", "weighted"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
_POOL: dict[str, Callable[..., Array]] = {"mean": np.mean, "max": np.max, "sum": np.sum}


def check_pooling(pooling: str, *others: str) -> None:
    """Refuse a way of pooling that is neither known nor one of ``others``."""
    options = (*others, *POOLINGS)
    check_choice("pooling", pooling, options)


def mean_vector(vectors: Array) -> Array:
    """Return the mean of vectors, (n, d) to (d,); zeros if there are none."""
    return vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], vectors.dtype)


def pooled(text: TokenVectors, pooling: Pooling, weights: Callable[[Sequence[str]], Array]) -> Array:
    """Pool the vectors of a text, (n, d) to (d,), dimension by dimension; zeros if it has no token.

    Args:
        text: The tokens and their vectors.
        pooling: ``"weighted"``: a mean in which rare words count more.
        weights: Returns those of tokens, (n,), for that.
    """
    vectors = text.vectors
    if not len(vectors):
        return np.zeros(vectors.shape[1], vectors.dtype)
    if pooling != "weighted":
        return _POOL[pooling](vectors, axis=0)
    own = weights(text.tokens).astype(vectors.dtype)
    result: Array = own @ vectors / own.sum()
    return result


def pooled_texts(
    texts: Iterable[TokenVectors],
    pooling: Pooling,
    weights: Callable[[Sequence[str]], Array],
    *,
    dimensions: int,
    dtype: str,
) -> Array:
    """Pool the vectors of each of n texts, (n, d)."""
    rows = [pooled(text, pooling, weights) for text in texts]
    return np.stack(rows) if rows else np.empty((0, dimensions), dtype)
