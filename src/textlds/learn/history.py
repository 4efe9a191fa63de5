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
        lists, start = [content["log_likelihood"], content["seconds"]], content["start"]
        if not all(isinstance(numbers, list) for numbers in lists) or len(lists[0]) != len(lists[1]):
            raise FormatError("the history of a model must hold two lists of the same length, one entry per iteration.")
        if not all(map(_is_number, [*lists[0], *lists[1], 0 if start is None else start])):
            raise FormatError("the history of a model must hold finite numbers.")
        if not isinstance(content["settings"], dict):
            raise FormatError("the history of a model must hold its settings as an object.")
        return cls(**content)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
