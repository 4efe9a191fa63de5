"""``textlds calibrate``: give a model probabilities of words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say
from textlds.cli.texts import open_texts, read_documents

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS


def calibrate_model(
    path: Path,
    files: list[str],
    output: Path,
    *,
    held_out: list[str],
    counts: Path | None,
    reading: dict[str, Any],
    options: dict[str, Any],
    force: bool,
) -> TextLDS:
    """Calibrate a model and write it with its language model.

    Args:
        path: The model folder.
        files: Text for the readout.
        output: The model folder to write.
        held_out: Text for the weights; none for the last tenth of ``files``.
        counts: The counts folder for the bigrams, if any.
        reading: Other arguments of :func:`textlds.cli.texts.open_texts`.
        options: Other arguments of :meth:`textlds.TextLDS.with_language_model`.
        force: Overwrite the output.
    """
    from textlds.api import load
    from textlds.counts.lagcounts import LagCounts
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    texts, others = (open_texts(some, **reading) if some else None for some in (files, held_out))
    model = load(path).with_language_model(
        read_documents(texts or []),
        held_out=None if others is None else read_documents(others),
        counts=None if counts is None else LagCounts.load(counts),
        **options,
    )
    model.save(output, force=force)
    return model


def command(
    model: opt.Model,
    files: opt.Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to write.")],
    held_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Text on which the weights are chosen; in neither FILE nor COUNTS.",
            show_default="the last tenth of FILE",
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(metavar="COUNTS", help="Mix in bigrams from this counts folder.", show_default="no bigrams"),
    ] = None,
    link: Annotated[
        Literal["log-linear", "clipped"],
        typer.Option(help="log-linear: fit a readout of the state; clipped: use the Gaussian's own prediction."),
    ] = "log-linear",
    tokens: Annotated[int, typer.Option(min=1000, metavar="NUMBER", help="Read at most this many tokens.")] = 1_000_000,
    force: opt.Force = False,
    threads: opt.Threads = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Add a language model: calibrated probabilities of words, for surprisal and perplexity. Takes some minutes.

    A log-linear readout of the state is fitted on FILE, which may be the training text. It is mixed with word
    frequencies, and with bigrams if counts are given; the weights are those that predict the held-out text best.
    """
    calibrated = calibrate_model(
        model, files, output, held_out=held_out or [], counts=counts, force=force,
        reading={"text_column": text_column, "encoding_errors": encoding_errors, "quiet": quiet},
        options={"link": link, "tokens": tokens, "threads": threads, "progress": not quiet},
    )  # fmt: skip
    assert calibrated.language is not None
    facts = calibrated.language.facts
    if as_json:
        print_json({"output": str(output), **facts})
    alone = ", ".join(f"{name} {perplexity:.1f}" for name, perplexity in facts["parts"].items())
    say(
        f"Wrote {output}: perplexity {facts['held_out_perplexity']:.1f} on {facts['held_out_tokens']:,} held-out "
        f"tokens (parts by themselves: {alone}).",
        quiet=quiet,
    )


EXAMPLES = (
    ("textlds calibrate model book.txt -o calibrated", "the last tenth of the book chooses the weights"),
    (
        "textlds calibrate model train.txt -o calibrated --held-out dev.txt --counts counts",
        "with bigrams of the counts",
    ),
)
