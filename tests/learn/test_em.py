from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from oracles import gaussian
from oracles.synthetic import KINDS, exact_moments, markov_text, random_lds, text_moments
from textlds.errors import ArgumentError
from textlds.lds.noise import FullNoise
from textlds.lds.params import LDSParams
from textlds.lds.steady import steady_state
from textlds.learn.em import FIRST_RELAXATION, check_horizon, em_steps, evaluate, maximise
from textlds.learn.ssid import random_start, subspace_identification
from textlds.linalg.psd import sqrt_and_inverse

V, H, ITERATIONS = 30, 5, 50


@pytest.fixture(scope="module", params=[0, 1, 2])
def moments(request):
    return text_moments(markov_text(request.param, 6000, V=V, classes=6), V, 8, pseudocount="paper")


def start(kind, moments, noise="full", seed=0):
    make = {"subspace": subspace_identification, "random": random_start}[kind]
    return make(moments, H, rng=np.random.default_rng(seed), noise=noise)


def curve(params, moments, iterations=ITERATIONS):
    steps = itertools.islice(em_steps(params, moments), iterations + 1)
    return np.array([step.log_likelihood for step in steps])


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("kind", ["subspace", "random"])
def test_likelihood_never_falls(moments, kind, noise):
    found = curve(start(kind, moments, noise), moments)
    assert np.all(np.isfinite(found))
    assert np.diff(found).min() > -1e-9
    assert found[-1] > found[0]


def test_bohnings_noise_drowns_the_data(moments):
    """Its variance, 1/(2μ) and more, exceeds that of the observations: the most likely output is none, even far on."""
    last = next(itertools.islice(em_steps(start("subspace", moments, "bohning"), moments), 150, None))
    assert np.linalg.norm(last.params.C) < 1e-9
    assert last.log_likelihood == pytest.approx(0, abs=1e-12)


def test_a_random_start_climbs_later_than_a_subspace_start(moments):
    subspace = curve(start("subspace", moments), moments)
    goal = 0.9 * subspace[-1]
    first = int(np.argmax(subspace > goal))
    for seed in range(3):
        random = curve(start("random", moments, seed=seed), moments)
        assert random[0] < 0.2 * subspace[0]
        assert np.all(random[: first + 1] < subspace[: first + 1])
        assert not np.any(random[: first + 2] > goal)


