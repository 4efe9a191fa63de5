from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

from oracles.synthetic import KINDS, exact_moments, markov_text, random_lds, text_moments
from textlds.errors import ArgumentError, RankError
from textlds.lds.noise import START_MARGIN, FullNoise, explained_variance
from textlds.lds.params import LDSParams
from textlds.learn.moments import Moments
from textlds.learn.ssid import pulled_inside, random_start, subspace_identification
from textlds.linalg.operators import DenseOperator
from textlds.linalg.psd import spectral_radius

OUTPUTS = ("first", "regression")
COVARIANCES = ("matched", "paper")


def identify(moments, h, seed=0, **options):
    return subspace_identification(moments, h, rng=np.random.default_rng(seed), **options)


def eigenvalues(A):
    return np.sort_complex(np.round(np.linalg.eigvals(A), 12))


def markov_parameters(params, G, count):
    return [params.C @ np.linalg.matrix_power(params.A, k) @ G for k in range(count)]


@pytest.mark.parametrize("whitened", [True, False])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("seed", range(3))
def test_exact_moments_give_back_what_is_identifiable(seed, covariance, output, whitened):
    truth, m = random_lds(seed, V=12, h=3)
    moments = exact_moments(truth, m, 12)
    found = identify(moments, 3, horizon=3, covariance=covariance, output=output, whitened=whitened)
    np.testing.assert_allclose(eigenvalues(found.A), eigenvalues(truth.A), atol=1e-7)
    # C spans what it should: Ψ_1 = C G for some G, and then Ψ_k = C A^{k−1} G for lags far beyond those it saw
    G = np.linalg.lstsq(found.C, moments.lags[0].matrix, rcond=None)[0]
    for expected, product in zip(moments.lags, markov_parameters(found, G, 12), strict=True):
        np.testing.assert_allclose(product, expected.matrix, atol=1e-7 * np.abs(moments.lags[0].matrix).max())
    np.testing.assert_array_equal(found.Q, np.eye(3))
    assert np.max(np.abs(m @ found.C)) < 1e-10


def test_time_runs_forward():
    """Reversed moments are another model, even with the same eigenvalues."""
    truth, m = random_lds(1, V=12, h=3)
    moments = exact_moments(truth, m, 5)
    backward = Moments([DenseOperator(lag.matrix.T) for lag in moments.lags], m, moments.rank)
    C, reversed_C = identify(moments, 3, horizon=3).C, identify(backward, 3, horizon=3).C
    assert np.max(sl.subspace_angles(C, truth.C)) < 1e-6
    assert np.max(sl.subspace_angles(reversed_C, truth.C)) < 1e-6  # G = A Σ Cᵀ spans the same space
    np.testing.assert_allclose(eigenvalues(identify(backward, 3, horizon=3).A), eigenvalues(truth.A), atol=1e-7)
    # what follows a word: the predicted next observation C A E[x | w] differs
    first = identify(moments, 3, horizon=3)
    forward = first.C @ first.A @ np.linalg.lstsq(first.C, moments.lags[0].matrix, rcond=None)[0]
    np.testing.assert_allclose(forward, moments.lags[1].matrix, atol=1e-8)
    assert np.abs(forward - backward.lags[1].matrix).max() > 0.01


@pytest.mark.parametrize("h", [1, 3])
def test_matched_covariance_is_exact_where_the_scale_is_all_that_is_unknown(h):
    """With A = a I the balanced coordinates are Q ∝ I coordinates: the whole model comes back."""
    rng = np.random.default_rng(2)
    m = np.sqrt(np.full(10, 0.1))
    C = rng.standard_normal((10, h))
    C -= np.outer(m, m @ C)
    A, Q = -0.7 * np.eye(h), np.eye(h)
    cov = Q / (1 - 0.49)
    C *= np.sqrt(0.8 / np.linalg.eigvalsh(C @ cov @ C.T)[-1])
    truth = LDSParams(A, C, Q, FullNoise(cov))
    found = identify(exact_moments(truth, m, 5), h, horizon=3)
    explained = found.C @ found.cov_stationary() @ found.C.T
    np.testing.assert_allclose(explained, C @ cov @ C.T, atol=1e-8)
    np.testing.assert_allclose(found.noise.to_dense(found.C, m), truth.noise.to_dense(C, m), atol=1e-8)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("seed", range(3))
def test_matched_scale_is_the_least_squares_one(seed, output):
    truth, m = random_lds(seed, V=12, h=3, explained=0.2)
    moments = exact_moments(truth, m, 5)
    found = identify(moments, 3, horizon=3, output=output)
    G = np.linalg.lstsq(found.C, moments.lags[0].matrix, rcond=None)[0]  # Ψ_1 = C G
    observed = G @ found.C @ np.linalg.inv(found.C.T @ found.C)
    predicted = found.A @ found.cov_stationary()
    # all of this is in coordinates with Q = I; the rule speaks of those with Q = c I, an overall factor away
    assert np.sum((observed - predicted) * predicted) == pytest.approx(0, abs=1e-8 * np.sum(predicted**2))


