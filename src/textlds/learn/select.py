"""Choosing the settings of a fit: a grid of them, tried on one sketch of the same counts.

The sketch is the expensive part of a fit and depends on the pseudocount alone, so it is made once for each of those.
What remains takes seconds per setting. Stopping iterations cost nothing: one run passes all of them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, SupportsFloat, TypeVar, cast

import numpy as np

from textlds.corpus.encoding import Text
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.learn.history import History
from textlds.learn.moments import word_moments
from textlds.learn.run import FitRun, FitStep, Fitted, make_sketch
from textlds.learn.settings import FitSettings
from textlds.learn.sketch import Sketch
from textlds.lexicon.lexicon import Lexicon, make_lexicon
from textlds.linalg.threads import check_threads, one_blas_thread
from textlds.progress import Progress, ProgressOption, SilentProgress, resolve
from textlds.settings import unknown_name


@dataclass(frozen=True)
class Trial:
    """One setting and what came of it.

    Attributes:
        settings: The values of the grid.
        log_likelihood: Of the counts, nats per token, relative to the static model.
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


class Candidate(Protocol):
    """What a search asks of a model."""

    @property
    def history(self) -> History:
        """How it was learnt."""

    def log_likelihood(self, texts: Iterable[Text], *, threads: int | None = None) -> SupportsFloat:
        """Return the likelihood of texts, nats per token."""


Model = TypeVar("Model", bound=Candidate)


@dataclass(frozen=True)
class Selection(Generic[Model]):
    """The outcome of a search.

    Attributes:
        trials: All of them, best first.
        model: The best one's model.
    """

    trials: list[Trial]
    model: Model

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]


_STATIC = "are relative to a static model that depends on"
_BEYOND_LIKELIHOOD = {
    "pseudocount": _STATIC,
    "observations": _STATIC,
    "meaning_size": "do not depend on",
    "meaning_window": "do not depend on",
}


