from __future__ import annotations

import numpy as np
import pytest

from oracles import gaussian
from oracles.synthetic import KINDS, canonical_of, random_lds
from textlds.lds.exact import exact_gains, smoothed_covariances
from textlds.lds.steady import steady_state

V, H = 8, 3


@pytest.fixture(params=KINDS)
def case(request):
    params, m = random_lds(4, V=V, h=H, kind=request.param)
    system, gains = canonical_of(params, m)
    return params, m, system, gains


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("length", [1, 2, 10])
def test_covariances_of_short_sequences_are_those_of_the_joint_gaussian(case, length):
    params, m, system, _ = case
    w = gaussian.observations(np.zeros(length, int), m**2)
    T = system.T
    filt, smooth = smoothed_covariances(system, exact_gains(system), length)
    close(filt, T @ gaussian.joint_gaussian_posterior(params, m, w, given="past").covs @ T.T)
    close(smooth, T @ gaussian.joint_gaussian_posterior(params, m, w).covs @ T.T)


def test_means_and_log_determinants_are_those_of_the_joint_gaussian(case):
    params, m, system, table = case
    ids = np.array([3, 0, 1, 1, 7, 2, 5])
    w = gaussian.observations(ids, m**2)
    gains = exact_gains(system)
    R = np.diag(1 - system.shrink)
    filtered, predictions = [], [np.zeros(H)]
    for t, word in enumerate(ids):
        x = (np.eye(H) - gains.cov_filt[t] @ R) @ predictions[-1] + gains.cov_filt[t] @ table[word]
        filtered.append(x)
        predictions.append(system.A @ x)
    smoothed = [filtered[-1]]
    for t in range(len(ids) - 2, -1, -1):
        smoothed.append(filtered[t] + gains.smoother[t] @ (smoothed[-1] - predictions[t + 1]))
    close(np.array(filtered), gaussian.joint_gaussian_posterior(params, m, w, given="past").means @ system.T.T, 1e-8)
    close(np.array(smoothed[::-1]), gaussian.joint_gaussian_posterior(params, m, w).means @ system.T.T, 1e-8)
    model, plain = gaussian.dense(params, m), gaussian.kalman_filter(params, m, w)
    static = np.linalg.slogdet(model.D_static)[1]
    for t in range(len(ids)):
        S = model.C @ plain.covs_pred[t] @ model.C.T + model.D
        assert gains.logdet_S[t] == pytest.approx(np.linalg.slogdet(S)[1] - static, abs=1e-9)


def test_gains_end_at_the_steady_state(case):
    _, _, system, _ = case
    gains = exact_gains(system)
    assert 2 < len(gains) < 512
    close(gains.cov_filt[-1], np.eye(H), 1e-9)
    close(gains.smoother[-1], system.A.T * system.shrink, 1e-8)
    assert gains.logdet_S[-1] == pytest.approx(system.logdet_S, abs=1e-8)


def test_long_sequences_have_steady_covariances_in_the_middle(case):
    params, _, system, _ = case
    steady = steady_state(params)
    for gains in (exact_gains(system), None):
        filt, smooth = smoothed_covariances(system, gains, 300)
        close(filt[150], np.eye(H), 1e-8)
        close(smooth[150], system.T @ steady.cov_smooth @ system.T.T, 1e-7)
        close(smooth[-1], filt[-1])
