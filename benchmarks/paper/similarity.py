"""Word similarity, in isolation and in context, against word2vec learnt from the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.paper import settings
from benchmarks.paper.job import Job
from benchmarks.paper.kinds import BEST, STATE, kind_features
from benchmarks.paper.store import Cell, Store
from textlds.errors import ArgumentError
from textlds.evaluation.data import read_pairs, read_scws
from textlds.evaluation.features import Features, model_features, with_neighbours
from textlds.evaluation.similarity import evaluate_context_pairs, evaluate_pairs

TITLE = "Word similarity"
NEEDS = ("text", "similarity")

ALONE = {"SimLex-999": "*SIMLEX*", "WS-353": "*WS-353-ALL*", "MEN": "*MEN*", "RW": "*RW*"}
IN_CONTEXT = "scws*"
ALONE_KINDS = ("word", "word, equal evidence")
KINDS = tuple(dict.fromkeys((*ALONE_KINDS, STATE, "state, equal evidence", "left + word + right", BEST)))


def cells(job: Job, store: Store) -> list[Cell]:
    """Return a cell for each contender and seed."""
    corpus, default = job.corpus(), job.default_corpus()
    asked = {"count": corpus.count, "tokens": corpus.tokens}
    made = []
    for seed in range(job.seeds):
        fit, default_fit = {**job.fit, "seed": seed}, {**job.default_fit, "seed": seed}
        made += [
            Cell(
                f"default / seed {seed}",
                {"count": default.count, "tokens": default.tokens, "fit": default_fit},
                lambda fit=default_fit: _default(job, fit),  # type: ignore[misc]
            ),
            Cell(
                f"LDS / seed {seed}",
                {**asked, "fit": fit, "words": settings.WORDS},
                lambda fit=fit: _lds(job, fit),  # type: ignore[misc]
            ),
            Cell(
                f"word2vec / seed {seed}",
                {**asked, "word2vec": settings.WORD2VEC, "seed": seed},
                lambda seed=seed: _word2vec(job, seed),  # type: ignore[misc]
            ),
        ]
    return made


def _lds(job: Job, fit: dict[str, Any]) -> dict[str, Any]:
    model = job.work.model(job.corpus(), **fit)
    kinds = {kind: kind_features(model, kind) for kind in KINDS}
    return _scores(job, {kind: kinds[kind] for kind in ALONE_KINDS}, kinds)


def _default(job: Job, fit: dict[str, Any]) -> dict[str, Any]:
    """The model that users get where they ask for nothing: meaning, and meaning in context."""
    model = job.work.model(job.default_corpus(), **fit)
    recipes = {"meaning": "word_meaning", "use": "word", "meaning in context": "meaning", "state": "context"}
    kinds = {kind: model_features(model, recipe=recipe) for kind, recipe in recipes.items()}
    return _scores(job, {kind: kinds[kind] for kind in ("meaning", "use")}, kinds)


def _word2vec(job: Job, seed: int) -> dict[str, Any]:
    vectors = job.work.word2vec(job.corpus(), **settings.WORD2VEC, seed=seed)
    context = {"word2vec": vectors, "word2vec and neighbours": with_neighbours(vectors)}
    return _scores(job, {"word2vec": vectors}, context)


def _scores(job: Job, alone: dict[str, Features], in_context: dict[str, Features]) -> dict[str, Any]:
    """Return Spearman's correlation by set, and how many pairs were found; kinds after the first have their name."""
    known = job.work.counts(job.corpus()).vocabulary
    found: dict[str, Any] = {}
    for name, pattern in ALONE.items():
        pairs = read_pairs(_file(job, pattern))
        for number, (kind, features) in enumerate(alone.items()):
            found[f"{name} / {kind}" if number else name] = evaluate_pairs(features, pairs, known).to_json()
    in_texts = read_scws(_file(job, IN_CONTEXT))
    for name, features in in_context.items():
        found[f"SCWS, {name}"] = evaluate_context_pairs(features, in_texts).to_json()
    return found


def _file(job: Job, pattern: str) -> Path:
    folder = job.data.path("similarity")
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise ArgumentError(f"--similarity: {folder} must hold one file {pattern}; found {len(files)}.")
    return files[0]
