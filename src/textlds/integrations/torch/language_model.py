"""The recurrent language model as a module of PyTorch, and text for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from textlds.corpus.encoding import Text
from textlds.errors import ArgumentError, check_choice
from textlds.integrations.torch.loading import load_arrays
from textlds.integrations.torch.weights import Activation, Link, Scales, linear_network
from textlds.model.textlds import TextLDS

_STATE_SCALES = (0.25, 0.5, 0.75)
_READOUT_CAPS = (0.5, 0.7, 1.0, 1.4, 2.0)
_CHOICE_TOKENS = 10_000  # of held-out text that the scales are chosen on: half a second a pair at V = 10,000, h = 100
_TEXTS = 1024  # encoded at a time
_ROWS = 256  # of logits at a time: 10 MB at V = 10,000, which a cache holds
_LEAST_RATIO = 1e-3  # of a word's bias, below which the linear link lets no probability fall


class RecurrentLM(nn.Module):
    """A language model h_t = σ(A h_{t−1} + B w_{t−1}), softmax(C h_t + c), with random weights; see :meth:`from_lds`.

    Args:
        vocab_size: V.
        state_size: h.
        activation: σ: ``"tanh"``, ``"sigmoid"`` (in the symmetric form 4 / (1 + e^−x) − 2, which is the identity near
            zero), ``"relu"`` or ``"identity"``.
        link: ``"softmax"``, or ``"linear"``: C h_t + c are the probabilities themselves, as in the Kalman filter; they
            may be negative.
        scale: Standard deviation of the random weights of words, B and C.
        recurrent_scale: Of A, times √h: about its spectral radius.
        sparse: Gradients of B as sparse tensors, for optimisers that take them.

    Attributes:
        inputs: ``nn.Embedding``, whose rows are the columns of B, (V, h).
        recurrent: ``nn.Linear`` without a bias; its weight is A, (h, h).
        readout: ``nn.Linear``; its weight is C, (V, h), and its bias is c, (V,).
        start: The state before the first word, (h,).
        scales: Those of :meth:`from_lds`.
    """

    start: Tensor
    scales: Scales | None = None

    def __init__(
        self,
        vocab_size: int,
        state_size: int,
        *,
        activation: Activation = "tanh",
        link: Link = "softmax",
        scale: float = 0.1,
        recurrent_scale: float = 1.0,
        sparse: bool = False,
    ) -> None:
        for name, value, options in (("activation", activation, Activation), ("link", link, Link)):
            check_choice(name, value, get_args(options))
        super().__init__()
        self.activation, self.link = activation, link
        self.inputs = nn.Embedding(vocab_size, state_size, sparse=sparse)
        self.recurrent = nn.Linear(state_size, state_size, bias=False)
        self.readout = nn.Linear(state_size, vocab_size)
        self.register_buffer("start", torch.zeros(state_size))
        nn.init.normal_(self.inputs.weight, std=scale)
        nn.init.normal_(self.recurrent.weight, std=recurrent_scale / math.sqrt(state_size))
        nn.init.normal_(self.readout.weight, std=scale)
        nn.init.zeros_(self.readout.bias)

    @classmethod
    def from_lds(
        cls,
        model: TextLDS,
        *,
        activation: Activation = "tanh",
        link: Link = "softmax",
        scales: Scales | None = None,
        held_out: Iterable[Text] | None = None,
        sparse: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> RecurrentLM:
        """Make the network whose linear part is the Kalman filter of a fitted model. O(V h² + h³).

        With ``activation="identity"`` and ``link="linear"`` it *is* the filter: its outputs are E[w_t | w_1 … w_{t−1}].

        Args:
            model: A fitted model.
            activation: σ.
            link: ``"softmax"`` or ``"linear"``.
            scales: Of state and readout.
            held_out: Instead of scales: texts that the model was not fitted to. The scales with the lowest perplexity
                on their first 10,000 tokens are taken, out of a small set.
            sparse: Gradients of B as sparse tensors.
            dtype: Of the weights.
        """
        if scales is not None and held_out is not None:
            raise ArgumentError("scales and held_out were both given, but held_out is there to choose the scales.")
        linear = linear_network(model)

        def build(chosen: Scales, made_as: torch.dtype) -> RecurrentLM:
            weights = linear.scaled(chosen, activation, link)
            lm = cls(*weights.inputs.shape, activation=activation, link=link, scale=0, sparse=sparse)
            arrays = {
                "inputs.weight": weights.inputs,
                "recurrent.weight": weights.recurrent,
                "readout.weight": weights.readout,
                "readout.bias": weights.bias,
                "start": weights.start,
            }
            load_arrays(lm, arrays, made_as)
            return lm

        if held_out is not None:
            ids = encode(model, held_out, tokens=_CHOICE_TOKENS)
            grid = [Scales(*pair) for pair in itertools.product(_STATE_SCALES, _READOUT_CAPS)]
            scales = min(grid, key=lambda one: build(one, torch.float32).perplexity(ids))
        lm = build(scales or Scales(), dtype)
        lm.scales = scales or Scales()
        return lm

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read words and predict, after each, the one that follows.

        Args:
            ids: (batch, time), rows of the vocabulary.
            state: (batch, h), as returned for the words before these; at the beginning of a text, None.

        Returns:
            The outputs C h + c, (batch, time, V), [:, t] about the word after ids[:, t]; and the state after the last.
        """
        states = self.states(ids, state)
        outputs: Tensor = self.readout(states)
        return outputs, states[:, -1]

    def states(self, ids: Tensor, state: Tensor | None = None) -> Tensor:
        """Return the states after each word, (batch, time, h), without the readout, which is most of the work."""
        if ids.ndim != 2 or ids.shape[1] == 0:
            raise ArgumentError(f"ids has the shape {tuple(ids.shape)}; give (batch, time), with a word at least.")
        state = self.start.expand(len(ids), -1) if state is None else state
        recurrent = self.recurrent.weight.T
        found = []
        for driven in self.inputs(ids).unbind(1):
            state = _apply(self.activation, torch.addmm(driven, state, recurrent))
            found.append(state)
        return torch.stack(found, 1)

    def log_probabilities(self, outputs: Tensor) -> Tensor:
        """Turn outputs into the logarithms of probabilities that sum to one.

        Those of the linear link are clipped first, at a thousandth of the word's frequency.
        """
        if self.link == "softmax":
            return torch.log_softmax(outputs, -1)
        floor = _LEAST_RATIO * self.readout.bias.detach().clamp_min(torch.finfo(outputs.dtype).tiny)
        clipped = torch.maximum(outputs, floor)
        return torch.log(clipped / clipped.sum(-1, keepdim=True))

    @torch.no_grad()
    def perplexity(self, ids: Tensor) -> float:
        """Return the perplexity of a text, each word given all those before it; the first is only read.

        Args:
            ids: (tokens,). 2 V h operations each.
        """
        if ids.ndim != 1 or len(ids) < 2:
            raise ArgumentError(f"ids has the shape {tuple(ids.shape)}; give one text of two words or more.")
        total, state = 0.0, None
        for begin in range(0, len(ids) - 1, _ROWS):
            read = ids[begin : begin + _ROWS + 1]
            outputs, state = self(read[None, :-1], state)
            total -= self.log_probabilities(outputs[0]).gather(1, read[1:, None]).sum().item()
        return math.exp(total / (len(ids) - 1))


