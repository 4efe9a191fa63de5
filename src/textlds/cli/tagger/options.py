"""Options that the commands of ``textlds tagger`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Tagger = Annotated[Path, typer.Argument(metavar="TAGGER", help="A tagger folder.", show_default=False)]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="MODEL", help="Where its model is, if it was moved.", show_default="where it was in training"
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        metavar="upos|xpos|...",
        help="Column of the tags: a name in CoNLL-U (misc:NER for a value in MISC), a number from 1, or last.",
        show_default="upos in CoNLL-U, otherwise the last column",
    ),
]
Format = Annotated[
    Literal["auto", "conllu", "conll", "tsv"],
    typer.Option(
        metavar="WORD",
        help="conllu; conll: columns separated by spaces; tsv: word, tab, tag; auto: recognise it.",
    ),
]


def read_labelled(path: str, format: str, column: str | None) -> Any:
    """Read labelled sentences."""
    from textlds.corpus.reading.tagged import read_tagged

    return read_tagged(path, format=format, column=column)  # type: ignore[arg-type]  # checked there
