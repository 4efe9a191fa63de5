"""Settings: the one definition of every option, with its default, help text, limits and allowed words.

Command-line options, signatures, the history of a model and the job of unfinished work derive from the fields of these
classes. Importing this module is cheap: the command line reads it before it knows what will run.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, Self, TypeVar

from textlds.errors import ArgumentError, check_choice

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="type[Settings]")

ADVANCED = "Advanced"  # the panel of options that few need


@dataclasses.dataclass(frozen=True)
class Option:
    """What is known of a field besides its name and default.

    Attributes:
        help: One sentence for ``--help`` and the documentation.
        words: The words allowed, if it is a word.
        kind: The type allowed, besides these words: int, float, str, bool; None if only words are.
        minimum: The least number allowed.
        panel: The heading in ``--help``; None for the everyday options.
        metavar: How ``--help`` shows the value.
        flag: The name on the command line, if it differs.
    """

    help: str
    words: tuple[str, ...] = ()
    kind: type[Any] | None = None
    minimum: int | None = None
    panel: str | None = None
    metavar: str | None = None
    flag: str | None = None

    def check(self, name: str, value: Any) -> None:
        """Raise ArgumentError unless the value is allowed."""
        if self.kind is None:
            return check_choice(name, value, self.words)
        if isinstance(value, str):
            fits = value in self.words or self.kind is str
        elif isinstance(value, bool):
            fits = self.kind is bool
        else:
            number = isinstance(value, int) or (isinstance(value, float) and self.kind is float)
            fits = number and self.kind in (int, float) and (self.minimum is None or value >= self.minimum)
        if not fits:
            kinds = {int: "a whole number", float: "a number", str: "a string", bool: "True or False"}
            least = "" if self.minimum is None else f" of at least {self.minimum}"
            wanted = " or ".join([*map(repr, self.words), kinds[self.kind] + least])
            raise ArgumentError(f"{name}={value!r:.200} must be {wanted}.")
        return None


def option(default: Any, help: str, **facts: Any) -> Any:
    """Return a field of a settings class; the facts are those of :class:`Option`."""
    return dataclasses.field(default=default, metadata={"option": Option(help, **facts)})


def unknown_name(what: str, name: str, known: Iterable[str]) -> ArgumentError:
    """Return the error for a name that does not exist, with the nearest one that does."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, 1)
    advice = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
    return ArgumentError(f"{what} has no {name!r}. {advice}")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The base of all settings. A field made with :func:`option` is an option; others belong to Python only."""

    def __post_init__(self) -> None:
        self._check_options()

    def _check_options(self, *except_for: str) -> None:
        for name, field in self.options().items():
            if name not in except_for and (getattr(self, name) is not None or field.default is not None):
                field.metadata["option"].check(name, getattr(self, name))

    @classmethod
    def options(cls) -> dict[str, dataclasses.Field[Any]]:
        """Return the fields that are options, by name."""
        return {field.name: field for field in dataclasses.fields(cls) if "option" in field.metadata}

    @classmethod
    def joined(cls, given: Self | None, what: str, **direct: Any) -> Self:
        """Return the settings that were given, with those that were given as arguments of their own (not None).

        Args:
            given: Settings, or None for the defaults.
            what: The name of the argument that holds them, for the error.
            direct: Values of some fields; None if left out.

        Raises:
            ArgumentError: Something is given in both places, with two values.
        """
        if given is not None and not isinstance(given, cls):
            raise ArgumentError(f"{what} must be {cls.__name__}(...), not {given!r:.100}.")
        given = given or cls()
        changes = {name: value for name, value in direct.items() if value is not None}
        for name, value in changes.items():
            there = getattr(given, name)
            if there != cls.options()[name].default and there != value:
                raise ArgumentError(
                    f"{name}={value!r:.100} and {what}={cls.__name__}({name}={there!r:.100}) contradict each other. "
                    f"Give {name} once."
                )
        return dataclasses.replace(given, **changes)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values."""
        for name in changes:
            if name not in self.options():
                raise unknown_name(type(self).__name__, name, self.options())
        return dataclasses.replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return the options as a JSON object."""
        return {name: getattr(self, name) for name in self.options()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read the settings back; unknown or missing names are an error."""
        if not isinstance(content, dict) or set(content) != set(cls.options()):
            raise ArgumentError(f"{cls.__name__} must name exactly {sorted(cls.options())}, not {content!r:.200}.")
        return cls(**content)


def names_checked(
    *, settings: Mapping[str, type[Settings]] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: an unknown argument is an error that says where it belongs, or the nearest one there is.

    Args:
        settings: The arguments of the function that hold settings.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known = [name for name in inspect.signature(function).parameters if name != "self"]

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    for argument, kind in (settings or {}).items():
                        if name in kind.options():
                            raise ArgumentError(
                                f"{name} is a setting: give it as {argument}={kind.__name__}({name}=...)."
                            )
                    what = function.__name__ if function.__name__ != "__init__" else function.__qualname__.split(".")[0]
                    raise unknown_name(what, name, known)
            return function(*args, **kwargs)

        return call

    return decorate


def settings_class(cls: S) -> S:
    """Decorate a settings dataclass: an unknown name gets an error with the nearest right one."""
    cls.__init__ = names_checked()(cls.__init__)  # type: ignore[method-assign]
    return cls
