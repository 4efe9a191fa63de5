"""What a tagger gives: sentences with tags, how sure it is of them, and entities with their places in the text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from textlds.tagging.entities import Entity, entities

NO_TAG = "_"  # of a token whose tag is less sure than asked for


class EntitySpan(NamedTuple):
    """An entity in a text.

    Attributes:
        start: Its first token in the sentence.
        end: The token after its last.
        kind: Such as ``PER``.
        text: Its words as they occur in the text.
        start_char: Its first character in the text.
        end_char: The character after its last.
        confidence: The least of its tokens'.
    """

    start: int
    end: int
    kind: str
    text: str
    start_char: int
    end_char: int
    confidence: float


class Places:
    """Where the tokens of a text are in it, found when they are first asked for.

    Args:
        text: The text; None for tokens with spaces between them.
        tokens: Its tokens, or those of one sentence of it.
        first: The number of the first of them.
    """

    def __init__(self, text: str | None, tokens: Sequence[str], first: int = 0) -> None:
        self._text, self._tokens, self.first = text, tokens, first

    @cached_property
    def text(self) -> str:
        """The text; the tokens with spaces between them, if tokens were given."""
        return " ".join(self._tokens) if self._text is None else self._text

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The characters at which each token begins and ends."""
        found, place = [], 0
        for token in self._tokens:
            begin = self.text.find(token, place)
            begin = place if begin < 0 else begin  # a tokeniser of the user's may change what it cuts
            place = begin + len(token)
            found.append((begin, min(place, len(self.text))))
        return found


@dataclass(frozen=True, eq=False)
class TaggedSentence:
    """A sentence as a tagger sees it.

    Attributes:
        tokens: The n tokens.
        tags: One for each; entities in IOB2. ``"_"``, or ``"O"`` for entities, where it is less sure than asked for.
        confidences: The probability of each, by the calibrated model.
        text: Number of the text that the sentence is from.
        first: Number of its first token in the text.
    """

    tokens: list[str]
    tags: list[str]
    confidences: list[float]
    text: int
    first: int
    _places: Places

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return (
            f"TaggedSentence({' '.join(itertools.starmap('{}/{}'.format, zip(self.tokens, self.tags, strict=True)))})"
        )

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each token begins and ends in the text, in characters; in the sentence, if it was given as tokens."""
        begin = self.first - self._places.first
        return self._places.spans[begin : begin + len(self)]

    @property
    def string(self) -> str:
        """The sentence as it is in the text."""
        return self._places.text[self.spans[0][0] : self.spans[-1][1]]

    @cached_property
    def entities(self) -> list[EntitySpan]:
        """The entities, if the tags are those of entities."""
        if not any(tag[1:2] == "-" for tag in self.tags):
            return []
        return [self._entity(entity) for entity in entities(self.tags)]

    def to_json(self) -> dict[str, Any]:
        """Return the sentence as plain values."""
        found = {
            "text": self.text, "tokens": self.tokens, "tags": self.tags, "spans": [list(span) for span in self.spans],
            "confidences": [round(value, 4) for value in self.confidences],
        }  # fmt: skip
        if self.entities:
            found["entities"] = [{**e._asdict(), "confidence": round(e.confidence, 4)} for e in self.entities]
        return found

    def _entity(self, entity: Entity) -> EntitySpan:
        spans = self.spans
        begin, end = spans[entity.start][0], spans[entity.end - 1][1]
        sure = min(self.confidences[entity.start : entity.end])
        return EntitySpan(entity.start, entity.end, entity.kind, self._places.text[begin:end], begin, end, sure)
