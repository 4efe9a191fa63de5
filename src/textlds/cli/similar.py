"""``textlds similar``: the neighbours of a word, by itself or in a context."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table


def similar_words(path: Path, word: str, **options: Any) -> list[tuple[str, float]]:
    """Return the words most similar to a word, with their cosines; see :meth:`textlds.TextLDS.similar`."""
    from textlds.api import load

    return load(path).similar(word, **options)


def command(
    model: opt.Model,
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word.", show_default=False)],
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            "-c",
            metavar="TEXT",
            help="A text that contains the word: list what is similar to the word as it is used there.",
        ),
    ] = None,
    n: opt.HowMany = 10,
    kind: Annotated[
        Literal["meaning", "use"], typer.Option(help="meaning: about the same things; use: used in the same way.")
    ] = "meaning",
    min_count: opt.MinCount = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Recipe of the vector in context.", show_default="by --kind")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """List the words most similar to a word, with their cosines."""
    found = similar_words(model, word, context=context, n=n, kind=kind, min_count=min_count, recipe=recipe)
    if as_json:
        print_json(
            {
                "word": word,
                "context": context,
                "kind": kind,
                "similar": [{"word": other, "cosine": cosine} for other, cosine in found],
            }
        )
    else:
        print_table(["word", "cosine"], [[other, f"{cosine:.3f}"] for other, cosine in found], right=[1])


EXAMPLES = (
    "textlds similar model bank",
    "textlds similar model bank --context 'He sat on the bank of the river.'",
    ("textlds similar model bank --kind use", "words that could replace it"),
)
