"""A fitted model as initial weights for recurrent cells of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from textlds.errors import ArgumentError
from textlds.integrations.torch.loading import as_tensor, load_arrays
from textlds.integrations.torch.weights import Scales, linear_network
from textlds.model.textlds import TextLDS


class RNNParts(NamedTuple):
    """The weights as modules of PyTorch: ``readout(rnn(embedding(ids), state)[0])``.

    Attributes:
        embedding: A row k(w) for every word, (V, h).
        rnn: One layer, batch first.
        readout: To the logits of the word that follows.
        state: Where a text begins, (1, 1, h); zero, but for relu.
    """

    embedding: nn.Embedding
    rnn: nn.RNN
    readout: nn.Linear
    state: Tensor


def to_rnn(
    model: TextLDS,
    *,
    activation: Literal["tanh", "relu"] = "tanh",
    scales: Scales | None = None,
    dtype: torch.dtype = torch.float32,
) -> RNNParts:
    """Return a fitted model as initial weights of ``torch.nn.RNN``, the same function as :meth:`RecurrentLM.from_lds`.

    The matrix B of that network is here two factors, as A k: the embedding of a word is what it brings to the state,
    and ``weight_ih_l0`` moves it on. O(V h² + h³).
    """
    if activation not in ("tanh", "relu"):
        raise ArgumentError(f"activation={activation!r} is not one of 'tanh', 'relu', which are those of torch.nn.RNN.")
    linear, scales = linear_network(model), scales or Scales()
    weights = linear.scaled(scales, activation, "softmax")
    into, back = linear.coordinates(scales.state)
    h = len(linear.transition)
    embedding, readout = nn.Embedding(len(linear.gains), h), nn.Linear(h, len(linear.gains))
    rnn = nn.RNN(h, h, nonlinearity=activation, batch_first=True)
    load_arrays(embedding, {"weight": linear.gains @ into.T}, dtype)
    recurrent = {
        "weight_ih_l0": into @ linear.transition @ back,
        "weight_hh_l0": weights.recurrent,
        "bias_ih_l0": weights.start - weights.recurrent @ weights.start,  # zero, but for relu
        "bias_hh_l0": np.zeros(h),
    }
    load_arrays(rnn, recurrent, dtype)
    load_arrays(readout, {"weight": weights.readout, "bias": weights.bias}, dtype)
    return RNNParts(embedding, rnn, readout, as_tensor(weights.start, dtype)[None, None])


@dataclass(frozen=True)
class DiagonalRecurrence:
    """The Kalman filter as a diagonal linear recurrence, in the manner of LRU and S5:

        x_{t+1} = λ ∘ x_t + inputs[w_t]             E[w_t] = Re(outputs · x_t) + bias

    Of a pair of conjugate eigenvalues only one is kept, and counts twice: m is between h/2 and h. For the usual
    parameters, |λ| = exp(−exp(ν)) gives ν = log(−log |λ|), and θ is the angle of λ.

    Attributes:
        eigenvalues: λ, (m,) complex, all of modulus below one.
        inputs: A row for every word, (V, m) complex.
        outputs: A row for every word, (V, m) complex.
        bias: The frequencies of words, (V,).
    """

    eigenvalues: Tensor
    inputs: Tensor
    outputs: Tensor
    bias: Tensor

    def predictions(self, ids: Tensor) -> Tensor:
        """Return E[w_{t+1} | w_1 … w_t], (time, V), for the words of a text, (time,); entries may be negative."""
        state = torch.zeros_like(self.eigenvalues)
        states = []
        for driven in self.inputs[ids]:
            state = self.eigenvalues * state + driven
            states.append(state)
        return (torch.stack(states) @ self.outputs.T).real + self.bias


def diagonal_recurrence(model: TextLDS, *, dtype: torch.dtype = torch.complex128) -> DiagonalRecurrence:
    """Return the Kalman filter of a model in the coordinates in which its matrix is diagonal. O(V h² + h³).

    The eigenvectors of a fitted model are far from orthogonal: in complex64 three digits or so are lost.
    """
    linear = linear_network(model)
    eigenvalues, vectors = np.linalg.eig(linear.filter_matrix)
    inputs = np.linalg.solve(vectors, (linear.gains @ linear.transition.T).T).T
    outputs = linear.frequencies[:, None] * (linear.ratios @ vectors)
    kept = eigenvalues.imag >= 0
    outputs[:, eigenvalues.imag > 0] *= 2  # for the conjugate, whose product is the conjugate
    return DiagonalRecurrence(
        eigenvalues=torch.from_numpy(eigenvalues[kept]).to(dtype),
        inputs=torch.from_numpy(np.ascontiguousarray(inputs[:, kept])).to(dtype),
        outputs=torch.from_numpy(np.ascontiguousarray(outputs[:, kept])).to(dtype),
        bias=as_tensor(linear.frequencies, dtype.to_real()),
    )
