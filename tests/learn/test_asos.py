"""The E-step against averaging a brute-force smoother over the same text.

The texts are circular, and without pseudocounts their moments are exactly averages over tokens: what is left between
ASOS and the truth is the closing of the horizon alone.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles import gaussian
from oracles.synthetic import KINDS, exact_moments, markov_text, random_lds, text_moments
from textlds.lds.noise import FullNoise, explained_variance
from textlds.lds.params import LDSParams
from textlds.lds.steady import steady_state
from textlds.learn.asos import asos
from textlds.learn.em import em_steps
from textlds.learn.moments import Moments
from textlds.learn.ssid import random_start, subspace_identification
from textlds.linalg.operators import DenseOperator

V, TOKENS, LONG = 20, 4000, 40
NAMES = ("filt_filt", "smooth_filt", "smooth_smooth", "smooth_next", "obs_smooth", "gain_obs_filt")


def brute_force(params, null, w):
    """Average over a circular text what the dense steady-state filter and smoother say of it."""
    x = gaussian.steady_filter(params, null, w, circular=True).means
    s = gaussian.steady_smoother(params, null, w, circular=True).means
    K = gaussian.dense_steady_state(params, null).gain_words
    n = len(w)
    return {
        "filt_filt": x.T @ x / n,
        "smooth_filt": s.T @ x / n,
        "smooth_smooth": s.T @ s / n,
        "smooth_next": np.roll(s, -1, axis=0).T @ s / n,  # E[x̄_{t+1} x̄_tᵀ]
        "obs_smooth": w.T @ s / n,
        "gain_obs_filt": K @ np.roll(w, -1, axis=0).T @ x / n,  # K E[w_{t+1} x̂_tᵀ]
        "log_likelihood": np.mean(gaussian.log_likelihood(params, null, w, method="steady", circular=True)),
    }


@pytest.fixture(scope="module")
def text():
    ids = markov_text(11, TOKENS, V=V, classes=5, order=0.4)
    moments = text_moments(ids, V, LONG, circular=True)
    return moments, gaussian.observations(ids, moments.frequencies)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, text):
    """A model of the text that EM has not finished with, so that no optimum hides an error."""
    moments, w = text
    start = subspace_identification(moments, 4, rng=np.random.default_rng(0), noise=request.param)
    steps = em_steps(start, moments)
    params = [next(steps) for _ in range(4)][-1].params
    return params, moments, brute_force(params, moments.null, w)


def relative_errors(params, moments, truth, horizon):
    found = asos(params, steady_state(params), moments, horizon=horizon)
    errors = {name: np.linalg.norm(getattr(found, name) - truth[name]) / np.linalg.norm(truth[name]) for name in NAMES}
    return errors | {"log_likelihood": abs(found.log_likelihood - truth["log_likelihood"])}


def test_relative_error_at_the_usual_horizon(fitted):
    errors = relative_errors(*fitted, 7)
    assert max(errors.values()) < 1e-3, errors


def test_error_falls_with_the_horizon_to_rounding(fitted):
    by_horizon = [relative_errors(*fitted, r) for r in (1, 4, 10, LONG)]
    for name in (*NAMES, "log_likelihood"):
        errors = [e[name] for e in by_horizon]
        assert errors[1] < 0.5 * errors[0], (name, errors)
        assert errors[2] < 0.5 * errors[1], (name, errors)
        assert errors[3] < 1e-9, (name, errors)


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_are_no_different(text, kind):
    moments, w = text
    params = random_start(moments, 3, rng=np.random.default_rng(5), noise=kind)
    errors = relative_errors(params, moments, brute_force(params, moments.null, w), LONG)
    assert max(errors.values()) < 1e-9, errors


def test_general_coordinates_give_the_same_statistics(fitted):
    params, moments, _ = fitted
    T = np.random.default_rng(0).standard_normal((4, 4))
    moved = params.transformed(T)
    here = asos(params, steady_state(params), moments, horizon=7)
    there = asos(moved, steady_state(moved), moments, horizon=7)
    for name in ("filt_filt", "smooth_filt", "smooth_smooth", "smooth_next"):
        expected = T @ getattr(here, name) @ T.T
        np.testing.assert_allclose(getattr(there, name), expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(there.obs_smooth, here.obs_smooth @ T.T, rtol=1e-6, atol=1e-8)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("horizon", [1, 3])
def test_on_a_models_own_moments_the_closing_is_exact(seed, horizon):
    """If the data is what the model says, every horizon is right and E[x x] is what the model says of it."""
    params, m = random_lds(seed)
    steady, cov = steady_state(params), params.cov_stationary()
    found = asos(params, steady, exact_moments(params, m, horizon), horizon=horizon)
    np.testing.assert_allclose(found.filt_filt, cov - steady.cov_filt, atol=1e-9)
    np.testing.assert_allclose(found.smooth_filt, cov - steady.cov_filt, atol=1e-9)
    np.testing.assert_allclose(found.smooth_smooth, cov - steady.cov_smooth, atol=1e-9)
    np.testing.assert_allclose(found.smooth_next + steady.cov_smooth @ steady.J.T, params.A @ cov, atol=1e-9)
    np.testing.assert_allclose(found.obs_smooth, params.C @ cov, atol=1e-9)
    # −½ E[log-density] of innovations: log det S, and a Mahalanobis distance that is the dimension
    assert found.log_likelihood == pytest.approx(-0.5 * steady.logdet_S, abs=1e-9)


def test_time_reversed_moments_are_another_text(fitted):
    params, moments, truth = fitted

    class Reversed:
        def __init__(self, lag):
            self.matmat, self.rmatmat, self.shape = lag.rmatmat, lag.matmat, lag.shape

    reversed_moments = Moments([Reversed(lag) for lag in moments.lags], moments.null, moments.rank)
    errors = relative_errors(params, reversed_moments, truth, 7)
    assert errors["log_likelihood"] > 0.01 * truth["log_likelihood"]
    assert errors["smooth_next"] > 0.1


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_compressed_coordinates_give_the_same_statistics(text, kind):
    """An orthonormal basis of the complement of m changes nothing but the null direction."""
    moments, _ = text
    params = subspace_identification(moments, 4, rng=np.random.default_rng(0), noise=kind)
    B = gaussian.complement(moments.null)
    lags = [DenseOperator(B.T @ lag.to_dense() @ B) for lag in moments.lags]
    projected = LDSParams(params.A, B.T @ params.C, params.Q, params.noise)
    small = asos(projected, steady_state(projected), Moments(lags, None, moments.rank), horizon=7)
    large = asos(params, steady_state(params), moments, horizon=7)
    assert small.log_likelihood == pytest.approx(large.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(B @ small.obs_smooth, large.obs_smooth, atol=1e-9)
    np.testing.assert_allclose(small.smooth_smooth, large.smooth_smooth, atol=1e-9)


@pytest.mark.parametrize("margin", [1e-2, 1e-4, 1e-6])
def test_likelihood_keeps_its_digits_where_the_noise_almost_vanishes(text, margin):
    moments, w = text
    start = subspace_identification(moments, 4, rng=np.random.default_rng(0))
    largest = explained_variance(start.C, start.noise.M)[-1]
    params = LDSParams(start.A, start.C, start.Q, FullNoise(start.noise.M * ((1 - margin) / largest)))
    found = asos(params, steady_state(params), moments, horizon=LONG).log_likelihood
    expected = np.mean(gaussian.log_likelihood(params, moments.null, w, method="steady", circular=True))
    assert found == pytest.approx(expected, abs=1e-8)
    T = np.random.default_rng(0).standard_normal((4, 4))
    moved = params.transformed(T)
    assert asos(moved, steady_state(moved), moments, horizon=LONG).log_likelihood == pytest.approx(found, abs=1e-8)
