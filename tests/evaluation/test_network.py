"""The network's gradients are those of finite differences, and it learns what scikit-learn's learns."""

from __future__ import annotations

import numpy as np
import pytest

from textlds.evaluation.network import NetworkSettings, Weights, _drop, gradients, train_network


def random_weights(d: int, hidden: int, n_classes: int, seed: int = 0) -> Weights:
    rng = np.random.default_rng(seed)
    shapes = (d, hidden), (hidden,), (hidden, n_classes), (n_classes,)
    return Weights(*(rng.standard_normal(shape) for shape in shapes))  # float64, for the differences


def loss(x, y, weights) -> float:
    scores = np.tanh(x @ weights.inner + weights.inner_bias) @ weights.outer + weights.outer_bias
    return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]))


def test_gradients_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((7, 4)), rng.integers(0, 3, 7)
    weights = random_weights(4, 5, 3)
    found = gradients(x, y, weights)
    for name in Weights._fields:
        array, step = getattr(weights, name), 1e-6
        expected = np.empty_like(array)
        for place in np.ndindex(array.shape):
            value = array[place]
            array[place] = value + step
            above = loss(x, y, weights)
            array[place] = value - step
            expected[place] = (above - loss(x, y, weights)) / (2 * step)
            array[place] = value
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6, atol=1e-8, err_msg=name)


def rings(n: int, seed: int):
    """Three rings around each other, on top of noise and scales that must not matter: no line tells them apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), y + rng.uniform(0.1, 0.7, n)
    noise = rng.standard_normal((n, 2))
    x = np.column_stack([1000 * radius * np.cos(angle) + 50, radius * np.sin(angle), noise, np.full(n, 7)])
    return x.astype(np.float32), y


def test_it_learns_what_separates_and_what_scikit_learn_learns() -> None:
    from sklearn.neural_network import MLPClassifier

    (x, y), (x_dev, y_dev), (x_test, y_test) = rings(3000, 0), rings(500, 1), rings(2000, 2)
    settings = NetworkSettings(hidden=20, learning_rate=1e-2)
    network = train_network(x, y, x_dev, y_dev, rows=np.arange(len(x)), n_classes=3, settings=settings)
    found = np.mean(network.predict(x_test) == y_test)
    scale = x.std(axis=0) + 1e-9
    peer = MLPClassifier(20, activation="tanh", learning_rate_init=1e-2, max_iter=150, random_state=0)
    peer.fit(x / scale, y)
    assert found > 0.97
    assert found > peer.score(x_test / scale, y_test) - 0.02


def test_dropout_keeps_the_mean() -> None:
    inputs = np.ones((400, 500), np.float32)
    _drop(inputs, 0.2, np.random.default_rng(0))
    assert np.mean(inputs == 0) == pytest.approx(0.2, abs=0.005)
    assert inputs.mean() == pytest.approx(1, abs=0.005)
    assert np.unique(inputs).size == 2
    assert abs(np.corrcoef(inputs[:, 0], inputs[:, 1])[0, 1]) < 0.15


def test_only_the_rows_asked_for_are_learnt_from() -> None:
    (x, y), (x_dev, y_dev) = rings(1000, 0), rings(300, 1)
    rows = np.arange(0, 1000, 2)
    settings = NetworkSettings(epochs=5, dropout=0.1)
    clean = train_network(x, y, x_dev, y_dev, rows=rows, n_classes=3, settings=settings, seed=4)
    spoilt_x, spoilt_y = x.copy(), y.copy()
    spoilt_x[1::2], spoilt_y[1::2] = np.nan, -1
    spoilt = train_network(spoilt_x, spoilt_y, x_dev, y_dev, rows=rows, n_classes=3, settings=settings, seed=4)
    for one, other in zip(clean.weights, spoilt.weights, strict=True):
        np.testing.assert_array_equal(one, other)  # and the same seed gives the same bits


def test_the_best_epoch_is_kept_and_training_ends() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((200, 30)).astype(np.float32), rng.integers(0, 2, 200)
    x_dev, y_dev = rng.standard_normal((60, 30)).astype(np.float32), rng.integers(0, 2, 60)  # nothing to be learnt

    def train(**options):
        settings = NetworkSettings(learning_rate=1e-2, **options)
        return train_network(x, y, x_dev, y_dev, rows=np.arange(200), n_classes=2, settings=settings)

    def hits(network) -> float:
        return float(np.mean(network.predict(x_dev) == y_dev))

    network = train(epochs=500)
    assert network.epochs < 100
    # with so much patience the rate never falls, and a run of n epochs is the beginning of a longer one
    curve = [hits(train(epochs=n, patience=99)) for n in range(1, 8)]
    assert curve == sorted(curve)
    assert curve[-1] > curve[0]
    longest = train(epochs=7, patience=99)
    assert longest.best_epoch == curve.index(max(curve)) + 1
    np.testing.assert_array_equal(longest.predict(x_dev), train(epochs=longest.best_epoch, patience=99).predict(x_dev))


def test_an_input_that_never_varies_is_no_noise() -> None:
    (x, y), (x_dev, y_dev) = rings(400, 0), rings(100, 1)
    settings = NetworkSettings(epochs=2)
    network = train_network(x, y, x_dev, y_dev, rows=np.arange(400), n_classes=3, settings=settings)
    assert network.scale[4] == 0
    moved = x_dev.copy()
    moved[:, 4] += 1e6
    np.testing.assert_array_equal(network.predict(moved), network.predict(x_dev))
    assert network.predict(x_dev[:0]).shape == (0,)
