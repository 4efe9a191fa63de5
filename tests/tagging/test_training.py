"""Training: Adam as published, the same bits for a seed, and the same after an interruption."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from textlds.errors import ArgumentError, NotFiniteError
from textlds.tagging import training
from textlds.tagging.features import naming_columns
from textlds.tagging.gradients import adam, adam_rows
from textlds.tagging.network import Inputs, Part, best_tags, scores
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.training import Named, Problem, train_network

SETTINGS = TaggerSettings(hidden=6, batch=40, rounds=4)


def problem(seed=0, n=60):
    """Tags that the vector and the tag before decide together."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.standard_normal((starts[-1], 3)).astype(np.float32)
    gold = (x[:, 0] > 0).astype(np.int64)
    for a, b in itertools.pairwise(starts):
        for t in range(a + 1, b):
            gold[t] = 2 if gold[t - 1] == 1 and abs(x[t, 1]) < 1 else gold[t]
    buckets = rng.integers(0, 50, (starts[-1], 2)).astype(np.int32)
    return Problem(Inputs([Part(x, np.arange(len(x)))], buckets, starts), gold, np.zeros((3, 3), bool))


def judged(of):
    return lambda w: float(np.mean(best_tags(w, scores(w, of.inputs), of.inputs.starts) == of.gold))


def same(one, other):
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))


def test_it_learns():
    settings = dataclasses.replace(SETTINGS, hidden=12, dropout=0.0, rounds=12)
    trained = train_network(problem(n=600), judged(problem(1)), settings)
    assert trained.score > 0.85
    assert 1 <= trained.best_round <= trained.rounds <= 12


def test_the_same_seed_gives_the_same_bits():
    of = problem()
    one, two, other = (train_network(of, judged(of), SETTINGS, seed=seed).weights for seed in (5, 5, 6))
    assert same(one, two)
    assert not same(one, other)


class Store:
    """Keeps parts as a work folder does, and stops after some."""

    def __init__(self, folder: Path, stop: int) -> None:
        self.folder, self.stop, self.kept = folder, stop, 0

    def keep(self, name, write):
        self.kept += 1
        path = self.folder / f"{name}.{self.kept}"
        write(path)
        if self.kept == self.stop:
            raise KeyboardInterrupt
        return path

    def read(self, name, reader):
        return reader(self.folder / f"{name}.{self.kept}") if self.kept else None


def test_resumed_training_gives_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "_SAVED_EVERY", -1.0)
    of = problem()
    whole = train_network(of, judged(problem(1)), SETTINGS, seed=2)
    store = Store(tmp_path, 2)
    with pytest.raises(KeyboardInterrupt):
        train_network(of, judged(problem(1)), SETTINGS, seed=2, keeper=store)
    resumed = train_network(of, judged(problem(1)), SETTINGS, seed=2, keeper=store)
    assert same(whole.weights, resumed.weights)
    assert (whole.score, whole.best_round, whole.rounds) == (resumed.score, resumed.best_round, resumed.rounds)


def test_training_that_diverges_says_so():
    with np.errstate(all="ignore"), pytest.raises(NotFiniteError, match="learning_rate, now 1e\\+38"):
        train_network(problem(), lambda weights: 0.0, TaggerSettings(hidden=4, learning_rate=1e38))


def test_forbidden_transitions_stay_forbidden():
    of = problem()
    forbidden = np.zeros((3, 3), bool)
    forbidden[0, 1] = True
    gold = np.where(of.gold == 1, 2, of.gold)
    trained = train_network(Problem(of.inputs, gold, forbidden), judged(of), SETTINGS)
    assert np.isneginf(trained.weights.transitions[0, 1])
    assert np.isfinite(trained.weights.transitions[~forbidden]).all()


def test_features_that_training_has_not_seen_say_nothing():
    weights = train_network(problem(), judged(problem()), SETTINGS).weights
    assert weights.features[:50].any(axis=1).all()
    assert not weights.features[50:].any()


def test_adam_is_the_published_one():
    rng = np.random.default_rng(0)
    array, rate = rng.standard_normal(5).astype(np.float32), 0.01
    first, second, x = np.zeros(5, np.float32), np.zeros(5, np.float32), array.astype(np.float64)
    m, v = np.zeros(5), np.zeros(5)
    for t in range(1, 6):
        g = rng.standard_normal(5).astype(np.float32)
        adam(array, g, first, second, np.float32(rate / (1 - 0.9**t)), np.float32(1 / np.sqrt(1 - 0.999**t)))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g.astype(float) ** 2
        x -= rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(array, x, rtol=1e-4)
    table = np.tile(array, (3, 1))
    adam_rows(table, np.array([1]), np.ones((1, 5), np.float32), np.zeros((3, 5), np.float32),
              np.zeros((3, 5), np.float32), np.float32(0.1), np.float32(1))  # fmt: skip
    assert np.array_equal(table[0], array)
    assert (table[1] < array).all()


@pytest.mark.parametrize(
    ("hidden", "tags", "units"), [("auto", 2, 128), ("auto", 30, 128), ("auto", 31, 256), (7, 50, 7)]
)
def test_units_by_the_number_of_tags(hidden, tags, units):
    assert TaggerSettings(hidden=hidden).units(tags) == units


@pytest.mark.parametrize(
    "wrong",
    [{"hidden": 0}, {"hidden": "all"}, {"networks": 0}, {"dropout": 1.0}, {"learning_rate": 0.0}, {"rounds": 0}],
)
def test_settings_outside_their_limits(wrong):
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        TaggerSettings(**wrong)


def test_hidden_words_leave_no_feature_that_names_them():
    """Against a loop over tokens, templates and terms."""
    starts = np.array([0, 3, 3, 4, 9, 9])
    templates = (
        (("form", 0),), (("suffix2", 0), ("lower", 1)), (("lower", -1), ("lower", 0)), (("shape", 0),),
        (("lower", -2), ("lower", -1)), (("lower", 2),), (("suffix3", 1),),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(20):
        hidden = rng.random(9) < 0.4
        buckets = rng.integers(0, 50, (9, len(templates))).astype(np.int32)
        expected = buckets.copy()
        for begin, end in itertools.pairwise(starts.tolist()):
            for t in range(begin, end):
                for f, template in enumerate(templates):
                    for column, place in template:
                        if column in ("form", "lower") and abs(place) <= 1 and begin <= t + place < end:
                            expected[t, f] = -1 if hidden[t + place] else expected[t, f]
        Named(np.ones(9, np.int64), naming_columns(templates)).hide(buckets, starts, hidden)
        np.testing.assert_array_equal(buckets, expected)


def test_rare_words_are_hidden_as_often_as_asked():
    seen = []

    class Counting(Named):
        def hide(self, buckets, starts, hidden):
            seen.append(hidden.copy())
            super().hide(buckets, starts, hidden)

    n = 2000
    inputs = Inputs([], np.zeros((n, 1), np.int32), np.arange(0, n + 1, 10))
    often = np.where(np.arange(n) % 2, 3, 1)
    problem = Problem(inputs, np.arange(n) % 2, np.zeros((2, 2), bool), Counting(often, ((), (0,), ())))
    settings = TaggerSettings(hidden=2, around=2, rounds=1, batch=n, word_dropout=1.0)
    train_network(problem, lambda weights: 0.0, settings)
    assert np.mean(seen) == pytest.approx((1 / 2 + 1 / 4) / 2, abs=0.01)
    seen.clear()
    train_network(problem, lambda weights: 0.0, settings.replace(around=0, word_dropout="auto"))
    assert not seen
