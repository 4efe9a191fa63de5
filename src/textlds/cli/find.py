"""``textlds find``: where is this word used in this sense?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from textlds.search import Occurrence

_WEAK = 0.3  # score below which all that was found is called weak; not measured
_REACH = 150  # characters shown on either side of a word


def find_occurrences(path: Path, word: str, context: str, *, n: int, match: Literal["same", "any"]) -> list[Occurrence]:
    """Return the occurrences in an index that are used most like a word in a context."""
    from textlds.search import OccurrenceIndex

    return OccurrenceIndex.load(path).find(word, context, n=n, match=match)


def command(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="An index folder.", show_default=False)],
    word: Annotated[str, typer.Option("--word", "-w", metavar="WORD", help="The word.", show_default=False)],
    context: Annotated[
        str,
        typer.Option(
            "--context",
            "-c",
            metavar="TEXT",
            help="A text that contains the word; the longer, the better.",
            show_default=False,
        ),
    ],
    n: opt.HowMany = 10,
    match: Annotated[
        Literal["same", "any"], typer.Option(help="same: occurrences of this word only; any: of all words.")
    ] = "same",
    as_json: opt.Json = False,
) -> None:
    """List the occurrences of a word whose use is most like that in a context, best first, the word in brackets."""
    found = find_occurrences(index, word, context, n=n, match=match)
    if as_json:
        print_json(
            {"word": word, "context": context, "occurrences": [dataclasses.asdict(occurrence) for occurrence in found]}
        )
    else:
        rows = [[f"{o.score:.2f}", f"{o.file}:{o.line}", o.marked(reach=_REACH)] for o in found]
        print_table(["score", "where", "sentence"], rows, right=[0])
        if found and found[0].score < _WEAK:
            say(f"All of these are weak: no score reaches {_WEAK}. The corpus may not use the word in this sense.")


EXAMPLES = (
    "textlds find index --word bank --context 'He sat on the bank of the river.'",
    ("textlds find index -w bank -c 'The bank raised rates.' -n 3 --json", "for machines"),
    ("textlds find index -w bank -c 'The bank raised rates.' --match any", "other words too"),
)
