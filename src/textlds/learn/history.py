"""What happened while a model was learnt: enough to plot it and to do it again."""

from __future__ import annotations

import dataclasses
from typing import Any

from textlds.errors import FormatError


@dataclasses.dataclass(frozen=True)
class History:
    """The course of learning.

    Attributes:
        log_likelihood: After each EM iteration, nats per token, relative to the static model.
        seconds: Since the start of learning, at the end of each iteration.
        start: The log-likelihood before the first iteration.
        settings: Every setting of ``fit``, the seed included, and the facts of the counts it saw.
    """

    log_likelihood: list[float] = dataclasses.field(default_factory=list)
    seconds: list[float] = dataclasses.field(default_factory=list)
    start: float | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def iterations(self) -> int:
        """How many EM iterations were done."""
        return len(self.log_likelihood)

    def to_json(self) -> dict[str, Any]:
        """Return the history as a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Any) -> History:
        """Read the history back."""
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(content, dict) or set(content) != names:
            raise FormatError(f"the history of a model must name exactly {sorted(names)}.")
        numbers = [*content["log_likelihood"], *content["seconds"]]
        if not all(isinstance(number, int | float) for number in numbers) or not isinstance(content["settings"], dict):
            raise FormatError("the history of a model must hold lists of numbers and its settings.")
        return cls(**content)
