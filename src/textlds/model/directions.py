"""Transitions as directions of the state, so that a text can be asked where it goes through them.

With A = U S Vᵀ in coordinates with Q = I, state x says v · Q^-½ x of a source and u · Q^-½ x of a target. Here both are
given for states in the coordinates of inference, x' = T x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from textlds.linalg.psd import sqrt_and_inverse
from textlds.linalg.types import Array
from textlds.model.exploring import Transition

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS

TRANSITIONS, WORDS = 20, 9


@dataclass(frozen=True, eq=False)
class Directions:
    """The strongest transitions of a model.

    Attributes:
        pairs: In words.
        source: What a state says of each source: x' · source[i], (n, h) float32.
        target: What it says of each target, (n, h) float32.
    """

    pairs: list[Transition]
    source: Array
    target: Array


def transition_directions(model: TextLDS, n: int = TRANSITIONS) -> Directions:
    """Return the n strongest transitions of a model, for the states of its context vectors."""
    pairs = model.dynamics(n, words=WORDS)
    weighting = model.recipe("context").weighting
    engine = model.spaces.engine("float32", weighting)
    U, _, Vt = np.linalg.svd(model.params.normalised().A)
    carry = sqrt_and_inverse(model.params.Q)[1] @ np.linalg.inv(engine.system.T)
    source, target = Vt[: len(pairs)] @ carry, U.T[: len(pairs)] @ carry
    for i, pair in enumerate(pairs):  # the sign is the one under which the words shown stand out
        before, after = (engine.gains[model.vocabulary.ids(words)] for words in (pair.source, pair.target))
        if (before @ source[i]).sum() + (after @ target[i]).sum() < 0:
            source[i], target[i] = -source[i], -target[i]
    return Directions(pairs, source.astype(np.float32), target.astype(np.float32))