def test_the_papers_covariance_has_unit_innovation_in_balanced_coordinates():
    truth, m = random_lds(0, V=12, h=3, explained=0.01)
    moments = exact_moments(truth, m, 5)
    paper, matched = (identify(moments, 3, horizon=3, covariance=rule) for rule in ("paper", "matched"))
    # balanced: Γ and Δ have the same singular values, S^½, so ΓᵀΓ = ΔΔᵀ = S
    observability = np.vstack([paper.C @ np.linalg.matrix_power(paper.A, i) for i in range(3)])
    gram = observability.T @ observability
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8)
    exact = np.linalg.svd(np.block([[moments.lags[2 + i - j].matrix for j in range(3)] for i in range(3)]))[1]
    np.testing.assert_allclose(np.diag(gram), exact[:3], rtol=1e-6)
    # the rules differ by a scalar only
    ratio = matched.C / paper.C
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)
    np.testing.assert_allclose(matched.A, paper.A, atol=1e-9)


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_noise_of_every_kind_is_valid(seed, noise):
    moments = text_moments(markov_text(seed, 4000), 20, 7, pseudocount=1.0)
    for covariance in COVARIANCES:
        found = identify(moments, 3, noise=noise, covariance=covariance)
        D = found.noise.to_dense(found.C, moments.null) + np.outer(moments.null, moments.null)
        assert np.linalg.eigvalsh(D)[0] > 0
        assert found.noise.kind == noise
        assert spectral_radius(found.A) < 1


def test_a_covariance_too_large_is_shrunk_to_leave_some_noise():
    moments = text_moments(markov_text(3, 4000, classes=5), 20, 7)  # explains more than everything, unclipped
    found = identify(moments, 4, covariance="paper")
    largest = explained_variance(found.C, found.noise.M)[-1]
    assert largest == pytest.approx(1 - START_MARGIN, abs=1e-9)


def test_output_by_regression_weighs_all_blocks():
    """On moments of no model the rules differ, and regression fits Γ better."""
    moments = text_moments(markov_text(0, 2000), 20, 7)
    first, regression = (identify(moments, 3, covariance="paper", output=rule) for rule in OUTPUTS)
    np.testing.assert_allclose(first.A, regression.A)
    assert np.abs(first.C - regression.C).max() > 1e-4
    dense = [lag.to_dense() for lag in moments.lags]
    U, s, _ = np.linalg.svd(np.block([[dense[3 + i - j] for j in range(4)] for i in range(4)]))
    span = (U[:, :3] * np.sqrt(s[:3])).reshape(4, 20, 3)
    signs = np.sign(np.sum(span[0] * first.C, axis=0))
    residuals = [
        sum(np.sum((block * signs - p.C @ np.linalg.matrix_power(p.A, i)) ** 2) for i, block in enumerate(span))
        for p in (first, regression)
    ]
    assert residuals[1] < residuals[0]
    for _ in range(5):
        moved = regression.C + 1e-3 * np.random.default_rng(1).standard_normal((20, 3))
        powers = [np.linalg.matrix_power(regression.A, i) for i in range(4)]
        changed = sum(np.sum((block * signs - moved @ power) ** 2) for block, power in zip(span, powers, strict=True))
        assert changed > residuals[1]


def test_whitening_changes_what_a_text_gives():
    moments = text_moments(markov_text(1, 4000), 20, 7, pseudocount=2.0)
    whitened, raw = identify(moments, 3), identify(moments, 3, whitened=False)
    assert np.max(np.abs(moments.null @ raw.C)) < 1e-12
    assert np.max(sl.subspace_angles(whitened.C, raw.C)) > 1e-3
    # the raw decomposition is that of W⁻¹ Ψ W⁻¹
    scale = np.outer(moments.null, moments.null)
    dense = [lag.to_dense() * scale for lag in moments.lags]
    U = np.linalg.svd(np.block([[dense[3 + i - j] for j in range(4)] for i in range(4)]))[0][:20, :3]
    assert np.max(sl.subspace_angles(raw.C, U / moments.null[:, None])) < 1e-4


def test_words_that_never_occur_have_no_output():
    ids = markov_text(2, 3000)
    moments = text_moments(np.where(ids >= 10, ids + 2, ids), 22, 7)  # 10 and 11 never occur
    for whitened in (True, False):
        found = identify(moments, 3, whitened=whitened)
        assert np.all(np.isfinite(found.C))
        assert np.abs(found.C[[10, 11]]).max() < 1e-15
        assert np.linalg.norm(found.C) < 10


