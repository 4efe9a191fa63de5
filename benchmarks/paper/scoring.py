"""One number for a model: what the local tagger reads off its vectors on a development set."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.paper.job import Job
from benchmarks.paper.treebanks import Bank, sentences
from textlds.corpus.reading.tagged import Tagged
from textlds.evaluation.features import Features
from textlds.evaluation.local import train_local
from textlds.evaluation.measures import right
from textlds.evaluation.network import NetworkSettings


class TaggingScore:
    """Accuracy on a treebank's development set, universal tags, in per cent.

    The classifier is the paper's, with one setting and one seed for all that is compared: many models are.

    Args:
        job: Where the treebank is, and how much of it to learn from.
        bank: Which one.
    """

    def __init__(self, job: Job, bank: Bank) -> None:
        self._job, self._bank = job, bank
        self._network = NetworkSettings()
        self._parts: dict[str, list[Tagged]] = {}

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides a score besides the vectors."""
        return {**asdict(self._network), "sentences": self._job.scale.base_sentences}

    def __call__(self, features: Features) -> float:
        """Return the accuracy of vectors."""
        train, dev = self._part("train")[: self._job.scale.base_sentences], self._part("dev")
        (tagger,) = train_local(train, dev, features, grid=[self._network])
        tokens = [sentence.tokens for sentence in dev]
        hits = right([sentence.tags for sentence in dev], tagger.predict(tokens, features(tokens)))
        return 100 * float(np.mean(hits))

    def _part(self, part: Any) -> list[Tagged]:
        if part not in self._parts:
            self._parts[part] = sentences(self._job.data, self._bank, part)
        return self._parts[part]
