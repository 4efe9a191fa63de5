"""Stored figures name vectors as they were first named, so that those of different days compare; here as recipes.

left, right         left_context, right_context
before, after       previous_word, next_word
model evidence      fitted weighting
equal evidence      equal weighting
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from textlds import Recipe

_PARTS = {"left": "left_context", "right": "right_context", "before": "previous_word", "after": "next_word"}
_WEIGHTINGS = {"model": "fitted", "equal": "equal"}


_SHOWN = {
    r"\bleft \+ word \+ right\b": "left context + word + right context",
    r"\bstate \+ before \+ word \+ after(, equal evidence)?": "state and three words",
    r"\bbefore \+ word \+ after\b": "previous word + word + next word",
    r"\bstate \+ word \+ neighbours \+ spelling \+ word_meaning(, equal evidence)?": "features",
    r"\bequal evidence\b": "equal weighting",
}


def shown(text: str) -> str:
    """Return a text with the names of stored figures as they are called today."""
    for stored, name in _SHOWN.items():
        text = re.sub(stored, name, text)
    return text


def recipe_of(parts: Sequence[str], evidence: str = "model", method: str = "smooth") -> Recipe:
    """Return the recipe of vectors that a stored figure names."""
    return Recipe([_PARTS.get(part, part) for part in parts], _WEIGHTINGS[evidence], method)
