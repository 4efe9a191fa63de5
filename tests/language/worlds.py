"""Texts of a Markov chain whose entropy is known, and the slow twins of what a language model computes."""

from __future__ import annotations

import itertools

import numpy as np

from model.worlds import SETTINGS, counts_of, fit, names
from oracles.synthetic import markov_kernel
from textlds.language.contexts import NONE, Contexts

V = 30


def kernel(V=V):
    """Return P[later, earlier] of the chain."""
    return markov_kernel(3, V=V, classes=5)


def chain(n, *, seed=0, V=V):
    """Return n words of the chain."""
    rng = np.random.default_rng(seed)
    sums = np.cumsum(kernel(V), axis=0)
    words, state, text = names(V), 0, []
    for draw in rng.random(n):
        state = min(int(np.searchsorted(sums[:, state], draw)), V - 1)
        text.append(words[state])
    return text


def chain_bits(text, V=V):
    """Return the true surprisal of every word but the first."""
    rows = {word: row for row, word in enumerate(names(V))}
    P = kernel(V)
    return np.array([-np.log2(P[rows[b], rows[a]]) for a, b in itertools.pairwise(text)])


def chain_counts(text, settings=SETTINGS):
    """Count the chain, sentence by sentence of 25 words."""
    return counts_of([text[i : i + 25] for i in range(0, len(text), 25)], words=names(V), settings=settings)


def chain_model(text, **options):
    """Fit a model to the chain."""
    return fit(chain_counts(text), **{"state_size": 4, "iterations": 10, "pseudocount": 20, **options})


def random_contexts(model, n, seed=0):
    """Return contexts as a filter could have left them, some at the beginning of a text."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, len(model.vocabulary), (n, 2)).astype(np.int32)
    before = rng.standard_normal((n, model.state_size)).astype(np.float32)
    words[::7], before[::7] = NONE, 0
    words[1::7, 1], before[1::7] = NONE, 0
    return Contexts(words, before)


def rows_of_text(model, tokens):
    """Return the row of each token."""
    return np.array([model.vocabulary.id(token) for token in tokens], np.int32)
