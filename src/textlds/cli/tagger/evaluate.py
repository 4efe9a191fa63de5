"""``textlds tagger evaluate``: how good a tagger is on labelled sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table, say
from textlds.cli.tagger import options as own

if TYPE_CHECKING:
    from textlds.evaluation.taggers import TaggerScore


def command(
    tagger: own.Tagger,
    test: Annotated[str, typer.Argument(metavar="FILE", help="Labelled sentences.", show_default=False)],
    column: own.Column = None,
    format: own.Format = "auto",
    model: own.Model = None,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Say how often a tagger is right on labelled sentences, in per cent.

    Tags: on all words, on those of the training sentences (known) and on the others. Entities: precision, recall and
    F1 of those whose limits and kind are exactly right.
    """
    from textlds.evaluation.taggers import score_tagger
    from textlds.tagging.tagger import Tagger

    opened = Tagger.load(tagger, model=model)
    trained_on = opened.report.get("column") if column is None else column
    score = score_tagger(opened, own.read_labelled(test, format, trained_on), threads=threads)
    if as_json:
        print_json(score.to_json())
        return
    show(score)
    if score.unseen:
        listed = ", ".join(f"{tag} ({count})" for tag, count in sorted(score.unseen.items()))
        say(f"Tags that the tagger never saw, scored as wrong: {listed}.", quiet=quiet)
    if score.repaired:
        say(f"{score.repaired:,} entity tags in {test} continued nothing and were read as beginnings.", quiet=quiet)


def show(score: TaggerScore) -> None:
    """Print what a tagger reached."""
    if score.entities is None:
        tags = score.accuracy
        shares = [f"{share:.2f}" if share == share else "–" for share in (tags.all, tags.known, tags.unknown)]
        print_table(["all", "known", "unknown", "tokens"], [[*shares, f"{tags.tokens:,}"]], right=range(4))
        return
    found = score.entities
    shares = [f"{share:.2f}" for share in (found.precision, found.recall, found.f1, *found.by_kind.values())]
    headings = ["precision", "recall", "F1", *(f"F1 of {kind}" for kind in found.by_kind), "entities"]
    print_table(headings, [[*shares, f"{found.entities:,}"]], right=range(len(headings)))


EXAMPLES = (
    "textlds tagger evaluate tagger test.conllu",
    ("textlds tagger evaluate entities eng.testb --json", "for machines"),
)
