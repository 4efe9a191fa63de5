from __future__ import annotations

import numpy as np
import pytest

from oracles import gaussian
from oracles.synthetic import KINDS, canonical_of, random_lds
from textlds.lds.steady import steady_state

V, H = 9, 3


@pytest.fixture(params=[(kind, seed) for kind in KINDS for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    kind, seed = request.param
    params, m = random_lds(seed, V=V, h=H, kind=kind)
    steady = steady_state(params)
    return params, m, steady, *canonical_of(params, m)


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_one_diagonal_and_one_matrix_are_the_whole_filter(case):
    params, _, steady, system, _ = case
    T, inverse = system.T, np.linalg.inv(system.T)
    close(T @ steady.cov_filt @ T.T, np.eye(H))
    close(T @ steady.cov_pred @ T.T, np.diag(1 / system.shrink))
    close(system.A, T @ params.A @ inverse)
    F = system.shrink[:, None] * system.A
    close(F, T @ steady.F @ inverse)
    close(F.T, T @ steady.J @ inverse)
    close(np.diag(system.shrink), np.eye(H) - T @ steady.KC @ inverse)
    close(np.diag(1 - system.shrink), inverse.T @ steady.precision.gram @ inverse)
    close(system.Q, T @ params.Q @ T.T)
    close(system.cov_stationary, T @ params.cov_stationary() @ T.T)
    assert np.linalg.norm(F, 2) < 1
    assert np.all(np.diff(system.shrink) >= 0)  # s = 1/φ, largest first
    assert np.all((system.shrink > 0) & (system.shrink <= 1))


def test_log_determinant_of_the_innovations(case):
    _, _, steady, system, _ = case
    assert system.logdet_S == pytest.approx(steady.logdet_S, abs=1e-9)


def test_gains_are_those_of_the_dense_filter(case):
    params, m, _, system, gains = case
    truth = gaussian.dense_steady_state(params, m)
    words = gaussian.observations(np.arange(V), m**2)
    close(gains, words @ truth.gain_words.T @ system.T.T)
    assert all(column[np.argmax(np.abs(column))] > 0 for column in gains.T)


def test_filter_and_smoother_of_a_text(case):
    params, m, _, system, gains = case
    ids = np.random.default_rng(1).choice(V, 40)
    w = gaussian.observations(ids, m**2)
    filtered, state = [], np.zeros(H)
    for word in ids:
        state = system.shrink * (system.A @ state) + gains[word]  # x̂_t = φ ∘ p_t + k(w_t)
        filtered.append(state)
    smoothed = [filtered[-1]]
    for x in filtered[-2::-1]:
        smoothed.append(x + system.A.T @ (system.shrink * (smoothed[-1] - system.A @ x)))
    close(np.array(filtered), gaussian.steady_filter(params, m, w).means @ system.T.T, 1e-8)
    close(np.array(smoothed[::-1]), gaussian.steady_smoother(params, m, w).means @ system.T.T, 1e-8)


def test_coordinates_do_not_depend_on_those_of_the_parameters(case):
    params, m, _, system, gains = case
    moved = params.transformed(np.random.default_rng(3).standard_normal((H, H)))
    other, other_gains = canonical_of(moved, m)
    close(other_gains, gains, 1e-7)
    close(other.A, system.A, 1e-7)
    close(other.shrink, system.shrink, 1e-7)
