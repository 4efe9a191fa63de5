"""The whole posterior of one sequence: means and covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from textlds.corpus.encoding import EncodedText
from textlds.inference.engine import Engine, Index, Posterior
from textlds.lds.exact import smoothed_covariances
from textlds.linalg.types import Array


@dataclass(frozen=True)
class SequencePosterior:
    """What is known of the state at each of n tokens, in the coordinates of inference.

    Attributes:
        tokens: The tokens.
        pred: Mean given the words to the left, (n, h).
        filt: Mean given these and the word, (n, h).
        smooth: Mean given the whole text, (n, h).
        cov_filt: Covariance of the filtered mean, (n, h, h).
        cov_smooth: Covariance of the smoothed mean, (n, h, h).
    """

    tokens: list[str]
    pred: Array
    filt: Array
    smooth: Array
    cov_filt: Array
    cov_smooth: Array


def sequence_posterior(
    engine: Engine, text: EncodedText, method: Literal["smooth", "exact"], *, covariances: bool = True
) -> SequencePosterior:
    """Infer the posterior of one text. Covariances cost O(n h³) and n h² numbers."""
    h = len(engine.A)
    pred, filt, smooth = (np.zeros((len(text.ids), h), engine.dtype) for _ in range(3))

    def consume(posterior: Posterior, rows: Index, places: Index) -> None:
        pred[places], filt[places] = posterior.pred[rows], posterior.filt[rows]
        if posterior.smooth is not None:
            smooth[places] = posterior.smooth[rows]

    starts = np.concatenate([text.starts, [len(text.ids)]]).astype(np.int64)
    engine.run(text.ids, starts, method, consume)
    cov_filt, cov_smooth = np.empty((0, h, h)), np.empty((0, h, h))
    if covariances and len(text.ids):
        exact = engine.exact if method == "exact" else None
        pairs = [smoothed_covariances(engine.system, exact, int(n)) for n in np.diff(starts)]
        cov_filt, cov_smooth = (np.concatenate(c)[text.positions] for c in zip(*pairs, strict=True))
    at = text.positions
    return SequencePosterior(list(text.tokens), pred[at], filt[at], smooth[at], cov_filt, cov_smooth)
