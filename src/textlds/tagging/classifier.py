"""The tagger's network on matrices of token vectors, whoever made them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.errors import ArgumentError
from textlds.tagging.network import Floats, Inputs, Ints, Part, Weights, best_tags, probabilities, scores
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.training import Problem, train_network

Matrices = Sequence[NDArray[Any]]


class ChainClassifier:
    """Labels the rows of matrices, each a sentence: a hidden layer and a chain of labels with learnt transitions.

    Args:
        settings: How the network is made and trained; it is one, whatever ``networks`` says.
        seed: The same seed gives the same network.

    Attributes:
        classes_: The labels, in order.
        weights_: Of the network.
    """

    def __init__(self, settings: TaggerSettings | None = None, *, seed: int = 0) -> None:
        self.settings, self.seed = settings or TaggerSettings(), seed

    def fit(self, matrices: Matrices, labels: Sequence[Sequence[Hashable]]) -> ChainClassifier:
        """Train on matrices, (tokens, d) each, and the labels of their rows; a tenth is set aside to choose on."""
        pairs = [pair for pair in zip(matrices, labels, strict=True) if len(pair[0])]
        classes = np.unique(np.array([label for _, some in pairs for label in some]))
        if len(classes) < 2:
            raise ArgumentError(f"the labels are all {classes.tolist()}; a classifier needs two at least.")
        order = np.random.default_rng([self.seed, 1]).permutation(len(pairs))
        held = set(order[: len(pairs) // 10].tolist()) or set(range(len(pairs)))
        kept = [pair for number, pair in enumerate(pairs) if number not in held or len(held) == len(pairs)]
        inputs, gold = _inputs([m for m, _ in kept]), _numbers([some for _, some in kept], classes)
        dev = [pairs[number] for number in sorted(held)]
        dev_inputs, dev_gold = _inputs([m for m, _ in dev]), _numbers([some for _, some in dev], classes)

        def judge(weights: Weights) -> float:
            return float(np.mean(best_tags(weights, scores(weights, dev_inputs), dev_inputs.starts) == dev_gold))

        problem = Problem(inputs, gold, np.zeros((len(classes),) * 2, bool))
        self.classes_ = classes
        self.weights_ = train_network(problem, judge, self.settings, seed=self.seed).weights
        return self

    def predict(self, matrices: Matrices) -> list[NDArray[Any]]:
        """Return the labels of every matrix."""
        inputs = _inputs(matrices, len(self.weights_.vectors))
        best = best_tags(self.weights_, scores(self.weights_, inputs), inputs.starts)
        return np.split(self.classes_[best], inputs.starts[1:-1])[: len(matrices)]

    def predict_proba(self, matrices: Matrices) -> list[NDArray[Any]]:
        """Return the probabilities of the labels of every matrix, (tokens, classes) each."""
        inputs = _inputs(matrices, len(self.weights_.vectors))
        shares = probabilities(self.weights_, scores(self.weights_, inputs), inputs.starts)
        return np.split(shares, inputs.starts[1:-1])[: len(matrices)]


def _inputs(matrices: Matrices, width: int = 0) -> Inputs:
    table: Floats = np.concatenate([np.empty((0, width), np.float32), *matrices]) if width else np.concatenate(matrices)
    starts = np.cumsum([0, *map(len, matrices)])
    rows = np.arange(len(table))
    return Inputs([Part(np.ascontiguousarray(table, np.float32), rows)], np.empty((len(rows), 0), np.int32), starts)


def _numbers(labels: Sequence[Sequence[Hashable]], classes: NDArray[Any]) -> Ints:
    flat = np.array([label for some in labels for label in some])
    return np.searchsorted(classes, flat)
