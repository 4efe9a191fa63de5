from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg as sl

from oracles.synthetic import exact_moments, markov_text, random_lds, text_moments
from textlds.learn.em import em_steps, evaluate, maximise
from textlds.learn.sketch import lost_energy, products, sketch
from textlds.learn.ssid import subspace_identification

V, H = 40, 4


@pytest.fixture(scope="module")
def moments():
    return text_moments(markov_text(0, 20_000, V=V, classes=5), V, 7, pseudocount="paper")


def make(moments, size, *, seed=0, threads=1, **options):
    return sketch(moments, size, rng=np.random.default_rng(seed), threads=threads, **options)


@pytest.mark.parametrize("size", [4, 10, 39])
def test_basis_is_orthonormal_and_orthogonal_to_the_null_direction(moments, size):
    found = make(moments, size)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(size), atol=1e-5)
    assert np.max(np.abs(moments.null @ found.basis)) < 1e-5
    assert (found.size, found.moments.size, found.moments.rank) == (size, size, V - 1)
    assert found.moments.null is None


def test_small_moments_are_projections(moments):
    found = make(moments, 8)
    for small, psi in zip(found.moments.lags, moments.lags, strict=True):
        expected = found.basis.T.astype(float) @ psi.to_dense() @ found.basis
        np.testing.assert_allclose(small.to_dense(), expected, atol=1e-5)


def test_basis_holds_the_range_of_a_model():
    params, m = random_lds(0, V=V, h=3)
    found = make(exact_moments(params, m, 5), 6)
    outside = params.C - found.basis @ (found.basis.T @ params.C)
    assert np.linalg.norm(outside) < 1e-4 * np.linalg.norm(params.C)


def test_basis_holds_the_dominant_range_of_a_text(moments):
    """The range of Σ_k Ψ_k Ψ_kᵀ + Ψ_kᵀ Ψ_k, nearly as well as any basis of its size could."""
    dense = [lag.to_dense() for lag in moments.lags]
    values, vectors = np.linalg.eigh(sum(X @ X.T + X.T @ X for X in dense))
    basis = make(moments, 12).basis
    assert np.max(sl.subspace_angles(basis, vectors[:, -H:])) < 0.3
    kept = sum(np.linalg.norm(basis.T @ X) ** 2 + np.linalg.norm(X @ basis) ** 2 for X in dense)
    assert kept > 0.95 * values[-12:].sum()


def test_learning_in_the_whole_space_is_learning_in_the_sketch_of_it(moments):
    found = make(moments, V - 1)  # nothing left out
    small = subspace_identification(found.moments, H, rng=np.random.default_rng(0))
    large = subspace_identification(moments, H, rng=np.random.default_rng(0))
    curves = [
        [step.log_likelihood for step in itertools.islice(em_steps(params, data), 6)]
        for params, data in ((small, found.moments), (large, moments))
    ]
    np.testing.assert_allclose(curves[0], curves[1], atol=1e-4)
    # lifted, it is the same model over the words
    step = evaluate(found.lift(small), moments, horizon=7)
    assert step.log_likelihood == pytest.approx(curves[0][0], abs=1e-4)


def test_lost_energy_is_what_an_iteration_would_leave_outside():
    moments = text_moments(markov_text(1, 1500, V=V, classes=5, order=0.3), V, 7)  # much noise, far from the basis
    found = make(moments, 5)
    start = subspace_identification(found.moments, H, rng=np.random.default_rng(0))
    step = evaluate(found.lift(start), moments, horizon=7)
    # the C of the M-step before its change of coordinates, in all directions of the state
    E0 = step.statistics.smooth_smooth + step.steady.cov_smooth
    C = step.statistics.obs_smooth @ np.linalg.inv(E0)
    expected = 1 - np.linalg.norm(found.basis.T @ C) ** 2 / np.linalg.norm(C) ** 2
    estimate = lost_energy(moments, found.basis, step, horizon=7, rng=np.random.default_rng(0), probes=4000)
    assert estimate == pytest.approx(expected, rel=0.1)
    assert expected > 1e-4
    whole = make(moments, V - 1)
    assert lost_energy(moments, whole.basis, step, horizon=7, rng=np.random.default_rng(0)) < 1e-5
    assert maximise(step, moments).C.shape == (V, H)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(moments):
    one, two, other = make(moments, 9), make(moments, 9, threads=2), make(moments, 9, seed=1)
    assert one.basis.tobytes() == two.basis.tobytes()
    for a, b in zip(one.moments.lags, two.moments.lags, strict=True):
        assert a.matrix.tobytes() == b.matrix.tobytes()
    assert not np.array_equal(one.basis, other.basis)


def test_products_are_counted(moments):
    calls = []
    make(moments, 5, on_product=lambda: calls.append(1))
    assert len(calls) == products(len(moments.lags))


def test_a_sketch_larger_than_the_rank_of_the_data_stays_orthonormal():
    params, m = random_lds(0, V=V, h=3)
    found = make(exact_moments(params, m, 5), 20)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(found.size), atol=1e-4)
    assert np.isfinite(found.basis).all()
    assert 3 <= found.size <= 20
