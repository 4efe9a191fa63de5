"""``textlds train``: from text to a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.checkpoints import checkpoint_of, interruptible, prepare, remove
from textlds.cli.count import read_words
from textlds.cli.fit import fit_and_save, report
from textlds.errors import ArgumentError, TextLDSError

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS

_RECORD = "train.json"


def train_model(
    files: list[str],
    output: Path,
    *,
    counts_output: Path | None,
    force: bool,
    resume: bool,
    threads: int | None,
    quiet: bool,
    count_settings: dict[str, Any],
    fit_settings: dict[str, Any],
) -> TextLDS:
    """Count files and fit a model to the counts, which are kept until the model is written.

    Args:
        files: What to count.
        output: The model folder to write.
        counts_output: Where to keep the counts for good; by default they go with the checkpoint.
        force: Overwrite the output and throw away unfinished work.
        resume: Go on from unfinished work: counting, or fitting if the counts are finished.
        threads: How many.
        quiet: Show no progress.
        count_settings: Arguments of :func:`textlds.counts.count_to_folder`.
        fit_settings: Arguments of :func:`textlds.fit`.
    """
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    checkpoint = checkpoint_of(output)
    going_on = resume and checkpoint.exists()
    if counts_output is not None and not going_on:
        check_output(counts_output, force=force)
    prepare(checkpoint, force=force, resume=resume, quiet=quiet)
    counts_folder = counts_output or checkpoint / "counts"
    job = {"files": files, "counts": str(counts_output), **count_settings}
    with interruptible(checkpoint):
        from textlds.counts.lagcounts import LagCounts

        if not _already_counted(checkpoint, job):
            _write_record(checkpoint, job, counted=False)
            try:
                _count(
                    files, counts_folder, force=force or counts_output is None, resume=going_on,
                    threads=threads, quiet=quiet, settings=count_settings,
                )  # fmt: skip
            except TextLDSError:
                # this text or these options cannot be counted: nothing to go on with, and nothing in the way of others
                if not going_on:
                    remove(checkpoint)
                raise
            _write_record(checkpoint, job, counted=True)
        counts = LagCounts.load(counts_folder)
        return fit_and_save(
            counts, output, checkpoint, force=force, threads=threads, quiet=quiet, settings=fit_settings
        )


def _count(
    files: list[str],
    output: Path,
    *,
    force: bool,
    resume: bool,
    threads: int | None,
    quiet: bool,
    settings: dict[str, Any],
) -> None:
    from textlds.api import text_settings
    from textlds.counts.counting import count_to_folder

    settings = dict(settings)
    text, _ = text_settings(
        *(settings.pop(name) for name in ("tokenizer", "digits", "unknown", "boundaries", "boundary_token"))
    )
    words = settings.pop("vocabulary")
    vocabulary = None if words is None else read_words(Path(words), text)
    if vocabulary is not None:
        text = vocabulary.settings
    count_to_folder(
        files, output, settings=text, vocabulary=vocabulary,
        workers=threads, resume=resume, force=force, progress=not quiet, **settings,
    )  # fmt: skip


def _already_counted(checkpoint: Path, job: dict[str, Any]) -> bool:
    """Tell whether the counts are finished; the unfinished work of another command is refused."""
    from textlds.storage.folders import read_json

    path = checkpoint / _RECORD
    if not path.exists():
        if (checkpoint / "job").exists():
            raise ArgumentError(
                f"{checkpoint} belongs to `textlds fit`, not to `textlds train`. Go on with the command that made it, "
                f"or start anew with --force and without --resume."
            )
        return False
    record = read_json(path)
    now = json.loads(json.dumps(job))
    changed = [f"{n}: {record.get(n)!r} then, {value!r} now" for n, value in now.items() if record.get(n) != value]
    if changed:
        raise ArgumentError(
            f"{checkpoint} belongs to another run ({'; '.join(changed)}). "
            f"Give the same files and options, or start anew with --force and without --resume."
        )
    return bool(record.get("counted"))


def _write_record(checkpoint: Path, job: dict[str, Any], *, counted: bool) -> None:
    from textlds.storage.folders import new_file

    checkpoint.mkdir(parents=True, exist_ok=True)
    with new_file(checkpoint / _RECORD, force=True, text=True) as file:
        file.write(json.dumps({**job, "counted": counted}, indent=1))


def command(
    files: opt.Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to write.")],
    state_size: opt.StateSize = 200,
    iterations: opt.Iterations = 50,
    seed: opt.Seed = 0,
    counts_output: Annotated[
        Path | None, typer.Option(metavar="COUNTS", help="Keep the counts in this folder.", show_default=False)
    ] = None,
    force: opt.Force = False,
    resume: opt.Resume = False,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    vocab_size: opt.VocabSize = 100_000,
    max_lag: opt.MaxLag = 7,
    tokenizer: opt.Tokenizer = "words",
    digits: opt.Digits = "num",
    unknown: opt.Unknown = "shape",
    boundaries: opt.Boundaries = "line",
    boundary_token: opt.BoundaryToken = None,
    vocab: opt.Vocab = None,
    min_count: opt.MinCount = 1,
    memory: opt.Memory = "4GB",
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
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
) -> None:
    """Count text and fit a model to it, in one go.

    The state of the work, counts included, is kept in MODEL.checkpoint until the model is written; after an
    interruption, the same command with [bold]--resume[/bold] goes on from there.
    """
    count_settings = {
        "vocab_size": vocab_size, "max_lag": max_lag, "tokenizer": tokenizer, "digits": digits, "unknown": unknown,
        "boundaries": boundaries, "boundary_token": boundary_token, "vocabulary": None if vocab is None else str(vocab),
        "min_count": min_count, "memory": memory, "text_column": text_column, "encoding_errors": encoding_errors,
    }  # fmt: skip
    fit_settings = opt.fit_settings(
        state_size=state_size, iterations=iterations, seed=seed, pseudocount=pseudocount, noise=noise, start=start,
        ssid_horizon=ssid_horizon, em_horizon=em_horizon, ssid_output=ssid_output, ssid_covariance=ssid_covariance,
        ssid_whitened=ssid_whitened, compression=compression, polish=polish, acceleration=acceleration,
        tolerance=tolerance,
    )  # fmt: skip
    model = train_model(
        files, output, counts_output=counts_output, force=force, resume=resume, threads=threads, quiet=quiet,
        count_settings=count_settings, fit_settings=fit_settings,
    )  # fmt: skip
    report(model, output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds train book.txt -o model",
    ("textlds train 'news/*.txt.gz' -o model --vocab-size 50000", "many files; quote patterns"),
    ("zcat dump.gz | textlds train - -o model --counts-output counts", "keep the counts, to merge or refit"),
)