def select_settings(
    counts: LagCounts,
    grid: Mapping[str, Sequence[Any]],
    build: Callable[[Fitted], Model],
    *,
    held_out: Iterable[Text] | None = None,
    score: Callable[[Model], float] | None = None,
    settings: FitSettings | None = None,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> Selection[Model]:
    """Try every combination of a grid of settings; see :func:`textlds.select`. ``build`` makes a model of a fit."""
    combinations, stops = _combinations(grid, settings or FitSettings(), counts)
    for name, reason in _BEYOND_LIKELIHOOD.items():
        if score is None and len(grid.get(name, ())) > 1:
            raise ArgumentError(
                f"likelihoods {reason} {name}, so they cannot choose between its values. Give a score, such as tagging "
                f"accuracy on a development set, or try one value at a time."
            )
    texts = None if held_out is None else list(held_out)
    if texts is not None and not texts:
        raise ArgumentError("held_out holds no text. Give some, or leave it out.")
    shown, count = resolve(progress), check_threads(threads)
    search = _Search(counts, build, texts, score, stops, set(grid), count)
    with one_blas_thread(), shown.task("Select", len(combinations), "fits") as task:
        for _, group in itertools.groupby(combinations, key=lambda one: str(one.pseudocount)):
            search.try_all(list(group), task.advance)
    trials = sorted(search.trials, key=lambda trial: -trial.merit)
    if search.best is None:
        raise ArgumentError("no fit reached any of the iterations in the grid.")
    return Selection(trials, search.best[1])


class _Search(Generic[Model]):
    """The trials so far, and the best model."""

    def __init__(
        self,
        counts: LagCounts,
        build: Callable[[Fitted], Model],
        held_out: list[Text] | None,
        score: Callable[[Model], float] | None,
        stops: Sequence[int],
        names: set[str],
        threads: int,
    ) -> None:
        self._counts, self._build, self._held_out, self._score = counts, build, held_out, score
        self._stops, self._names, self._threads = stops, names, threads
        self._silent: Progress = SilentProgress()
        self._lexicons: dict[tuple[int, int, str], Lexicon] = {}
        self.trials: list[Trial] = []
        self.best: tuple[float, Model] | None = None

    def try_all(self, group: list[FitSettings], advance: Callable[[float, str], None]) -> None:
        """Try settings that share a pseudocount, and so the moments and the sketch."""
        counts = self._counts
        words = word_moments(counts.unigrams, counts.lags, pseudocount=group[0].pseudocount, threads=self._threads)
        sketches: dict[int, Sketch] = {}
        for settings in _with_one_sketch(group, len(counts.vocabulary)):
            size = settings.sketch_size(len(counts.vocabulary))
            if size is not None and size not in sketches:
                sketches[size] = make_sketch(words, size, settings.seed, self._threads, self._silent)
            own = None if size is None else sketches[size]
            words_of = settings.size, settings.about, settings.meaning_window
            if words_of not in self._lexicons:
                self._lexicons[words_of] = make_lexicon(
                    counts, words.lags[0].counts, settings.size, meaning_size=settings.about,
                    window=settings.meaning_window, seed=settings.seed, threads=self._threads, progress=self._silent,
                )  # fmt: skip
            began = time.perf_counter()

            def record(step: FitStep[Model], settings: FitSettings = settings, began: float = began) -> None:
                if step.iteration in self._stops:
                    self._record(step, settings, time.perf_counter() - began)

            FitRun(
                counts, settings, self._build, record, self._threads, self._silent,
                words=words, sketched=own, lexicon=self._lexicons[words_of],
            ).run(None)  # fmt: skip
            advance(1, f"best so far {self.best[0]:.4f}" if self.best else "")

    def _record(self, step: FitStep[Model], settings: FitSettings, seconds: float) -> None:
        model = step.model()
        model.history.settings["iterations"] = step.iteration
        names = sorted(self._names | {"compression"})
        values = {name: getattr(settings, name) for name in names} | {"iterations": step.iteration}
        held_out = (
            None if self._held_out is None else float(model.log_likelihood(self._held_out, threads=self._threads))
        )
        score = None if self._score is None else float(self._score(model))
        trial = Trial(values, step.log_likelihood, held_out, score, seconds)
        if not np.isfinite(trial.merit):
            raise ArgumentError(f"the score of {values} is {trial.merit}: trials cannot be ranked by it.")
        self.trials.append(trial)
        if self.best is None or trial.merit > self.best[0]:
            self.best = trial.merit, model


def _with_one_sketch(group: list[FitSettings], vocabulary: int) -> list[FitSettings]:
    """Let settings that leave the size of the sketch open share one, the largest that any of them would choose.

    The size is written into the settings, so that a model's history says how it was made.
    """
    sizes = [s.sketch_size(vocabulary) for s in group if s.compression == "auto"]
    largest = max((size for size in sizes if size is not None), default=None)
    return [
        replace(s, compression=largest)
        if largest is not None and s.compression == "auto" and s.sketch_size(vocabulary) is not None
        else s
        for s in group
    ]


def _combinations(
    grid: Mapping[str, Sequence[Any]], base: FitSettings, counts: LagCounts
) -> tuple[list[FitSettings], list[int]]:
    """Return all settings, those with the same pseudocount together, and the iterations to look at."""
    known = set(FitSettings.options()) - {"seed", "polish", "tolerance"}
    for name, values in grid.items():
        if name not in known:
            raise unknown_name("the grid", name, known)
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ArgumentError(f"grid: give a list of values for {name!r}, not {values!r}.")
    if base.polish or base.tolerance:
        raise ArgumentError("select takes neither polish nor tolerance: trials stop at the iterations of the grid.")

    def chosen(**changes: Any) -> FitSettings:
        return base.replace(**changes).resolved(counts.tokens, len(counts.vocabulary), counts.max_lag)

    stops = [cast("int", chosen(iterations=n).iterations) for n in grid.get("iterations", [base.iterations])]
    # the sketch is shared by settings with one pseudocount, so these come together
    names = sorted((name for name in grid if name != "iterations"), key=lambda name: name != "pseudocount")
    products = itertools.product(*(grid[name] for name in names))
    changes = ({**dict(zip(names, values, strict=True)), "iterations": max(stops)} for values in products)
    return [chosen(**change) for change in changes], sorted(set(stops))
