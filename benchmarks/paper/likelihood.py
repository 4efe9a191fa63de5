"""Supplementary figure: likelihood against EM iterations, from subspace identification and from random starts.

Beside it the accuracy of the local tagger on the development set, which the paper saw fall after the 50th iteration.
For one-hot words with all seeds, and for profiles with one, from the start that is their default too.
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
OF_PROFILES = ("neighbours", *STARTS)


def cells(job: Job, store: Store) -> list[Cell]:
    """Return a cell for each start and seed."""
    corpus, score = job.base_corpus(), TaggingScore(job, "ewt")
    fits = {
        f"{start} / seed {seed}": {**job.base_fit, "start": start, "seed": seed}
        for seed in range(job.seeds)
        for start in STARTS
    }
    for start in OF_PROFILES:
        fits[f"profiles, {start} / seed 0"] = {**job.base_fit, "observations": "profiles", "start": start, "seed": 0}
    made = []
    for key, kind in fits.items():
        fit = {**kind, "iterations": job.scale.iterations}
        asked = {"fit": fit, "count": corpus.count, "tokens": corpus.tokens, "every": job.scale.every}
        asked |= {"classifier": score.settings}
        made.append(
            Cell(key, asked, lambda fit=fit: _curve(job, corpus, score, fit))  # type: ignore[misc]
        )
    return made


def _curve(job: Job, corpus: Any, score: TaggingScore, fit: dict[str, Any]) -> dict[str, Any]:
    curve: list[float] = []
    accuracy: dict[str, float] = {}
    recipe = "paper" if fit["observations"] == "words" else "context"  # the state, as the model weights words

    def look(step: FitStep) -> None:
        curve.append(step.log_likelihood)
        if step.iteration % job.scale.every == 0:
            features = model_features(step.model(), recipe=recipe, threads=job.threads)
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
