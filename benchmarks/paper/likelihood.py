"""Supplementary figure: likelihood against EM iterations, from subspace identification and from random starts.

Beside it the accuracy of the local tagger on the development set, which the paper saw fall after the 50th iteration.
"""

from __future__ import annotations

from typing import Any

import textlds
from benchmarks.paper.job import Job
from benchmarks.paper.scoring import TaggingScore
from benchmarks.paper.store import Cell, Store
from textlds.evaluation.features import model_features
from textlds.learn.run import FitStep

TITLE = "Likelihood and accuracy against EM iterations (supplementary figure)"
NEEDS = ("text", "ewt")
STARTS = ("subspace", "random")


def cells(job: Job, store: Store) -> list[Cell]:
    """Return a cell for each start and seed."""
    corpus, score = job.base_corpus(), TaggingScore(job, "ewt")
    made = []
    for seed in range(job.seeds):
        for start in STARTS:
            fit = {**job.base_fit, "iterations": job.scale.iterations, "start": start, "seed": seed}
            asked = {"fit": fit, "count": corpus.count, "tokens": corpus.tokens, "every": job.scale.every}
            asked |= {"classifier": score.settings}
            made.append(
                Cell(
                    f"{start} / seed {seed}",
                    asked,
                    lambda fit=fit: _curve(job, corpus, score, fit),  # type: ignore[misc]
                )
            )
    return made


def _curve(job: Job, corpus: Any, score: TaggingScore, fit: dict[str, Any]) -> dict[str, Any]:
    curve: list[float] = []
    accuracy: dict[str, float] = {}

    def look(step: FitStep) -> None:
        curve.append(step.log_likelihood)
        if step.iteration % job.scale.every == 0:
            features = model_features(step.model(), recipe="paper", threads=job.threads)
            accuracy[str(step.iteration)] = score(features)

    settings = textlds.FitSettings(**fit)
    textlds.fit(job.work.counts(corpus), settings=settings, threads=job.threads, callback=look)
    best = max(accuracy, key=lambda iteration: accuracy[iteration])
    return {
        "last": curve[-1],
        "best_accuracy": accuracy[best],
        "best_iteration": int(best),
        "log_likelihood": curve,
        "accuracy": accuracy,
    }
