"""Interpolation weights: the maximum, by buckets."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from textlds.language import mixture as module
from textlds.language.mixture import fit_mixture


def test_weights_are_at_the_maximum(monkeypatch):
    monkeypatch.setattr(module, "_LEAST", 0.0)
    monkeypatch.setattr(module, "_TOLERANCE", 1e-12)
    monkeypatch.setattr(module, "_ROUNDS", 5000)
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 500) ** 2
    found = fit_mixture(P, np.full(500, 100.0))

    def loss(free):
        weights = np.exp(np.append(free, 0)) / np.exp(np.append(free, 0)).sum()
        return -np.log(P @ weights).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    expected = np.exp(np.append(best.x, 0)) / np.exp(np.append(best.x, 0)).sum()
    np.testing.assert_allclose(found.rows(np.array([100.0]))[0], expected, atol=1e-4)


def test_buckets_have_weights_of_their_own():
    """After rare words the first part is right, after frequent ones the second."""
    rng = np.random.default_rng(1)
    seen = np.where(rng.random(4000) < 0.5, 2.0, 1000.0)
    good, bad = np.full(4000, 0.5), np.full(4000, 0.05)
    P = np.stack([np.where(seen < 10, good, bad), np.where(seen < 10, bad, good)], axis=1)
    rare, frequent, none = fit_mixture(P, seen).rows(np.array([2.0, 1000.0, 0.0]))
    assert rare[0] > 0.95
    assert frequent[1] > 0.95
    np.testing.assert_allclose(none, [0.5, 0.5], atol=0.05)  # a bucket without tokens does as all do


def test_weights_are_probabilities_and_the_unigram_never_vanishes():
    P = np.stack([np.full(300, 1e-9), np.full(300, 0.9)], axis=1)
    weights = fit_mixture(P, np.full(300, 5.0)).weights
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights[:, 0] >= 0.9e-4).all()
