"""The paper's local classifier: the tag of a token from its vector alone, by a network of two layers.

As in the paper, punctuation and a few very common words are not learnt from but given the tag they mostly have in the
training data: all types without a letter or digit, and those of the ``FREQUENT`` most frequent types (but no more than
one in a hundred) that have one tag ``CERTAIN`` of the time. The rule looks at the labelled data only, so that it is the
same for all vectors. Inputs are brought to mean zero and variance one, so that no vector gains by its scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.reading.tagged import Tagged, tags_of, tokens_of
from textlds.errors import ArgumentError
from textlds.evaluation.features import Features, Vectors
from textlds.evaluation.measures import Bools
from textlds.evaluation.network import Network, NetworkSettings, train_network
from textlds.progress import ProgressOption, resolve

FREQUENT = 50
CERTAIN = 0.995
# what is tried on the development set: hardly any contender is best with the same
GRID = (NetworkSettings(), NetworkSettings(dropout=0.2))


@dataclass(frozen=True)
class MajorityTags:
    """Tags of the words that need no classifier.

    Attributes:
        tags: By word.
        unseen_mark: The tag of punctuation that training does not have: what most of its types have there.
    """

    tags: dict[str, str]
    unseen_mark: str | None

    @classmethod
    def learn(cls, train: Sequence[Tagged]) -> MajorityTags:
        """Find them in training data."""
        counts: dict[str, Counter[str]] = {}
        for token, tag in zip(tokens_of(train), tags_of(train), strict=True):
            counts.setdefault(token, Counter())[tag] += 1
        # ties go to the first in alphabetical order, so that the order of the sentences does not matter
        majority = {word: min(found, key=lambda tag: (-found[tag], tag)) for word, found in counts.items()}
        frequent = sorted(counts, key=lambda word: (-counts[word].total(), word))[: min(FREQUENT, len(counts) // 100)]
        certain = {w for w in frequent if counts[w][majority[w]] >= CERTAIN * counts[w].total()}
        marks = Counter(tag for word, tag in majority.items() if _is_mark(word))
        unseen = min(marks, key=lambda tag: (-marks[tag], tag)) if marks else None
        return cls({word: tag for word, tag in majority.items() if word in certain or _is_mark(word)}, unseen)

    def tag(self, word: str) -> str | None:
        """Return the tag of a word, or None if the classifier is to decide."""
        found = self.tags.get(word)
        return self.unseen_mark if found is None and _is_mark(word) else found


@dataclass(frozen=True)
class LocalTagger:
    """A trained local classifier.

    Attributes:
        names: The tags, in the order of the network's classes.
        majority: Tags that it does not decide.
        network: Decides all others.
        settings: With which the network was trained.
        seed: Likewise.
    """

    names: tuple[str, ...]
    majority: MajorityTags
    network: Network
    settings: NetworkSettings
    seed: int

    def predict(self, sentences: Sequence[Sequence[str]], vectors: Vectors) -> list[tuple[str, ...]]:
        """Return the tags of every sentence.

        Args:
            sentences: The tokens.
            vectors: Theirs, (tokens, d), one sentence after the other.
        """
        given = [self.majority.tag(token) for sentence in sentences for token in sentence]
        open_ = np.array([tag is None for tag in given], bool)
        decided = iter(self.network.predict(vectors[open_]).tolist())
        tags = iter([self.names[next(decided)] if tag is None else tag for tag in given])
        return [tuple(next(tags) for _ in sentence) for sentence in sentences]


def train_local(
    train: Sequence[Tagged],
    dev: Sequence[Tagged],
    features: Features,
    *,
    grid: Sequence[NetworkSettings] = GRID,
    hidden: int | None = None,
    seed: int = 0,
    seeds: int = 1,
    progress: ProgressOption = False,
) -> list[LocalTagger]:
    """Train local classifiers, one per seed; settings are chosen on the development set with the first seed.

    Args:
        train: What to learn from.
        dev: What settings and epochs are chosen on.
        features: The token vectors.
        grid: Settings to try; the first of equally good ones is taken.
        hidden: Hidden units, in place of those of the grid.
        seed: The first seed.
        seeds: How many; the others follow the first.
        progress: Whether to show how far it is.
    """
    if not grid or seeds < 1:
        raise ArgumentError(f"grid has {len(grid)} settings and seeds={seeds}; both must be at least 1.")
    if hidden is not None:
        grid = [replace(settings, hidden=hidden) for settings in grid]
    problem = _Problem(train, dev, features)
    with resolve(progress).task("Classifier", len(grid) + seeds - 1, "networks") as task:

        def attempt(settings: NetworkSettings, number: int) -> tuple[int, LocalTagger]:
            tagger = problem.solve(settings, number)
            hits = problem.dev_hits(tagger)
            task.advance(1, f"{tagger.network.epochs} epochs")
            return hits, tagger

        _, best = max((attempt(settings, seed) for settings in grid), key=itemgetter(0))
        return [best, *(attempt(best.settings, other)[1] for other in range(seed + 1, seed + seeds))]


class _Problem:
    """Tagged sentences as the network sees them."""

    def __init__(self, train: Sequence[Tagged], dev: Sequence[Tagged], features: Features) -> None:
        self._majority = MajorityTags.learn(train)
        self._names = tuple(sorted(set(tags_of(train))))
        self._inputs, self._classes, undecided = self._arrays(train, features)
        self._rows = np.flatnonzero(undecided)
        if not self._rows.size:
            raise ArgumentError(
                "no token is left to learn from: all are punctuation or common words. Give more training data."
            )
        inputs, classes, undecided = self._arrays(dev, features)
        self._dev_inputs, self._dev_classes = inputs[undecided], classes[undecided]

    def solve(self, settings: NetworkSettings, seed: int) -> LocalTagger:
        network = train_network(
            self._inputs, self._classes, self._dev_inputs, self._dev_classes,
            rows=self._rows, n_classes=len(self._names), settings=settings, seed=seed,
        )  # fmt: skip
        return LocalTagger(self._names, self._majority, network, settings, seed)

    def dev_hits(self, tagger: LocalTagger) -> int:
        return int(np.count_nonzero(tagger.network.predict(self._dev_inputs) == self._dev_classes))

    def _arrays(self, sentences: Sequence[Tagged], features: Features) -> tuple[Vectors, NDArray[np.int64], Bools]:
        """Return the vectors of all tokens, the numbers of their tags (-1: none of training's), and what to decide."""
        numbers = {name: number for number, name in enumerate(self._names)}
        classes = np.array([numbers.get(tag, -1) for tag in tags_of(sentences)], np.int64)
        undecided = np.array([self._majority.tag(token) is None for token in tokens_of(sentences)], bool)
        return features([sentence.tokens for sentence in sentences]), classes, undecided


def _is_mark(word: str) -> bool:
    return not any(character.isalnum() for character in word)
