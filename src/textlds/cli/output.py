"""What the commands have in common: where text goes, how errors look, when colours are used.

Results go to standard output; progress and messages go to standard error, so that a result can be piped. Colours and
tables are for terminals: ``NO_COLOR``, a pipe or a file get plain text.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import inspect
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec

import typer

from textlds.cli.wording import as_options
from textlds.errors import NO_ROOM, ArgumentError, TextLDSError

P = ParamSpec("P")

OK, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED, TERMINATED = 0, 1, 2, 130, 141, 143


class Termination(KeyboardInterrupt):
    """SIGTERM: the same cleaning up as after Ctrl-C."""


def exit_code(interruption: KeyboardInterrupt) -> int:
    """Return what the shell is told."""
    return TERMINATED if isinstance(interruption, Termination) else INTERRUPTED


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interruption that an error is, or that it comes of.

    A signal that arrives while compiled code hands over its result is a SystemError of the interpreter ("returned a
    result with an exception set"), which names the interruption as its cause.
    """
    while isinstance(error, SystemError):
        error = error.__cause__
    return error if isinstance(error, KeyboardInterrupt) else None


class _ClosedOutput(io.TextIOBase):
    """Standard output where it is closed: whatever is written to it is an error, and nothing is lost unseen."""

    @property
    def buffer(self) -> _ClosedOutput:
        return self

    def write(self, text: Any) -> int:
        raise OSError(errno.EBADF, "standard output is closed, so the result cannot be printed. Redirect it to a file")


def replace_closed_streams() -> None:
    """Put something in the place of standard streams that are closed (``>&-``), as Python does not.

    Their numbers are taken as well: a file that is opened later would get one of them, and with it what others print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Turn what can go wrong in a command into a message on standard error and an exit code."""

    @functools.wraps(function)
    def command(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _messages(quiet=bool(kwargs.get("quiet"))):
                function(*args, **kwargs)
            sys.stdout.flush()  # a closed pipe is noticed here, not when the interpreter ends
        except TextLDSError as error:
            fail(as_options(str(error)))
        except (KeyboardInterrupt, SystemError) as error:
            interruption = _interruption(error)
            if interruption is None:
                raise
            say(as_options("\n".join(["interrupted.", *getattr(error, "__notes__", [])])))
            raise typer.Exit(exit_code(interruption)) from error
        except BrokenPipeError as error:
            # nobody reads any more; let the last flush of the interpreter go nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from error
        except MemoryError:
            fail("out of memory. Make the task smaller (--state-size, --vocab-size, --memory), or use fewer threads.")
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            remedy = " Free some room, or write elsewhere." if error.errno in NO_ROOM else ""
            fail(f"{place}{error.strerror or error}.{remedy}")

    return command


@contextlib.contextmanager
def _messages(*, quiet: bool) -> Iterator[None]:
    """Show what textlds logs, such as that work is finished already or that a damaged part is made again."""
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: say(as_options(record.getMessage()), quiet=quiet)  # type: ignore[method-assign]
    log = logging.getLogger("textlds")
    level, propagate = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagate


def fail(message: str) -> None:
    """Print an error and end the command."""
    _console(stderr=True).print("[bold red]error:[/bold red]", _plain(message), highlight=False, soft_wrap=True)
    raise typer.Exit(FAILED)


def say(message: str, *, quiet: bool = False) -> None:
    """Print a message for a person on standard error."""
    if not quiet:
        _console(stderr=True).print(_plain(message), highlight=False, soft_wrap=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a line on standard error, without the place in the code."""
    _console(stderr=True).print("[bold yellow]warning:[/bold yellow]", _plain(as_options(str(message))), soft_wrap=True)


def number_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 text" or "2,000 texts"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def parts_made(output: str | os.PathLike[str], done: Mapping[str, int]) -> str:
    """Say what a cluster wrote, from what ``embed_on_cluster`` returns."""
    parts, texts = number_of(done["parts"], "part"), number_of(done["texts"], "text")
    if not done["made"]:
        return f"{output} was complete already: {parts}."
    return f"Wrote {output}: {done['made']:,} of {parts} now, with {texts}."


def local_output(output: str, *, remedy: str) -> Path:
    """Return an output that has to be on this machine.

    Options of outputs are strings, because a path loses a slash of ``s3://``, and a folder ``s3:`` would be made here.

    Args:
        output: As it was given.
        remedy: What to do with a URL, as a sentence.
    """
    from textlds.corpus.reading.files import is_remote

    if is_remote(output):
        raise ArgumentError(f"--output {output} is a URL, but the output is written on this machine. {remedy}")
    return Path(output)


def print_json(value: Any) -> None:
    """Print one line of JSON on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print a table on standard output: ruled and coloured on a terminal, plain aligned columns elsewhere.

    Args:
        headings: One a column.
        rows: The cells.
        right: Columns that are aligned to the right.
    """
    console = _console()
    if console.is_terminal:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for number, heading in enumerate(headings):
            table.add_column(heading, justify="right" if number in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(_plain, row))
        console.print(table)
        return
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        sized = enumerate(zip(row, widths, strict=True))
        cells = [cell.rjust(width) if number in right else cell.ljust(width) for number, (cell, width) in sized]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values on standard output, aligned; on a terminal, long values continue below themselves."""
    console = _console()
    if console.is_terminal:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for fact in facts:
            table.add_row(*map(_plain, fact))
        console.print(table)
        return
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        sys.stdout.write(f"{name:<{width}}  {value}\n")


def examples(*commands: tuple[str, str] | str) -> str:
    """Return the epilog of a command's help: each command, with a word on what it does if need be."""
    lines = ["[bold]Examples[/bold]"]
    for item in commands:
        command, about = item if isinstance(item, tuple) else (item, "")
        shown = command.replace("[", "\\[")
        lines.append(f"[cyan]{shown}[/cyan]" + (f"  [dim]# {about}[/dim]" if about else ""))
    return "\n\n".join(lines)


def help_text(function: Callable[..., object]) -> str:
    """Return a command's docstring with each paragraph on one line, to be wrapped at the width of the terminal."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _console(*, stderr: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=stderr)


def _plain(text: str) -> Any:
    """Return a text in which rich finds no markup."""
    from rich.text import Text

    return Text(text)
