"""What the page asks the server: one route per question of ``page/remote.js``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textlds.serve.requests import Body, Limits
from textlds.serve.service import Service

Answer = Callable[[Service, Body, Limits], Any]

MOST_TOKENS = 5000  # that the page reads at a time


def explore_routes() -> dict[str, Answer]:
    """Return the routes by their paths."""
    return {
        "/explore/about": lambda service, body, limits: service.about(),
        "/explore/read": lambda service, body, limits: service.read(_text(service, body)),
        "/explore/token": _token,
        "/explore/path": lambda service, body, limits: service.reader.path(_text(service, body)),
        "/explore/use": lambda service, body, limits: service.reader.use(_text(service, body), body.text("word")),
        "/explore/neighbours": lambda service, body, limits: service.reader.neighbours(
            body.text("word"), body.integer("n", 10)
        ),
        "/explore/transitions": lambda service, body, limits: service.transitions(
            _text(service, body) if body.fields.get("text") else ""
        ),
        "/explore/learning": lambda service, body, limits: service.learning,
    }


def _text(service: Service, body: Body) -> str:
    text = body.text("text")
    service.check([text], MOST_TOKENS)
    return text


def _token(service: Service, body: Body, limits: Limits) -> Any:
    return service.reader.token(_text(service, body), body.integer("token", 0, low=0, high=MOST_TOKENS))