def _apply(activation: Activation, values: Tensor) -> Tensor:
    if activation == "tanh":
        return torch.tanh(values)
    if activation == "sigmoid":
        return 2 * torch.tanh(values / 2)  # = 4 / (1 + e^−x) − 2
    return torch.relu(values) if activation == "relu" else values


def encode(model: TextLDS, texts: Iterable[Text], *, tokens: int | None = None) -> Tensor:
    """Return texts as one stream of rows of the model's vocabulary, (n,) int64.

    They are read as the model's corpus was: with ``TextSettings(boundary_token="</s>")`` the token comes after every
    line, as is the custom for language models; without a boundary token nothing separates texts.

    Args:
        model: A fitted model.
        texts: Strings or lists of tokens; an open text file will do.
        tokens: No more than so many.
    """
    if isinstance(texts, str):
        raise ArgumentError("texts is a single string; give a list of texts, such as [text].")
    pieces: list[NDArray[np.int32]] = []
    texts, missing = iter(texts), math.inf if tokens is None else tokens
    while missing > 0 and (some := list(itertools.islice(texts, _TEXTS))):
        pieces += [text.ids for text in model.encoder.encode_many(some)]  # knows the model's own tokeniser
        missing -= sum(map(len, pieces[-len(some) :]))
    ids = np.concatenate(pieces)[:tokens] if pieces else np.empty(0)
    return torch.from_numpy(ids.astype(np.int64))
