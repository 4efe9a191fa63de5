from __future__ import annotations

import numpy as np
import pytest

from oracles.gaussian import complement, dense, observations
from oracles.synthetic import KINDS, exact_moments, random_lds, random_spd
from textlds.errors import ArgumentError, NoiseError
from textlds.lds.noise import (
    NOISE_KINDS,
    PSD_MARGIN,
    FullNoise,
    SphericalNoise,
    clip_to_psd,
    explained_variance,
    initial_noise,
    noise_from_arrays,
)

V, H = 9, 3


@pytest.fixture(params=[(kind, seed) for kind in KINDS for seed in range(3)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    kind, seed = request.param
    return random_lds(seed, V=V, h=H, kind=kind)


def inverse_on_support(D, params, m):
    """Return D⁻¹, or D⁺ on the complement of m for the kinds that have no variance along m."""
    if params.noise.kind in ("diagonal", "bohning"):
        return np.linalg.inv(D)
    B = complement(m)
    return B @ np.linalg.inv(B.T @ D @ B) @ B.T


def test_all_kinds_are_tested():
    assert set(KINDS) == set(NOISE_KINDS)


def test_definition(case):
    params, m = case
    C, noise = params.C, params.noise
    mu, ones = m**2, np.ones(V)
    expected = {
        "full": lambda: np.eye(V) - np.outer(m, m) - C @ noise.M @ C.T,
        "spherical": lambda: noise.d * (np.eye(V) - np.outer(m, m)),
        "diagonal": lambda: np.diag(noise.d),
        "bohning": lambda: 0.5 * np.diag(mu**-0.5) @ (np.eye(V) - np.outer(ones, ones) / (V + 1)) @ np.diag(mu**-0.5),
    }[noise.kind]()
    np.testing.assert_allclose(noise.to_dense(C, m), expected, atol=1e-13)


def test_woodbury_forms_against_dense(case):
    params, m = case
    C = params.C
    found, inverse = params.noise.precision(C), inverse_on_support(params.noise.to_dense(C, m), params, m)
    np.testing.assert_allclose(found.DC, inverse @ C, atol=1e-11)
    np.testing.assert_allclose(found.gram, C.T @ inverse @ C, atol=1e-11)
    np.testing.assert_array_equal(found.gram, found.gram.T)


@pytest.mark.parametrize("kind", ["diagonal", "bohning"])
def test_kinds_of_full_rank_do_not_need_C_orthogonal_to_m(kind):
    params, m = random_lds(0, V=V, h=H, kind=kind)
    C = np.random.default_rng(1).standard_normal((V, H))
    found, inverse = params.noise.precision(C), np.linalg.inv(params.noise.to_dense(C, m))
    np.testing.assert_allclose(found.DC, inverse @ C, atol=1e-11)
    np.testing.assert_allclose(found.gram, C.T @ inverse @ C, atol=1e-11)


def test_scalars_relative_to_the_static_model(case):
    params, m = case
    model, psi0 = dense(params, m), np.eye(V) - np.outer(m, m)
    B = model.basis
    found = params.noise.precision(params.C)
    logdet = np.linalg.slogdet(model.D)[1] - np.linalg.slogdet(model.D_static)[1]
    assert found.logdet == pytest.approx(logdet, abs=1e-11)
    trace = np.trace((np.linalg.inv(model.D) - np.linalg.inv(model.D_static)) @ B.T @ psi0 @ B)
    assert found.trace == pytest.approx(trace, abs=1e-10)


def test_quadratic_form_of_every_word(case):
    params, m = case
    model = dense(params, m)
    w = observations(np.arange(V), m**2) @ model.basis
    difference = np.linalg.inv(model.D) - np.linalg.inv(model.D_static)
    expected = np.einsum("ij,jk,ik->i", w, difference, w)
    np.testing.assert_allclose(params.noise.word_terms(params.C, m), expected, rtol=1e-9, atol=1e-9)
    # averaged over words as frequent as they are, it is the trace: E[w wᵀ] = Ψ_0
    assert expected @ m**2 == pytest.approx(params.noise.precision(params.C).trace, abs=1e-9)


def test_arrays_are_enough_to_rebuild(case):
    params, m = case
    again = noise_from_arrays(params.noise.kind, params.noise.arrays(), m)
    assert type(again) is type(params.noise)
    np.testing.assert_allclose(again.to_dense(params.C, m), params.noise.to_dense(params.C, m), rtol=1e-14, atol=1e-14)
    before, after = params.noise.precision(params.C), again.precision(params.C)
    assert (after.logdet, after.trace) == pytest.approx((before.logdet, before.trace), rel=1e-12)


def test_words_without_frequency_have_finite_terms():
    m = np.sqrt([0.5, 0.3, 0.2, 0.0])
    C = np.zeros((4, 1))
    C[:3, 0] = 0.3 * complement(m[:3])[:, 0]
    for kind in KINDS:
        noise = initial_noise(kind, C, np.eye(1), m, 2)
        found = noise.precision(C)
        assert np.isfinite([found.logdet, found.trace]).all()
        assert np.isfinite(found.DC).all()
        assert np.isfinite(noise.word_terms(C, m)).all()


def test_a_change_of_coordinates_leaves_D(case):
    params, m = case
    T = np.random.default_rng(0).standard_normal((H, H))
    C = params.C @ np.linalg.inv(T)
    moved = params.noise.transformed(T)
    np.testing.assert_allclose(moved.to_dense(C, m), params.noise.to_dense(params.C, m), atol=1e-11)
    before, after = params.noise.precision(params.C), moved.precision(C)
    assert (after.logdet, after.trace) == pytest.approx((before.logdet, before.trace), abs=1e-10)
    np.testing.assert_allclose(after.gram, np.linalg.inv(T).T @ before.gram @ np.linalg.inv(T), atol=1e-9)


def test_static_full_noise_has_scalars_of_zero():
    found = FullNoise(np.zeros((H, H))).precision(np.ones((V, H)))
    assert (found.logdet, found.trace) == (0, 0)


@pytest.mark.parametrize("above", [1, 2, 3])
def test_a_negative_full_noise_is_refused_however_many_directions_are_negative(above):
    C = np.linalg.qr(np.random.default_rng(0).standard_normal((V, H)))[0]
    M = np.diag([1.5 if i < above else 0.5 for i in range(H)])  # det(I − M G) > 0 where two are above one
    with pytest.raises(NoiseError, match="pseudocount"):
        FullNoise(M).precision(C)


def test_a_noise_that_is_not_finite_is_refused():
    good_C, good_M = np.ones((V, H)) / 100, np.eye(H)
    for C, M in [(good_C, np.full((H, H), np.nan)), (np.full((V, H), np.inf), good_M), (good_C * np.nan, good_M)]:
        for use in (lambda C, M: FullNoise(M).precision(C), clip_to_psd):
            with pytest.raises(NoiseError, match="not finite"):
                use(C, M)


@pytest.mark.parametrize("seed", range(4))
def test_explained_variance_is_the_spectrum_of_C_M_Ct(seed):
    rng = np.random.default_rng(seed)
    C, M = rng.standard_normal((V, H)), random_spd(rng, H)
    np.testing.assert_allclose(explained_variance(C, M), np.linalg.eigvalsh(C @ M @ C.T)[-H:], rtol=1e-10)


def test_explained_variance_where_C_is_rank_deficient():
    rng = np.random.default_rng(1)
    C = np.outer(rng.standard_normal(V), rng.standard_normal(H))
    M = random_spd(rng, H)
    np.testing.assert_allclose(explained_variance(C, M), np.linalg.eigvalsh(C @ M @ C.T)[-H:], atol=1e-12)


@pytest.mark.parametrize("largest", [0.5, 0.999, 1.0, 3.0, 1e6])
def test_clipping_shrinks_just_enough(largest):
    params, m = random_lds(0, V=V, h=H, explained=largest)
    M = clip_to_psd(params.C, params.noise.M)
    eigenvalues = np.linalg.eigvalsh(FullNoise(M).to_dense(params.C, m) + np.outer(m, m))
    if largest < 1 - PSD_MARGIN:
        np.testing.assert_array_equal(M, params.noise.M)
    else:
        assert eigenvalues[0] == pytest.approx(PSD_MARGIN, rel=1e-3)
        np.testing.assert_allclose(M / M[0, 0], params.noise.M / params.noise.M[0, 0])  # (1 − α₀) M
    FullNoise(M).precision(params.C)  # is accepted


@pytest.mark.parametrize("kind", KINDS)
def test_estimated_noise_is_the_residual_covariance_within_its_kind(kind):
    params, m = random_lds(2, V=V, h=H, kind=kind)
    moments = exact_moments(params, m, 1)
    E0 = params.cov_stationary()
    residual = np.eye(V) - np.outer(m, m) - params.C @ E0 @ params.C.T
    found = params.noise.estimated(params.C, E0)
    expected = {
        "full": residual,
        "diagonal": np.diag(np.diag(residual)),
        "spherical": np.trace(residual) / (V - 1) * (np.eye(V) - np.outer(m, m)),
        "bohning": params.noise.to_dense(params.C, m),
    }[kind]
    np.testing.assert_allclose(found.to_dense(params.C, m), expected, atol=1e-12)
    started = initial_noise(kind, params.C, E0, moments.null, moments.rank)
    np.testing.assert_allclose(started.to_dense(params.C, m), expected, atol=1e-12)
    assert started.kind == found.kind == kind


def test_estimated_noise_never_loses_all_its_variance():
    params, m = random_lds(2, V=V, h=H, explained=0.6)
    moments, E0 = exact_moments(params, m, 1), 1e3 * params.cov_stationary()
    for kind in ("diagonal", "spherical", "full"):
        noise = initial_noise(kind, params.C, E0, moments.null, moments.rank)
        eigenvalues = np.linalg.eigvalsh(noise.to_dense(params.C, m))
        assert np.count_nonzero(eigenvalues > 0.5 * PSD_MARGIN) >= V - 1
        assert np.isfinite(noise.precision(params.C).gram).all()


def test_kinds_that_need_the_words_refuse_compressed_coordinates():
    params, _ = random_lds(0, V=V, h=H)
    for kind in ("diagonal", "bohning"):
        with pytest.raises(ArgumentError, match=f"noise='{kind}' needs the full space"):
            initial_noise(kind, params.C, params.noise.M, None, 40)
    # the dimension of the observations stays the true one, not that of the coordinates
    spherical = initial_noise("spherical", params.C, params.noise.M, None, 40)
    assert isinstance(spherical, SphericalNoise)
    explained = np.trace(params.C @ params.noise.M @ params.C.T)
    assert spherical.d == pytest.approx((40 - explained) / 40)


def test_an_unknown_kind_lists_the_known_ones():
    params, m = random_lds(0, V=V, h=H)
    with pytest.raises(ArgumentError, match="'fancy' is not one of 'full', 'diagonal', 'spherical', 'bohning'"):
        initial_noise("fancy", params.C, params.noise.M, m, len(m) - 1)
