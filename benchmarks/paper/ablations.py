"""What each choice is worth: rows that differ from the base in one setting, accuracy on development sets.

The paper states most of them in words: full noise against simpler ones, whitening, horizons, pseudocounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import textlds
from benchmarks.paper import settings
from benchmarks.paper.job import Job
from benchmarks.paper.scoring import TaggingScore
from benchmarks.paper.store import Cell, Store
from benchmarks.paper.treebanks import NAMES, running
from benchmarks.recorded import recipe_of
from textlds.evaluation.features import model_features
from textlds.inference.engine import Method

TITLE = "What each choice is worth"
NEEDS = ("text", "ewt", "ptb")
_METHODS: tuple[Method, ...] = ("filter", "exact")


@dataclass(frozen=True)
class Row:
    """A change of one setting.

    Attributes:
        group: What is varied.
        name: The value.
        fit: Changed arguments of :func:`textlds.fit`.
        count: Changed arguments of :func:`textlds.count`.
        tokens: Another amount of text.
        method: Of inference.
        evidence: Of inference, by the names of stored figures.
        running: Sentences are read as one text.
        lexicon: Whether words are known by their profiles and spelling where all count the same.
    """

    group: str
    name: str
    fit: Mapping[str, Any] = field(default_factory=dict)
    count: Mapping[str, Any] = field(default_factory=dict)
    tokens: float | None = None
    method: Method = "smooth"
    evidence: str = "model"
    running: bool = False
    lexicon: bool = True


def rows(job: Job) -> list[Row]:
    """Return all changes; values that are the base's are left out."""
    base, tiny = job.base_fit, job.base_fit["state_size"] < 10
    kappas = (1, 10) if tiny else (3, 30, 100, 300, 3000)
    sizes = (2, 6) if tiny else (25, 50, 100, 200, 400)
    found = [
        *(Row("noise", kind, {"noise": kind}) for kind in ("diagonal", "spherical", "bohning")),
        Row("start", "subspace identification alone", {"iterations": 0}),
        Row("start", "the same, not whitened", {"iterations": 0, "ssid_whitened": False}),
        Row("start", "EM after it, not whitened", {"ssid_whitened": False}),
        Row("start", "random", {"start": "random"}),
        *(Row("horizon of subspace identification", f"r = {r}", {"ssid_horizon": r}) for r in (2, 3)),
        Row("horizon of subspace identification", "r = 6", {"ssid_horizon": 6}, {"max_lag": 11}),
        *(Row("horizon of EM", f"r = {r}", {"em_horizon": r}) for r in (1, 2, 4, 7)),
        Row("horizon of EM", "r = 10", {"em_horizon": 10}, {"max_lag": 10}),
        *(Row("pseudocount", f"κ = {kappa}", {"pseudocount": kappa}) for kappa in kappas),
        Row("pseudocount", "the paper's", {"pseudocount": "paper"}),
        *(Row("state size", f"h = {h}", {"state_size": h}) for h in sizes),
        *(Row("text", f"{n / 1e6:g}M tokens", tokens=n) for n in job.scale.amounts),
        *(Row("unknown words", name, count={"unknown": name}) for name in ("shape", "single")),
        *(
            Row("boundaries", f"{name}, {where} at inference", count={"boundaries": name}, running=where == "none")
            for name in ("line", "sentence", "none")
            for where in ("sentence", "none")
        ),
        *(Row("inference", method, method=method) for method in _METHODS),
        Row("inference", "equal evidence", evidence="equal"),
        Row("inference", "equal evidence, by the fitted gains", evidence="equal", lexicon=False),
    ]
    return [row for row in found if not _is_base(row, base, job)]


def _is_base(row: Row, fit: Mapping[str, Any], job: Job) -> bool:
    """Tell whether a row changes nothing."""
    corpus = job.base_corpus()
    defaults = {"ssid_horizon": 4, "em_horizon": 7, "pseudocount": "paper", "noise": "full"}
    same_fit = all({**defaults, **fit}.get(name) == value for name, value in row.fit.items())
    same_count = all(corpus.count.get(name) == value for name, value in row.count.items())
    same_text = row.tokens in (None, corpus.tokens)
    return same_fit and same_count and same_text and _reads_alike(row)


def _reads_alike(row: Row) -> bool:
    return row.method == "smooth" and row.evidence == "model" and not row.running


def cells(job: Job, store: Store) -> list[Cell]:
    """Return a cell for the base with each seed, and for each row."""
    scores = {bank: TaggingScore(job, bank) for bank in NAMES}
    base = [_cell(job, scores, Row("base", f"seed {seed}", {"seed": seed})) for seed in range(job.seeds)]
    return base + [_cell(job, scores, row) for row in rows(job)]


def _cell(job: Job, scores: Mapping[Any, TaggingScore], row: Row) -> Cell:
    corpus = job.base_corpus(row.tokens, **row.count)
    fit = {"seed": 0, **job.base_fit, **row.fit}
    asked = {
        "group": row.group, "name": row.name, "fit": fit, "count": corpus.count, "tokens": corpus.tokens,
        "method": row.method, "evidence": row.evidence, "running": row.running, "classifier": scores["ewt"].settings,
    }  # fmt: skip
    if row.evidence != "model":
        asked["words"] = settings.WORDS if row.lexicon else "gains"

    def measure() -> dict[str, Any]:
        # models of ablations are made once and looked at once: not worth a place on disk
        model = textlds.fit(job.work.counts(corpus), settings=textlds.FitSettings(**fit), threads=job.threads)
        history = model.history
        if not row.lexicon:
            model = textlds.TextLDS(model.params, model.vocabulary, model.frequencies, model.moments)
        return {
            "log_likelihood": history.log_likelihood[-1] if history.log_likelihood else history.start,
            **{
                f"{bank}, {' + '.join(parts)}": _accuracy(model, score, parts, row, job)
                for bank, score in scores.items()
                for parts in (settings.STATE, settings.PARTS)
            },
        }

    return Cell(f"{row.group} / {row.name}", asked, measure)


def _accuracy(model: textlds.TextLDS, score: TaggingScore, parts: Any, row: Row, job: Job) -> float:
    usable = [part for part in parts if row.method != "filter" or part not in ("right", "after")]
    recipe = recipe_of(usable, row.evidence, row.method)
    features = model_features(model, recipe=recipe, threads=job.threads)
    return score(running(features) if row.running else features)
