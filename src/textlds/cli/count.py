"""``textlds count``: from text to counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say

if TYPE_CHECKING:
    from textlds.corpus.settings import TextSettings
    from textlds.corpus.vocabulary import Vocabulary


def count_files(
    files: list[str],
    output: Path,
    *,
    settings: TextSettings,
    vocab: Path | None,
    scheduler: str | None,
    workers: int | None,
    resume: bool,
    force: bool,
    options: dict[str, Any],
) -> None:
    """Count files into a counts folder, with the threads of this machine or on a Dask cluster.

    Args:
        files: Paths, patterns, folders, URLs.
        output: The counts folder to write.
        settings: How text becomes tokens.
        vocab: The words to count: a file with one a line, or another counts folder; None to learn them.
        scheduler: Address of a Dask scheduler, or None.
        workers: Threads of this machine.
        resume: Go on with interrupted work.
        force: Overwrite the output.
        options: The other arguments of :func:`textlds.counts.counting.count_to_folder`.
    """
    from textlds.storage.folders import check_output

    check_output(output, force=force or resume)
    if vocab is not None:
        options = {**options, "vocabulary": read_words(vocab, settings)}
        settings = options["vocabulary"].settings
    if scheduler is not None:
        from textlds.integrations.dask import connect, count_on_cluster

        with connect(scheduler) as client:
            count_on_cluster(client, files, settings=settings, **options).save(output, force=force)
        return
    from textlds.counts.counting import count_to_folder

    count_to_folder(files, output, settings=settings, workers=workers, resume=resume, force=force, **options)


def read_words(path: Path, settings: TextSettings) -> Vocabulary:
    """Read the words of a file, one a line, or those of a counts folder, which bring their settings along."""
    from textlds.corpus.settings import TextSettings
    from textlds.corpus.vocabulary import Vocabulary
    from textlds.counts.lagcounts import stored_vocabulary
    from textlds.errors import ArgumentError

    if not path.is_dir():
        return Vocabulary.read(path, settings)
    words = stored_vocabulary(path)
    if settings not in (TextSettings(), words.settings):
        raise ArgumentError(f"{path} was counted with {words.settings}; leave out the options that differ: {settings}.")
    return words


def report(output: Path, *, as_json: bool, quiet: bool) -> None:
    """Say what stands in a counts folder that was just written."""
    from textlds.storage.folders import read_json

    config = read_json(output / "config.json")
    facts = {"output": str(output)} | {name: config[name] for name in ("tokens", "types", "rows", "max_lag", "pairs")}
    if as_json:
        print_json(facts)
    say(
        f"Wrote {output}: {config['tokens']:,} tokens, {config['types']:,} words, lags 1 to {config['max_lag']}, "
        f"{sum(config['pairs']):,} pairs.",
        quiet=quiet,
    )


def command(
    files: opt.Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="COUNTS", help="The counts folder to write.")],
    vocab_size: opt.VocabSize = 100_000,
    max_lag: opt.MaxLag = 7,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many threads; the counts are the same.", show_default="all cores")
    ] = None,
    memory: opt.Memory = "4GB",
    resume: opt.Resume = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    vocab: opt.Vocab = None,
    min_count: opt.MinCount = 1,
    tokenizer: opt.Tokenizer = "words",
    digits: opt.Digits = "num",
    unknown: opt.Unknown = "shape",
    boundaries: opt.Boundaries = "line",
    boundary_token: opt.BoundaryToken = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Count on the Dask cluster at this address.")
    ] = None,
) -> None:
    """Count how often words stand 1 to MAX_LAG positions apart: the only pass over the text.

    The counts are exact, and the same bytes for any number of workers, any memory and any order of the files. Work in
    progress is kept in COUNTS.partial-work; after an interruption, the same command with [bold]--resume[/bold] goes on.
    """
    from textlds.corpus.settings import TextSettings

    options = {
        "vocab_size": vocab_size, "max_lag": max_lag, "min_count": min_count, "memory": memory,
        "text_column": text_column, "encoding_errors": encoding_errors, "progress": not quiet,
    }  # fmt: skip
    count_files(
        files, output, settings=TextSettings(tokenizer, digits, unknown, boundaries, boundary_token), vocab=vocab,
        scheduler=scheduler, workers=workers, resume=resume, force=force, options=options,
    )  # fmt: skip
    report(output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds count corpus.txt -o counts",
    ("textlds count 'wiki/**/*.gz' -o counts --vocab-size 200000 --memory 8GB", "many files, more memory"),
    ("textlds count corpus.txt -o counts --resume", "go on after an interruption"),
    ("textlds count data/*.jsonl -o counts --scheduler tcp://host:8786", "on a Dask cluster"),
)
