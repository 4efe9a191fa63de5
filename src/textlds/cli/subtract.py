"""``textlds subtract``: forget text exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.count import report


def subtract_folder(counts: Path, forget: Path, output: Path, *, force: bool) -> None:
    """Write ``counts`` - ``forget``; a pair that would be negative is an error."""
    from textlds.counts.algebra import combine_to_folder
    from textlds.counts.lagcounts import LagCounts
    from textlds.errors import CountsError
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    whole, part = LagCounts.load(counts), LagCounts.load(forget)
    if whole.vocabulary != part.vocabulary:
        raise CountsError(
            f"{forget} was counted with another vocabulary than {counts}, so that its words cannot be found there. "
            f"Count the text to forget again with the vocabulary of {counts}:  textlds count ... --vocab {counts}"
        )
    combine_to_folder([whole, part], [1, -1], output, force=force)


def command(
    counts: Annotated[Path, typer.Argument(metavar="ALL", help="Counts of all the text.", show_default=False)],
    forget: Annotated[Path, typer.Argument(metavar="FORGET", help="Counts of a part of it.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="REST", help="The counts folder to write.")],
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Forget text: the result is exactly what counting without it gives.

    Count the text to forget with the vocabulary of ALL ([bold]--vocab ALL[/bold]) and the same settings.
    """
    subtract_folder(counts, forget, output, force=force)
    report(output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    ("textlds count letters.txt -o letters --vocab all", "against the words of the counts folder `all`"),
    "textlds subtract all letters -o rest",
)
