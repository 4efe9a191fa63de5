"""Messages of the library in the words of the command line: ``repeats='all'`` is ``--repeats all`` there."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

# a name that begins a word, and a quoted text or the beginning of something plain; no part of an address (?name=...)
_SETTING = re.compile(r"(?<![\w?&/.-])([a-z][a-z_]*)=(?:'([^']*)'|(True\b|\.\.\.)|(?!None\b|False\b)(?=[\w-]))")
_TWICE = re.compile(r"(--[\w-]+(?: [^\s(),]+)?)(?: \(\1\)|, \1(?![\w-]))")


def as_options(message: str) -> str:
    """Return a message with settings written as options, those that a command has; others stay as they are."""

    def option(match: re.Match[str]) -> str:
        name, text, alone = match.groups()
        found = _options().get(name)
        if found is None:
            return match.group()
        return found if alone else f"{found} {'' if text is None else shlex.quote(text)}"

    return _TWICE.sub(r"\1", _SETTING.sub(option, message))


@functools.cache
def _options() -> Mapping[str, str]:
    """Return the options of all commands by the names that they have in Python."""
    from typer.main import get_command

    from textlds.cli import build_app

    found: dict[str, str] = {}
    for command in _commands(get_command(build_app())):
        for parameter in command.params:
            for one in parameter.opts:
                if one.startswith("--"):
                    found.setdefault(parameter.name, one)
    return found


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for member in getattr(command, "commands", {}).values():
        yield from _commands(member)
