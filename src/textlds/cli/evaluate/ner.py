"""``textlds evaluate ner``: what the vectors add to a tagger of named entities."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.evaluate import options as own
from textlds.cli.output import print_json, print_table, say


def command(
    model: opt.Model,
    train: own.Train,
    dev: own.Dev,
    test: own.Test = None,
    tags: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="Column of the tags (IOB1, IOB2 or BIOES): a number from 1, or last."),
    ] = "last",
    format: own.Format = "auto",
    recipe: opt.Recipe = "features",
    classifier: Annotated[
        Literal["tagger", "crf"],
        typer.Option(help="tagger: that of textlds tagger; crf: a CRF. Either on words without vectors and with them."),
    ] = "tagger",
    search: own.Search = "none",
    rounds: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Rounds of the randomisation test.")] = 10_000,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Train taggers of named entities without and with the vectors of a model, and compare them.

    Reports precision, recall and F1 in per cent; an entity is right if its span and kind are.
    """
    from textlds.evaluation.ner import evaluate_ner
    from textlds.evaluation.taggers import compare_taggers

    sets = own.read_parts({"train": train, "dev": dev, "test": test}, format=format, column=own.column_of(tags))
    parts = sets["train"], sets["dev"], sets.get("test")
    if classifier == "tagger":
        result: Any = compare_taggers(model, *parts, task="entities", recipe=recipe, rounds=rounds, progress=not quiet)
    else:
        features = own.open_features(model, recipe, threads)
        result = evaluate_ner(features, *parts, search=search, rounds=rounds, progress=not quiet)
    if as_json:
        print_json({"recipe": recipe, **result.to_json()})
        return
    rows = []
    for row in result.rows:
        shares = [f"{share:.2f}" for share in (row.f1.precision, row.f1.recall, row.f1.f1)]
        rows.append([row.tagger, row.part, *shares, f"{row.f1.entities:,}"])
    print_table(["tagger", "set", "precision", "recall", "F1", "entities"], rows, right=range(2, 6))
    for part, test_result in result.tests.items():
        say(
            f"{part}: the vectors add {test_result.difference:+.2f} points of F1 ({own.shown_p(test_result.p)}).",
            quiet=quiet,
        )


EXAMPLES = (
    "textlds evaluate ner model --train eng.train --dev eng.testa --test eng.testb",
    ("textlds evaluate ner model --train a.bio --dev b.bio --search grid --json", "settings chosen on b.bio"),
)
