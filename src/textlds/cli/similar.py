"""``textlds similar``: the neighbours of a word, by itself or in a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS


def number_class(model: TextLDS, word: str) -> str | None:
    """Return the word that stands for all numbers like this one, or None where a word stands for itself."""
    from textlds.corpus.tokens.characters import normalise_digits

    plain = normalise_digits(word, model.vocabulary.settings.digits)
    return None if plain == word else plain


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
    from textlds.api import load

    opened = load(model)
    found = opened.similar(word, context=context, n=n, kind=kind, min_count=min_count, recipe=recipe)
    if (number := number_class(opened, word)) is not None:
        say(f"This model reads all numbers like {word} as one word, {number}: these are its neighbours.")
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
