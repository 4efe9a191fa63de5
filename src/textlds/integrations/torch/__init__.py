"""Recurrent networks in PyTorch that begin as the Kalman filter of a fitted model (``textlds[torch]``)."""

from __future__ import annotations

from textlds.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401 - what follows needs it, and its absence is to be explained
except ImportError as error:
    raise MissingExtraError("textlds.integrations.torch", "torch") from error

from textlds.integrations.torch.exports import DiagonalRecurrence, RNNParts, diagonal_recurrence, to_rnn
from textlds.integrations.torch.language_model import RecurrentLM, encode
from textlds.integrations.torch.weights import LinearNetwork, Scales, linear_network

__all__ = [
    "DiagonalRecurrence",
    "LinearNetwork",
    "RNNParts",
    "RecurrentLM",
    "Scales",
    "diagonal_recurrence",
    "encode",
    "linear_network",
    "to_rnn",
]
