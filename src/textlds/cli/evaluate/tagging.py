"""``textlds evaluate tagging``: how well tags are read off the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.evaluate import options as own
from textlds.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from textlds.evaluation.tagging import TaggingResult


def command(
    model: opt.Model,
    train: own.Train,
    dev: own.Dev,
    test: own.Test = None,
    tags: Annotated[
        str | None,
        typer.Option(
            metavar="upos|xpos|COLUMN",
            help="Column of the tags: a name in CoNLL-U, a number from 1, or last.",
            show_default="upos in CoNLL-U, otherwise the last column",
        ),
    ] = None,
    tag_map: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read tags as coarser ones: lines of tag, tab, tag.", show_default=False),
    ] = None,
    format: own.Format = "auto",
    recipe: opt.Recipe = "features",
    classifier: Annotated[
        Literal["tagger", "local", "crf"],
        typer.Option(
            help="tagger: that of textlds tagger, on words without the vectors and with them; crf: a CRF, likewise; "
            "local: the paper's small network, which sees one vector at a time."
        ),
    ] = "tagger",
    hidden: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Hidden units of the paper's network.")] = 25,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Train this many networks, and report mean and spread.")
    ] = 1,
    search: own.Search = "none",
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Train taggers on the vectors of a model, and report their accuracy in per cent.

    Known words are those in --train. Settings are chosen on --dev, so that the accuracy there is slightly optimistic.
    """
    from textlds.corpus.reading.tagged import read_tag_map
    from textlds.evaluation.taggers import compare_taggers
    from textlds.evaluation.tagging import evaluate_tagging

    mapped = read_tag_map(tag_map) if tag_map is not None else None
    files = {"train": train, "dev": dev, "test": test}
    sets = own.read_parts(files, format=format, column=own.column_of(tags), tag_map=mapped)
    if classifier == "tagger":
        result: Any = compare_taggers(
            model, sets["train"], sets["dev"], sets.get("test"), recipe=recipe, seeds=seeds, progress=not quiet
        )
    else:
        result = evaluate_tagging(
            own.open_features(model, recipe, threads), sets["train"], sets["dev"], sets.get("test"),
            classifier=classifier, seeds=seeds, hidden=hidden, search=search, progress=not quiet,
        )  # fmt: skip
    if as_json:
        print_json({"recipe": recipe, "classifier": classifier, **result.to_json()})
        return
    _show(result)
    for part, found in result.tests.items():
        say(
            f"{part}: {found.only_second:,} tokens are right only with the vectors, {found.only_first:,} only without "
            f"them ({own.shown_p(found.p)}).",
            quiet=quiet,
        )


def _show(result: TaggingResult) -> None:
    several = len(result.rows[0].seeds) > 1
    headings = ["tagger", "set", "all", "known", "unknown", "tokens", *(["seeds"] if several else [])]
    rows = []
    for row in result.rows:
        found = row.accuracy
        shares = [f"{share:.2f}" if share == share else "–" for share in (found.all, found.known, found.unknown)]
        spread = [f"{row.mean:.2f} ± {row.spread:.2f}"] if several else []
        rows.append([row.tagger, row.part, *shares, f"{found.tokens:,}", *spread])
    print_table(headings, rows, right=range(2, len(headings)))


EXAMPLES = (
    "textlds evaluate tagging model --train train.conllu --dev dev.conllu",
    ("textlds evaluate tagging model --train a.tsv --dev b.tsv --test c.tsv --seeds 3", "with the spread"),
    "textlds evaluate tagging model --train train.conllu --dev dev.conllu --recipe context --classifier crf",
)
