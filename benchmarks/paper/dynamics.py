"""Table 1: what the transition matrix does, in words: of the paper's model after EM, of the same after subspace
identification alone, and of the default model, which observes profiles.

How much structure the lists of words have is measured too, so that the paper's remark (none to speak of without EM) can
be checked: by how much oftener than by chance a word of the second list of a pair follows one of the first in the text;
by how often the words of a list share their most frequent tag in a treebank; and by how alike they are to word2vec,
which knows nothing of the model. The paper shows six pairs, of its own choice it seems; here the strongest pairs are
shown, and those whose words are most alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textlds
from benchmarks.paper import settings
from benchmarks.paper.job import Job
from benchmarks.paper.store import Cell, Store
from benchmarks.paper.work import Corpus
from textlds.corpus.reading.tagged import read_tagged
from textlds.evaluation.features import Features
from textlds.lexicon.observed import ObservedLexicon
from textlds.linalg.types import Matrix
from textlds.model.exploring import transitions

TITLE = "The transitions of the state (Table 1)"
NEEDS = ("text", "ewt")
DEFAULT = "default"
KINDS = {"EM": {}, "subspace identification": {"iterations": 0}, DEFAULT: {}}
WORDS = 9  # in a list, as in the paper
SHOWN = 6  # pairs of each sort
CHANCE = 400  # lists of random words


def cells(job: Job, store: Store) -> list[Cell]:
    """Return a cell for each way of learning and each seed, and one of random lists."""
    judge = _Judge(job)
    made = []
    for seed in range(job.seeds):
        for kind, change in KINDS.items():
            corpus = job.default_corpus() if kind == DEFAULT else job.corpus()
            fit = {**(job.default_fit if kind == DEFAULT else job.fit), **change, "seed": seed}
            made.append(
                Cell(
                    f"{kind} / seed {seed}",
                    {"fit": fit, "count": corpus.count, "tokens": corpus.tokens},
                    lambda corpus=corpus, fit=fit, kind=kind: _measure(  # type: ignore[misc]
                        _model(job, corpus, fit), judge, alike=kind != DEFAULT
                    ),
                )
            )
    corpus = job.corpus()
    chance = {"lists": CHANCE, "count": corpus.count, "tokens": corpus.tokens}
    return [*made, Cell("random words", chance, lambda: judge.chance(CHANCE))]


def _model(job: Job, corpus: Corpus, fit: dict[str, Any]) -> textlds.TextLDS:
    """Return a model; that of subspace identification alone is the start of the other."""
    if fit["observations"] == "profiles":
        return job.work.model(corpus, **{name: value for name, value in fit.items() if name != "seed" or value})
    stops = sorted({0, job.fit["iterations"]})
    folders = job.work.models(corpus, stops, **{name: value for name, value in fit.items() if name != "iterations"})
    return textlds.load(folders[fit["iterations"]])


def _outputs(model: textlds.TextLDS, rows: NDArray[np.int64]) -> Matrix:
    """Return what makes words likely in a state, (n, h), in coordinates with Q = I, as ``model.dynamics`` has it."""
    C = model.params.normalised().C[rows]
    if isinstance(model.lexicon, ObservedLexicon):  # C_w = f_w^½ y(w)ᵀ c: the cosine of y(w) with what is predicted
        y = model.lexicon.observed(np.eye(model.lexicon.size), model.lexicon.profiles[rows])
        C = C / (np.sqrt(model.frequencies[rows]) * np.linalg.norm(y, axis=1))[:, None]
    return C


def _measure(model: textlds.TextLDS, judge: _Judge, *, alike: bool) -> dict[str, Any]:
    """Return how much structure the transitions of a model have, and some of them.

    Args:
        model: Whose transitions.
        judge: Measures them.
        alike: Whether to ask word2vec, which takes longer to learn than the model.
    """
    A, h = model.params.normalised().A, model.state_size
    rows = judge.rows(model.vocabulary)
    U, strengths, Vt = np.linalg.svd(A)
    stays = np.abs(np.einsum("ji,ij->i", U, Vt))  # 1: A leads this state to itself, 0: to one unlike it
    known = transitions(A, _outputs(model, rows), model.vocabulary, h, WORDS, common=rows)
    lists = [words for pair in known for words in (pair.source, pair.target)]
    found = {**judge.purity(lists), **(judge.likeness(lists) if alike else {})}
    lifts = [judge.lift(pair.source, pair.target) for pair in known]
    # what decides which pairs are shown besides the strongest
    score = np.reshape(found["likenesses" if alike else "purities"], (-1, 2)).mean(axis=1)
    best = [int(i) for i in np.argsort(-score, kind="stable") if i >= SHOWN][:SHOWN]
    shown = model.dynamics(h, words=WORDS)
    return {
        **found,
        "lift": float(np.mean(lifts)),
        "lifts": lifts,
        "stays": stays,
        "singular_values": strengths,
        "pairs": [
            {
                "rank": i + 1,
                "strength": strengths[i],
                "stays": stays[i],
                **({"likeness": score[i]} if alike else {}),
                "source": shown[i].source,
                "target": shown[i].target,
            }
            for i in (*range(min(SHOWN, h)), *best)
        ],
    }


class _Judge:
    """Measures how much the words of lists have in common."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._cache: dict[str, Any] = {}

    @property
    def tags(self) -> dict[str, str]:
        """The most frequent universal tag of every word of the treebank's training part."""
        if "tags" not in self._cache:
            counts: dict[str, Counter[str]] = {}
            for sentence in read_tagged(self._job.data.split("ewt", "train"), column="upos"):
                for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
                    counts.setdefault(token, Counter())[tag] += 1
            self._cache["tags"] = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
        found: dict[str, str] = self._cache["tags"]
        return found

    @property
    def vectors(self) -> Features:
        if "vectors" not in self._cache:
            self._cache["vectors"] = self._job.work.word2vec(self._job.corpus(), **settings.WORD2VEC)
        found: Features = self._cache["vectors"]
        return found

    def rows(self, vocabulary: textlds.Vocabulary) -> NDArray[np.int64]:
        """Return the rows of words whose tag is known."""
        return np.array([i for i, word in enumerate(vocabulary.words[: vocabulary.n_types]) if word in self.tags])

    def _counts(self) -> textlds.LagCounts:
        return self._job.work.counts(self._job.corpus())

    def purity(self, lists: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return the share of the dominant tag, by list and on average.

        Args:
            lists: Of words whose tag is known.
        """
        found = [Counter(self.tags[word] for word in words).most_common(1)[0][1] / len(words) for words in lists]
        return {"purity": float(np.mean(found)), "purities": found}

    def likeness(self, lists: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return the mean cosine of two words, by list and on average."""
        found = []
        for words in lists:
            vectors = self.vectors([words])
            cosines = vectors @ vectors.T
            n = len(words)
            found.append(float((cosines.sum() - np.trace(cosines)) / max(n * (n - 1), 1)))
        return {"likeness": float(np.mean(found)), "likenesses": found}

    def lift(self, before: Sequence[str], after: Sequence[str]) -> float:
        """Return log2 of how much oftener than by chance a word of ``after`` follows one of ``before``.

        One pair of words is added to what was counted and to what is expected, so that rare words prove nothing.
        """
        counts = self._counts()
        earlier, later = (counts.vocabulary.ids(words) for words in (before, after))
        follows = counts.lags[0].tocsr()  # [later, earlier]
        expected = float(counts.unigrams[earlier].sum()) * float(counts.unigrams[later].sum()) / counts.tokens
        return float(np.log2((float(follows[later][:, earlier].sum()) + 1) / (expected + 1)))

    def chance(self, n: int) -> dict[str, Any]:
        """Return the structure of n lists of random words, and of the pairs that neighbours among them make."""
        vocabulary = self._counts().vocabulary
        rows, rng = self.rows(vocabulary), np.random.default_rng(0)
        picked = [rng.choice(rows, min(WORDS, len(rows)), replace=False) for _ in range(n)]
        lists = [[vocabulary.words[i] for i in some] for some in picked]
        purity, likeness = self.purity(lists)["purity"], self.likeness(lists)["likeness"]
        lifts = list(map(self.lift, lists[::2], lists[1::2]))
        return {"lift": float(np.mean(lifts)), "purity": purity, "likeness": likeness}
