"""``textlds senses``: the senses of a word over a corpus."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json

if TYPE_CHECKING:
    from textlds.search import Sense

_REACH = 60  # characters shown on either side of a word


def word_senses(path: Path, word: str, *, n: int | None, examples: int) -> list[Sense]:
    """Return the senses of a word in an index; see :meth:`OccurrenceIndex.senses`."""
    from textlds.search import OccurrenceIndex

    return OccurrenceIndex.load(path).senses(word, n=n, examples=examples)


def command(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="An index folder.", show_default=False)],
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word.", show_default=False)],
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, metavar="NUMBER", help="How many senses.", show_default="as many as are clear"),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="How many examples of each.")] = 3,
    as_json: opt.Json = False,
) -> None:
    """Group the occurrences of a word into senses: how frequent each is, words close to it, and examples."""
    found = word_senses(index, word, n=n, examples=examples)
    if as_json:
        print_json({"word": word, "senses": [dataclasses.asdict(sense) for sense in found]})
        return
    for number, sense in enumerate(found, start=1):
        typer.echo(f"{number}. {sense.share:.0%} of its occurrences ({sense.size}): {', '.join(sense.words)}")
        for occurrence in sense.examples:
            typer.echo(f"     {occurrence.marked(reach=_REACH)}")


EXAMPLES = (
    "textlds senses index bank",
    ("textlds senses index bank -n 2 --examples 5", "two senses, more examples"),
    ("textlds senses index bank --json", "for machines"),
)
