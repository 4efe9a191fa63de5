"""Table 3: named entities of CoNLL-2003 by a lexicalised tagger, alone and with what is learnt from unlabelled text.

All is chosen on the development set: the penalty with words alone; the scale of the vectors by the same steps for each
column, with the column's plain vectors; richer kinds of vectors take what was chosen for these, and the development set
chooses among the kinds. The default model has the first of the scales, which did best for all others, and its state,
the state with three words, or the recipe for classifiers. The test set is scored for each column with what was chosen;
what it showed before a column was changed is kept in earlier.json, and the report tells it. Chance has a part only in
the learning of vectors, which is done once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.paper import settings
from benchmarks.paper.data import Data
from benchmarks.paper.job import Job
from benchmarks.paper.kinds import BEST, FEATURES, STATE, kind_features, kind_name
from benchmarks.paper.search import Search, Step
from benchmarks.paper.settings import TEXTS
from benchmarks.paper.store import Cell, Store
from textlds.corpus.reading.tagged import Tagged, read_tagged
from textlds.evaluation.crf import CRFSettings, train_crf
from textlds.evaluation.features import Features, remembered, with_neighbours
from textlds.evaluation.measures import entity_f1, randomisation_test
from textlds.tagging.entities import with_scheme

TITLE = "Named entities (Table 3)"
NEEDS = (*TEXTS, "conll")

_EQUAL = tuple(
    kind_name(parts, settings.EVIDENCE) for parts in (settings.STATE, ("before", "word", "after"), settings.PARTS)
)
COLUMNS: dict[str, tuple[str, ...]] = {
    "Lex": ("words",),
    "Lex + Brown": ("Brown clusters",),
    "Lex + word2vec": ("word2vec", "word2vec and neighbours"),
    "Lex + LDS": (STATE, "left + word + right", *_EQUAL),
    "Lex + default": tuple(f"default: {kind}" for kind in (_EQUAL[0], BEST, FEATURES)),
}
PENALTIES = (0.1, 0.03, 0.3)  # c2 of the CRF
SCALES = (0.1, 0.3, 1.0)  # of the vectors
_LEARNT = ("Lex + word2vec", "Lex + LDS", "Lex + default")  # columns with vectors
_DEFAULT = "default: "  # how the kinds of the default model begin
Tags = list[list[str]]


@dataclass(frozen=True)
class Choice:
    """A kind of vectors and how the tagger is learnt with them."""

    kind: str
    c2: float = PENALTIES[0]
    scale: float = SCALES[0]

    @property
    def crf(self) -> CRFSettings:
        """How the tagger is learnt."""
        return CRFSettings(c2=self.c2, vector_scale=self.scale)


def steps(column: str) -> list[Step]:
    """Return the trials of a column: penalties without vectors; scales of them, and then their kinds."""
    if column not in _LEARNT:
        return [Step(0, f"c2 {c2:g}", {"c2": c2}) for c2 in PENALTIES]
    tried = SCALES[:1] if COLUMNS[column][0].startswith(_DEFAULT) else SCALES
    scales = [Step(0, f"scale {scale:g}", {"scale": scale}) for scale in tried]
    return scales + [Step(1, kind, {"kind": kind}) for kind in COLUMNS[column][1:]]


def cells(job: Job, store: Store) -> list[Cell]:
    """Return the cells of the search, of the chosen taggers, and of the comparisons between columns."""
    study = Study(job, store)
    search = [study.trial(column, step) for column in COLUMNS for step in steps(column)]
    final = [study.final(column) for column in COLUMNS]
    *others, default = COLUMNS
    pairs = [*itertools.combinations(others, 2), (others[0], default)]
    return search + final + [study.comparison(*pair) for pair in pairs]


class Study:
    """The sentences, the vectors, and what has been found so far."""

    def __init__(self, job: Job, store: Store) -> None:
        self._job, self._store = job, store
        self._corpus = job.corpus(*TEXTS)
        self._searches = {
            column: Search(f"dev / {column}", asdict(Choice(kinds[0])), steps(column), self._score)
            for column, kinds in COLUMNS.items()
        }
        self._sentences: dict[str, list[Tagged]] = {}
        self._features: tuple[str, Features | None] = ("", None)

    def trial(self, column: str, step: Step) -> Cell:
        """Return the cell of a step of the search, on the development set."""
        search = self._searches[column]

        def measure() -> dict[str, Any]:
            return {"f1": entity_f1(self._gold("dev"), self._tags(self._choice(column, step), "dev")).f1}

        return Cell(search.key(step), lambda: self._settings(self._choice(column, step)), measure)

    def final(self, column: str) -> Cell:
        """Return the cell of a column's chosen tagger, on the development and on the test set."""

        def measure() -> dict[str, Any]:
            choice = self.chosen(column)
            scores = {part: entity_f1(self._gold(part), self._tags(choice, part)) for part in ("dev", "test")}
            return {
                "kind": choice.kind,
                **{part: score.f1 for part, score in scores.items()},
                "detail": {part: score.to_json() for part, score in scores.items()},
            }

        return Cell(f"{column} / seed 0", lambda: self._settings(self.chosen(column)), measure)

    def comparison(self, first: str, second: str) -> Cell:
        """Return the cell of a test between two columns, on the development and on the test set."""

        def asked() -> dict[str, Any]:
            pair = (self._settings(self.chosen(column)) for column in (first, second))
            return {"taggers": list(pair), "rounds": self._job.scale.rounds}

        def measure() -> dict[str, Any]:
            found = {}
            for part in ("dev", "test"):
                tags = (self._tags(self.chosen(column), part) for column in (first, second))
                test = randomisation_test(self._gold(part), *tags, rounds=self._job.scale.rounds)
                found[part] = test.to_json()
            return found

        return Cell(f"{second} against {first}", asked, measure)

    def chosen(self, column: str) -> Choice:
        """Return what did best on the development set in a column."""
        return self._choice(column)

    def _choice(self, column: str, step: Step | None = None) -> Choice:
        """Return what a step tries, or what the whole search found; vectors go with the penalty of words alone."""
        search = self._searches[column]
        found = Choice(**(search.best() if step is None else search.settings(step)))
        return replace(found, c2=self.chosen("Lex").c2) if column in _LEARNT else found

    def _score(self, key: str) -> float:
        return float(self._store.figures(key)["f1"])

    def _settings(self, choice: Choice) -> dict[str, Any]:
        """Return all that decides a tagger."""
        job, corpus = self._job, self._corpus
        own: dict[str, Any] = {"kind": choice.kind, "crf": asdict(choice.crf)}
        if choice.kind == "words":
            return own
        if choice.kind.startswith(_DEFAULT):
            corpus = job.default_corpus(*TEXTS)
            return own | {"count": dict(corpus.count), "tokens": corpus.tokens, "learnt": job.default_fit}
        own |= {"count": dict(corpus.count), "tokens": corpus.tokens}
        if choice.kind == "Brown clusters":
            return own | {"clusters": job.scale.clusters}
        learnt = settings.WORD2VEC if choice.kind.startswith("word2vec") else job.fit
        if choice.kind in _EQUAL:
            own["words"] = settings.WORDS
        return own | {"learnt": dict(learnt)}

    def _tags(self, choice: Choice, part: str) -> Tags:
        """Return the predicted tags of a part; a tagger is trained once for both."""
        train = self._sentences_of("train")
        sums = [self._job.work.sha256(path) for name in NEEDS for path in self._job.data.files(name)]

        def predict() -> dict[str, Tags]:
            tagger = train_crf(
                train,
                settings=choice.crf,
                **self._knowledge(choice.kind),
            )
            words = {name: [sentence.tokens for sentence in self._sentences_of(name)] for name in ("dev", "test")}
            return {name: [list(tags) for tags in tagger.predict(some)] for name, some in words.items()}

        identity = {**self._settings(choice), "data": sums}
        found: Tags = self._job.work.json("tags", identity, predict)[part]
        return found

    def _knowledge(self, kind: str) -> dict[str, Any]:
        """Return the arguments of train_crf that bring in what was learnt from unlabelled text."""
        if kind == "words":
            return {}
        if kind == "Brown clusters":
            return {"clusters": self._clusters()}
        if self._features[0] != kind:  # one at a time: vectors of all sentences are large
            self._features = kind, remembered(self._vectors(kind))
        return {"features": self._features[1]}

    def _vectors(self, kind: str) -> Features:
        work = self._job.work
        if kind.startswith("word2vec"):
            vectors = work.word2vec(self._corpus, **settings.WORD2VEC)
            return with_neighbours(vectors) if kind.endswith("neighbours") else vectors
        if kind.startswith(_DEFAULT):
            model = work.model(self._job.default_corpus(*TEXTS), **self._job.default_fit)
            return kind_features(model, kind.removeprefix(_DEFAULT))
        return kind_features(work.model(self._corpus, **self._job.fit), kind)

    def _clusters(self) -> Mapping[str, str]:
        """Return the path of every word of the labelled data, unknown ones by their class."""
        vocabulary, paths = self._job.work.clusters(self._corpus, self._job.scale.clusters)
        words = {token for part in ("train", "dev", "test") for s in self._sentences_of(part) for token in s.tokens}
        found = sorted(words)
        return {word: paths[row] for word, row in zip(found, vocabulary.ids(found).tolist(), strict=True)}

    def _gold(self, part: str) -> Tags:
        return [list(sentence.tags) for sentence in self._sentences_of(part)]

    def _sentences_of(self, part: str) -> list[Tagged]:
        if part not in self._sentences:
            self._sentences[part] = read_entities(self._job.data, part)
        return self._sentences[part]


def read_entities(data: Data, part: str) -> list[Tagged]:
    """Read a part of CoNLL-2003, its tags as IOB2."""
    return with_scheme(read_tagged(data.split("conll", part), format="conll"), "iob2")
