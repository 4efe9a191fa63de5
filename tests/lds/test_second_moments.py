"""Second moments of suboptimal filters, against the optimal closed form and against simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from model.worlds import random_model
from textlds.lds.second_moments import second_moments
from textlds.linalg.equations import solve_stein
from textlds.linalg.psd import symmetric


def test_stein_equation_against_kronecker_products() -> None:
    rng = np.random.default_rng(0)
    L, R = 0.3 * rng.standard_normal((4, 4)), 0.2 * rng.standard_normal((6, 6))
    S = rng.standard_normal((4, 6))
    dense = np.linalg.solve(np.eye(24) - np.kron(L, R.T), S.ravel()).reshape(4, 6)
    np.testing.assert_allclose(solve_stein(L, R, S), dense, atol=1e-12)


def prepared():  # type: ignore[no-untyped-def]
    model = random_model(3, V=30, h=4)
    engine = model.spaces.engine("float64")
    system, gains = engine.system, engine.gains
    C = model.params.C @ np.linalg.inv(system.T)
    return system, gains, C, model.frequencies


def moments_of(system, gains, C, frequencies):  # type: ignore[no-untyped-def]
    gain_C = (np.sqrt(frequencies)[:, None] * gains).T @ C
    return second_moments(system, gain_C, (frequencies[:, None] * gains).T @ gains), gain_C


def test_with_the_optimal_gains_they_are_prior_minus_posterior_covariance() -> None:
    system, gains, C, frequencies = prepared()
    found, _ = moments_of(system, gains, C, frequencies)
    F = system.shrink[:, None] * system.A
    cov_smooth = np.linalg.solve(
        np.eye(F.size) - np.kron(F.T, F.T), (np.eye(len(F)) - F.T @ np.diag(1 / system.shrink) @ F).ravel()
    ).reshape(F.shape)
    np.testing.assert_allclose(found.filt_filt, system.cov_stationary - np.eye(len(F)), atol=1e-6)
    np.testing.assert_allclose(found.smooth_smooth, system.cov_stationary - cov_smooth, atol=1e-6)
    np.testing.assert_allclose(found.smooth_filt, found.filt_filt, atol=1e-6)  # E[x̄ x̂ᵀ] = E[E[x̄ | past] x̂ᵀ]


@pytest.mark.parametrize("memory", [1.0, 0.6])
def test_with_other_gains_they_are_those_of_simulated_sequences(memory: float) -> None:
    system, gains, C, frequencies = prepared()
    rng = np.random.default_rng(1)
    gains = gains * rng.uniform(0.3, 2.0, len(gains))[:, None]
    gains = gains - frequencies @ gains
    system = replace(system, shrink=memory * system.shrink)
    found, gain_C = moments_of(system, gains, C, frequencies)
    A, F, h, T = system.A, system.shrink[:, None] * system.A, len(system.A), 400_000
    Q = symmetric(system.cov_stationary - A @ system.cov_stationary @ A.T)
    spread = symmetric((frequencies[:, None] * gains).T @ gains - gain_C @ system.cov_stationary @ gain_C.T)
    steps = rng.standard_normal((T, h)) @ np.linalg.cholesky(Q + 1e-12 * np.eye(h)).T
    values, vectors = np.linalg.eigh(spread)
    said = rng.standard_normal((T, h)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    x, filt = np.zeros((T, h)), np.zeros((T, h))
    for t in range(1, T):
        x[t] = A @ x[t - 1] + steps[t]
        filt[t] = F @ filt[t - 1] + gain_C @ x[t] + said[t]
    smooth = filt.copy()
    for t in range(T - 2, -1, -1):
        smooth[t] = filt[t] + F.T @ (smooth[t + 1] - A @ filt[t])
    keep = slice(200, T - 200)
    n = T - 400
    scale = np.linalg.norm(found.filt_filt)
    assert np.linalg.norm(filt[keep].T @ filt[keep] / n - found.filt_filt) < 0.02 * scale
    assert np.linalg.norm(smooth[keep].T @ filt[keep] / n - found.smooth_filt) < 0.02 * scale
    assert np.linalg.norm(smooth[keep].T @ smooth[keep] / n - found.smooth_smooth) < 0.02 * scale
