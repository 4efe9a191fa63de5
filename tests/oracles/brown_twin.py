"""Brown clustering as defined: every merger tried, mutual information computed from scratch each time."""

from __future__ import annotations

import itertools

import numpy as np


def clusters(bigrams, order, k):
    """Return the k clusters and the mergers that make one of them, as sets of words.

    Args:
        bigrams: (V, V), [first, second].
        order: Words as they enter.
        k: Size of the window.
    """
    found: list[list[int]] = []
    for word in order:
        found.append([int(word)])
        if len(found) > k:
            found, _ = best_merger(bigrams, found)
    final = [frozenset(cluster) for cluster in found]
    mergers = []
    while len(found) > 1:
        found, pair = best_merger(bigrams, found)
        mergers.append(pair)
    return set(final), mergers


def best_merger(bigrams, found):
    """Merge the pair that leaves most information between neighbouring clusters."""
    options = []
    for i, j in itertools.combinations(range(len(found)), 2):
        rest = [cluster for x, cluster in enumerate(found) if x not in (i, j)]
        options.append((information(bigrams, [*rest, found[i] + found[j]]), i, j))
    _, i, j = max(options)
    rest = [cluster for x, cluster in enumerate(found) if x not in (i, j)]
    return [*rest, found[i] + found[j]], frozenset((frozenset(found[i]), frozenset(found[j])))


def information(bigrams, found):
    """Return Σ p(c, d) log p(c, d) / (p(c) p(d)) over clusters; words outside them count in no sum but the total."""
    total = bigrams.sum()
    first, second = bigrams.sum(axis=1) / total, bigrams.sum(axis=0) / total
    value = 0.0
    for c, d in itertools.product(found, found):
        p = bigrams[np.ix_(c, d)].sum() / total
        if p > 0:
            value += p * np.log(p / (first[c].sum() * second[d].sum()))
    return value
