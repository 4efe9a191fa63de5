"""Progress of long work, seen by a person or by nobody.

Long-running functions take ``progress``: ``False`` (silent, the default in Python), ``True`` (a bar on standard
error) or any object with the methods of :class:`Progress`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol


class Task(Protocol):
    """One piece of work with an amount done so far."""

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        """Add ``amount`` to what is done and show ``note`` (a rate, a likelihood) beside the bar."""


class Progress(Protocol):
    """What shows the progress of tasks."""

    def task(self, name: str, total: float | None, unit: str = "") -> contextlib.AbstractContextManager[Task]:
        """Begin a task of ``total`` units (None if unknown); it ends with the ``with`` block."""


ProgressOption = bool | Progress


class SilentProgress:
    """Shows nothing."""

    @contextlib.contextmanager
    def task(self, name: str, total: float | None, unit: str = "") -> Iterator[Task]:
        """Begin a task that nobody sees."""
        yield _SilentTask()


class _SilentTask:
    def advance(self, amount: float = 1.0, note: str = "") -> None:
        pass


class RichProgress:
    """A bar with the time taken and an estimate of the time left, on standard error.

    Not on a terminal it prints one line when a task ends instead, so that logs stay readable.
    """

    @contextlib.contextmanager
    def task(self, name: str, total: float | None, unit: str = "") -> Iterator[Task]:
        """Begin a task shown as a bar."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        amount = TextColumn("{task.percentage:>3.0f}%") if unit == "bytes" else MofNCompleteColumn()
        bars = Bars(
            TextColumn("{task.description:<12}", markup=False),
            BarColumn(bar_width=30),
            amount,
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            TextColumn("{task.fields[note]}", markup=False),  # a file's name may hold brackets
            console=console,
            disable=not console.is_terminal,
        )
        with bars:
            task = _RichTask(bars, bars.add_task(name, total=total, note=""))
            yield task
        if not console.is_terminal:
            console.print(f"{name}: done {task.note}".rstrip(), highlight=False, markup=False, soft_wrap=True)


class _RichTask:
    def __init__(self, bars: Any, identifier: Any) -> None:
        self._bars, self._identifier, self.note = bars, identifier, ""

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        self.note = note or self.note
        self._bars.update(self._identifier, advance=amount, note=self.note)


def resolve(progress: ProgressOption) -> Progress:
    """Turn the ``progress`` argument of a public function into an object to report to."""
    if isinstance(progress, bool):
        return RichProgress() if progress else SilentProgress()
    return progress
