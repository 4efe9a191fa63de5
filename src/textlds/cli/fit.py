"""``textlds fit``: from counts to a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.checkpoints import checkpoint_of, holds_fit, interruptible, prepare, remove, remove_fit
from textlds.cli.output import print_json, say
from textlds.cli.selection import parse_grid, report_selection, select_model
from textlds.errors import ArgumentError

if TYPE_CHECKING:
    from textlds.counts.lagcounts import LagCounts
    from textlds.model.textlds import TextLDS


def fit_counts(
    counts: Path, output: Path, *, force: bool, resume: bool, threads: int | None, quiet: bool, settings: dict[str, Any]
) -> TextLDS:
    """Fit a model to a counts folder and write it; an interrupted fit leaves a checkpoint beside the output.

    Args:
        counts: The counts folder.
        output: The model folder to write.
        force: Overwrite the output and throw away an old checkpoint.
        resume: Go on from the checkpoint.
        threads: How many.
        quiet: Show no progress.
        settings: The other arguments of :func:`textlds.fit`.
    """
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    checkpoint = checkpoint_of(output)
    prepare(checkpoint, force=force, resume=resume, quiet=quiet)
    with interruptible(checkpoint):
        from textlds.counts.lagcounts import LagCounts

        loaded = LagCounts.load(counts)
        return fit_and_save(loaded, output, checkpoint, force=force, threads=threads, quiet=quiet, settings=settings)


def fit_and_save(
    counts: LagCounts,
    output: Path,
    checkpoint: Path,
    *,
    force: bool,
    threads: int | None,
    quiet: bool,
    settings: dict[str, Any],
) -> TextLDS:
    """Fit, write the model, and only then remove the checkpoint."""
    from textlds.api import fit
    from textlds.errors import TextLDSError

    fresh = not holds_fit(checkpoint)
    try:
        model = fit(
            counts, checkpoint=checkpoint, resume=checkpoint.exists(), threads=threads, progress=not quiet, **settings
        )
    except TextLDSError:
        # these settings cannot work, so there is nothing to go on with; a fit of before is another matter
        if fresh:
            remove_fit(checkpoint)
        raise
    model.save(output, force=force)
    remove(checkpoint)
    return model


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
    gained = f", log-likelihood {likelihood:.4f} nats a token" if likelihood is not None else ""
    say(
        f"Wrote {output}: {len(model.vocabulary):,} words, {model.state_size} dimensions, "
        f"{history.iterations} iterations{gained}.",
        quiet=quiet,
    )


def command(
    counts: Annotated[Path, typer.Argument(metavar="COUNTS", help="A counts folder.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to write.")],
    state_size: opt.StateSize = 200,
    iterations: opt.Iterations = 50,
    seed: opt.Seed = 0,
    force: opt.Force = False,
    resume: opt.Resume = False,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    pseudocount: opt.PseudocountOption = "paper",
    noise: opt.NoiseOption = "full",
    start: opt.StartOption = "subspace",
    ssid_horizon: opt.SsidHorizon = 4,
    em_horizon: opt.EmHorizon = 7,
    ssid_output: opt.SsidOutput = "first",
    ssid_covariance: opt.SsidCovariance = "matched",
    ssid_whitened: opt.SsidWhitened = True,
    compression: opt.CompressionOption = "auto",
    polish: opt.Polish = 0,
    acceleration: opt.AccelerationOption = "none",
    tolerance: opt.Tolerance = 0.0,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="NAME=A,B,C",
            help="Try these values of a setting, with those of every other --select, on one sketch; write the best.",
            rich_help_panel="Choosing settings",
        ),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --select: rank by the likelihood of this text, one a line.",
            rich_help_panel="Choosing settings",
        ),
    ] = None,
) -> None:
    """Fit a model to counts. Needs no corpus; an iteration costs the same whatever its size.

    The state of the work is kept in MODEL.checkpoint until the model is written; after an interruption, the same
    command with [bold]--resume[/bold] goes on from there and gives the same model.
    """
    settings = opt.fit_settings(
        state_size=state_size, iterations=iterations, seed=seed, pseudocount=pseudocount, noise=noise, start=start,
        ssid_horizon=ssid_horizon, em_horizon=em_horizon, ssid_output=ssid_output, ssid_covariance=ssid_covariance,
        ssid_whitened=ssid_whitened, compression=compression, polish=polish, acceleration=acceleration,
        tolerance=tolerance,
    )  # fmt: skip
    if held_out is not None and not grid:
        raise ArgumentError("--held-out ranks the trials of --select, and there is no --select.")
    if grid:
        if resume or polish or tolerance:
            raise ArgumentError("--select cannot be combined with --resume, --polish or --tolerance.")
        chosen = select_model(
            counts, output, parse_grid(grid), held_out=held_out, settings=settings,
            threads=threads, force=force, quiet=quiet,
        )  # fmt: skip
        report_selection(chosen, output, as_json=as_json, quiet=quiet)
        return
    model = fit_counts(counts, output, force=force, resume=resume, threads=threads, quiet=quiet, settings=settings)
    report(model, output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds fit counts -o model",
    ("textlds fit counts -o model --state-size 100 --iterations 30", "smaller and quicker"),
    ("textlds fit counts -o model --resume", "go on after an interruption"),
    (
        "textlds fit counts -o model --select state-size=50,100,200 --select iterations=10,30 --held-out dev.txt",
        "try six settings and keep the best",
    ),
)
