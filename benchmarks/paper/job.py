"""Running studies: cell after cell, with what is done, what it took and about how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.paper import settings
from benchmarks.paper.data import Data
from benchmarks.paper.settings import Scale
from benchmarks.paper.store import Cell, Store
from benchmarks.paper.work import Corpus, Workspace


@dataclass(frozen=True)
class Job:
    """What a study is given.

    Attributes:
        data: Where the data lies.
        work: What is made once and kept.
        scale: How large the study is to be.
        seeds: 0, 1, ... up to this many.
        threads: For fits and classifiers.
    """

    data: Data
    work: Workspace
    scale: Scale
    seeds: int = 3
    threads: int = 1

    @property
    def fit(self) -> dict[str, Any]:
        """Arguments of :func:`textlds.fit` for "the model"."""
        return {**settings.FIT, **self.scale.fit}

    @property
    def default_fit(self) -> dict[str, Any]:
        """The same for the model that users get where they ask for nothing."""
        return {**settings.DEFAULT_FIT, **self.scale.fit}

    @property
    def base_fit(self) -> dict[str, Any]:
        """The same for studies of many fits."""
        return {**settings.FIT, **self.scale.base_fit}

    def corpus(self, *names: str, tokens: float | None = None) -> Corpus:
        """Return the unlabelled text of the main studies: data sets by name, ``"text"`` alone by default."""
        paths = tuple(self.data.path(name) for name in names or ("text",))
        return Corpus(paths, tokens or self.scale.tokens, {**settings.COUNT, **self.scale.count})

    def default_corpus(self, *names: str) -> Corpus:
        """Return the same text as the default model counts it."""
        corpus = self.corpus(*names)
        return replace(corpus, count={**settings.DEFAULT_COUNT, **self.scale.count})

    def base_corpus(self, tokens: float | None = None, **count: Any) -> Corpus:
        """Return the text of the studies of many fits, with other amounts or options of counting if they are given."""
        options = {**settings.COUNT, **self.scale.base_count, **count}
        return Corpus((self.data.path("text"),), tokens or self.scale.base_tokens, options)


def run_study(name: str, study: ModuleType, job: Job, results: Path, *, again: bool = False) -> Store:
    """Compute the cells of a study that are not there yet, and keep no others."""
    files = {file: job.work.sha256(file) for need in study.NEEDS for file in job.data.files(need)}
    data = {f"{file.parent.name}/{file.name}": total for file, total in files.items()}
    store = Store(results / "paper" / f"{name}.json", title=study.TITLE, data=data, again=again)
    cells: Sequence[Cell] = study.cells(job, store)
    clock = _Clock(name, len(cells))
    for cell in cells:
        began = time.perf_counter()
        computed = store.run(cell)
        clock.tell(cell.key, store.figures(cell.key), time.perf_counter() - began if computed else None)
    store.keep(cell.key for cell in cells)
    return store


class _Clock:
    """Says what was done and estimates what is left, from the mean time of the cells so far."""

    def __init__(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._times: list[float] = []

    def tell(self, key: str, figures: Mapping[str, Any], seconds: float | None) -> None:
        self._done += 1
        if seconds is not None:
            self._times.append(seconds)
        took = "there already" if seconds is None else f"{seconds:.0f} s"
        left = self._total - self._done
        rest = ""
        if left and self._times:
            rest = f", about {_duration(left * sum(self._times) / len(self._times))} left"
        scores = ", ".join(f"{n} {v:.2f}" for n, v in figures.items() if isinstance(v, float))
        print(f"{self._name} {self._done}/{self._total}: {key}: {scores} ({took}{rest})", flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
