"""The likelihood of each token, given the words before it, relative to the static model.

With l = k(w_t), R = diag(1 − φ), v = l − R p_t and Σ_filt the filtered covariance (I in the steady state):

    log N(w_t; C p_t, S) − log N(w_t; 0, Ψ_0)
        = −½ [ log det S + (wᵀD⁺w − wᵀΨ_0⁺w) − 2 p·l + pᵀR p − vᵀΣ_filt v ]

The static model is the one with C = 0, which knows the frequency of words and nothing of their order. A token with a
low score is a surprise in its context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Encoder, Text
from textlds.errors import check_finite
from textlds.inference.engine import Consumer, Engine, Index, Posterior
from textlds.inference.windows import flatten, visible, windows
from textlds.linalg.products import product
from textlds.linalg.types import Vector


@dataclass(frozen=True)
class TokenScores:
    """The scores of one text.

    Attributes:
        tokens: The tokens as they occur in the text.
        values: Log-likelihood of each, nats, relative to the static model, (n,).
    """

    tokens: list[str]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.tokens)

    def surprising(self, n: int = 5) -> list[tuple[str, float]]:
        """Return the n tokens that fit their left context least."""
        order = np.argsort(self.values, kind="stable")[:n]
        return [(self.tokens[i], float(self.values[i])) for i in order]


class Scores(Sequence[TokenScores]):
    """The scores of several texts, with their mean per token."""

    def __init__(self, texts: list[TokenScores]) -> None:
        self._texts = texts

    @property
    def tokens(self) -> int:
        """How many tokens were scored."""
        return sum(len(text) for text in self._texts)

    @property
    def per_token(self) -> float:
        """The mean log-likelihood per token; NaN without tokens."""
        total = sum(float(text.values.sum()) for text in self._texts)
        return total / self.tokens if self.tokens else float("nan")

    def __float__(self) -> float:
        return self.per_token

    @overload
    def __getitem__(self, index: int) -> TokenScores: ...
    @overload
    def __getitem__(self, index: slice) -> Scores: ...
    def __getitem__(self, index: int | slice) -> TokenScores | Scores:
        return Scores(self._texts[index]) if isinstance(index, slice) else self._texts[index]

    def __iter__(self) -> Iterator[TokenScores]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"Scores({len(self)} texts, {self.tokens} tokens, {self.per_token:.4f} nats per token)"


def score_writer(
    engine: Engine, word_terms: Vector, ids: NDArray[np.int32], out: NDArray[np.float64], *, exact: bool
) -> Consumer:
    """Return a consumer of posteriors that writes the score of every token of ``ids`` into ``out``.

    The engine should be a float64 one: for rare words large terms cancel.
    """
    system = engine.system
    R = 1 - system.shrink
    exact_gains = engine.exact if exact else None

    def consume(posterior: Posterior, rows: Index, places: Index) -> None:
        words = ids[places]
        p, l = posterior.pred[rows], engine.gains[words]  # noqa: E741 - the letter of the equation
        v = l - R * p
        quadratic = np.einsum("ij,ij->i", v, v)
        logdet = np.full(len(rows), system.logdet_S)
        if exact_gains is not None:
            times = np.searchsorted(posterior.steps, rows, side="right") - 1
            for t in range(min(len(exact_gains), int(times.max(initial=-1)) + 1)):
                at = times == t
                quadratic[at] = np.einsum("ij,ij->i", product(v[at], exact_gains.cov_filt[t]), v[at])
                logdet[at] = exact_gains.logdet_S[t]
        cross = np.einsum("ij,ij->i", p, R * p - 2 * l)
        out[places] = -0.5 * (logdet + word_terms[words] + cross - quadratic)

    return consume


def score_texts(
    engine: Engine, word_terms: Vector, encoder: Encoder, texts: Iterable[Text], *, exact: bool, threads: int
) -> Scores:
    """Score every token of texts, a window at a time. The arguments are those of :func:`score_writer`."""
    results: list[TokenScores] = []
    for window in windows(encoder, texts):
        ids, starts, offsets = flatten(window)
        values = np.empty(len(ids))
        write = score_writer(engine, word_terms, ids, values, exact=exact)
        engine.run(ids, starts, "exact" if exact else "filter", write, threads=threads)
        check_finite(values, "scores")
        for text, offset in zip(window, offsets, strict=True):
            results.append(TokenScores(list(text.tokens), visible(values, text, offset)))
    return Scores(results)
