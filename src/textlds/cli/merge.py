"""``textlds merge``: add counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.count import report
from textlds.cli.output import say


def merge_folders(folders: list[Path], weights: list[float], output: Path, *, force: bool) -> bool:
    """Write the weighted sum of counts folders.

    Args:
        folders: Counts folders.
        weights: One a folder, or none for the plain sum; whole numbers keep the counts exact.
        output: The counts folder to write.
        force: Overwrite the output.

    Returns:
        Whether the folders share a vocabulary, so that the sum is exact.
    """
    from textlds.counts.algebra import combine_to_folder
    from textlds.counts.lagcounts import LagCounts
    from textlds.errors import ArgumentError
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    if weights and len(weights) != len(folders):
        raise ArgumentError(f"{len(folders)} counts need as many weights, not {len(weights)}; give --weight for each.")
    for weight in weights:
        if not 0 < weight < float("inf"):
            raise ArgumentError(
                f"--weight {weight} must be a number above 0; use `textlds subtract` to subtract counts."
            )
    whole = [int(weight) if weight == int(weight) else weight for weight in weights or [1.0] * len(folders)]
    counts = [LagCounts.load(folder) for folder in folders]
    combine_to_folder(counts, whole, output, force=force)
    return all(other.vocabulary == counts[0].vocabulary for other in counts)


def command(
    folders: Annotated[list[Path], typer.Argument(metavar="COUNTS", help="Counts folders.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="COUNTS", help="The counts folder to write.")],
    weight: Annotated[
        list[float] | None,
        typer.Option(
            "--weight", "-w", help="Weight of each COUNTS, in the same order; fractions make the counts inexact."
        ),
    ] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Add counts, perhaps weighted.

    If they share a vocabulary, the result is exactly what counting all the text together gives. Otherwise it has the
    words of all; occurrences of a word that one of them does not know stay in their unknown class.
    """
    exact = merge_folders(folders, weight or [], output, force=force)
    if not exact:
        say(
            "The counts have different vocabularies: the result is over their union, an approximation. To be exact, "
            "count again with the same --vocab.",
            quiet=quiet,
        )
    report(output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds merge monday tuesday -o both",
    ("textlds merge news web -o mixed --weight 3 --weight 1", "news counts three times"),
)
