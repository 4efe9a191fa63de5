"""Data simulated from a known model gives back what is identifiable of it, better with more data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg as sl

from oracles import gaussian
from oracles.comparing import eigenvalue_error, relative_error
from oracles.synthetic import sample_moments, simulate
from textlds.lds.noise import FullNoise
from textlds.lds.params import LDSParams
from textlds.learn.em import em_steps
from textlds.learn.ssid import random_start, subspace_identification

N, H, LAGS = 10, 3, 7
SIZES = (4_000, 400_000)
SEEDS = (0, 1)


def true_model(seed):
    """A model whose observations have unit covariance and no null direction, every eigenvalue of A well visible."""
    rng = np.random.default_rng(seed)
    rotation = 0.85 * np.array([[np.cos(0.9), -np.sin(0.9)], [np.sin(0.9), np.cos(0.9)]])
    T = np.eye(H) + 0.3 * rng.standard_normal((H, H))
    A = T @ sl.block_diag(rotation, -0.7) @ np.linalg.inv(T)
    cov = sl.solve_discrete_lyapunov(A, np.eye(H))
    C = np.linalg.qr(rng.standard_normal((N, H)))[0]
    C *= np.sqrt(0.8 / np.linalg.eigvalsh(C @ cov @ C.T)[-1])
    return LDSParams(A, C, np.eye(H), FullNoise(cov))


def implied(params, k):
    """Return C Aᵏ Σ Cᵀ, the lag covariance that a model speaks of."""
    return params.C @ np.linalg.matrix_power(params.A, k) @ params.cov_stationary() @ params.C.T


def after_em(start, moments, iterations):
    return next(itertools.islice(em_steps(start, moments), iterations, None)).params


@pytest.fixture(scope="module")
def experiments():
    """For each seed and size: the truth, the subspace estimate, and EM's from there."""
    results = {}
    for seed in SEEDS:
        truth = true_model(seed)
        for size in SIZES:
            moments = sample_moments(simulate(truth, size, seed=seed), LAGS)
            start = subspace_identification(moments, H, rng=np.random.default_rng(0))
            results[seed, size] = truth, start, after_em(start, moments, 400), moments
    return results


def mean_error(experiments, size, error):
    return np.mean([error(*experiments[seed, size]) for seed in SEEDS])


@pytest.mark.parametrize("which", ["subspace", "em"])
def test_eigenvalues_of_A(experiments, which):
    def error(truth, start, learned, _):
        return eigenvalue_error((start if which == "subspace" else learned).A, truth.A)

    errors = [mean_error(experiments, size, error) for size in SIZES]
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.02


def test_markov_parameters_of_the_subspace_estimate(experiments):
    def error(truth, start, _, moments):
        G = np.linalg.lstsq(start.C, moments.lags[0].matrix, rcond=None)[0]
        powers = [np.linalg.matrix_power(start.A, k) for k in range(10)]
        found = np.stack([start.C @ power @ G for power in powers])
        return relative_error(found, np.stack([implied(truth, k) for k in range(1, 11)]))

    errors = [mean_error(experiments, size, error) for size in SIZES]
    assert errors[1] < 0.2 * errors[0]
    assert errors[1] < 0.03


@pytest.mark.parametrize("first_lag", [0, 1])
def test_moments_of_the_model_that_em_learned(experiments, first_lag):
    """Lag 0 is the split of the variance into state and noise, which subspace identification leaves open."""
    lags = range(first_lag, 11)

    def error_of(params, truth):
        return relative_error(*(np.stack([implied(p, k) for k in lags]) for p in (params, truth)))

    errors = [mean_error(experiments, size, lambda truth, _, em, __: error_of(em, truth)) for size in SIZES]
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 0.02
    # EM improves on where it started
    before = mean_error(experiments, SIZES[-1], lambda truth, start, *_: error_of(start, truth))
    assert errors[1] < 0.1 * before


def test_em_comes_close_to_the_truth_on_data_it_has_not_seen(experiments):
    for seed in SEEDS:
        truth, start, learned, _ = experiments[seed, SIZES[-1]]
        fresh = simulate(truth, 20_000, seed=seed + 100, chains=1)[0]
        scores = [np.mean(gaussian.log_likelihood(p, None, fresh, method="steady")) for p in (truth, start, learned)]
        assert scores[2] > scores[1] + 0.01
        assert scores[2] == pytest.approx(scores[0], abs=0.001)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_start_finds_the_same_model(experiments, seed):
    truth, _, learned, moments = experiments[seed, SIZES[-1]]
    random = after_em(random_start(moments, H, rng=np.random.default_rng(seed)), moments, 600)
    assert eigenvalue_error(random.A, truth.A) < 0.03
    for k in (1, 3):
        assert relative_error(implied(random, k), implied(learned, k)) < 0.02
