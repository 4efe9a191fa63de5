"""Choosing the settings of a fit: a grid of them, tried on one sketch of the same counts.

The sketch is the dear part of a fit and depends on the pseudocount alone, so it is made once for each of those; what
remains takes seconds a setting. Stopping iterations cost nothing: one run passes all of them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.fitting import FitRun, FitSettings, FitStep, make_sketch
from textlds.linalg.threads import check_threads, one_blas_thread
from textlds.model.textlds import Text, TextLDS
from textlds.moments import word_moments
from textlds.progress import Progress, ProgressOption, SilentProgress, resolve


@dataclass(frozen=True)
class Trial:
    """One setting and what came of it.

    Attributes:
        settings: The values of the grid.
        log_likelihood: Of the counts, nats a token, relative to the static model.
        held_out: The same of the held-out texts, or None. Comparable between trials with the same pseudocount only,
            because that decides what the static model is.
        score: What the score function returned, or None.
        seconds: Since its fit began.
    """

    settings: dict[str, Any]
    log_likelihood: float
    held_out: float | None
    score: float | None
    seconds: float

    @property
    def merit(self) -> float:
        """What trials are ranked by: the score, else the held-out likelihood, else the likelihood."""
        return next(x for x in (self.score, self.held_out, self.log_likelihood) if x is not None)


@dataclass(frozen=True)
class Selection:
    """The outcome of a search.

    Attributes:
        trials: All of them, best first.
        model: The best one's model.
    """

    trials: list[Trial]
    model: TextLDS

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]


def select(
    counts: LagCounts,
    grid: Mapping[str, Sequence[Any]],
    *,
    held_out: Iterable[Text] | None = None,
    score: Callable[[TextLDS], float] | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> Selection:
    """Fit the counts with every combination of a grid of settings and return the best model.

    Args:
        counts: From :func:`textlds.count`.
        grid: Names of arguments of :func:`textlds.fit` with the values to try, such as
            ``{"state_size": [50, 100, 200], "pseudocount": [100, "paper"], "iterations": [10, 20, 50]}``.
        held_out: Texts that were not counted; their likelihood is reported for every trial.
        score: Any other measure of a model, larger is better, such as tagging accuracy on a development set. Trials
            are ranked by it, or else by the held-out likelihood, or else by the likelihood of the counts.
        seed: As for :func:`textlds.fit`.
        threads: As for :func:`textlds.fit`.
        progress: As for :func:`textlds.fit`.
    """
    combinations, stops = _combinations(grid, seed)
    if score is None and len(grid.get("pseudocount", ())) > 1:
        raise ArgumentError(
            "likelihoods are relative to a static model that depends on the pseudocount, so they cannot choose one. "
            "Give a score, such as tagging accuracy on a development set, or try one pseudocount at a time."
        )
    texts = None if held_out is None else list(held_out)
    shown, count = resolve(progress), check_threads(threads)
    search = _Search(counts, texts, score, stops, set(grid), count)
    with one_blas_thread(), shown.task("Select", len(combinations), "fits") as task:
        for _, group in itertools.groupby(combinations, key=lambda settings: str(settings.pseudocount)):
            search.try_all(list(group), task.advance)
    trials = sorted(search.trials, key=lambda trial: -trial.merit)
    assert search.best is not None  # there is at least one trial
    return Selection(trials, search.best[1])


class _Search:
    """The trials so far, and the best model."""

    def __init__(
        self,
        counts: LagCounts,
        held_out: list[Text] | None,
        score: Callable[[TextLDS], float] | None,
        stops: Sequence[int],
        names: set[str],
        threads: int,
    ) -> None:
        self._counts, self._held_out, self._score = counts, held_out, score
        self._stops, self._names, self._threads = stops, names, threads
        self._silent: Progress = SilentProgress()
        self.trials: list[Trial] = []
        self.best: tuple[float, TextLDS] | None = None

    def try_all(self, group: list[FitSettings], advance: Callable[[float, str], None]) -> None:
        """Try settings that share a pseudocount, and so the moments and the sketch."""
        counts = self._counts
        words = word_moments(counts.unigrams, counts.lags, pseudocount=group[0].pseudocount, threads=self._threads)
        sizes = [size for s in group if (size := s.sketch_size(len(counts.vocabulary))) is not None]
        sketched = make_sketch(words, max(sizes), group[0].seed, self._threads, self._silent) if sizes else None
        for settings in group:
            own = sketched if settings.sketch_size(len(counts.vocabulary)) is not None else None
            began = time.perf_counter()

            def record(step: FitStep, settings: FitSettings = settings, began: float = began) -> None:
                if step.iteration in self._stops:
                    self._record(step, settings, time.perf_counter() - began)

            FitRun(counts, settings, record, self._threads, self._silent, words=words, sketched=own).run(None)
            advance(1, f"best so far {self.best[0]:.4f}" if self.best else "")

    def _record(self, step: FitStep, settings: FitSettings, seconds: float) -> None:
        model = step.model()
        values = {name: getattr(settings, name) for name in sorted(self._names)} | {"iterations": step.iteration}
        held_out = (
            None if self._held_out is None else float(model.log_likelihood(self._held_out, threads=self._threads))
        )
        score = None if self._score is None else float(self._score(model))
        trial = Trial(values, step.log_likelihood, held_out, score, seconds)
        self.trials.append(trial)
        if self.best is None or trial.merit > self.best[0]:
            self.best = trial.merit, model


def _combinations(grid: Mapping[str, Sequence[Any]], seed: int) -> tuple[list[FitSettings], list[int]]:
    """Return all settings, those with the same pseudocount together, and the iterations to look at."""
    known = {field.name for field in fields(FitSettings)} - {"seed"}
    for name, values in grid.items():
        if name not in known:
            raise ArgumentError(f"grid: {name!r} is not a setting of fit; it has {', '.join(sorted(known))}.")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ArgumentError(f"grid: give a list of values for {name!r}, not {values!r}.")
    stops = sorted(set(grid.get("iterations", [FitSettings.iterations])))
    # the sketch is shared by settings with one pseudocount, so these come together
    names = sorted((name for name in grid if name != "iterations"), key=lambda name: name != "pseudocount")
    base = FitSettings(seed=seed, iterations=stops[-1])
    products = itertools.product(*(grid[name] for name in names))
    return [replace(base, **dict(zip(names, values, strict=True))) for values in products], stops
