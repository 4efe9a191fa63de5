"""The oracle itself: the plain Kalman filter and RTS smoother are conditionals of the joint Gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from oracles import gaussian
from oracles.synthetic import KINDS, random_lds


@pytest.fixture(params=KINDS)
def case(request):
    params, m = random_lds(3, V=7, h=3, kind=request.param)
    frequencies = m**2
    w = gaussian.observations(np.random.default_rng(0).choice(7, 12, p=frequencies / frequencies.sum()), frequencies)
    return params, m, w


def test_kalman_filter_is_conditioning_on_the_past(case):
    params, m, w = case
    joint, plain = gaussian.joint_gaussian_posterior(params, m, w, given="past"), gaussian.kalman_filter(params, m, w)
    np.testing.assert_allclose(plain.means, joint.means, atol=1e-10)
    np.testing.assert_allclose(plain.covs, joint.covs, atol=1e-10)
    np.testing.assert_allclose(plain.log_likelihood, joint.log_likelihood, atol=1e-8)


def test_rts_smoother_is_conditioning_on_everything(case):
    params, m, w = case
    joint = gaussian.joint_gaussian_posterior(params, m, w)
    plain = gaussian.rts_smoother(params, gaussian.kalman_filter(params, m, w))
    np.testing.assert_allclose(plain.means, joint.means, atol=1e-10)
    np.testing.assert_allclose(plain.covs, joint.covs, atol=1e-10)
    np.testing.assert_allclose(plain.covs_next, joint.covs_next, atol=1e-10)


def test_steady_filter_and_smoother_are_the_limits(case):
    params, m, w = case
    w = np.tile(w, (12, 1))
    exact, steady = gaussian.kalman_filter(params, m, w), gaussian.steady_filter(params, m, w)
    np.testing.assert_allclose(steady.means[60:], exact.means[60:], atol=1e-8)
    np.testing.assert_allclose(steady.covs[60:], exact.covs[60:], atol=1e-8)
    np.testing.assert_allclose(steady.log_likelihood[60:], exact.log_likelihood[60:], atol=1e-7)
    smooth, steady_smooth = gaussian.rts_smoother(params, exact), gaussian.steady_smoother(params, m, w)
    np.testing.assert_allclose(steady_smooth.means[60:90], smooth.means[60:90], atol=1e-8)
    np.testing.assert_allclose(steady_smooth.covs[60:90], smooth.covs[60:90], atol=1e-8)


def test_likelihood_of_the_joint_gaussian_is_scipys(case):
    params, m, w = case
    model = gaussian.dense(params, m)
    _, _, cov = gaussian.joint_covariance(model, 4)
    expected = multivariate_normal(np.zeros(len(cov)), cov).logpdf((w[:4] @ model.basis).ravel())
    found = gaussian.joint_gaussian_posterior(params, m, w[:4]).log_likelihood.sum()
    assert found == pytest.approx(expected, rel=1e-10)


def test_joint_covariance_is_that_of_simulated_sequences():
    params, m = random_lds(5, V=4, h=2)
    model = gaussian.dense(params, m)
    rng = np.random.default_rng(0)
    n, samples = 3, 200_000
    x = rng.multivariate_normal(np.zeros(2), model.cov_stationary, samples)
    rows = []
    for t in range(n):
        if t > 0:
            x = x @ model.A.T + rng.multivariate_normal(np.zeros(2), model.Q, samples)
        rows.append(x @ model.C.T + rng.multivariate_normal(np.zeros(3), model.D, samples))
    simulated = np.cov(np.hstack(rows), rowvar=False)
    np.testing.assert_allclose(simulated, gaussian.joint_covariance(model, n)[2], atol=0.015)


def test_circular_smoothing_forgets_where_the_circle_was_cut(case):
    params, m, w = case
    w = np.tile(w, (8, 1))
    whole = gaussian.steady_smoother(params, m, w, circular=True).means
    turned = gaussian.steady_smoother(params, m, np.roll(w, 5, axis=0), circular=True).means
    np.testing.assert_allclose(turned, np.roll(whole, 5, axis=0), atol=1e-9)
