"""``textlds count``: from text to counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say
from textlds.corpus.settings import CountSettings, TextSettings


def report(output: str | Path, *, as_json: bool, quiet: bool) -> None:
    """Say what a counts folder that was just written holds."""
    from textlds.counts.shards import Place
    from textlds.storage.folders import CONFIG, parse_json

    config = parse_json(Place.at(output).read(CONFIG), f"{output}/{CONFIG}")
    facts = {"output": str(output)} | {name: config[name] for name in ("tokens", "types", "rows", "max_lag", "pairs")}
    if as_json:
        print_json(facts)
    say(
        f"Wrote {output}: {config['tokens']:,} tokens, {config['types']:,} words, lags 1 to {config['max_lag']}, "
        f"{sum(config['pairs']):,} pairs.",
        quiet=quiet,
    )


@opt.with_settings
def command(
    files: opt.Files,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="COUNTS", help="The counts folder to write; on a cluster, also a URL."),
    ],
    resume: opt.Resume = False,
    force: opt.Force = False,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Count on the Dask cluster at this address.")
    ] = None,
    *,
    counting: CountSettings,
    text: TextSettings,
) -> None:
    """Count how often words occur one to MAX_LAG positions apart: the only pass over the text.

    The counts are exact, and do not depend on the number of threads, the memory or the order of the files.
    Unfinished work is kept in COUNTS.work; after an interruption, the same command with [bold]--resume[/bold]
    continues from there.
    """
    if scheduler is not None:
        from textlds.integrations.cluster import connect, refuse_options
        from textlds.integrations.dask import count_on_cluster_to_folder

        refuse_options(
            {"--resume": resume, "--threads": threads is not None},
            "Counting on a cluster always begins anew, and workers have threads of their own: leave it out.",
        )
        with connect(scheduler) as client:
            count_on_cluster_to_folder(
                client, files, output, text=text, settings=counting, force=force, progress=not quiet
            )  # fmt: skip
    else:
        from textlds.counts.counting import count_to_folder

        count_to_folder(
            files, output, text=text, settings=counting,
            resume=resume, force=force, threads=threads, progress=not quiet,
        )  # fmt: skip
    report(output, as_json=as_json, quiet=quiet)


EXAMPLES = (
    "textlds count corpus.txt -o counts",
    ("textlds count 'wiki/**/*.gz' -o counts --vocab-size 200000 --memory 8GB", "many files, more memory"),
    ("textlds count corpus.txt -o counts --resume", "continue after an interruption"),
    ("textlds count data/*.jsonl -o counts --scheduler tcp://host:8786", "on a Dask cluster"),
)
