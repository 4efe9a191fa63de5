"""How good a tagger is on labelled sentences, and what the vectors add to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from textlds.corpus.reading.tagged import Tagged
from textlds.evaluation.measures import Accuracy, EntityF1, accuracy, entity_f1, mcnemar, randomisation_test, right
from textlds.evaluation.ner import NERResult, NERRow
from textlds.evaluation.tagging import TaggingResult, TaggingRow
from textlds.model.loading import ModelLike
from textlds.progress import ProgressOption
from textlds.tagging.entities import convert_tags
from textlds.tagging.labels import TagSet, Task, prepared
from textlds.tagging.tagger import Tagger
from textlds.vectors.recipes import RecipeLike

Sets = dict[str, Sequence[Tagged]]


@dataclass(frozen=True)
class TaggerScore:
    """What a tagger reached.

    Attributes:
        accuracy: Of the tags.
        entities: Of entities; None for other tags.
        unseen: How often tags occur that the tagger never saw; they are wrong.
        repaired: Entity tags that continued nothing.
        gold: The right tags, entities in IOB2.
        predicted: The tags it gave.
    """

    accuracy: Accuracy
    entities: EntityF1 | None
    unseen: dict[str, int]
    repaired: int
    gold: list[list[str]] = field(repr=False)
    predicted: list[list[str]] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain values, without the tags."""
        found = {"accuracy": self.accuracy.to_json(), "unseen": self.unseen, "repaired": self.repaired}
        return found if self.entities is None else {**found, "entities": self.entities.to_json()}


def score_tagger(tagger: Tagger, sentences: Sequence[Tagged], *, threads: int | None = None) -> TaggerScore:
    """Tag labelled sentences and compare.

    Args:
        tagger: The tagger.
        sentences: The sentences. Those of a document are tagged together.
        threads: How many; all cores by default.
    """
    learnt, repaired = prepared(sentences, tagger.task, "the labelled sentences")
    unseen = TagSet(tagger.names).check(learnt, "the labelled sentences")
    predicted = tagger.predict(sentences, threads=threads)
    gold = [list(sentence.tags) for sentence in sentences]
    if tagger.task == "entities":
        gold = [list(convert_tags(tags, "iob2")) for tags in gold]
    found = accuracy(gold, predicted, [sentence.tokens for sentence in sentences], tagger.known)
    of_entities = entity_f1(gold, predicted) if tagger.task == "entities" else None
    return TaggerScore(found, of_entities, dict(unseen), repaired, gold, predicted)


def compare_taggers(
    model: ModelLike,
    train: Sequence[Tagged],
    dev: Sequence[Tagged],
    test: Sequence[Tagged] | None = None,
    *,
    task: Task = "tags",
    recipe: RecipeLike = "auto",
    seeds: int = 1,
    rounds: int = 10_000,
    progress: ProgressOption = False,
) -> TaggingResult | NERResult:
    """Train taggers on words alone and on words and vectors, and say what the vectors add.

    Args:
        model: A model or the path of its folder.
        train: What to learn from.
        dev: What everything is chosen on.
        test: Looked at once, at the end.
        task: See :meth:`textlds.Tagger.train`.
        recipe: Of the vectors.
        seeds: How many networks of each kind; those of the first seed are compared.
        rounds: Of the randomisation test of entities.
        progress: Whether to show how far it is.
    """
    sets: Sets = {"dev": dev} if test is None else {"dev": dev, "test": test}
    scores: dict[str, list[dict[str, TaggerScore]]] = {}
    settings: dict[str, Any] = {}
    names: tuple[str, ...] = ()
    for kind, of in (("words", None), ("words + vectors", recipe)):
        scores[kind] = []
        for seed in range(seeds):
            tagger = Tagger.train(model, train, dev=dev, task=task, recipe=of, seed=seed, progress=progress)
            scores[kind].append({part: score_tagger(tagger, sentences) for part, sentences in sets.items()})
            settings.setdefault(kind, {name: tagger.report[name] for name in ("recipe", "settings", "best_round")})
            names = tagger.names
    firsts = {part: [some[0][part] for some in scores.values()] for part in sets}
    if task == "entities":
        return _of_entities(firsts, settings, rounds)
    rows = [
        TaggingRow(kind, part, some[0][part].accuracy, [one[part].accuracy.all for one in some])
        for part in sets
        for kind, some in scores.items()
    ]
    tests = {part: mcnemar(*(right(one.gold, one.predicted) for one in both)) for part, both in firsts.items()}
    return TaggingResult(rows, tests, settings, len(names), sum(map(len, train)))


def _of_entities(firsts: dict[str, list[TaggerScore]], settings: dict[str, Any], rounds: int) -> NERResult:
    rows, tests = [], {}
    for part, both in firsts.items():
        for kind, score in zip(settings, both, strict=True):
            assert score.entities is not None
            rows.append(NERRow(kind, part, score.entities))
        tests[part] = randomisation_test(both[0].gold, *(score.predicted for score in both), rounds=rounds)
    return NERResult(rows, tests, settings)
