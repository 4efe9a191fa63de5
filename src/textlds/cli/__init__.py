"""The command line: ``textlds demo | count | fit | train | embed | similar | dynamics | score | info | plot | ...``

One file per command: a plain function that does the work and ``command``, a shim that reads its options. A package is a
group: its ``COMMANDS`` are its files. Importing the shims is cheap; what a command needs is imported when it runs.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from textlds._version import __version__
from textlds.cli.options import Quiet
from textlds.cli.output import (
    FAILED,
    Termination,
    examples,
    exit_code,
    guarded,
    help_text,
    replace_closed_streams,
    show_warning,
)

_PANELS = {
    "Make a model": ("train", "count", "fit", "calibrate"),
    "Use a model": ("embed", "similar", "score", "dynamics", "plot", "export", "pack", "evaluate"),
    "Tag text": ("tagger",),
    "Search in context": ("index", "find", "senses"),
    "Serve a model": ("serve", "explore"),
    "Counts as data": ("merge", "subtract", "prune"),
    "Look around": ("demo", "info", "models"),
}


_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def main() -> None:
    """Run the command line."""
    if len(sys.argv) == 3 and sys.argv[1] == "--show-completion" and sys.argv[2] in _SHELLS:
        # typer's option is a flag for the shell that it detects; its variable takes any shell by name
        os.environ["_TEXTLDS_COMPLETE"] = f"source_{sys.argv[2]}"
    signal.signal(signal.SIGTERM, _terminate)
    warnings.showwarning = show_warning
    replace_closed_streams()
    try:
        build_app()(prog_name="textlds")
    except OSError as error:  # of --help or --version, to an output that is closed
        sys.stderr.write(f"error: {error.strerror or error}.\n")
        sys.exit(FAILED)
    except KeyboardInterrupt as error:  # before a command began
        sys.exit(exit_code(error))


class _InOrder(TyperGroup):
    """Lists the commands in the order of the panels; by itself it puts groups last."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in _PANELS.values() for name in names]


def _terminate(*_: object) -> None:
    raise Termination


def build_app() -> typer.Typer:
    """Return the application with all commands."""
    app = typer.Typer(
        name="textlds",
        cls=_InOrder,
        help="Word vectors in context, learnt from counts: a linear dynamical system for text.",
        epilog=_epilog(),
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(top)
    for panel, names in _PANELS.items():
        for name in names:
            add_command(app, f"textlds.cli.{name}", panel)
    return app


def add_command(app: typer.Typer, path: str, panel: str | None = None) -> None:
    """Add the command of a module, or the commands of a package that is a group of them."""
    module: Any = importlib.import_module(path)
    name = path.rpartition(".")[2]
    if hasattr(module, "COMMANDS"):
        group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
        for member in module.COMMANDS:
            add_command(group, f"{path}.{member}")
        firsts = [importlib.import_module(f"{path}.{member}").EXAMPLES[0] for member in module.COMMANDS]
        app.add_typer(group, name=name, rich_help_panel=panel, help=module.ABOUT, epilog=examples(*firsts))
    else:
        about, epilog = help_text(module.command), examples(*module.EXAMPLES)
        app.command(name, rich_help_panel=panel, help=about, epilog=epilog)(guarded(module.command))


def print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        sys.stdout.write(f"textlds {__version__}\n")
        raise typer.Exit


def top(
    context: typer.Context,
    quiet: Quiet = False,
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Pass the options of textlds itself on to its commands."""
    if quiet:
        context.default_map = {name: _quiet(name) for names in _PANELS.values() for name in names}


def _quiet(name: str) -> dict[str, Any]:
    """Return the defaults of a quiet command, or of all commands of a group."""
    members = getattr(importlib.import_module(f"textlds.cli.{name}"), "COMMANDS", ())
    return {member: {"quiet": True} for member in members} if members else {"quiet": True}


def _epilog() -> str:
    return examples(
        ("textlds demo", "see it work in a minute"),
        ("textlds train book.txt -o model", "a model of your own text"),
        "textlds similar model bank --context 'He sat on the bank of the river.'",
        ("textlds embed model book.txt -o vectors.npz", "a vector for every token"),
    ) + (
        "\n\n[bold]Exit codes[/bold]\n\n0 success; 1 an error, explained on standard error; 2 wrong usage; "
        "130 interrupted by Ctrl-C; 141 the reader of the output has closed it; 143 ended by SIGTERM."
    )
