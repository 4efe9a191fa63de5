"""``textlds fit``: from counts to a model."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import number_of, print_json, say
from textlds.cli.selection import parse_grid, report_selection, select_model
from textlds.errors import ArgumentError
from textlds.learn.settings import FitSettings

if TYPE_CHECKING:
    from textlds.counts.lagcounts import LagCounts
    from textlds.model.textlds import TextLDS


def report(model: TextLDS, output: Path, *, as_json: bool, quiet: bool) -> None:
    """Say what was written."""
    history = model.history
    likelihood = history.log_likelihood[-1] if history.log_likelihood else history.start
    facts = {
        "output": str(output),
        "state_size": model.state_size,
        "vocabulary": len(model.vocabulary),
        "iterations": history.iterations,
        "log_likelihood": likelihood,
        "seconds": round(history.seconds[-1], 3) if history.seconds else 0.0,
    }
    if as_json:
        print_json(facts)
    gained = f", log-likelihood {likelihood:.4f} nats per token" if likelihood is not None else ""
    say(
        f"Wrote {output}: {model.vocabulary.n_types:,} words, {model.state_size} dimensions, "
        f"{number_of(history.iterations, 'iteration')}{gained}.",
        quiet=quiet,
    )


@opt.with_settings
def command(
    counts: Annotated[
        str,
        typer.Argument(metavar="COUNTS", help="A counts folder; on a cluster, also a URL of one.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to write.")],
    force: opt.Force = False,
    resume: opt.Resume = False,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="NAME=A,B,C",
            help="Try these values of a setting, in all combinations with other --select, and write the best model.",
            rich_help_panel="Choosing settings",
        ),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --select: rank by the likelihood of this text, one paragraph per line.",
            rich_help_panel="Choosing settings",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="For the counts, such as 4GB: if they take more than half of it, they are read from disk as they are "
            "used. The model comes on top.",
            show_default="counts are mapped",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Read and multiply the counts on the Dask cluster at this address."),
    ] = None,
    *,
    settings: FitSettings,
) -> None:
    """Fit a model to counts. Needs no text.

    Unfinished work is kept in MODEL.work until the model is written; after an interruption, the same command with
    [bold]--resume[/bold] continues from there and gives the same model.
    """
    if held_out is not None and not grid:
        raise ArgumentError("--held-out ranks the trials of --select, and there is no --select.")
    if grid:
        if resume or settings.polish or settings.tolerance or scheduler:
            raise ArgumentError("--select cannot be combined with --resume, --polish, --tolerance or --scheduler.")
        chosen = select_model(
            counts, output, parse_grid(grid), held_out=held_out, settings=settings,
            threads=threads, force=force, quiet=quiet,
        )  # fmt: skip
        report_selection(chosen, output, as_json=as_json, quiet=quiet)
        return
    from textlds.model.training import fit_to_folder

    with contextlib.ExitStack() as stack:
        source: LagCounts | str = counts
        if scheduler is not None:
            from textlds.counts.lagcounts import with_record
            from textlds.integrations.cluster import connect
            from textlds.integrations.dask_fit import counts_on_cluster

            source = with_record(counts_on_cluster(stack.enter_context(connect(scheduler)), counts), counts)
        model = fit_to_folder(
            source, output, settings, memory=memory, resume=resume, force=force, threads=threads, progress=not quiet
        )  # fmt: skip
    report(model, output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds fit counts -o model",
    ("textlds fit counts -o model --state-size 100 --iterations 30", "smaller and quicker"),
    ("textlds fit counts -o model --resume", "continue after an interruption"),
    ("textlds fit s3://bucket/counts -o model --scheduler tcp://host:8786", "on a Dask cluster"),
    (
        "textlds fit counts -o model --select state-size=50,100,200 --select iterations=10,30 --held-out dev.txt",
        "try six settings and keep the best",
    ),
)
