"""How good a tagger is on labelled sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError
from textlds.evaluation.measures import Accuracy, accuracy
from textlds.tagging.entities import convert_tags, entities
from textlds.tagging.labels import prepared
from textlds.tagging.tagger import Tagger


@dataclass(frozen=True)
class EntityScore:
    """Entities whose limits and kind are exactly right: per cent, and how many there are to find."""

    precision: float
    recall: float
    f1: float
    entities: int


@dataclass(frozen=True)
class TaggerScore:
    """What a tagger reached.

    Attributes:
        accuracy: Of the tags.
        entities: Of entities of all kinds; None for other tags.
        by_kind: Of entities, by kind.
        unseen: How often tags occur that the tagger never saw; they are wrong.
        repaired: Entity tags that continued nothing.
        predicted: The tags it gave.
    """

    accuracy: Accuracy
    entities: EntityScore | None = None
    by_kind: dict[str, EntityScore] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)
    repaired: int = 0
    predicted: list[list[str]] = field(default_factory=list, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain values."""
        found = {"accuracy": self.accuracy.to_json(), "unseen": self.unseen, "repaired": self.repaired}
        if self.entities is not None:
            found["entities"] = asdict(self.entities)
            found["by_kind"] = {kind: asdict(score) for kind, score in self.by_kind.items()}
        return found


def score_tagger(tagger: Tagger, sentences: Sequence[Tagged], *, threads: int | None = None) -> TaggerScore:
    """Tag labelled sentences and compare."""
    known_tags = set(tagger.names)
    learnt, repaired = prepared(sentences, tagger.task, "the labelled sentences")
    unseen = Counter(tag for sentence in learnt for tag in sentence.tags if tag not in known_tags)
    if tagger.task == "tags" and not known_tags & {tag for sentence in learnt for tag in sentence.tags}:
        raise ArgumentError(
            f"no tag of the labelled sentences is one of the tagger's ({', '.join(tagger.names[:8])}, ...): they have "
            f"another tag set, or the tags are in another column."
        )
    predicted = tagger.predict(sentences, threads=threads)
    gold = [list(sentence.tags) for sentence in sentences]
    if tagger.task == "entities":
        gold = [list(convert_tags(tags, "iob2")) for tags in gold]
    found = accuracy(gold, predicted, [sentence.tokens for sentence in sentences], tagger.known)
    if tagger.task == "tags":
        return TaggerScore(found, unseen=dict(unseen), predicted=predicted)
    right = [{(n, *entity) for n, tags in enumerate(gold) for entity in entities(tags)}]
    right.append({(n, *entity) for n, tags in enumerate(predicted) for entity in entities(tags)})
    kinds = sorted({entity[3] for some in right for entity in some})
    by_kind = {kind: _score(*({e for e in some if e[3] == kind} for some in right)) for kind in kinds}
    return TaggerScore(found, _score(*right), by_kind, dict(unseen), repaired, predicted)


def _score(gold: set[Any], found: set[Any]) -> EntityScore:
    both = len(gold & found)
    precision, recall = 100 * both / max(len(found), 1), 100 * both / max(len(gold), 1)
    return EntityScore(precision, recall, 200 * both / max(len(gold) + len(found), 1), len(gold))
