"""The network of benchmarks.trials: one hidden layer, a head for each set of tags, a fixed number of epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from textlds.corpus.reading.tagged import Tagged, tags_of, tokens_of
from textlds.evaluation.features import Features, Vectors
from textlds.evaluation.local import MajorityTags

Hits = NDArray[np.bool_]
HIDDEN, DROPOUT, EPOCHS, BATCH, RATE = 128, 0.2, 14, 512, 2e-3  # the rate falls as a cosine
_NONE = -100  # a class that is not learnt


@dataclass(frozen=True)
class Head:
    """A set of tags.

    Attributes:
        names: How many there are.
        classes: Of the training words; those that need no network have none.
        given: Tags of the words of the development set that need no network, others have none.
        right: Tags of the development set.
    """

    names: int
    classes: NDArray[np.int64]
    given: NDArray[np.int64]
    right: NDArray[np.int64]


BLOCK = 50  # sentences that stay together: neighbours are of one document


class Bank:
    """A treebank with several sets of tags, cut into training words and measured ones, once or several times.

    Args:
        sentences: All of them, with every set of tags.
        pieces: Into how many pieces they are cut, block by block.
        folds: How many of these are measured, one after the other, each by a network that learnt from all others.
    """

    def __init__(self, sentences: Sequence[Sequence[Tagged]], *, pieces: int, folds: int) -> None:
        self.tokens = [sentence.tokens for sentence in sentences[0]]
        piece = np.arange(len(self.tokens)) // BLOCK % pieces
        owners = np.repeat(piece, [len(tokens) for tokens in self.tokens])
        self.splits: list[tuple[NDArray[np.bool_], list[Head]]] = []
        for fold in range(folds):
            parts = [
                [some[i] for i in np.flatnonzero(rows)] for rows in (piece != fold, piece == fold) for some in sentences
            ]
            heads = [_head(*pair) for pair in zip(parts[: len(sentences)], parts[len(sentences) :], strict=True)]
            self.splits.append((owners == fold, heads))


def _head(train: Sequence[Tagged], dev: Sequence[Tagged]) -> Head:
    majority = MajorityTags.learn(train)
    numbers = {name: number for number, name in enumerate(sorted(set(tags_of(train))))}

    def decided(some: Sequence[Tagged]) -> NDArray[np.int64]:
        tags = (majority.tag(token) for token in tokens_of(some))
        return np.array([_NONE if tag is None else numbers[tag] for tag in tags])

    classes = np.array([numbers[tag] for tag in tags_of(train)])
    right = np.array([numbers.get(tag, -1) for tag in tags_of(dev)])
    return Head(len(numbers), np.where(decided(train) == _NONE, classes, _NONE), decided(dev), right)


def measured(features: Features, bank: Bank, seeds: int) -> tuple[int, list[Hits]]:
    """Return how many numbers the vectors have, and which words are right, (seeds, n) for each set of tags."""
    torch.set_num_threads(1)
    vectors = features(bank.tokens)
    found = []
    for seed in range(seeds):
        folds = [run(vectors[~out], vectors[out], heads, seed) for out, heads in bank.splits]
        found.append([np.concatenate(hits) for hits in zip(*folds, strict=True)])
    return vectors.shape[1], [np.stack(hits) for hits in zip(*found, strict=True)]


def run(train: Vectors, dev: Vectors, heads: Sequence[Head], seed: int) -> list[Hits]:
    """Train one network and return which words of the development set it has right, for each set of tags."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.any([head.classes != _NONE for head in heads], axis=0))
    mean, deviation = train[rows].mean(axis=0), train[rows].std(axis=0) + 1e-6
    scale = (1 / deviation).astype(np.float32)
    inner = torch.randn(train.shape[1], HIDDEN) / np.sqrt(train.shape[1])
    bias = torch.zeros(HIDDEN)
    outer = [torch.randn(HIDDEN, head.names) / np.sqrt(HIDDEN) for head in heads]
    biases = [torch.zeros(head.names) for head in heads]
    weights = [inner, bias, *outer, *biases]
    for weight in weights:
        weight.requires_grad_()
    adam = torch.optim.Adam(weights, lr=RATE)
    steps = EPOCHS * -(-len(rows) // BATCH)
    falling = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-3)
    classes = [torch.from_numpy(head.classes) for head in heads]
    for _ in range(EPOCHS):
        order = rng.permutation(rows)
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            inputs = torch.nn.functional.dropout(torch.from_numpy((train[some] - mean) * scale), DROPOUT)
            hidden, chosen = torch.tanh(inputs @ inner + bias), torch.from_numpy(some)
            loss = torch.zeros(())
            for matrix, own, right in zip(outer, biases, classes, strict=True):
                loss = loss + torch.nn.functional.cross_entropy(
                    hidden @ matrix + own, right[chosen], ignore_index=_NONE
                )
            adam.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            falling.step()
    with torch.no_grad():
        hidden = torch.tanh(torch.from_numpy((dev - mean) * scale) @ inner + bias)
        scores = [hidden @ matrix + own for matrix, own in zip(outer, biases, strict=True)]
    return [_hits(head, score.argmax(dim=1).numpy()) for head, score in zip(heads, scores, strict=True)]


def _hits(head: Head, found: NDArray[np.int64]) -> Hits:
    hits: Hits = np.where(head.given == _NONE, found, head.given) == head.right
    return hits
