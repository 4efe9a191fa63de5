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
# From how many on there is a second layer. UD EWT, dev: universal tags 95.99 without it, 96.00 with it, 96.08 with word
# dropout too (means of two, four and four seeds; word dropout alone 96.02); tags of the Penn Treebank 95.31, 95.42 and
# 95.45 (two seeds, the first with 256 units). Without and with it, few sentences: 1,000 (16,000 tokens) 93.0 and 93.2,
# 100 87.3 and 86.9, 30 79.2 and 77.7. Entities gain nothing from either. With it, words are seen in the other case too
# (textlds.tagging.cases). UD EWT, dev, two seeds each: PTB tags 95.42 without, 95.51 with the vector, 95.50 with its
# frequency, 95.66 with both; universal tags 96.08 (four seeds) and 96.11; Penn Treebank sample, PTB tags, 97.67 and
# 97.57. Entities, one seed each: 94.39 and 94.26.
_MANY_TOKENS = 10_000
_HIDDEN_WORDS = 0.5


@settings_class
@dataclasses.dataclass(frozen=True)
class TaggerSettings(Settings):
    """How a network is made and trained.

    Attributes:
        lexical: Whether the network sees hashed features of words, affixes and shapes beside the vectors.
        hidden: Units of the hidden layer; ``"auto"``: 128, or 256 for more than 30 tags.
        around: Units of a second layer, which sees the hidden layers of a token and of its two neighbours; ``"auto"``:
            128 for tags with many labels, none for entities or with few labels. With it, a tagger of tags sees words in
            the other case too.
        networks: How many are trained, each from its own first weights, and averaged.
        dropout: Share of the hidden units left out in a step.
        input_dropout: Share of the numbers of the vectors left out in a step.
        feature_dropout: Share of the hashed features left out in a step.
        word_dropout: a: in a step, a word that the training sentences have n times is read as a word never seen, by its
            affixes, its shape and its vectors alone, with probability a / (a + n). ``"auto"``: 0.5 with a second layer,
            0 without.
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
    around: int | Literal["auto"] = option(
        "auto", "Units in a second layer, over a token and its neighbours; auto: 128 for tags with many labels, or 0.",
        words=("auto",), kind=int, minimum=0, panel=_PANEL,
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
    word_dropout: float | Literal["auto"] = option(
        "auto", "Read a word seen n times as unknown with probability a / (a + n); auto: 0.5 with a second layer.",
        words=("auto",), kind=float, minimum=0, panel=ADVANCED,
    )  # fmt: skip
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

    def second_units(self, tokens: int, *, constrained: bool) -> int:
        """Return the units of the second layer.

        Args:
            tokens: Labelled ones.
            constrained: Whether some tags cannot follow others, as with entities.
        """
        if self.around == "auto":
            return 0 if constrained or tokens < _MANY_TOKENS else 128
        return self.around

    def hidden_words(self, second: int) -> float:
        """Return a of the word dropout, with so many units in the second layer."""
        if self.word_dropout == "auto":
            return _HIDDEN_WORDS if second else 0.0
        return self.word_dropout
