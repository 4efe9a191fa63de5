"""The regression against the plain objective, differentiated numerically and minimised by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import log_softmax

from textlds.language import logistic
from textlds.language.logistic import exponentiate, fit_logistic, loss_and_slope


def data(seed, N=600, K=4, d=3):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((N, d)) @ rng.standard_normal((d, d))).astype(np.float32)
    true = 0.7 * rng.standard_normal((K, d))
    logits = x @ true.T + np.log(1 / np.arange(1, K + 1))
    y = np.argmax(logits + rng.gumbel(size=(N, K)), axis=1)
    return x, y


def whitener(x):
    values, vectors = np.linalg.eigh(x.T.astype(float) @ x / len(x))
    return vectors / np.sqrt(values) @ vectors.T


def plain_loss(x, y, weights, bias):
    return -log_softmax(x.astype(float) @ weights.T + bias, axis=1)[np.arange(len(y)), y].sum()


@pytest.mark.parametrize("seed", range(3))
def test_loss_and_slope_are_those_of_the_plain_formula(seed):
    x, y = data(seed)
    K, d = 4, x.shape[1]
    rows = np.arange(0, len(y), 3)

    def loss(flat):
        return plain_loss(x[rows], y[rows], flat[: K * d].reshape(K, d), flat[K * d :]) / len(rows)

    def slope(flat):
        found = loss_and_slope(lambda r: x[r], y, rows, flat[: K * d].reshape(K, d), flat[K * d :], 1)
        assert found[0] / len(rows) == pytest.approx(loss(flat), rel=1e-5)
        return np.concatenate([found[1].ravel(), found[2]]) / len(rows)

    point = np.random.default_rng(seed).standard_normal(K * d + K)
    assert check_grad(loss, slope, point) < 1e-4


@pytest.mark.parametrize("penalty", [0.5, 30.0])
def test_the_minimum_is_the_one_that_brute_force_finds(penalty):
    x, y = data(1)
    K, d = 4, x.shape[1]
    H = whitener(x)
    counts = np.bincount(y, minlength=K).astype(float)

    def objective(flat):
        weights, bias = flat[: K * d].reshape(K, d), flat[K * d :]
        own = plain_loss(x, y, weights @ H, np.log(counts / counts.sum()) + bias)
        return own + 0.5 * penalty * (weights**2).sum() + 0.5 * logistic._BIAS_PENALTY * (bias**2).sum()

    best = minimize(objective, np.zeros(K * d + K), method="BFGS", options={"gtol": 1e-4})
    found = fit_logistic(lambda rows: x[rows], y, counts, H, penalty=penalty, iterations=200)
    bias = found.bias - np.log(counts / counts.sum())
    assert objective(np.concatenate([(found.weights @ np.linalg.inv(H)).ravel(), bias])) < best.fun * (1 + 1e-5)
    np.testing.assert_allclose(found.weights, best.x[: K * d].reshape(K, d) @ H, atol=0.03)
    np.testing.assert_allclose(bias, best.x[K * d :], atol=0.03)


def test_scale_and_mixing_of_the_features_do_not_matter():
    x, y = data(2)
    M = np.array([[100.0, 3, 0], [0, 0.01, 0], [1, 1, 1]], np.float32)
    counts = np.bincount(y, minlength=4).astype(float)
    fits = []
    for features in (x, x @ M):
        fitted = fit_logistic(lambda r, f=features: f[r], y, counts, whitener(features), penalty=5.0, iterations=100)
        fits.append(features @ fitted.weights.T + fitted.bias)
    np.testing.assert_allclose(*fits, atol=0.02)


def test_threads_and_stages_change_nothing_that_matters(monkeypatch):
    x, y = data(3, N=3000)
    counts = np.bincount(y, minlength=4).astype(float)
    monkeypatch.setattr(logistic, "_BLOCK", 128)

    def fit(threads):
        options = {"penalty": 1.0, "iterations": 60, "threads": threads}
        return fit_logistic(lambda rows: x[rows], y, counts, whitener(x), **options)

    one, two = fit(1), fit(2)
    assert one.weights.tobytes() == two.weights.tobytes()
    monkeypatch.setattr(logistic, "_ENOUGH", 500)
    np.testing.assert_allclose(fit(1).weights, one.weights, atol=0.01)


def test_classes_that_never_occur_keep_to_their_frequency():
    x, y = data(4)
    fitted = fit_logistic(
        lambda rows: x[rows], y, np.array([1.0, 1, 1, 1, 1e-6]), whitener(x), penalty=5, iterations=50
    )
    logits = (x @ fitted.weights.T + fitted.bias).astype(np.float32)
    exponentiate(logits)
    assert (logits > 0).all()
    assert logits[:, 4].max() < 1e-4


def test_exponentiate():
    logits = np.array([[1.0, 2, 3], [1000, 0, -1000]], np.float32)
    expected = np.exp(log_softmax(logits.astype(float), axis=1))
    totals = exponentiate(logits)
    np.testing.assert_allclose(logits, expected, atol=1e-6)
    np.testing.assert_allclose(totals, [np.log(np.exp([1, 2, 3]).sum()), 1000], rtol=1e-6)
