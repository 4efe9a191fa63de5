"""Named entities: a CRF on words, without token vectors and with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textlds.corpus.reading.tagged import Tagged
from textlds.evaluation.crf import ChosenCRF, CRFTagger, Tags, choose_crf
from textlds.evaluation.features import Features
from textlds.evaluation.measures import EntityF1, Randomisation, entity_f1, randomisation_test
from textlds.evaluation.tagging import Search, crf_grid, without_vectors
from textlds.progress import ProgressOption, resolve
from textlds.tagging.entities import check_entity_tags, convert_tags, with_scheme


@dataclass(frozen=True)
class NERRow:
    """What one tagger reached on one set.

    Attributes:
        tagger: ``"words"`` or ``"words + vectors"``.
        part: ``"dev"`` or ``"test"``.
        f1: Of exactly found entities.
    """

    tagger: str
    part: str
    f1: EntityF1

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {"tagger": self.tagger, "part": self.part, **self.f1.to_json()}


@dataclass(frozen=True)
class NERResult:
    """What taggers reached.

    Attributes:
        rows: By set and tagger.
        tests: By set: what vectors add, and whether chance would give as much.
        settings: What was tried on the development set, by tagger.
    """

    rows: list[NERRow]
    tests: dict[str, Randomisation]
    settings: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "tests": {part: test.to_json() for part, test in self.tests.items()},
            "settings": self.settings,
        }


def evaluate_ner(
    features: Features,
    train: Sequence[Tagged],
    dev: Sequence[Tagged],
    test: Sequence[Tagged] | None = None,
    *,
    clusters: Mapping[str, str] | None = None,
    search: Search = "none",
    rounds: int = 10_000,
    progress: ProgressOption = False,
) -> NERResult:
    """Learn to find named entities and say what token vectors add to a lexicalised tagger.

    Args:
        features: The token vectors, such as :func:`textlds.evaluation.features.model_features`.
        train: What to learn from; the tags are those of entities, in IOB1, IOB2 or BIOES.
        dev: What everything is chosen on.
        test: Looked at once, at the end.
        clusters: The path of every word's cluster, for both taggers.
        search: ``"grid"`` tries penalties and scales of the vectors on the development set.
        rounds: Of the randomisation test.
        progress: Whether to show how far it is.
    """
    parts = {"dev": dev} if test is None else {"dev": dev, "test": test}
    for name, sentences in {"train": train, **parts}.items():
        check_entity_tags(sentences, name)
    # BIOES tells the CRF where entities end; what is measured is the entities, in whatever scheme
    learnt, gold = with_scheme(train, "bioes"), {name: _iob2(s.tags for s in part) for name, part in parts.items()}
    shown, grid = resolve(progress), crf_grid(search)

    def judge(tags: Tags) -> float:
        return entity_f1(gold["dev"], _iob2(tags)).f1

    chosen: dict[str, ChosenCRF] = {
        "words": choose_crf(learnt, dev, judge, grid=without_vectors(grid), clusters=clusters, progress=shown),
        "words + vectors": choose_crf(
            learnt, dev, judge, grid=grid, features=features, clusters=clusters, progress=shown
        ),
    }
    rows, tests = [], {}
    for name, part in parts.items():
        predicted = {tagger: entity_tags(one.tagger, part) for tagger, one in chosen.items()}
        rows += [NERRow(tagger, name, entity_f1(gold[name], tags)) for tagger, tags in predicted.items()]
        tests[name] = randomisation_test(gold[name], predicted["words"], predicted["words + vectors"], rounds=rounds)
    return NERResult(rows, tests, {name: one.tried for name, one in chosen.items()})


def entity_tags(tagger: CRFTagger, sentences: Sequence[Tagged]) -> Tags:
    """Return the tags that a tagger predicts, in IOB2."""
    return _iob2(tagger.predict([sentence.tokens for sentence in sentences]))


def _iob2(tags: Any) -> Tags:
    return [convert_tags(some, "iob2") for some in tags]
