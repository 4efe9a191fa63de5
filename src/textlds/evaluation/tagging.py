"""Tags from token vectors: by the local classifier, or by a CRF on words with the vectors added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from textlds.corpus.reading.tagged import Tagged, tokens_of
from textlds.errors import check_choice
from textlds.evaluation.crf import GRID as CRF_GRID
from textlds.evaluation.crf import ChosenCRF, CRFSettings, Tags, choose_crf
from textlds.evaluation.features import Features, remembered
from textlds.evaluation.local import train_local
from textlds.evaluation.measures import Accuracy, McNemar, accuracy, mcnemar, right
from textlds.progress import Progress, ProgressOption, resolve

Classifier = Literal["local", "crf"]
Search = Literal["none", "grid"]


@dataclass(frozen=True)
class TaggingRow:
    """What one tagger reached on one set.

    Attributes:
        tagger: ``"vectors"`` (the local classifier), ``"words"`` or ``"words + vectors"`` (the CRF).
        part: ``"dev"`` or ``"test"``.
        accuracy: Of the first seed.
        seeds: Accuracy on all words, of every seed.
    """

    tagger: str
    part: str
    accuracy: Accuracy
    seeds: list[float]

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(self.seeds))

    @property
    def spread(self) -> float:
        """Standard deviation over the seeds (0 for one)."""
        return float(np.std(self.seeds, ddof=1)) if len(self.seeds) > 1 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "tagger": self.tagger, "part": self.part, **self.accuracy.to_json(),
            "seeds": self.seeds, "mean": self.mean, "spread": self.spread,
        }  # fmt: skip


@dataclass(frozen=True)
class TaggingResult:
    """What taggers reached.

    Attributes:
        rows: By set and tagger.
        tests: By set: are words alone as good as words and vectors? (only with the CRF)
        settings: What was chosen on the development set, by tagger.
        tags: How many different ones training has.
        train_tokens: How many.
    """

    rows: list[TaggingRow]
    tests: dict[str, McNemar]
    settings: dict[str, Any]
    tags: int
    train_tokens: int

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "tests": {part: test.to_json() for part, test in self.tests.items()},
            "settings": self.settings,
            "tags": self.tags,
            "train_tokens": self.train_tokens,
        }


def evaluate_tagging(
    features: Features,
    train: Sequence[Tagged],
    dev: Sequence[Tagged],
    test: Sequence[Tagged] | None = None,
    *,
    classifier: Classifier = "local",
    seeds: int = 1,
    hidden: int = 25,
    search: Search = "none",
    progress: ProgressOption = False,
) -> TaggingResult:
    """Learn to tag from token vectors and report the accuracy on all, known and unknown words.

    Args:
        features: The token vectors, such as :func:`textlds.evaluation.features.model_features`.
        train: What to learn from.
        dev: What everything is chosen on.
        test: Looked at once, at the end.
        classifier: ``"local"``: a small network that sees a token's vector only, as in the paper; ``"crf"``: a
            lexicalised tagger, without the vectors and with them.
        seeds: How many networks; the CRF has no chance in it.
        hidden: Hidden units of the network.
        search: ``"grid"`` also tries penalties of the CRF and scales of the vectors on the development set.
        progress: Whether to show how far it is.
    """
    check_choice("classifier", classifier, ("local", "crf"))
    parts = {"dev": dev} if test is None else {"dev": dev, "test": test}
    shown = resolve(progress)
    if classifier == "local":
        return _by_network(features, train, parts, seeds=seeds, hidden=hidden, progress=shown)
    return _by_crf(features, train, parts, search=search, progress=shown)


def _by_network(
    features: Features,
    train: Sequence[Tagged],
    parts: dict[str, Sequence[Tagged]],
    *,
    seeds: int,
    hidden: int,
    progress: Progress,
) -> TaggingResult:
    once = remembered(features)
    taggers = train_local(train, parts["dev"], once, hidden=hidden, seeds=seeds, progress=progress)
    known = set(tokens_of(train))
    rows = []
    for part, sentences in parts.items():
        tokens = [sentence.tokens for sentence in sentences]
        found = [score(sentences, tagger.predict(tokens, once(tokens)), known) for tagger in taggers]
        rows.append(TaggingRow("vectors", part, found[0], [one.all for one in found]))
    chosen = taggers[0].settings
    settings = {"hidden": hidden, "dropout": chosen.dropout, "learning_rate": chosen.learning_rate, "seeds": seeds}
    return TaggingResult(rows, {}, {"vectors": settings}, len(taggers[0].names), _size(train))


def _by_crf(
    features: Features,
    train: Sequence[Tagged],
    parts: dict[str, Sequence[Tagged]],
    *,
    search: Search,
    progress: Progress,
) -> TaggingResult:
    known = set(tokens_of(train))
    grid = crf_grid(search)

    def judge(tags: Tags) -> float:
        return score(parts["dev"], tags, known).all

    chosen: dict[str, ChosenCRF] = {
        "words": choose_crf(train, parts["dev"], judge, grid=without_vectors(grid), progress=progress),
        "words + vectors": choose_crf(train, parts["dev"], judge, grid=grid, features=features, progress=progress),
    }
    rows, tests = [], {}
    for part, sentences in parts.items():
        tokens, gold = [sentence.tokens for sentence in sentences], [sentence.tags for sentence in sentences]
        predicted = {name: one.tagger.predict(tokens) for name, one in chosen.items()}
        for name, tags in predicted.items():
            found = score(sentences, tags, known)
            rows.append(TaggingRow(name, part, found, [found.all]))
        tests[part] = mcnemar(*(right(gold, tags) for tags in predicted.values()))
    settings = {name: one.tried for name, one in chosen.items()}
    return TaggingResult(rows, tests, settings, len({tag for s in train for tag in s.tags}), _size(train))


def crf_grid(search: Search) -> list[CRFSettings]:
    """Return the settings of the CRF that a search tries."""
    check_choice("search", search, ("none", "grid"))
    return [CRFSettings()] if search == "none" else list(CRF_GRID)


def without_vectors(grid: Sequence[CRFSettings]) -> list[CRFSettings]:
    """Return the settings that differ by more than the scale of vectors."""
    return list({(one.c1, one.c2, one.min_count, one.iterations): one for one in grid}.values())


def score(sentences: Sequence[Tagged], tags: Tags, known: set[str]) -> Accuracy:
    """Return the accuracy of predicted tags on tagged sentences."""
    return accuracy([s.tags for s in sentences], tags, [s.tokens for s in sentences], known)


def _size(sentences: Sequence[Tagged]) -> int:
    return sum(map(len, sentences))
