"""How good predictions are, and whether one set of them is better than another by more than chance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textlds.errors import ArgumentError
from textlds.tagging.entities import entities

Tags = Sequence[Sequence[str]]
Bools = NDArray[np.bool_]


class _Result:
    """A result that can be written as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values, None for NaN."""
        values: dict[str, Any] = asdict(self)  # type: ignore[call-overload]  # every result is a dataclass
        return {name: None if value != value else value for name, value in values.items()}


@dataclass(frozen=True)
class Accuracy(_Result):
    """Shares of tokens with the right tag, in per cent (NaN where there are no tokens), and of how many.

    A word is known if it occurs in the data that the tagger learnt from, in the same spelling.
    """

    all: float
    known: float
    unknown: float
    tokens: int
    unknown_tokens: int


@dataclass(frozen=True)
class McNemar(_Result):
    """Tokens that only one of two taggers has right, and the probability of so uneven a split by chance."""

    only_first: int
    only_second: int
    p: float


@dataclass(frozen=True)
class EntityF1(_Result):
    """Entities found exactly: per cent."""

    precision: float
    recall: float
    f1: float
    by_kind: dict[str, float]
    entities: int


@dataclass(frozen=True)
class Randomisation(_Result):
    """How much higher the F1 of the second is, in points, and how often chance alone would give as much."""

    difference: float
    p: float
    rounds: int


@dataclass(frozen=True)
class Correlation(_Result):
    """Spearman's rank correlation over the pairs that were found (NaN for fewer than two)."""

    rho: float
    found: int
    pairs: int


def right(gold: Tags, predicted: Tags) -> Bools:
    """Return for every token whether its tag is right, one sentence after the other."""
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ArgumentError("the predicted tags are not those of the same sentences: their lengths differ.")
    pairs = zip(gold, predicted, strict=True)
    return np.array([a == b for tags, other in pairs for a, b in zip(tags, other, strict=True)], bool)


def accuracy(gold: Tags, predicted: Tags, tokens: Sequence[Sequence[str]], known: Collection[str]) -> Accuracy:
    """Compare predicted tags with the right ones, on all tokens and on those that were seen in training and not.

    Args:
        gold: The right tags of every sentence.
        predicted: The tags to judge.
        tokens: The words.
        known: All words of the training data, in a set or a dictionary.
    """
    hits = right(gold, predicted)
    seen = np.array([token in known for sentence in tokens for token in sentence], bool)
    return Accuracy(
        _per_cent(hits), _per_cent(hits[seen]), _per_cent(hits[~seen]), len(hits), int(np.count_nonzero(~seen))
    )


def mcnemar(first: Bools, second: Bools) -> McNemar:
    """Test whether two taggers are equally often right: the exact binomial test of the tokens they differ on.

    Args:
        first: Whether each token is right, see :func:`right`.
        second: The same of the other tagger, for the same tokens.
    """
    from scipy.stats import binomtest

    only_first, only_second = int(np.count_nonzero(first & ~second)), int(np.count_nonzero(second & ~first))
    differ = only_first + only_second
    p = float(binomtest(only_first, differ, 0.5).pvalue) if differ else 1.0
    return McNemar(only_first, only_second, p)


def entity_f1(gold: Tags, predicted: Tags) -> EntityF1:
    """Return precision, recall and F1 of entities whose limits and kind are exactly right, as conlleval does.

    Args:
        gold: The right tags of every sentence, in any scheme of entity tags.
        predicted: The tags to judge.
    """
    there, found = ({(n, *one) for n, tags in enumerate(some) for one in entities(tags)} for some in (gold, predicted))
    both = len(there & found)
    kinds = {kind: _f1_of(there, found, kind) for kind in sorted({one[-1] for one in there | found})}
    f1 = 200 * both / max(len(there) + len(found), 1)
    return EntityF1(100 * both / max(len(found), 1), 100 * both / max(len(there), 1), f1, kinds, len(there))


def _f1_of(gold: set[Any], predicted: set[Any], kind: str) -> float:
    own, other = ({entity for entity in some if entity[-1] == kind} for some in (gold, predicted))
    return 200 * len(own & other) / (len(own) + len(other))


def randomisation_test(gold: Tags, first: Tags, second: Tags, *, rounds: int = 10_000, seed: int = 0) -> Randomisation:
    """Test whether two taggers have the same F1, by approximate randomisation (Noreen 1989).

    In every round the two swap their predictions for each sentence by the toss of a coin; p is the share of rounds with
    as large a difference of F1 (two-sided; the data itself counts as a round). Cost: O(rounds · sentences).

    Args:
        gold: The right tags of every sentence, in any scheme of entity tags.
        first: The tags that one predicts.
        second: The tags that the other predicts.
        rounds: How many.
        seed: Of the coin.
    """
    found = _entity_counts(gold, first), _entity_counts(gold, second)
    totals = [counts.sum(axis=0) for counts in found]
    observed = float(_f1(totals[1]) - _f1(totals[0]))
    step = found[1] - found[0]  # what a swap of a sentence adds to the first's totals and takes from the second's
    generator = np.random.default_rng(seed)
    as_large, block = 0, 500
    for start in range(0, rounds, block):
        coins = generator.integers(0, 2, size=(min(block, rounds - start), len(step)), dtype=np.uint8)
        moved = coins.astype(np.float64) @ step
        difference = _f1(totals[1] - moved) - _f1(totals[0] + moved)
        as_large += int(np.count_nonzero(np.abs(difference) >= abs(observed) - 1e-9))
    return Randomisation(observed, (as_large + 1) / (rounds + 1), rounds)


def spearman(expected: ArrayLike, predicted: ArrayLike) -> Correlation:
    """Return the rank correlation of predicted similarities (NaN where a word is not known) with people's."""
    from scipy.stats import spearmanr

    x, y = np.asarray(expected, float), np.asarray(predicted, float)
    found = np.isfinite(y)
    several = np.unique(x[found]).size > 1 and np.unique(y[found]).size > 1  # ranks need something to rank
    rho = float(spearmanr(x[found], y[found]).statistic) if several else float("nan")
    return Correlation(rho, int(found.sum()), len(x))


def _per_cent(hits: Bools) -> float:
    return 100 * float(hits.mean()) if hits.size else float("nan")


def _entity_counts(gold: Tags, predicted: Tags) -> NDArray[np.float64]:
    """Return how many entities are found exactly, predicted, and right, of every sentence, (sentences, 3)."""
    sets = [(set(entities(a)), set(entities(b))) for a, b in zip(gold, predicted, strict=True)]
    return np.array([(len(a & b), len(b), len(a)) for a, b in sets], float).reshape(-1, 3)


def _f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F1 in per cent from counts (..., 3): 2 found / (predicted + right)."""
    result: NDArray[np.float64] = 200 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1)
    return result
