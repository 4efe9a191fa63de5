from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.linalg as sl

from oracles import gaussian
from oracles.synthetic import KINDS, random_lds
from textlds.errors import ConvergenceError, NotStationaryError
from textlds.lds.params import check_stationary
from textlds.lds.steady import filtered_covariance, steady_state

V, H = 9, 3


@pytest.fixture(params=[(kind, seed) for kind in KINDS for seed in range(3)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    kind, seed = request.param
    params, m = random_lds(seed, V=V, h=H, kind=kind)
    return params, m, steady_state(params)


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_everything_against_the_dense_steady_state(case):
    params, m, steady = case
    truth = gaussian.dense_steady_state(params, m)
    close(steady.cov_pred, truth.cov_pred)
    close(steady.cov_filt, truth.cov_filt)
    close(steady.cov_smooth, truth.cov_smooth)
    close(steady.KT.T, truth.gain_words)  # K = Σ_pred Cᵀ S⁺
    close(steady.KC, truth.gain_words @ params.C)
    close(steady.F, params.A - truth.gain_words @ params.C @ params.A)
    close(steady.J, truth.smoother_gain)
    close(steady.P, np.eye(H) - truth.smoother_gain @ params.A)


@pytest.mark.parametrize("Q", [0.0, 1e300])
def test_a_model_without_a_steady_state_in_these_numbers_is_an_error(Q):
    params, _ = random_lds(0, V=V, h=H)
    with pytest.raises(ConvergenceError):
        steady_state(dataclasses.replace(params, A=0 * params.A, Q=np.full((H, H), Q)))


def test_log_determinant_and_gram_matrix_of_the_innovations(case):
    params, m, steady = case
    model, truth = gaussian.dense(params, m), gaussian.dense_steady_state(params, m)
    expected = np.linalg.slogdet(truth.S)[1] - np.linalg.slogdet(model.D_static)[1]
    assert steady.logdet_S == pytest.approx(expected, abs=1e-10)
    close(steady.gram_S(), model.C.T @ np.linalg.solve(truth.S, model.C))


def test_riccati_residual(case):
    params, _, steady = case
    X, R = steady.cov_pred, steady.precision.gram
    residual = params.A @ np.linalg.inv(np.linalg.inv(X) + R) @ params.A.T + params.Q - X
    assert np.linalg.norm(residual) < 1e-11 * np.linalg.norm(X)


def test_one_matrix_serves_filter_and_smoother(case):
    _, _, steady = case
    close(steady.J, steady.cov_filt @ steady.F.T @ np.linalg.inv(steady.cov_filt))
    # where Σ_filt = I: J = Fᵀ, and F is a contraction
    root = np.real(sl.sqrtm(steady.cov_filt))
    F, J = (np.linalg.solve(root, X @ root) for X in (steady.F, steady.J))
    close(J, F.T)
    assert np.linalg.norm(F, 2) < 1


def test_covariances_shrink_with_what_is_known(case):
    params, _, steady = case
    order = [params.cov_stationary(), steady.cov_pred, steady.cov_filt, steady.cov_smooth]
    for larger, smaller in itertools.pairwise(order):
        assert np.linalg.eigvalsh(larger - smaller)[0] > -1e-10
    assert np.linalg.eigvalsh(steady.cov_smooth)[0] > 0


def test_recursions_are_the_limit_of_the_exact_filter_and_smoother(case):
    params, m, steady = case
    frequencies = m**2 / np.sum(m**2)
    w = gaussian.observations(np.random.default_rng(0).choice(V, 200, p=frequencies), frequencies)
    exact = gaussian.kalman_filter(params, m, w)
    smooth = gaussian.rts_smoother(params, exact)
    filtered, state = [], np.zeros(H)
    for row in w:
        state = steady.F @ state + steady.KT.T @ row  # x̂_t = F x̂_{t−1} + K w_t
        filtered.append(state)
    smoothed = [filtered[-1]]
    for x in filtered[-2::-1]:
        smoothed.append(steady.J @ smoothed[-1] + steady.P @ x)  # x̄_t = J x̄_{t+1} + P x̂_t
    close(np.array(filtered)[80:], exact.means[80:], 1e-7)
    close(np.array(smoothed[::-1])[80:120], smooth.means[80:120], 1e-7)
    close(steady.cov_smooth, smooth.covs[100], 1e-8)
    close(steady.cov_smooth @ steady.J.T, smooth.covs_next[100], 1e-8)  # Cov(x_{t+1}, x_t | everything)


def test_a_change_of_coordinates_changes_nothing_that_can_be_seen(case):
    params, m, steady = case
    T = np.random.default_rng(7).standard_normal((H, H))
    inverse = np.linalg.inv(T)
    moved = params.transformed(T)
    other = steady_state(moved)
    close(other.logdet_S, steady.logdet_S, 1e-8)
    close(moved.C @ other.KT.T, params.C @ steady.KT.T, 1e-8)  # what a word says about the next observation
    close(other.KT.T, T @ steady.KT.T, 1e-7)
    for name in ("F", "J", "P", "KC"):
        close(getattr(other, name), T @ getattr(steady, name) @ inverse, 1e-7)
    for name in ("cov_pred", "cov_filt", "cov_smooth"):
        close(getattr(other, name), T @ getattr(steady, name) @ T.T, 1e-7)
    frequencies = m**2
    w = gaussian.observations([0, 3, 1, 8, 2], frequencies)
    close(gaussian.log_likelihood(moved, m, w), gaussian.log_likelihood(params, m, w), 1e-7)


def test_normalised_is_the_same_model_with_unit_innovation(case):
    params, m, steady = case
    normal = params.normalised()
    np.testing.assert_array_equal(normal.Q, np.eye(H))
    close(np.sort_complex(np.linalg.eigvals(normal.A)), np.sort_complex(np.linalg.eigvals(params.A)))
    close(normal.noise.to_dense(normal.C, m), params.noise.to_dense(params.C, m))
    cov, expected = normal.cov_stationary(), params.cov_stationary()
    for k in range(3):  # E[w_{t+k} w_tᵀ] of the model, apart from D
        power, expected_power = np.linalg.matrix_power(normal.A, k), np.linalg.matrix_power(params.A, k)
        close(normal.C @ power @ cov @ normal.C.T, params.C @ expected_power @ expected @ params.C.T)
    assert steady_state(normal).logdet_S == pytest.approx(steady.logdet_S, abs=1e-9)


def test_stationary_covariance_is_scipys(case):
    params, _, _ = case
    close(params.cov_stationary(), sl.solve_discrete_lyapunov(params.A, params.Q))
    assert params.state_size == H


def test_without_output_the_filter_knows_nothing():
    params, _ = random_lds(0, V=V, h=H, explained=1e-30)
    steady = steady_state(params)
    close(steady.cov_smooth, params.cov_stationary())
    close(steady.F, params.A)
    assert steady.logdet_S == pytest.approx(0, abs=1e-12)


def test_filtered_covariance_of_a_singular_prediction():
    v = np.array([1.0, 2.0])
    X, R = np.outer(v, v), np.array([[2.0, 0.5], [0.5, 1.0]])
    expected = np.outer(v, v) / (1 + v @ R @ v)  # one direction: 1 / (1 + vᵀRv)
    close(filtered_covariance(X, R), expected)


@pytest.mark.parametrize("radius", [1.0, 1.7])
def test_an_unstable_transition_is_refused_with_its_radius(radius):
    params, _ = random_lds(0, V=V, h=H)
    unstable = params.__class__(radius * np.eye(H), params.C, params.Q, params.noise)
    for use in (steady_state, lambda p: p.cov_stationary()):
        with pytest.raises(NotStationaryError, match=rf"is {radius:.6f}; .*needs < 1.*now {H}"):
            use(unstable)


def test_a_transition_that_is_not_finite_is_refused():
    with pytest.raises(NotStationaryError, match="not finite"):
        check_stationary(np.array([[np.nan]]))
