"""Table 1: what the transition matrix does, in words, after EM and after subspace identification alone.

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
from textlds.corpus.reading.tagged import read_tagged
from textlds.evaluation.features import Features
from textlds.model.exploring import transitions

TITLE = "The transitions of the state (Table 1)"
NEEDS = ("text", "ewt")
KINDS = {"EM": {}, "subspace identification": {"iterations": 0}}
WORDS = 9  # in a list, as in the paper
SHOWN = 6  # pairs of each sort
CHANCE = 400  # lists of random words


def cells(job: Job, store: Store) -> list[Cell]:
    """Return a cell for each way of learning and each seed, and one of random lists."""
    corpus = job.corpus()
    judge = _Judge(job)
    made = []
    for seed in range(job.seeds):
        for kind, change in KINDS.items():
            fit = {**job.fit, **change, "seed": seed}
            made.append(
                Cell(
                    f"{kind} / seed {seed}",
                    {"fit": fit, "count": corpus.count, "tokens": corpus.tokens},
                    lambda fit=fit: _measure(job.work.model(corpus, **fit), judge),  # type: ignore[misc]
                )
            )
    chance = {"lists": CHANCE, "count": corpus.count, "tokens": corpus.tokens}
    return [*made, Cell("random words", chance, lambda: judge.chance(CHANCE))]


def _measure(model: textlds.TextLDS, judge: _Judge) -> dict[str, Any]:
    """Return how much structure the transitions of a model have, and some of them."""
    params, h = model.params.normalised(), model.state_size
    U, strengths, Vt = np.linalg.svd(params.A)
    stays = np.abs(np.einsum("ji,ij->i", U, Vt))  # 1: A leads this state to itself, 0: to one unlike it
    rows = judge.rows(model.vocabulary)
    known = transitions(params.A, params.C[rows], model.vocabulary, h, WORDS, common=rows)
    found = judge.structure([words for pair in known for words in (pair.source, pair.target)])
    lifts = [judge.lift(pair.source, pair.target) for pair in known]
    alike = np.reshape(found["likenesses"], (-1, 2)).mean(axis=1)
    best = [int(i) for i in np.argsort(-alike, kind="stable") if i >= SHOWN][:SHOWN]
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
                "likeness": alike[i],
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

    def structure(self, lists: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Return purity (share of the dominant tag) and likeness (mean cosine of two words), by list and on average.

        Args:
            lists: Of words whose tag is known.
        """
        purity = [Counter(self.tags[word] for word in words).most_common(1)[0][1] / len(words) for words in lists]
        likeness = []
        for words in lists:
            vectors = self.vectors([words])
            cosines = vectors @ vectors.T
            n = len(words)
            likeness.append(float((cosines.sum() - np.trace(cosines)) / max(n * (n - 1), 1)))
        return {
            "purity": float(np.mean(purity)),
            "likeness": float(np.mean(likeness)),
            "purities": purity,
            "likenesses": likeness,
        }

    def lift(self, before: Sequence[str], after: Sequence[str]) -> float:
        """Return log2 of how much oftener than by chance a word of ``after`` follows one of ``before``.

        One pair of words is added to what was counted and to what is expected, so that rare words prove nothing.
        """
        counts = self._job.work.counts(self._job.corpus())
        earlier, later = (counts.vocabulary.ids(words) for words in (before, after))
        follows = counts.lags[0].tocsr()  # [later, earlier]
        expected = float(counts.unigrams[earlier].sum()) * float(counts.unigrams[later].sum()) / counts.tokens
        return float(np.log2((float(follows[later][:, earlier].sum()) + 1) / (expected + 1)))

    def chance(self, n: int) -> dict[str, Any]:
        """Return the structure of n lists of random words, and of the pairs that neighbours among them make."""
        vocabulary = self._job.work.counts(self._job.corpus()).vocabulary
        rows, rng = self.rows(vocabulary), np.random.default_rng(0)
        picked = [rng.choice(rows, min(WORDS, len(rows)), replace=False) for _ in range(n)]
        lists = [[vocabulary.words[i] for i in some] for some in picked]
        found, lifts = self.structure(lists), list(map(self.lift, lists[::2], lists[1::2]))
        return {"lift": float(np.mean(lifts)), "purity": found["purity"], "likeness": found["likeness"]}
