"""What stands beside a model while it is being fitted, and what becomes of it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from textlds.cli.output import say
from textlds.errors import ArgumentError, OutputExistsError

# A folder with anything else in it was not made here, and is not removed.
_FIT = ("job", "lexicon", "sketch", "step")
_OURS = frozenset({*_FIT, "counts", "counts.partial-work", "train.json"})


def checkpoint_of(output: Path) -> Path:
    """Return the folder that holds the unfinished work for a model."""
    output = Path(output)
    if not output.name:
        raise ArgumentError(f"--output {output} is not the name of a folder to write. Give one, such as model.")
    return output.with_name(output.name + ".checkpoint")


def prepare(checkpoint: Path, *, force: bool, resume: bool, quiet: bool) -> None:
    """Decide what happens to an old checkpoint: go on from it, refuse it, or remove it."""
    if not checkpoint.exists():
        if resume:
            say(f"There is no {checkpoint} to go on from; starting from the beginning.", quiet=quiet)
        return
    if resume:
        return
    if not force:
        raise OutputExistsError(
            f"{checkpoint} is left from an interrupted run. Go on from it with --resume, "
            f"or throw it away and start anew with --force."
        )
    remove(checkpoint)


def remove(checkpoint: Path) -> None:
    """Remove a checkpoint, if it is one."""
    if not checkpoint.exists():
        return
    strange = [path.name for path in checkpoint.iterdir() if path.name not in _OURS and not path.name.startswith(".")]
    if strange:
        raise OutputExistsError(f"{checkpoint} holds {strange[0]}, which textlds did not put there; not removing it.")
    shutil.rmtree(checkpoint)


def holds_fit(checkpoint: Path) -> bool:
    """Tell whether a fit was begun in a checkpoint."""
    return (checkpoint / _FIT[0]).exists()


def remove_fit(checkpoint: Path) -> None:
    """Remove the fit from a checkpoint, and leave the counts, which another fit can use."""
    for name in _FIT:
        shutil.rmtree(checkpoint / name, ignore_errors=True)
    with contextlib.suppress(OSError):  # not empty: there are counts
        checkpoint.rmdir()


@contextlib.contextmanager
def interruptible(checkpoint: Path) -> Iterator[None]:
    """Tell a user who presses Ctrl-C how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.exists():
            say(f"\nThe work so far is in {checkpoint}. Run the same command with --resume to go on from it.")
        raise
