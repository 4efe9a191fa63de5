"""``textlds demo``: train on text that is on every machine, and show what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textlds.cli import options as opt


def command(
    state_size: opt.StateSize = 100,
    iterations: opt.Iterations = 30,
    seed: opt.Seed = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="Keep the model in this folder.")
    ] = None,
    force: opt.Force = False,
    threads: opt.Threads = None,
) -> None:
    """Train on the documentation of Python and its libraries, and show what the model has learnt. About a minute.

    Downloads nothing, and writes nothing unless --output is given.
    """
    from textlds.demo import run_demo

    run_demo(state_size=state_size, iterations=iterations, seed=seed, output=output, force=force, threads=threads)


EXAMPLES = ("textlds demo", ("textlds demo --output demo-model", "and keep the model"))
