"""A search in stages: one setting after the other, each stage starting from the best that the ones before found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """One trial: a change of the best of earlier stages.

    Attributes:
        stage: From 0.
        name: What the report calls it.
        change: The settings that are tried.
    """

    stage: int
    name: str
    change: Mapping[str, Any]


class Search:
    """Trials with a score each, the higher the better.

    Args:
        name: Keys of the trials begin with it.
        start: Settings before the first stage.
        steps: The trials, in the order of their stages; the first has one of the values to begin with.
        score: Gives the score of a trial by its key, once it has been made.
    """

    def __init__(
        self, name: str, start: Mapping[str, Any], steps: Sequence[Step], score: Callable[[str], float]
    ) -> None:
        self.name, self.steps = name, steps
        self._start, self._score = dict(start), score

    def key(self, step: Step) -> str:
        """Return the name of a trial."""
        return f"{self.name} / {step.name}"

    def settings(self, step: Step) -> dict[str, Any]:
        """Return the settings of a trial; those of earlier stages must have been made."""
        return {**self.best(step.stage), **step.change}

    def best(self, stages: int | None = None) -> dict[str, Any]:
        """Return the settings that did best in the first stages, in all of them by default; the first of equals."""
        tried = [step for step in self.steps if stages is None or step.stage < stages]
        if not tried:
            return self._start
        return self.settings(max(tried, key=lambda step: self._score(self.key(step))))
