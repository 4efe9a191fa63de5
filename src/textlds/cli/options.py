"""Options that several commands share, and those made from the fields of settings."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from textlds.cli.wording import as_options
from textlds.corpus.settings import ReadSettings
from textlds.errors import ArgumentError
from textlds.learn.settings import FitSettings
from textlds.settings import ADVANCED, Option, Settings

_KEYWORD = inspect.Parameter.KEYWORD_ONLY

# What every command may have


def flag(name: str, help: str, *short: str) -> Any:
    """Return the option of a flag; the empty metavar keeps its type out of the help."""
    return typer.Option(name, *short, help=help, metavar="")


Quiet = Annotated[bool, flag("--quiet", "Print errors only: no progress, no messages.", "-q")]
Json = Annotated[bool, flag("--json", "Print the result as JSON.")]
Force = Annotated[bool, flag("--force", "Overwrite the output, and discard unfinished work for it.")]
Resume = Annotated[bool, flag("--resume", "Continue interrupted work.")]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="NUMBER", help="Number of threads; it never changes the result.", show_default="all cores"
    ),
]
HowMany = Annotated[int, typer.Option("-n", min=1, metavar="NUMBER", help="How many to list.")]
Recipe = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What a vector is made of: context, features (for classifiers), meaning, paper, a name stored "
        "with the model, or spelled out, such as 'state+word, fitted, filter'.",
    ),
]


def model_path(value: str) -> Path:
    """Return the path of a model; one with a separator stays one, although ``Path("./en")`` is the name ``en``."""
    path = Path(value)
    return path.absolute() if os.sep in value and path.name == str(path) else path


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model folder, or the name of an installed model.",
        show_default=False,
        parser=model_path,
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Text, one paragraph per line: files (also .gz .bz2 .xz .zst .jsonl .parquet), folders, patterns, URLs, "
        "or - for standard input.",
        show_default=False,
    ),
]

TextFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE",
        help="Text, one per line (also .gz .bz2 .xz .zst .jsonl .parquet).",
        show_default="standard input",
    ),
]


def typer_option(settings: type[Settings], field: str) -> Any:
    """Return the option of a command that sets a field of settings."""
    facts: Option = settings.options()[field].metadata["option"]
    name = facts.flag or f"--{field.replace('_', '-')}"
    about, metavar, least = facts.help, facts.metavar, facts.minimum
    if facts.kind is bool:
        return typer.Option(
            f" /--no-{name[2:]}", help=about, metavar="", show_default=False, rich_help_panel=facts.panel
        )
    if facts.words:
        metavar, least = "|".join(["NUMBER", *facts.words]) if facts.kind else "WORD", None
        # in the help, where a line can be broken between two words; a metavar is broken anywhere
        about += "" if facts.kind else f" One of {', '.join(facts.words)}."
    return typer.Option(name, min=least, help=about, metavar=metavar or "NUMBER", rich_help_panel=facts.panel)


# Options of settings that other commands have too

TextColumn = Annotated[str, typer_option(ReadSettings, "text_column")]
EncodingErrors = Annotated[Literal["strict", "replace"], typer_option(ReadSettings, "encoding_errors")]
StateSize = Annotated[int, typer_option(FitSettings, "state_size")]
MinCount = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="NUMBER", help="Leave out words that occur less often.", show_default="by the size of the corpus"
    ),
]
Iterations = Annotated[int, typer_option(FitSettings, "iterations")]
Seed = Annotated[int, typer_option(FitSettings, "seed")]


def with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command: each argument that is annotated as settings becomes one option per field of them."""
    hints = get_type_hints(function, include_extras=True)
    kinds: dict[str, type[Settings]] = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Settings)
    }
    given = inspect.signature(function).parameters.values()
    own = [p.replace(annotation=hints[p.name]) for p in given if p.name not in kinds]
    required, optional = ([p for p in own if (p.default is p.empty) is needed] for needed in (True, False))
    fields = {(kind, name): field for kind in kinds.values() for name, field in kind.options().items()}
    panels: tuple[list[inspect.Parameter], ...] = ([], [], [])  # everyday, special, expert
    for (kind, name), field in fields.items():
        facts: Option = field.metadata["option"]
        hint: Any = Annotated[_type(field), typer_option(kind, name)]
        parameter = inspect.Parameter(name, _KEYWORD, default=field.default, annotation=hint)
        panels[0 if facts.panel is None else 2 if facts.panel == ADVANCED else 1].append(parameter)
    parameters = [*required, *panels[0], *optional, *panels[1], *panels[2]]

    @functools.wraps(function)
    def command(**values: Any) -> None:
        for argument, kind in kinds.items():
            given = {name: _value(name, field, values.pop(name)) for name, field in kind.options().items()}
            values[argument] = kind(**given)
        function(**values)

    command.__signature__ = inspect.Signature([p.replace(kind=_KEYWORD) for p in parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _type(field: dataclasses.Field[Any]) -> Any:
    """Return the type of an option: a number or a word is read as a string first."""
    facts: Option = field.metadata["option"]
    if facts.words:
        return str if facts.kind else Literal[facts.words]
    kind: Any = facts.kind
    return kind if field.default is not None else kind | None


def _value(name: str, field: dataclasses.Field[Any], value: Any) -> Any:
    facts: Option = field.metadata["option"]
    if not (facts.words and facts.kind):
        return value
    read = number_or_word(name.replace("_", "-"), value, facts.kind, *facts.words)
    try:
        facts.check(name, read)
    except ArgumentError as error:
        raise typer.BadParameter(as_options(str(error))) from error
    return read


def number_or_word(name: str, value: str, kind: type[int] | type[float], *words: str) -> Any:
    """Read an option that is a number or one of some words; anything else is a usage error."""
    if value in words:
        return value
    try:
        return kind(value)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise typer.BadParameter(
            f"{value!r} is neither {wanted} nor {' or '.join(words)}.", param_hint=f"--{name}"
        ) from error