def test_seeds_agree_and_the_same_seed_gives_the_same_bits():
    moments = text_moments(markov_text(5, 4000), 20, 7)
    first, again, other = (identify(moments, 3, seed) for seed in (0, 0, 1))
    assert (first.A.tobytes(), first.C.tobytes()) == (again.A.tobytes(), again.C.tobytes())
    np.testing.assert_allclose(eigenvalues(other.A), eigenvalues(first.A), atol=1e-5)


def test_pulled_inside_moves_only_what_is_outside():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((5, 5))
    rotation = 1.3 * np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    A = V @ sl.block_diag(rotation, 0.5, -0.3, -2.0) @ np.linalg.inv(V)
    found = pulled_inside(A, 0.99)
    assert found.dtype == np.float64
    expected = [0.99 * np.exp(1j), 0.99 * np.exp(-1j), 0.5, -0.3, -0.99]  # phases stay
    np.testing.assert_allclose(eigenvalues(found), np.sort_complex(expected), atol=1e-9)
    for column, value in ((2, 0.5), (3, -0.3)):
        np.testing.assert_allclose(found @ V[:, column], value * V[:, column], atol=1e-9)


def test_pulled_inside_leaves_a_stable_matrix_as_it_is():
    A = 0.9 * np.roll(np.eye(4), 1, axis=0)
    assert pulled_inside(A, 0.99) is A


@pytest.mark.parametrize("corner", [1.0, 1e8, 1e300])
def test_pulled_inside_survives_a_defective_matrix(corner):
    found = pulled_inside(np.array([[2.0, corner], [0.0, 2.0]]), 0.99)
    assert np.isfinite(found).all()
    assert spectral_radius(found) < 1


def test_an_unstable_estimate_is_pulled_inside():
    truth, m = random_lds(0, V=12, h=3, radius=0.9)
    lags = [DenseOperator(lag.matrix * 1.2**k) for k, lag in enumerate(exact_moments(truth, m, 5).lags)]
    found = identify(Moments(lags, m, 11), 3, horizon=3)
    assert spectral_radius(found.A) == pytest.approx(0.99)


def test_a_state_larger_than_the_rank_is_refused_with_the_rank():
    truth, m = random_lds(0, V=12, h=3)
    with pytest.raises(RankError, match=r"state_size=5, .*up to lag 5 have rank 3\. Lower state_size to at most 3"):
        identify(exact_moments(truth, m, 5), 5, horizon=3)


def test_a_state_larger_than_the_vocabulary_is_refused():
    truth, m = random_lds(0, V=6, h=3)
    moments = exact_moments(truth, m, 5)
    with pytest.raises(RankError, match=r"state_size=6 exceeds what a vocabulary of 6 words supports.*at most 5"):
        identify(moments, 6, horizon=3)
    with pytest.raises(RankError, match="state_size=6 exceeds"):
        random_start(moments, 6, rng=np.random.default_rng(0))


def test_a_text_without_structure_is_refused():
    nothing = Moments([DenseOperator(np.zeros((6, 6)))] * 7, np.full(6, 6**-0.5), 5)
    with pytest.raises(RankError, match="rank 0"):
        identify(nothing, 2)


def test_too_few_lags_are_refused_with_what_would_do():
    truth, m = random_lds(0, V=12, h=3)
    with pytest.raises(ArgumentError, match=r"horizon 4 needs lags up to 7, .*hold 5.*max_lag=7, or .*ssid_horizon=3"):
        identify(exact_moments(truth, m, 5), 3)
    with pytest.raises(ArgumentError, match=r"needs lags up to 7, .*hold 2\. Count with max_lag=7\.$"):
        identify(exact_moments(truth, m, 2), 3)  # no horizon would do
    with pytest.raises(ArgumentError, match="ssid_horizon=1"):
        identify(exact_moments(truth, m, 5), 3, horizon=1)


def test_raw_moments_need_the_words():
    truth, _ = random_lds(0, V=12, h=3)
    with pytest.raises(ArgumentError, match="full space"):
        identify(exact_moments(truth, None, 7), 3, whitened=False)


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_start_is_a_valid_model_of_the_size_it_says(seed, noise):
    moments = text_moments(markov_text(0, 2000), 20, 1)
    found = random_start(moments, 4, rng=np.random.default_rng(seed), noise=noise)
    assert spectral_radius(found.A) == pytest.approx(0.5)
    assert np.max(np.abs(moments.null @ found.C)) < 1e-12
    explained = explained_variance(found.C, found.cov_stationary())
    assert 0.05 < explained[0] <= explained[-1] < 0.9
    again = random_start(moments, 4, rng=np.random.default_rng(seed), noise=noise)
    assert found.C.tobytes() == again.C.tobytes()
    other = random_start(moments, 4, rng=np.random.default_rng(seed + 100), noise=noise)
    assert not np.allclose(found.C, other.C)
