from __future__ import annotations

import numpy as np
import pytest

from oracles.synthetic import exact_moments, markov_text, random_lds, text_moments
from textlds.linalg import svd as svd_module
from textlds.linalg.operators import DenseOperator, HankelOperator
from textlds.linalg.svd import leading_svd, randomized_svd


def decaying(seed, rows, columns, rate=0.6):
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((rows, min(rows, columns))))
    V, _ = np.linalg.qr(rng.standard_normal((columns, min(rows, columns))))
    return DenseOperator((U * rate ** np.arange(min(rows, columns))) @ V.T)


def check_against_lapack(operator, rank, seed, tolerance):
    U, s, Vt = randomized_svd(operator, rank, np.random.default_rng(seed))
    dense = operator.to_dense()
    exact_U, exact_s, exact_Vt = np.linalg.svd(dense)
    assert (U.shape, s.shape, Vt.shape) == ((len(dense), rank), (rank,), (rank, dense.shape[1]))
    np.testing.assert_allclose(s, exact_s[:rank], rtol=tolerance)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(rank), atol=1e-12)
    best = (exact_U[:, :rank] * exact_s[:rank]) @ exact_Vt[:rank]
    assert np.linalg.norm((U * s) @ Vt - best) <= 10 * tolerance * np.linalg.norm(best)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(60, 60), (80, 40), (40, 80)])
def test_leading_part_of_a_dense_matrix_is_lapacks(seed, shape):
    check_against_lapack(decaying(seed, *shape), 6, seed, 1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_hankel_matrix_of_a_model(seed):
    params, m = random_lds(seed, V=12, h=4)
    check_against_lapack(HankelOperator(exact_moments(params, m, 5).lags), 4, seed, 1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_hankel_matrix_of_a_text_never_written_down(seed):
    moments = text_moments(markov_text(seed, 3000), 20, 7, pseudocount=5.0)
    lags = [DenseOperator(lag.to_dense()) for lag in moments.lags]
    U, s, Vt = randomized_svd(HankelOperator(moments.lags), 3, np.random.default_rng(seed))
    exact_s = np.linalg.svd(HankelOperator(lags).to_dense(), compute_uv=False)
    np.testing.assert_allclose(s, exact_s[:3], rtol=1e-6)
    # U s = H V: the factors belong together, not only one by one
    np.testing.assert_allclose(HankelOperator(lags).to_dense() @ Vt.T, U * s, atol=1e-5)


@pytest.mark.parametrize("largest", [0, 1024])
def test_small_matrices_are_factored_as_they_are_and_large_ones_at_random(monkeypatch, largest):
    monkeypatch.setattr(svd_module, "_DENSE", largest)
    operator = DenseOperator(np.random.default_rng(0).standard_normal((70, 50)))  # no gap anywhere
    U, s, Vt = leading_svd(operator, 5, np.random.default_rng(0))
    exact = np.linalg.svd(operator.to_dense())
    wrong = np.abs(s / exact[1][:5] - 1).max()
    assert wrong < 1e-13 if largest else 1e-9 < wrong < 0.1
    np.testing.assert_allclose(U.T @ operator.to_dense() @ Vt.T, np.diag(s), atol=1e-12)
    assert all(column[np.argmax(np.abs(column))] > 0 for column in U.T)


def test_signs_are_fixed_and_seeds_agree_on_the_answer():
    operator = decaying(1, 50, 50)
    first, second = (randomized_svd(operator, 5, np.random.default_rng(seed)) for seed in (0, 1))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert all(column[np.argmax(np.abs(column))] > 0 for column in first[0].T)


def test_the_same_seed_gives_the_same_bits():
    operator = decaying(2, 50, 30)
    first, second = (randomized_svd(operator, 5, np.random.default_rng(7)) for _ in range(2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def test_more_power_iterations_come_closer_where_the_spectrum_is_flat():
    operator = decaying(3, 200, 200, rate=0.98)
    exact = np.linalg.svd(operator.matrix, compute_uv=False)[:10]
    errors = [
        np.max(np.abs(randomized_svd(operator, 10, np.random.default_rng(0), power_iterations=n)[1] / exact - 1))
        for n in (0, 2, 8)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_full_rank_is_exact():
    check_against_lapack(decaying(4, 8, 8, rate=0.9), 8, 0, 1e-12)


def test_singular_values_beyond_the_rank_are_zero():
    low = DenseOperator(np.outer(np.arange(1.0, 9), np.arange(1.0, 9)))
    _, s, _ = randomized_svd(low, 3, np.random.default_rng(0))
    assert s[0] == pytest.approx(204)
    assert np.all(s[1:] < 1e-10)
