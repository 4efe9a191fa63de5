"""From float64 arrays to the weights of modules."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from textlds.linalg.types import Matrix, Vector


def as_tensor(array: Matrix | Vector, dtype: torch.dtype) -> Tensor:
    """Return an array as a tensor of a type."""
    return torch.from_numpy(array).to(dtype)


def load_arrays(module: nn.Module, arrays: Mapping[str, Matrix | Vector], dtype: torch.dtype) -> None:
    """Give a module these weights, all it has."""
    module.to(dtype).load_state_dict({name: as_tensor(array, dtype) for name, array in arrays.items()})
