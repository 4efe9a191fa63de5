"""``textlds dynamics``: what follows what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table

if TYPE_CHECKING:
    from textlds.model.exploring import Transition


def state_transitions(path: Path, *, n: int, words: int, min_count: int | None = None) -> list[Transition]:
    """Return the n strongest transitions of a model's state."""
    from textlds.api import load

    return load(path).dynamics(n, words=words, min_count=min_count)


def command(
    model: opt.Model,
    n: Annotated[int, typer.Option("-n", min=1, metavar="NUMBER", help="How many transitions.")] = 6,
    words: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many words for each state.")] = 9,
    min_count: opt.MinCount = None,
    as_json: opt.Json = False,
) -> None:
    """Show the strongest transitions of the state, as words that are likely before and after."""
    found = state_transitions(model, n=n, words=words, min_count=min_count)
    if as_json:
        print_json([{"strength": t.strength, "source": t.source, "target": t.target} for t in found])
        return
    rows = [[f"{t.strength:.3f}", " ".join(t.source), " ".join(t.target)] for t in found]
    print_table(["strength", "from", "to"], rows, right=[0])


EXAMPLES = ("textlds dynamics model", "textlds dynamics model -n 20 --words 5")
