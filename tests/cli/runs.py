"""A little text, and the command line in a process of its own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

Run = Callable[..., Any]

_PATTERNS = (
    "the {n} {v} the {n} .",
    "a {a} {n} {v} near the {n} .",
    "{p} {v} a {a} {n} , and the {n} {v} .",
    "every {n} of the {a} {n} {v} at {p} .",
)
_WORDS = {
    "n": [
        "cat",
        "dog",
        "house",
        "river",
        "bank",
        "tree",
        "boat",
        "road",
        "wall",
        "garden",
        "city",
        "letter",
        "book",
        "song",
        "bird",
    ],
    "v": ["sees", "likes", "finds", "takes", "leaves", "keeps", "holds", "opens", "closes", "follows"],
    "a": ["small", "old", "green", "quiet", "tall", "broken", "bright", "cold", "heavy"],
    "p": ["Anna", "Ben", "Clara", "David", "Eva", "Frank"],
}


_ANY = [word for words in _WORDS.values() for word in words]


def make_lines(n: int, *, seed: int = 0) -> list[str]:
    """Return sentences of a little grammar; every third word is any word, so that nothing is certain."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        pieces = rng.choice(_PATTERNS).split() * rng.randint(1, 3)
        words = [rng.choice(_WORDS[piece[1]]) if piece.startswith("{") else piece for piece in pieces]
        lines.append(" ".join(rng.choice(_ANY) if rng.random() < 0.35 else word for word in words))
    return lines


def process(arguments: Sequence[object], *, environment: dict[str, str] | None = None, **options: Any) -> Any:
    """Run the command line in a process of its own."""
    environment = {**os.environ, **(environment or {})}
    command = [sys.executable, "-m", "textlds", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, timeout=900, check=False, **options)
