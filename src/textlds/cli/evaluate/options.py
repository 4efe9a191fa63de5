"""Options that the commands of ``textlds evaluate`` share, and what they do with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from textlds.corpus.reading.tagged import Tagged
    from textlds.evaluation.features import Features

Train = Annotated[str, typer.Option(metavar="FILE", help="Tagged sentences to learn from.", show_default=False)]
Dev = Annotated[str, typer.Option(metavar="FILE", help="Tagged sentences to choose settings on.", show_default=False)]
Test = Annotated[
    str | None, typer.Option(metavar="FILE", help="Tagged sentences to test on, once, at the end.", show_default=False)
]
Format = Annotated[
    Literal["auto", "conllu", "conll", "tsv"],
    typer.Option(
        metavar="WORD",
        help="conllu; conll: columns separated by spaces; tsv: word, tab, tag; auto: recognise it.",
    ),
]
Search = Annotated[
    Literal["none", "grid"],
    typer.Option(help="grid: choose the CRF's penalties and the scale of its vectors on the development set."),
]


def read_parts(files: dict[str, str | None], **options: Any) -> dict[str, list[Tagged]]:
    """Read the tagged files that were given."""
    from textlds.corpus.reading.tagged import read_tagged

    return {name: read_tagged(path, **options) for name, path in files.items() if path is not None}


def open_features(model: Path, recipe: str, threads: int | None) -> Features:
    """Return the token vectors of the model in a folder."""
    from textlds.api import load
    from textlds.evaluation.features import model_features
    from textlds.vectors.recipes import check_recipe

    check_recipe(recipe)
    return model_features(load(model), recipe=recipe, threads=threads)


def column_of(text: str | None) -> str | int | None:
    """Return the column that an option names: a word, or a number from 1."""
    return int(text) if text is not None and text.isdigit() else text


def shown_p(p: float) -> str:
    """Return a probability as a person reads it."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.1g}"
