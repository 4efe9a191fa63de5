"""From labelled sentences to a tagger: what the network sees, training, calibration."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from textlds.corpus.reading.tagged import PathLike, Tagged
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.model.loading import ModelLike
from textlds.model.textlds import TextLDS
from textlds.progress import Progress, ProgressOption, resolve
from textlds.tagging.clusters import brown_columns, rounds, word_clusters
from textlds.tagging.entities import entities
from textlds.tagging.features import (
    CASES,
    LEXICAL,
    REPEATED,
    Template,
    cluster_columns,
    cluster_templates,
    gazetteer_templates,
    naming_columns,
)
from textlds.tagging.files import ModelSource
from textlds.tagging.gazetteers import gazetteer_set
from textlds.tagging.inputs import Design, InputMaker, words_of
from textlds.tagging.labels import Labelled, TagSet, Task, documents_of, labelled_sentences, prepared, set_aside
from textlds.tagging.network import Inputs, Ints, Weights, best_tags, joined, probabilities, scores
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.tagger import Tagger
from textlds.tagging.training import Keeper, Named, Problem, Trained, train_network
from textlds.vectors.recipes import RecipeLike

# Labelled ones, below which there are few, and very few. UD EWT, a half of dev, 10, 30, 100 and 300 sentences (160 to
# 4,900 tokens; four, four, three and two draws): word 72.3, 82.6, 87.8, 90.3; state and word 70.2, 81.8, 88.4, 90.8;
# state 64.3, 79.8, 87.4, 91.3; with neighbours 90.9 with 300. Entities, CoNLL-2003, dev, three seeds: features 94.66;
# state, spelling, meaning 94.51; state, meaning 94.45; state, word 94.38; state, spelling 94.25; state 94.08. A half of
# dev, 10, 30, 100 and 300 sentences, five draws: features 46.0, 59.6, 73.3, 79.5; state, word 43.3, 58.6, 72.7; word
# 43.9, 59.0, 71.1; state 30.7, 56.1, 71.4, 78.7.
WITH_NEIGHBOURS = "state+previous_word+word+next_word"  # spelling and neighbours are hashed features as well
FEW_TOKENS, VERY_FEW_TOKENS = 2_000, 1_000
_APART = 1 << 20  # of the seeds of networks that are averaged
_GRID: tuple[dict[str, Any], ...] = (
    {},
    {"recipe": "context"},
    {"recipe": WITH_NEIGHBOURS},
    {"recipe": "features"},
    {"lexical": False},
    {"dropout": 0.25},
    {"dropout": 0.5, "feature_dropout": 0.4},
    {"hidden": 256},
    {"hidden": 128},
    {"hidden": 64},
    {"around": 0},
    {"around": 128},
)


def fit_tagger(
    model: ModelLike,
    sentences: Labelled,
    dev: Labelled | None,
    *,
    task: Task,
    recipe: RecipeLike | None,
    gazetteers: Mapping[str, Iterable[Sequence[str]]],
    counts: LagCounts | PathLike | None,
    settings: TaggerSettings | None,
    search: str,
    seed: int,
    threads: int,
    progress: ProgressOption,
    keeper: Keeper | None,
) -> Tagger:
    """Train a tagger; see :meth:`Tagger.train`."""
    if search not in ("none", "grid"):
        raise ArgumentError(f"search={search!r} is not one of 'none', 'grid'.")
    began = time.perf_counter()
    shown, source = resolve(progress), ModelSource.of(model)
    learnt = labelled_sentences(sentences, "sentences")
    chosen_on = None if dev is None else labelled_sentences(dev, "dev")
    if chosen_on is None:
        learnt, chosen_on = set_aside(learnt, seed)
    learnt, repaired = prepared(learnt, task, "sentences")
    chosen_on, _ = prepared(chosen_on, task, "dev")
    tags = TagSet.of(learnt)
    unseen = tags.check(chosen_on, "dev")
    chosen = recipe != "auto"
    if not chosen:
        recipe = _recipe_for(_tokens(learnt), task)
    settings = settings or TaggerSettings()
    second = settings.second_units(_tokens(learnt), constrained=task == "entities")
    base = _Choice(recipe, settings.replace(hidden=settings.units(len(tags.names)), around=second))
    for name, given in (("gazetteers", gazetteers), ("clusters of counts", counts)):
        if given and not base.settings.lexical:
            raise ArgumentError(
                f"{name} are hashed features, and lexical=False leaves those out. Leave out one of them."
            )
    bigrams = None if counts is None else _own_counts(counts, source.model)
    encoder = source.model.encoder
    names = {
        name: gazetteer_set(entries, lambda text: encoder.encode(text).tokens) for name, entries in gazetteers.items()
    }
    attempts = _Attempts(source.model, learnt, chosen_on, tags, task, names, bigrams, shown, seed, threads)
    changes = [change for change in _GRID if not (chosen and "recipe" in change)] if search == "grid" else [{}]
    choices = [base.changed(**change) for change in changes]
    tried: list[dict[str, Any]] = []
    best: tuple[Trained, Design, _Choice] | None = None
    for number, choice in enumerate(dict.fromkeys(choices)):
        trained, design = attempts.train(choice, _Numbered(keeper, number) if keeper is not None else None)
        tried.append({**choice.to_json(), "dev": trained.score})
        if best is None or trained.score > best[0].score:
            best = trained, design, choice
    assert best is not None
    trained, design, choice = best
    report = {
        "dev": trained.score,
        "measure": "accuracy" if task == "tags" else "f1",
        "dev_is": f"{_sentences(len(chosen_on))} set aside" if dev is None else "given",
        "sentences": len(learnt), "tokens": _tokens(learnt), "dev_sentences": len(chosen_on), "repaired": repaired,
        "unseen_dev_tags": sorted(unseen),
        "rounds": trained.rounds, "best_round": trained.best_round, "seed": seed,
        "seconds": time.perf_counter() - began, **choice.to_json(),
        **({"tried": tried} if len(tried) > 1 else {}),
    }  # fmt: skip
    known = frozenset(token for sentence in learnt for token in sentence.tokens)
    temperature = attempts.temperature(trained.weights, choice)
    return Tagger(source, task, tags.names, design, trained.weights, temperature, known, report)


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What can be chosen on the development set."""

    recipe: RecipeLike | None
    settings: TaggerSettings

    def changed(self, **changes: Any) -> _Choice:
        recipe = changes.pop("recipe", self.recipe)
        if recipe is None:
            changes.pop("lexical", None)  # or nothing would be left to see
        return _Choice(recipe, dataclasses.replace(self.settings, **changes))

    def to_json(self) -> dict[str, Any]:
        recipe = None if self.recipe is None else str(self.recipe)
        return {"recipe": recipe, "settings": dataclasses.asdict(self.settings)}


