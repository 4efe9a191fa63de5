"""Profiles from spelling: dense ridge regression as the twin, and words that were never seen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from textlds.lexicon import spelling
from textlds.lexicon.features import spelling_features
from textlds.lexicon.spelling import STEPS, SpellingMatrix, bucket_count, fit_spelling

STEMS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("nd", "rk", "st", "lt")]
ENDINGS = {"s": 0, "ing": 1, "ly": 2, "ness": 3}


@pytest.fixture(scope="module")
def world():
    """Words whose profile is that of their ending, with noise, and how often each was seen."""
    rng = np.random.default_rng(0)
    words = [stem + ending for stem in STEMS for ending in ENDINGS]
    means = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    rows = np.array([means[ENDINGS[ending]] for _ in STEMS for ending in ENDINGS])
    rows += 0.3 * rng.standard_normal(rows.shape)
    profiles = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return words, rng.integers(1, 2000, len(words)), profiles, means


def dense(words, buckets):
    indptr, indices = spelling_features(words, buckets)
    X = np.zeros((len(words), buckets))
    for row, (a, b) in enumerate(itertools.pairwise(indptr)):
        for bucket in indices[a:b]:
            X[row, bucket] += 1 / np.sqrt(b - a)
    return X


def test_products_are_dense_ones(world):
    words, seen, profiles, _ = world
    X, matrix = dense(words, 1024), SpellingMatrix(words, 1024, threads=2)
    table = np.random.default_rng(1).standard_normal((1024, 5)).astype(np.float32)
    np.testing.assert_allclose(matrix.times(table), X @ table, atol=1e-4)
    np.testing.assert_allclose(
        matrix.transposed(profiles, seen / 100), X.T @ (seen[:, None] / 100 * profiles), rtol=1e-4, atol=1e-3
    )


def test_converges_to_the_ridge_regression(world, monkeypatch):
    words, seen, profiles, _ = world
    monkeypatch.setattr(spelling, "STEPS", 200)
    found = fit_spelling(words, seen, profiles, threads=1)
    X, trust = dense(words, bucket_count(len(words))), seen / (seen + 100)
    expected = np.linalg.solve(X.T @ (trust[:, None] * X) + 2 * np.eye(X.shape[1]), X.T @ (trust[:, None] * profiles))
    np.testing.assert_allclose(X @ found, X @ expected, atol=1e-4)
    monkeypatch.undo()
    early = fit_spelling(words, seen, profiles, threads=1)
    distance = np.linalg.norm(X @ early - X @ expected) / np.linalg.norm(X @ expected)
    assert distance < 0.02  # the ten steps of a fit are nearly there


def test_words_that_were_never_seen(world):
    words, seen, profiles, means = world
    table = fit_spelling(words, seen, profiles, threads=1)
    new = [stem + ending for stem in ("blorp", "quizz", "vemp", "Xylo") for ending in ENDINGS]
    found = SpellingMatrix(new, len(table)).times(table)
    nearest = np.argmax(found @ means.T, axis=1)
    assert nearest.tolist() == [ENDINGS[ending] for _ in range(4) for ending in ENDINGS]


def test_a_profile_that_cannot_be_trusted_counts_less(world):
    """Words of one ending have wrong profiles; seen once each they do no harm, seen often they do."""
    words, _, profiles, means = world
    wrong = profiles.copy()
    wrong[0::8] = means[4]  # half of those in -s
    seen = np.full(len(words), 500)
    for count, harmed in ((0, False), (100_000, True)):
        seen[0::8] = count
        table = fit_spelling(words, seen, wrong, threads=1)
        (found,) = SpellingMatrix(["blorps"], len(table)).times(table)
        assert (found @ means[4] > 0.25 * (found @ means[0])) == harmed


def test_words_without_a_profile_say_nothing(world, monkeypatch):
    monkeypatch.setattr(spelling, "STEPS", 100)  # on the way there, roundings differ
    words, seen, profiles, _ = world
    holes = profiles.copy()
    holes[10] = 0
    without = np.delete(np.arange(len(words)), 10)
    buckets = bucket_count(len(words))
    assert buckets == bucket_count(len(words) - 1)
    np.testing.assert_allclose(
        fit_spelling(words, seen, holes, threads=1),
        fit_spelling([words[i] for i in without], seen[without], profiles[without], threads=1),
        atol=1e-4,
    )


def test_the_same_bits_for_any_number_of_threads(world):
    words, seen, profiles, _ = world
    told = []
    one = fit_spelling(words, seen, profiles, threads=1, on_step=lambda: told.append(1))
    assert len(told) == STEPS
    for threads in (2, 5):
        assert fit_spelling(words, seen, profiles, threads=threads).tobytes() == one.tobytes()


@pytest.mark.parametrize(
    ("words", "buckets"), [(1, 1024), (1024, 1024), (1025, 2048), (40_000, 65_536), (10**6, 65_536)]
)
def test_buckets(words, buckets):
    assert bucket_count(words) == buckets


def test_profiles_of_zeros():
    found = fit_spelling(["a", "b"], np.array([3, 4]), np.zeros((2, 3), np.float32), threads=1)
    assert not found.any()
