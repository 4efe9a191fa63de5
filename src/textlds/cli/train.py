"""``textlds train``: from text to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.fit import report
from textlds.cli.output import say
from textlds.corpus.settings import CountSettings, TextSettings
from textlds.learn.settings import FitSettings


@opt.with_settings
def command(
    files: opt.Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to write.")],
    counts_output: Annotated[
        Path | None, typer.Option(metavar="COUNTS", help="Keep the counts in this folder.", show_default=False)
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="Choose vocabulary, state size and iterations to take at most this long, within --memory. Settings "
            "that are given are kept.",
            show_default=False,
        ),
    ] = None,
    force: opt.Force = False,
    resume: opt.Resume = False,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    *,
    settings: FitSettings,
    counting: CountSettings,
    text: TextSettings,
) -> None:
    """Count text and fit a model to the counts, in one step.

    Unfinished work, counts included, is kept in MODEL.work until the model is written; after an interruption, the
    same command with [bold]--resume[/bold] continues from there.
    """
    from textlds.model.training import train_to_folder

    budget = None
    if minutes is not None:
        from textlds.corpus.reading.opening import open_sources
        from textlds.learn.budget import choose_settings, chosen, chosen_before

        before = chosen_before(output, minutes, counting, settings) if resume else None
        if before is not None:
            budget, counting, settings = before
        else:
            sources = open_sources(files, counting)
            choice = choose_settings(
                sources, minutes=minutes, text=text, counting=counting, settings=settings, threads=threads
            )  # fmt: skip
            budget, counting, settings = chosen(choice, minutes), choice.counting, choice.settings
            say(f"Budget: {choice}.", quiet=quiet)
    model = train_to_folder(
        files, output, settings, text=text, counting=counting, counts_output=counts_output,
        resume=resume, force=force, threads=threads, progress=not quiet, budget=budget,
    )  # fmt: skip
    report(model, output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds train book.txt -o model",
    ("textlds train 'news/*.txt.gz' -o model --vocab-size 50000", "many files; quote patterns"),
    ("textlds train corpus.txt -o model --minutes 10 --memory 8GB", "the largest model within a budget"),
    ("zcat dump.gz | textlds train - -o model --counts-output counts", "keep the counts, to merge or refit"),
)
