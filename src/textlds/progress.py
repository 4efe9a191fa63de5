"""Progress of long work, seen by a person or by nobody.

Long-running functions take ``progress``: ``False`` (silent, the default in Python), ``True`` (a bar on standard
error) or any object with the methods of :class:`Progress`.
"""

from __future__ import annotations

import contextlib
import sys
import time
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

    Not on a terminal it prints lines instead, so that logs stay readable: after ten seconds of a task, then rarer and
    rarer, and when it ends.
    """

    @contextlib.contextmanager
    def task(self, name: str, total: float | None, unit: str = "") -> Iterator[Task]:
        """Begin a task shown as a bar."""
        from rich.console import Console

        if sys.stderr is None:  # closed: nobody can see anything
            yield _SilentTask()
            return
        console = Console(stderr=True)
        if not console.is_terminal:
            lines = _LineTask(console, name, total, unit)
            yield lines
            lines.end()
            return
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        bars = Bars(
            TextColumn("{task.description:<12}", markup=False),
            BarColumn(bar_width=30 if console.width > 100 else 16),
            TextColumn("{task.fields[amount]}"),
            _time_column(),
            TextColumn("{task.fields[note]}", markup=False),  # a file's name may hold brackets
            console=console,
        )
        with bars:
            identifier = bars.add_task(name, total=total, note="", amount=_amount(0, total, unit))
            yield _RichTask(bars, identifier, total, unit)


def _time_column() -> Any:
    """Return a column with the time taken and, until a task is done, an estimate of the time left."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Times(ProgressColumn):
        def render(self, task: Any) -> Text:
            left = None if task.finished else task.time_remaining
            times = [
                clock(task.finished_time or task.elapsed or 0.0),
                *([] if left is None else [f"{clock(left)} left"]),
            ]
            return Text(", ".join(times), style="progress.elapsed")

    return Times()


class _RichTask:
    def __init__(self, bars: Any, identifier: Any, total: float | None, unit: str) -> None:
        self._bars, self._identifier, self._total, self._unit = bars, identifier, total, unit
        self._done, self._note = 0.0, ""

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        self._done += amount
        self._note = note or self._note
        shown = _amount(self._done, self._total, self._unit)
        self._bars.update(self._identifier, advance=amount, note=self._note, amount=shown)


_FIRST_LINE, _RARER = 10.0, 1.5  # seconds to the first line, and how much longer it is to each that follows


class _LineTask:
    """Lines now and then."""

    def __init__(self, console: Any, name: str, total: float | None, unit: str) -> None:
        self._console, self._name, self._total, self._unit = console, name, total, unit
        self._done, self._note = 0.0, ""
        self._began = time.perf_counter()
        self._next = _FIRST_LINE

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        self._done += amount
        self._note = note or self._note
        seconds = time.perf_counter() - self._began
        if seconds < self._next:
            return
        self._next = seconds + max(_FIRST_LINE, (_RARER - 1) * seconds)
        shown = [_amount(self._done, self._total, self._unit).strip(), clock(seconds)]
        if self._total and 0 < self._done < self._total:
            shown.append(f"{clock(seconds * (self._total / self._done - 1))} left")
        self._print(", ".join(filter(None, [*shown, self._note])))

    def end(self) -> None:
        seconds = time.perf_counter() - self._began
        self._print(", ".join(filter(None, [f"done in {clock(seconds)}", self._note])))

    def _print(self, text: str) -> None:
        self._console.print(f"{self._name}: {text}", highlight=False, markup=False, soft_wrap=True)


def _amount(done: float, total: float | None, unit: str) -> str:
    if not total:
        return human(done) + f" {unit}" if done > 1 and unit not in ("", "bytes") else ""
    if unit == "bytes" or total > 1e5:
        return f"{100 * min(done / total, 1):>3.0f}%"
    return f"{done:,.0f} of {total:,.0f}"


class Rate:
    """How many tokens so far, and how many per second, to show beside a bar.

    The first amount is left out of the rate: compiling, and reading a model, come before it.
    """

    def __init__(self) -> None:
        self._tokens = self._first = 0
        self._begin: float | None = None

    def note(self, tokens: int) -> str:
        """Add tokens and return the text."""
        self._tokens += tokens
        if self._begin is None:
            self._begin, self._first = time.perf_counter(), self._tokens
        seconds = time.perf_counter() - self._begin
        rate = f", {human((self._tokens - self._first) / seconds)}/s" if self._tokens > self._first and seconds else ""
        return f"{human(self._tokens)} tokens{rate}"


def human(number: float) -> str:
    """Return a number as a person would say it: 950, 12,345, 1.23 M, 4.5 G."""
    for size, name in ((1e9, "G"), (1e6, "M")):
        if number >= size:
            return f"{number / size:.3g} {name}" if number < 1000 * size else f"{number / size:,.0f} {name}"
    return f"{number:,.0f}"


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds, or hours before them."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def resolve(progress: ProgressOption) -> Progress:
    """Turn the ``progress`` argument of a public function into an object to report to."""
    if isinstance(progress, bool):
        return RichProgress() if progress else SilentProgress()
    return progress
