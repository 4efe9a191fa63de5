"""What a request may say: the fields of its body, checked one by one, and the errors that name them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textlds.corpus.encoding import Text
from textlds.errors import TextLDSError


@dataclass(frozen=True)
class Limits:
    """How much one client may ask for.

    Attributes:
        tokens: Per request.
        texts: Per request.
        body_bytes: Of a request's body.
        queue: Requests that may wait for the engine.
        queue_bytes: Their bodies together.
        seconds: From the last byte of a request to the first byte of its answer.
        body_seconds: To send a request, headers and body each.
        connections: Open at the same time; further ones are closed.
    """

    tokens: int = 100_000
    texts: int = 4096
    body_bytes: int = 16 << 20
    queue: int = 1024
    queue_bytes: int = 128 << 20
    seconds: float = 30.0
    body_seconds: float = 10.0
    connections: int = 20_000


class RequestError(TextLDSError):
    """A request that gets no answer: the status, what is wrong, and its kind in one word."""

    def __init__(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.headers = status, kind, headers or {}


def invalid(message: str) -> RequestError:
    """Return the error of a body that cannot be understood."""
    return RequestError(422, "Validation", message)


def too_large(message: str) -> RequestError:
    """Return the error of a request that asks for more than a limit allows."""
    return RequestError(413, "Validation", message)


class Body:
    """The JSON object of a request. Fields that no route knows are ignored: clients send many."""

    def __init__(self, data: bytes) -> None:
        try:
            content = json.loads(data)
        except RecursionError as error:
            raise invalid("the body is nested too deeply. Send an object whose fields are strings or lists.") from error
        except UnicodeDecodeError as error:
            raise invalid(f"the body is not UTF-8: byte {error.start} is invalid. Encode it as UTF-8.") from error
        except ValueError as error:
            raise invalid(f"the body is not JSON: {error}.") from error
        if not isinstance(content, dict):
            raise invalid(f'the body is a JSON {_kind(content)}; send an object, such as {{"inputs": "a text"}}.')
        self.fields: dict[str, Any] = content

    def required(self, name: str) -> Any:
        """Return a field that must be there."""
        if name not in self.fields:
            raise invalid(f"the field {name!r} is missing.")
        return self.fields[name]

    def text(self, name: str) -> str:
        """Return a field that is a string."""
        return _string(self.required(name), name)

    def texts(self, name: str, limits: Limits) -> list[Text]:
        """Return a field that is one text, or a list of texts, each a string or a list of tokens."""
        value = self.required(name)
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list):
            raise invalid(f"the field {name!r} is a JSON {_kind(value)}; send a string or a list of strings.")
        if len(value) > limits.texts:
            raise too_large(
                f"the field {name!r} has {len(value):,} texts; the limit is {limits.texts:,} per request. Send fewer."
            )
        if not value:
            raise invalid(f"the field {name!r} is an empty list; send at least one text.")
        return [_text(item, f"{name}[{number}]") for number, item in enumerate(value)]

    def strings(self, name: str, limits: Limits) -> list[str]:
        """Return a field that is a list of strings."""
        texts = self.texts(name, limits)
        return [_string(text, f"{name}[{number}]") for number, text in enumerate(texts)]

    def integer(self, name: str, default: int, *, low: int = 1, high: int = 1000) -> int:
        """Return a field that is a whole number, within limits."""
        value = self.fields.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise invalid(f"the field {name!r} is a JSON {_kind(value)}; send a whole number.")
        if not low <= value <= high:
            raise invalid(f"the field {name!r} is {value}; it must be from {low} to {high}.")
        return value

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        """Return a field that is a number, within limits."""
        value = self.fields.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise invalid(f"the field {name!r} is {value!r:.50}; send a number from {low:g} to {high:g}.")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return a field that is true or false."""
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise invalid(f"the field {name!r} is a JSON {_kind(value)}; send true or false.")
        return value

    def choice(self, name: str, default: str, options: Sequence[str]) -> str:
        """Return a field that is one of some words."""
        value = self.fields.get(name)
        if value is None:
            return default
        if value not in options:
            raise invalid(f"the field {name!r} is {value!r:.50}; it must be one of {', '.join(map(repr, options))}.")
        return str(value)


def _text(value: Any, place: str) -> Text:
    if isinstance(value, list):
        return [_string(token, f"{place}[{number}]") for number, token in enumerate(value)]
    return _string(value, place)


def _string(value: Any, place: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise invalid(f"the field {place!r} is a number. Token ids of another tokenizer mean nothing here: send text.")
    if not isinstance(value, str):
        raise invalid(f"the field {place!r} is a JSON {_kind(value)}; send a string.")
    return value


def _kind(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
