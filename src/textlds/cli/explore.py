"""``textlds explore``: the page of a model as a folder that needs no server of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say


def write_model_page(
    model: Path, output: Path, *, text: Path | None, vocab_size: int | None, force: bool = False
) -> dict[str, int]:
    """Write the page of a model into a folder; return the bytes of its files and of the packed model."""
    from textlds.serve.service import Service, sample_texts
    from textlds.serve.static import write_page
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    service = Service.load(model, samples=[] if text is None else sample_texts(text))
    return write_page(service, output, vocab_size=vocab_size, force=force)


def command(
    model: opt.Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder to write.")],
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Texts to show as examples, one per line.", show_default="none"),
    ] = None,
    vocab_size: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="Keep this many words; others are read by spelling.", show_default="all"
        ),
    ] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write a page that explores a model in the browser and contains the packed model.

    Any web server can serve it; once loaded, it works offline. Search and tags need textlds serve.
    """
    from textlds.cli.info import human_size

    size = write_model_page(model, output, text=text, vocab_size=vocab_size, force=force)
    if as_json:
        print_json({"output": str(output), **size})
    say(
        f"Wrote {output}: a page of {human_size(size['page'])} and a model of {human_size(size['model'])}. "
        f"Look at it with:  python -m http.server -d {output}",
        quiet=quiet,
    )


EXAMPLES = (
    "textlds explore model -o page",
    ("textlds explore model -o page --vocab-size 20000 --text corpus.txt", "smaller, with examples"),
)
