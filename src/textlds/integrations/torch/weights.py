"""A recurrent network that begins as the Kalman filter.

In the coordinates of inference (:mod:`textlds.lds.canonical`) the filter's prediction of the state, p_{t+1} = A x̂_t, is

    p_{t+1} = A diag(φ) p_t + A k(w_t)              E[w_t] = μ + diag(μ) W C p_t

which is a recurrent network without its non-linearities,

    h_t = σ(A' h_{t−1} + B w_{t−1})                 w_t ~ softmax(C' h_t + c)

with A' = A diag(φ), B = A k, C' = W C and c = log μ, about. Two scales have to be chosen before σ and the softmax are
put back.

*The state.* h = s E[p pᵀ]^-½ p has standard deviation s in every direction: with s well below one, σ acts where it is
the identity. relu is the identity above zero, so its state is moved by a constant into the positive side.

*The readout.* The linear model predicts a ratio of probabilities, 1 + (W C p)_i; put into an exponent, it explodes for
rare words. Row i is made shorter where the standard deviation d_i of its log-ratio exceeds a cap, and c_i = log n_i −
d_i²/2, with n_i the frequency without pseudocounts: E[exp(y)] = exp(d²/2) for a Gaussian y, so that on average a word
keeps its frequency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from textlds.errors import ArgumentError
from textlds.language.predictor import corpus_counts
from textlds.linalg.elementwise import inverse_or_zero
from textlds.linalg.psd import sqrt_and_inverse
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Matrix, Vector
from textlds.model.textlds import TextLDS

Activation = Literal["tanh", "sigmoid", "relu", "identity"]
Link = Literal["softmax", "linear"]

_RELU_SHIFT = 4.0  # standard deviations of the state between zero and where relu works


@dataclass(frozen=True)
class Scales:
    """How a fitted model is scaled before its non-linearities are put in.

    Attributes:
        state: Standard deviation of every direction of the state, s.
        readout: The largest standard deviation that a word's log-ratio may have.
    """

    state: float = 0.5
    readout: float = 1.0

    def __post_init__(self) -> None:
        for name in ("state", "readout"):
            if not getattr(self, name) > 0:
                raise ArgumentError(f"the scale {name}={getattr(self, name)!r} must be above 0; 0.5 and 1 are usual.")


@dataclass(frozen=True)
class Weights:
    """The weights of a network in float64.

    Attributes:
        recurrent: A', (h, h).
        inputs: A row for every word, (V, h).
        readout: (V, h).
        bias: (V,).
        start: The state before the first word, (h,).
    """

    recurrent: Matrix
    inputs: Matrix
    readout: Matrix
    bias: Vector
    start: Vector


@dataclass(frozen=True)
class LinearNetwork:
    """The Kalman filter of a model as a linear network, in the coordinates of inference.

    Attributes:
        transition: A of the model, (h, h).
        shrink: φ: what the filter keeps of a prediction when the word is seen, (h,).
        gains: k(w), what each word brings, (V, h).
        ratios: W C: p · ratios[i] is by what ratio, less one, word i is more likely than its frequency, (V, h).
        frequencies: μ, (V,).
        unsmoothed: The same without the pseudocount, but for half a count, so that none is zero.
        second_moment: E[p pᵀ] over the corpus, (h, h).
    """

    transition: Matrix
    shrink: Vector
    gains: Matrix
    ratios: Matrix
    frequencies: Vector
    unsmoothed: Vector
    second_moment: Matrix

    @property
    def filter_matrix(self) -> Matrix:
        """A diag(φ), (h, h): how a prediction becomes the next one, but for the word."""
        return self.transition * self.shrink

    def scaled(self, scales: Scales, activation: Activation, link: Link) -> Weights:
        """Return the weights with the state at a scale and the readout capped for its link."""
        into, back = self.coordinates(scales.state)
        recurrent = into @ self.filter_matrix @ back
        inputs = self.gains @ (into @ self.transition).T
        if link == "softmax":
            readout = self.capped(scales.readout) @ back
            variances = scales.state**2 * np.einsum("ij,ij->i", readout, readout)
            bias = np.log(self.unsmoothed) - variances / 2
        else:
            readout, bias = self.frequencies[:, None] * (self.ratios @ back), self.frequencies.copy()
        start = np.zeros(len(recurrent))
        if activation == "relu":
            # h + d for h: a word is read at every step, so that its row can carry what else would be a bias
            start += _RELU_SHIFT * scales.state
            inputs += start - recurrent @ start
            bias -= readout @ start
        return Weights(recurrent, inputs, readout, bias, start)

    def coordinates(self, scale: float) -> tuple[Matrix, Matrix]:
        """Return the map p → h = s E[p pᵀ]^-½ p and its inverse."""
        root, inverse_root = sqrt_and_inverse(self.second_moment, floor=1e-8)
        return scale * inverse_root, root / scale

    def capped(self, cap: float) -> Matrix:
        """Return the ratios with rows made shorter where the standard deviation of the log-ratio is above the cap."""
        deviations = np.sqrt(np.einsum("ij,jk,ik->i", self.ratios, self.second_moment, self.ratios, optimize=True))
        shorter: Vector = np.minimum(1, cap / np.maximum(deviations, np.finfo(np.float64).tiny))
        return self.ratios * shorter[:, None]


def linear_network(model: TextLDS) -> LinearNetwork:
    """Return the Kalman filter of a model as a linear network, of one-hot words or of profiles. O(V h² + h³)."""
    engine = model.spaces.engine("float64")
    system = engine.system
    with one_blas_thread():
        ratios = inverse_or_zero(np.sqrt(model.frequencies))[:, None] * system.outputs(model.params.C)
        moves = system.A @ system.T
    return LinearNetwork(
        transition=system.A,
        shrink=system.shrink,
        gains=engine.gains,
        ratios=ratios,
        frequencies=model.frequencies,
        unsmoothed=_unsmoothed(model),
        second_moment=moves @ model.moments.filt_filt @ moves.T,
    )


def _unsmoothed(model: TextLDS) -> Vector:
    """Return (n + ½) / (T + ½ V): the pseudocounts that serve moments are too many for a language model."""
    facts, size = model.history.settings, len(model.frequencies)
    if "pseudocount_used" not in facts or "tokens" not in facts:
        known: Vector = np.maximum(model.frequencies, model.frequencies[model.frequencies > 0].min())
        return known
    counts, _ = corpus_counts(model.frequencies, facts)
    return (counts + 0.5) / (float(facts["tokens"]) + 0.5 * size)
