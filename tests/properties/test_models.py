"""What holds for every stable model."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import gaussian
from oracles.synthetic import KINDS, exact_moments, random_lds, random_spd, random_stable
from textlds.lds.steady import steady_state
from textlds.learn.asos import asos
from textlds.learn.ssid import pulled_inside
from textlds.linalg.equations import solve_lyapunov, solve_riccati
from textlds.linalg.psd import spectral_radius

SEEDS = st.integers(0, 10_000)


@st.composite
def models(draw, kinds=KINDS):
    h = draw(st.integers(1, 4))
    return random_lds(
        draw(SEEDS),
        V=draw(st.integers(h + 2, 9)),
        h=h,
        kind=draw(st.sampled_from(kinds)),
        radius=draw(st.floats(0, 0.97)),
        explained=draw(st.floats(1e-3, 0.95)),
    )


def close(found, expected, tolerance=1e-7):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * (1 + np.abs(expected).max()))


@given(SEEDS, st.integers(1, 6), st.floats(0, 0.995))
def test_matrix_equations(seed, h, radius):
    rng = np.random.default_rng(seed)
    A, Q, R = random_stable(rng, h, radius=radius), random_spd(rng, h), random_spd(rng, h)
    close(solve_lyapunov(A, Q), sl.solve_discrete_lyapunov(A, Q, method="direct"))
    X = solve_riccati(A, R, Q)
    close(A @ np.linalg.inv(np.linalg.inv(X) + R) @ A.T + Q, X, 1e-10)
    assert np.linalg.eigvalsh(X - Q)[0] > -1e-9 * np.linalg.norm(X)


@settings(max_examples=60)
@given(models())
def test_steady_state_is_the_dense_one(model):
    params, m = model
    steady, truth = steady_state(params), gaussian.dense_steady_state(params, m)
    close(steady.cov_pred, truth.cov_pred)
    close(steady.KT.T, truth.gain_words)
    close(steady.cov_smooth, truth.cov_smooth)
    close(steady.J @ steady.cov_filt, steady.cov_filt @ steady.F.T)
    assert spectral_radius(steady.F) < 1


@settings(max_examples=40)
@given(models(), SEEDS)
def test_likelihood_does_not_depend_on_coordinates(model, seed):
    params, m = model
    rng = np.random.default_rng(seed)
    h = params.state_size
    T = np.linalg.qr(rng.standard_normal((h, h)))[0] * rng.uniform(0.5, 2, h)
    data = exact_moments(*random_lds(seed, V=len(m), h=2), 4)
    moments = type(data)(data.lags, m, data.rank)
    scores = [asos(p, steady_state(p), moments, horizon=4).log_likelihood for p in (params, params.transformed(T))]
    close(scores[1], np.array(scores[0]), 1e-7)


@settings(max_examples=40)
@given(models(kinds=("full",)), st.integers(1, 4))
def test_asos_of_a_models_own_moments(model, horizon):
    """E[x̄ x̄ᵀ] + Σ_smooth is the unconditional covariance, whatever the horizon."""
    params, m = model
    steady, cov = steady_state(params), params.cov_stationary()
    found = asos(params, steady, exact_moments(params, m, horizon), horizon=horizon)
    close(found.filt_filt + steady.cov_filt, cov)
    close(found.smooth_smooth + steady.cov_smooth, cov)
    close(found.smooth_next + steady.cov_smooth @ steady.J.T, params.A @ cov)
    close(found.obs_smooth, params.C @ cov)


@given(SEEDS, st.integers(1, 6), st.floats(0.1, 3))
def test_pulled_inside(seed, h, radius):
    A = random_stable(np.random.default_rng(seed), h, radius=radius)
    found = pulled_inside(A, 0.99)
    assert spectral_radius(found) <= 0.99 + 1e-6
    before, after = (np.sort(np.abs(np.linalg.eigvals(X))) for X in (A, found))
    np.testing.assert_allclose(after, np.minimum(before, 0.99), atol=1e-6)