def test_a_model_is_a_fixed_point_of_its_own_moments():
    params, m = random_lds(3, V=12, h=3)
    _, inverse_root = sqrt_and_inverse(params.cov_stationary())
    params = params.transformed(inverse_root)
    moments = exact_moments(params, m, 5)
    step = evaluate(params, moments, horizon=5)
    again = maximise(step, moments)
    assert evaluate(again, moments, horizon=5).log_likelihood == pytest.approx(step.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(again.A, params.A, atol=1e-8)
    np.testing.assert_allclose(again.C, params.C, atol=1e-8)
    np.testing.assert_allclose(again.noise.M, params.noise.M, atol=1e-7)


def expected_likelihood(A, C, Q, D, expectations):
    """Return the expected complete-data log-likelihood a token, up to a constant, with everything dense."""
    E0, E1, wx, psi0 = expectations
    states = E0 - A @ E1.T - E1 @ A.T + A @ E0 @ A.T
    outputs = psi0 - C @ wx.T - wx @ C.T + C @ E0 @ C.T
    terms = [np.linalg.slogdet(X)[1] + np.trace(np.linalg.solve(X, S)) for X, S in ((Q, states), (D, outputs))]
    return -0.5 * sum(terms)


@pytest.mark.parametrize("noise", KINDS)
def test_m_step_is_the_optimum_of_the_expected_likelihood(noise):
    moments = text_moments(markov_text(4, 3000, V=12, classes=4), 12, 7, pseudocount="paper")
    before = subspace_identification(moments, 3, rng=np.random.default_rng(0), noise=noise)
    step = evaluate(before, moments, horizon=7)
    after = maximise(step, moments)
    # the same expectations in the coordinates of the new model, found from its C: C_new = C_old q
    statistics, steady = step.statistics, step.steady
    E0 = statistics.smooth_smooth + steady.cov_smooth
    E1 = statistics.smooth_next + steady.cov_smooth @ steady.J.T
    q = np.linalg.lstsq(statistics.obs_smooth @ np.linalg.inv(E0), after.C, rcond=None)[0]
    inverse = np.linalg.inv(q)
    model = gaussian.dense(after, moments.null)
    B = model.basis
    psi0 = B.T @ moments.lag0(np.eye(12)) @ B
    wx = B.T @ statistics.obs_smooth @ inverse.T
    expectations = inverse @ E0 @ inverse.T, inverse @ E1 @ inverse.T, wx, psi0
    best = expected_likelihood(model.A, model.C, model.Q, model.D, expectations)
    old = gaussian.dense(before.transformed(inverse), moments.null)
    assert best > expected_likelihood(old.A, old.C, old.Q, old.D, expectations)

    rng = np.random.default_rng(1)

    def D_with(size):
        if noise == "bohning":
            return model.D  # fixed, whatever the data
        if noise == "spherical":
            return model.D * np.exp(size * rng.standard_normal())
        if noise == "diagonal":
            return model.D * np.exp(size * rng.standard_normal(len(model.D)))
        change = rng.standard_normal(model.D.shape)
        return model.D + 0.1 * size * (change + change.T)

    def Q_with(size):
        change = rng.standard_normal(model.Q.shape)
        return model.Q + size * (change + change.T)

    for _, size in itertools.product(range(10), (1e-3, 1e-2)):
        moved = {
            "A": model.A + size * rng.standard_normal(model.A.shape),
            "C": model.C + size * rng.standard_normal(model.C.shape),
            "Q": Q_with(size),
            "D": D_with(size),
        }
        here = {name: getattr(model, name) for name in "ACQD"}
        for name, value in moved.items():
            assert expected_likelihood(**here | {name: value}, expectations=expectations) <= best + 1e-13, name


def test_an_m_step_moves_downhill_nowhere_even_from_other_coordinates(moments):
    params = start("subspace", moments)
    moved = params.transformed(np.random.default_rng(0).standard_normal((H, H)))
    np.testing.assert_allclose(curve(moved, moments, 5), curve(params, moments, 5), atol=1e-7)


def test_steps_are_numbered_and_hold_what_belongs_together(moments):
    params = start("subspace", moments)
    steps = list(itertools.islice(em_steps(params, moments, first=7), 3))
    assert [step.iteration for step in steps] == [7, 8, 9]
    assert steps[0].params is params
    for step in steps:
        np.testing.assert_allclose(step.steady.F, steady_state(step.params).F)
        assert step.log_likelihood == step.statistics.log_likelihood
    for step in steps[1:]:  # the coordinates of an M-step are those in which the state has unit second moment
        np.testing.assert_allclose(step.params.cov_stationary(), np.eye(H), atol=1e-10)
    # going on from a step is the same as not having stopped
    resumed = next(itertools.islice(em_steps(steps[1].params, moments, first=8), 1, None))
    assert resumed.log_likelihood == steps[2].log_likelihood


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("origin", ["subspace", "random"])
def test_overrelaxed_steps_never_lose_likelihood_and_gain_it_sooner(moments, origin, kind):
    params = start(origin, moments, kind)
    plain = [step.log_likelihood for step in itertools.islice(em_steps(params, moments), 41)]
    steps = list(itertools.islice(em_steps(params, moments, relaxation=FIRST_RELAXATION), 41))
    bold = [step.log_likelihood for step in steps]
    assert np.min(np.diff(bold)) >= -1e-12
    assert bold[:2] == plain[:2]  # the first step has no direction yet
    assert bold[20] >= plain[30] - 1e-4
    # going on from a step with its own relaxation is the same as not having stopped
    cut = steps[10]
    resumed = em_steps(cut.params, moments, first=10, relaxation=cut.relaxation)
    assert next(itertools.islice(resumed, 5, None)).log_likelihood == bold[15]


def test_a_step_too_long_is_replaced_by_the_plain_one(moments):
    params = start("subspace", moments)
    plain = list(itertools.islice(em_steps(params, moments), 3))
    absurd = list(itertools.islice(em_steps(params, moments, relaxation=1e6), 3))
    assert absurd[2].log_likelihood == plain[2].log_likelihood
    assert absurd[2].relaxation < 1e6


def test_output_stays_orthogonal_to_the_null_direction(moments):
    for noise in KINDS:
        last = next(itertools.islice(em_steps(start("random", moments, noise), moments), 20, None))
        assert np.max(np.abs(moments.null @ last.params.C)) < 1e-12


def test_the_same_start_gives_the_same_bits(moments):
    first, second = (curve(start("subspace", moments), moments, 10) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_learned_noise_stays_positive(moments):
    last = next(itertools.islice(em_steps(start("subspace", moments), moments), ITERATIONS, None))
    assert isinstance(last.params.noise, FullNoise)
    D = last.params.noise.to_dense(last.params.C, moments.null)
    assert np.linalg.eigvalsh(D + np.outer(moments.null, moments.null))[0] > 0


@pytest.mark.parametrize("horizon", [0, -1, 9])
def test_a_horizon_beyond_the_counts_is_refused(moments, horizon):
    with pytest.raises(ArgumentError, match=f"em_horizon={horizon} is not between 1 and 8"):
        check_horizon(moments, horizon)
    with pytest.raises(ArgumentError, match="max_lag"):
        next(em_steps(start("subspace", moments), moments, horizon=horizon))


def sticky(seed, n=3000, V=6, moves=0.02):
    """A chain that hardly ever moves: what it remembers goes far beyond a short horizon."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.random(n) < moves) % V


@pytest.mark.parametrize("noise", KINDS)
def test_where_the_horizon_is_too_short_em_stops_and_with_a_long_one_it_goes_on(noise):
    """Losses of likelihood come from the horizon, not from the steps: the same start with more lags has none."""
    stalled = 0
    for ids in (sticky(0), sticky(1), np.where(np.arange(2000) % 333, 0, np.arange(2000) // 333 % 6)):
        long = text_moments(ids, 6, 100, pseudocount=0.001)
        for horizon, h in itertools.product((1, 2, 100), (1, 2)):
            params = subspace_identification(long, h, horizon=2, rng=np.random.default_rng(0), noise=noise)
            steps = list(itertools.islice(em_steps(params, long, horizon=horizon), 16))
            found = np.array([step.log_likelihood for step in steps])
            assert np.diff(found[1:]).min() >= -1e-9
            for before, after in itertools.pairwise(steps):
                assert after.stalled or after.iteration == before.iteration + 1
                assert not before.stalled or after is before
            if horizon == 100:
                assert np.diff(found).min() > -1e-9
                assert not steps[-1].stalled
            stalled += steps[-1].stalled and horizon < 100
    assert stalled > 0


@pytest.mark.parametrize("relaxation", [1.0, FIRST_RELAXATION])
@pytest.mark.parametrize("noise", KINDS)
def test_every_step_is_a_model_and_its_statistics_are_covariances(noise, relaxation):
    """Short horizons, hardly any noise, and corpora of one movement: A leaves the unit ball if nothing holds it."""
    texts = [sticky(0), np.arange(2000) % 3, np.repeat(np.random.default_rng(1).integers(0, 4, 1000), 2)]
    for ids, horizon, kappa in itertools.product(texts, (1, 2, 3), (1e-3, 0.5)):
        moments = text_moments(ids, 6, 3, pseudocount=kappa)
        params = random_start(moments, 2, rng=np.random.default_rng(0), noise=noise)
        for step in itertools.islice(em_steps(params, moments, horizon=horizon, relaxation=relaxation), 20):
            assert np.linalg.eigvalsh(step.params.Q)[0] > 0
            for name in ("filt_filt", "smooth_smooth"):
                values = np.linalg.eigvalsh(getattr(step.statistics, name))
                assert values[0] >= -1e-6 * max(values[-1], 1e-300), name


def test_parameters_are_frozen(moments):
    params = start("subspace", moments)
    assert isinstance(params, LDSParams)
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.A = np.eye(H)
