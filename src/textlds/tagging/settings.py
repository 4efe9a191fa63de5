"""The settings of a tagger's network. Importing this module is cheap."""

from __future__ import annotations

import dataclasses
from typing import Literal

from textlds.errors import ArgumentError
from textlds.settings import ADVANCED, Settings, option, settings_class

_PANEL = "Network"
# UD EWT, dev, the 50 tags of the Penn Treebank: 95.30 with 256 units, 95.24 with 128 (means of three
# runs, two of them with dropout 0.5, and of two). They take a third of the speed.
_MANY_TAGS = 30


@settings_class
@dataclasses.dataclass(frozen=True)
class TaggerSettings(Settings):
    """How a network is made and trained.

    Attributes:
        lexical: Whether the network sees hashed features of words, affixes and shapes beside the vectors.
        hidden: Units of the hidden layer; ``"auto"``: 128, or 256 for more than 30 tags.
        networks: How many are trained, each from its own first weights, and averaged.
        dropout: Share of the hidden units left out in a step.
        input_dropout: Share of the numbers of the vectors left out in a step.
        feature_dropout: Share of the hashed features left out in a step.
        learning_rate: Of Adam at first; it falls in a straight line to a fiftieth.
        batch: Tokens per step, about; fewer where there is little data.
        rounds: Times that the data is read, at most; several times each if there is little of it.
        patience: Rounds without a gain on the development set after which training ends.
    """

    lexical: bool = option(True, "Leave out words, affixes and shapes: vectors alone.", kind=bool, panel=_PANEL)
    hidden: int | Literal["auto"] = option(
        "auto", "Units in the hidden layer; auto: 128, or 256 for more than 30 tags.",
        words=("auto",), kind=int, minimum=1, panel=_PANEL,
    )  # fmt: skip
    networks: int = option(
        1, "Networks that are trained and averaged: a little better, as many times as slow.", kind=int, minimum=1,
        panel=ADVANCED,
    )  # fmt: skip
    dropout: float = option(0.4, "Share of hidden units dropped in each step.", kind=float, minimum=0, panel=_PANEL)
    rounds: int = option(12, "Passes over the labelled sentences, at most.", kind=int, minimum=1, panel=_PANEL)
    patience: int = option(
        4, "Stop after this many rounds without a gain on the development set.", kind=int, minimum=1, panel=ADVANCED
    )
    input_dropout: float = option(
        0.1, "Share of vector components dropped in each step.", kind=float, minimum=0, panel=ADVANCED
    )
    feature_dropout: float = option(
        0.2, "Share of hashed features dropped in each step.", kind=float, minimum=0, panel=ADVANCED
    )
    learning_rate: float = option(2e-3, "Adam's learning rate at the start.", kind=float, minimum=0, panel=ADVANCED)
    batch: int = option(512, "Tokens per step, roughly.", kind=int, minimum=1, panel=ADVANCED)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dropout", "input_dropout", "feature_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ArgumentError(f"{name}={getattr(self, name)} must be at least 0 and below 1.")
        if not self.learning_rate > 0:
            raise ArgumentError(f"learning_rate={self.learning_rate} must be above 0.")

    def units(self, tags: int) -> int:
        """Return the units of the hidden layer for so many tags."""
        if self.hidden == "auto":
            return 256 if tags > _MANY_TAGS else 128
        return self.hidden
