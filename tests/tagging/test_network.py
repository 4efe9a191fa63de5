"""The network against dense formulas and finite differences."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from textlds.tagging.gradients import gradients, scatter
from textlds.tagging.network import Inputs, Part, Weights, add_bags, best_tags, joined, probabilities, scores

D, H, C, K, F, B = 4, 5, 2, 3, 6, 11
STARTS = np.array([0, 3, 3, 4, 9])


def world(seed=0, *, parts=True, features=True, second=True):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    n = STARTS[-1]
    tables = [normal(n, D), np.vstack([normal(4, D), np.zeros((1, D), np.float32)])]
    given = [Part(tables[0], np.arange(n)), Part(tables[1], rng.integers(-1, 4, n))] if parts else []
    buckets = rng.integers(-1, B, (n, F)).astype(np.int32) if features else np.empty((n, 0), np.int32)
    weights = Weights(
        vectors=normal(2 * D if parts else 0, H), features=normal(B if features else 0, H), bias=normal(H),
        around=normal(H, 3 * C if second else 0), around_bias=normal(C if second else 0),
        around_out=normal(C if second else 0, K), out=normal(H, K), out_bias=normal(K),
        first=normal(K), last=normal(K), transitions=normal(K, K),
    )  # fmt: skip
    return weights, Inputs(given, buckets, STARTS), rng.integers(0, K, n)


def dense_scores(w, inputs):
    """The equations of the module, token by token, in float64."""
    n = len(inputs)
    x = np.concatenate([p.table[p.rows] for p in inputs.parts], axis=1) if inputs.parts else np.zeros((n, 0))
    z = x.astype(np.float64) @ w.vectors + w.bias
    for t in range(n):
        for bucket in inputs.buckets[t]:
            z[t] += w.features[bucket] if bucket >= 0 else 0
    a = np.maximum(z, 0)
    c = np.tile(w.around_bias.astype(np.float64), (n, 1))
    units = len(w.around_bias)
    for begin, end in itertools.pairwise(inputs.starts):
        for t in range(begin, end):
            for place, at in enumerate((t - 1, t, t + 1)):
                if begin <= at < end:
                    c[t] += a[at] @ w.around[:, place * units : (place + 1) * units]
    return a @ w.out + np.maximum(c, 0) @ w.around_out + w.out_bias


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize(("parts", "features"), [(True, True), (True, False), (False, True)])
def test_scores(parts, features, second):
    weights, inputs, _ = world(parts=parts, features=features, second=second)
    np.testing.assert_allclose(scores(weights, inputs), dense_scores(weights, inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("parts", "features"), [(True, True), (True, False), (False, True)])
def test_joined_networks_are_their_mean(parts, features):
    _, inputs, _ = world(parts=parts, features=features)
    several = [world(seed, parts=parts, features=features)[0] for seed in (1, 2, 3)]
    several = [
        dataclasses.replace(w, transitions=np.where(np.eye(K), np.float32(-np.inf), w.transitions)) for w in several
    ]
    one = joined(several)
    assert (one.bias.shape, one.around_bias.shape) == ((3 * H,), (3 * C,))
    mean = np.mean([dense_scores(w, inputs) for w in several], axis=0)
    np.testing.assert_allclose(scores(one, inputs), mean, rtol=1e-4, atol=1e-4)
    for name in ("first", "last", "transitions"):
        np.testing.assert_allclose(getattr(one, name), np.mean([getattr(w, name) for w in several], axis=0), rtol=1e-5)
    assert {array.dtype for array in vars(one).values()} == {np.dtype(np.float32)}


def loss_of(w, inputs, gold):
    s = dense_scores(w, inputs)
    total = 0.0
    for a, b in itertools.pairwise(STARTS):
        if b == a:
            continue
        alpha = w.first + s[a]
        path = w.first[gold[a]] + s[a, gold[a]]
        for t in range(a + 1, b):
            alpha = s[t] + np.logaddexp.reduce(alpha[:, None] + w.transitions, axis=0)
            path += w.transitions[gold[t - 1], gold[t]] + s[t, gold[t]]
        total += np.logaddexp.reduce(alpha + w.last) - path - w.last[gold[b - 1]]
    return total / len(gold)


@pytest.mark.parametrize("second", [True, False])
def test_gradients_against_finite_differences(second):
    weights, inputs, gold = world(3, second=second)
    generator = np.random.default_rng(0)
    scale = np.ones(2 * D, np.float32)
    loss, found, hidden, buckets = gradients(weights, inputs, gold, scale, (0, 0, 0), generator)
    precise = Weights(**{f.name: getattr(weights, f.name).astype(np.float64) for f in dataclasses.fields(Weights)})
    assert loss == pytest.approx(loss_of(precise, inputs, gold), rel=1e-5)
    rows, sums = scatter(hidden, buckets, np.full(B, -1, np.int32))
    found["features"] = np.zeros((B, H), np.float32)
    found["features"][rows] = sums
    assert set(found) == {f.name for f in dataclasses.fields(Weights) if getattr(weights, f.name).size}
    for name, gradient in found.items():
        array = getattr(precise, name)
        for place in np.ndindex(array.shape):
            kept = array[place]
            array[place] = kept + 1e-5
            above = loss_of(precise, inputs, gold)
            array[place] = kept - 1e-5
            below = loss_of(precise, inputs, gold)
            array[place] = kept
            assert gradient[place] == pytest.approx((above - below) / 2e-5, abs=2e-4), (name, place)


def test_a_token_alone_has_no_memory():
    """Leaving out what is about the rest of a document is the same as having none of it."""
    weights, inputs, gold = world(5)
    scale = np.ones(2 * D, np.float32)
    alone = np.arange(len(inputs)) % 3 == 0
    with_memory = dataclasses.replace(inputs, memories=((1,), (0, 2)), buckets=inputs.buckets.copy())
    found = gradients(weights, with_memory, gold, scale, (0, 0, 0), np.random.default_rng(0), alone)
    rows, buckets = inputs.parts[1].rows.copy(), inputs.buckets.copy()
    rows[alone] = -1
    buckets[alone, 0] = buckets[alone, 2] = -1
    without = Inputs([inputs.parts[0], Part(inputs.parts[1].table, rows)], buckets, inputs.starts)
    expected = gradients(weights, without, gold, scale, (0, 0, 0), np.random.default_rng(0))
    assert found[0] == expected[0]
    assert all(np.array_equal(found[1][name], expected[1][name]) for name in expected[1])
    assert np.array_equal(found[3], expected[3])


def test_dropout_leaves_the_mean():
    weights, inputs, gold = world(4)
    generator = np.random.default_rng(0)
    scale = np.ones(2 * D, np.float32)
    whole = gradients(weights, inputs, gold, scale, (0, 0, 0), generator)
    some = [gradients(weights, inputs, gold, scale, (0, 0, 0.5), generator)[3] for _ in range(200)]
    shares = np.mean([buckets >= 0 for buckets in some], axis=0)
    given = inputs.buckets >= 0
    assert abs(shares[given].mean() - 0.5) < 0.05
    assert not shares[~given].any()
    assert (whole[3] == inputs.buckets).all()


def test_bags_are_sums():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((20, 7)).astype(np.float32)
    buckets = rng.integers(-1, 20, (50, 9)).astype(np.int32)
    buckets[:10] = np.abs(buckets[:10])
    out = np.zeros((50, 7), np.float32)
    add_bags(table, buckets, out)
    padded = np.vstack([table, np.zeros((1, 7), np.float32)])
    np.testing.assert_allclose(out, padded[buckets].sum(axis=1), atol=1e-5)


def test_a_temperature_flattens():
    weights, inputs, _ = world()
    scored = scores(weights, inputs)
    sharp = probabilities(weights, scored, STARTS, 0.25)
    flat = probabilities(weights, scored, STARTS, 500.0)
    np.testing.assert_allclose(sharp.sum(axis=1), 1)
    np.testing.assert_allclose(flat, 1 / K, atol=0.2)
    best = best_tags(weights, scored, STARTS)
    assert sharp[np.arange(len(best)), best].mean() > flat[np.arange(len(best)), best].mean()