class _Attempts:
    """The same sentences, seen through several designs."""

    def __init__(
        self,
        model: TextLDS,
        learnt: list[Tagged],
        chosen_on: list[Tagged],
        tags: TagSet,
        task: Task,
        gazetteers: dict[str, set[tuple[str, ...]]],
        bigrams: LagCounts | None,
        progress: Progress,
        seed: int,
        threads: int,
    ) -> None:
        self._model, self._sets, self._tags, self._task = model, (learnt, chosen_on), tags, task
        self._gazetteers, self._progress, self._seed, self._threads = gazetteers, progress, seed, threads
        # of scattered sentences a document remembers nothing, and what is learnt from them misleads in whole documents
        beside_others = sum(len(document) for document in documents_of(learnt) if len(document) > 1)
        self._memory = task == "entities" and 2 * beside_others > len(learnt)
        self._bigrams, self._clusters, self._brown = bigrams, cast(Any, None), cast(Any, None)
        self._inputs: dict[Any, tuple[Inputs, Inputs]] = {}  # by what is seen
        self._gold = tags.numbers(chosen_on)

    def train(self, choice: _Choice, keeper: Keeper | None) -> tuple[Trained, Design]:
        """Train one network."""
        design = self._design(choice)
        inputs, _ = self._seen(choice, design)
        named = Named(_occurrences(self._sets[0]), naming_columns(design.templates))
        problem = Problem(inputs, self._tags.numbers(self._sets[0]), self._tags.forbidden(self._task), named)
        judge = self._judge(choice, design)
        found = []
        for number in range(choice.settings.networks):
            kept = _Numbered(keeper, number) if keeper is not None and number else keeper
            with self._progress.task("Train", choice.settings.rounds, "rounds") as task:
                found.append(
                    train_network(
                        problem, judge, choice.settings, seed=self._seed + _APART * number, task=task, keeper=kept
                    )
                )
        if len(found) == 1:
            return found[0], design
        weights = joined([one.weights for one in found])
        rounds, best = (max(getattr(one, name) for one in found) for name in ("rounds", "best_round"))
        return Trained(weights, judge(weights), best, rounds), design

    def temperature(self, weights: Weights, choice: _Choice) -> float:
        """Return the temperature at which the tags of the development set are the most likely."""
        _, dev = self._seen(choice, self._design(choice))
        scored = scores(weights, dev)
        known = np.flatnonzero(self._gold >= 0)

        def surprise(log_temperature: float) -> float:
            shares = probabilities(weights, scored, dev.starts, float(np.exp(log_temperature)))
            return -float(np.log(np.maximum(shares[known, self._gold[known]], 1e-9)).mean())

        return float(np.exp(_lowest(surprise, -1.5, 2.0))) if len(known) else 1.0

    def _design(self, choice: _Choice) -> Design:
        recipe = None if choice.recipe is None else self._model.recipe(choice.recipe)
        clusters = np.empty((len(self._model.vocabulary), 0), np.int32)
        templates: tuple[Template, ...] = ()
        cases = recipe is not None and self._task == "tags" and bool(choice.settings.around)
        if choice.settings.lexical:
            if self._task == "entities" and recipe is not None:
                clusters = self._word_clusters()
            if self._bigrams is not None:
                clusters = np.concatenate([clusters, self._brown_clusters(self._bigrams)], axis=1)
            templates = (
                *LEXICAL,
                *(REPEATED if self._memory else ()),
                *cluster_templates(cluster_columns(clusters.shape[1])),
                *gazetteer_templates(self._gazetteers),
                *(CASES if cases else ()),
            )
        return Design(recipe, templates, self._memory and recipe is not None, clusters, self._gazetteers, cases)

    def _word_clusters(self) -> Any:
        if self._clusters is None:
            with self._progress.task("Clusters", rounds(), "rounds") as task:
                words, frequencies = words_of(self._model), self._model.frequencies
                self._clusters = word_clusters(words, frequencies, on_round=task.advance)
        return self._clusters

    def _brown_clusters(self, bigrams: LagCounts) -> Any:
        if self._brown is None:
            self._brown = brown_columns(bigrams, progress=self._progress)
        return self._brown

    def _seen(self, choice: _Choice, design: Design) -> tuple[Inputs, Inputs]:
        key = design.recipe, design.templates, design.cases
        if key not in self._inputs:
            self._inputs.clear()  # vectors of a large corpus are large
            maker = InputMaker(self._model, design, threads=self._threads)
            with self._progress.task("Vectors", len(self._sets), "sets") as task:
                found = []
                for sentences in self._sets:
                    found.append(maker.inputs(maker.reader.read(documents_of(sentences))))
                    task.advance(1)
            self._inputs[key] = found[0], found[1]
        return self._inputs[key]

    def _judge(self, choice: _Choice, design: Design) -> Callable[[Weights], float]:
        _, dev = self._seen(choice, design)
        if self._task == "tags":
            return lambda weights: (
                100 * float(np.mean(best_tags(weights, scores(weights, dev), dev.starts) == self._gold))
            )
        gold = [set(entities(sentence.tags)) for sentence in self._sets[1]]

        def f1(weights: Weights) -> float:
            best = best_tags(weights, scores(weights, dev), dev.starts)
            found = [set(entities(tags)) for tags in _named(best, self._tags.names, dev.starts)]
            right = sum(len(a & b) for a, b in zip(gold, found, strict=True))
            return 200 * right / max(1, sum(map(len, gold)) + sum(map(len, found)))

        return f1


class _Numbered:
    """A keeper for one of several networks."""

    def __init__(self, keeper: Keeper, number: int) -> None:
        self._keeper, self._number = keeper, number

    def keep(self, name: str, write: Callable[[Any], None]) -> Any:
        return self._keeper.keep(f"{name}-{self._number}", write)

    def read(self, name: str, reader: Callable[[Any], Any]) -> Any:
        return self._keeper.read(f"{name}-{self._number}", reader)


def _recipe_for(tokens: int, task: Task) -> str:
    """Return the recipe of a tagger with so many labelled tokens."""
    if task == "entities":
        return "features"
    if tokens < VERY_FEW_TOKENS:
        return "word"
    return "state+word" if tokens < FEW_TOKENS else WITH_NEIGHBOURS


def _own_counts(counts: LagCounts | PathLike, model: TextLDS) -> LagCounts:
    """Return counts of the words of a model; others are an error."""
    found = counts if isinstance(counts, LagCounts) else LagCounts.load(counts)
    if found.vocabulary.words != model.vocabulary.words:
        raise ArgumentError(
            f"the counts have {len(found.vocabulary):,} words and the model {len(model.vocabulary):,}, which are not "
            f"the same. Give the counts that the model was fitted to, or fit a model to these."
        )
    return found


def _named(best: Any, names: tuple[str, ...], starts: Ints) -> list[list[str]]:
    tags = [names[number] for number in best.tolist()]
    bounds = starts.tolist()
    return [tags[a:b] for a, b in itertools.pairwise(bounds)]


def _sentences(count: int) -> str:
    return f"{count:,} sentence{'' if count == 1 else 's'}"


def _occurrences(sentences: Sequence[Tagged]) -> Ints:
    """Return how often the word of every token occurs, in whatever case, (n,)."""
    words = [token.lower() for sentence in sentences for token in sentence.tokens]
    often = Counter(words)
    return np.array([often[word] for word in words], np.int64)


def _tokens(sentences: Sequence[Tagged]) -> int:
    return sum(map(len, sentences))


def _lowest(function: Callable[[float], float], low: float, high: float, steps: int = 18) -> float:
    """Return where a function of one valley is lowest, by golden sections."""
    ratio = (np.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(steps):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2
