from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

from oracles.synthetic import random_spd
from textlds.linalg.psd import (
    fix_signs,
    is_contraction,
    nearest_contraction,
    nearest_covariance,
    spectral_radius,
    sqrt_and_inverse,
    symmetric,
)


def test_symmetric_part():
    X = np.random.default_rng(0).standard_normal((4, 4))
    S = symmetric(X)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(X - S, -(X - S).T)


@pytest.mark.parametrize("seed", range(3))
def test_root_and_inverse_root_are_scipys(seed):
    X = random_spd(np.random.default_rng(seed), 6, condition=1e4)
    root, inverse = sqrt_and_inverse(X)
    np.testing.assert_allclose(root, sl.sqrtm(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(inverse, sl.inv(sl.sqrtm(X)), rtol=1e-9, atol=1e-9)


def test_the_inverse_root_of_a_singular_matrix_is_bounded():
    v = np.array([3.0, 4.0, 0.0])
    root, inverse = sqrt_and_inverse(np.outer(v, v), floor=1e-4)
    np.testing.assert_allclose(np.linalg.eigvalsh(root), [5e-2, 5e-2, 5.0])  # 1e-4 of the largest, in the square
    np.testing.assert_allclose(np.linalg.eigvalsh(inverse), [0.2, 20.0, 20.0])
    assert all(np.isfinite(part).all() for part in sqrt_and_inverse(np.zeros((2, 2))))


def test_signs_are_fixed_and_the_product_stays():
    rng = np.random.default_rng(1)
    U, Vt = rng.standard_normal((7, 3)), rng.standard_normal((3, 5))
    U[:, 1] = -np.abs(U[:, 1])
    fixed_U, fixed_Vt = fix_signs(U, Vt)
    np.testing.assert_allclose(fixed_U @ fixed_Vt, U @ Vt)
    for column, before in zip(fixed_U.T, U.T, strict=True):
        assert column[np.argmax(np.abs(column))] > 0
        np.testing.assert_array_equal(np.abs(column), np.abs(before))
    again = fix_signs(U * [-1, 1, -1], Vt * np.array([-1, 1, -1])[:, None])
    np.testing.assert_array_equal(again[0], fixed_U)
    np.testing.assert_array_equal(again[1], fixed_Vt)


def test_spectral_radius_sees_complex_eigenvalues_and_not_the_norm():
    assert spectral_radius(np.array([[0.0, -2.0], [2.0, 0.0]])) == pytest.approx(2)
    assert spectral_radius(np.array([[0.5, 1e3], [0.0, 0.25]])) == pytest.approx(0.5)
    assert spectral_radius(np.zeros((0, 0))) == 0


def test_a_covariance_is_left_alone_and_anything_else_loses_its_negative_part():
    rng = np.random.default_rng(0)
    X = random_spd(rng, 5)
    assert nearest_covariance(X) is X
    v = rng.standard_normal(5)
    rank_one = np.outer(v, v)
    assert nearest_covariance(rank_one) is rank_one
    Y = symmetric(rng.standard_normal((5, 5)))
    values, vectors = np.linalg.eigh(Y)
    expected = sum(value * np.outer(v, v) for value, v in zip(values, vectors.T, strict=True) if value > 0)
    np.testing.assert_allclose(nearest_covariance(Y), expected, atol=1e-12)
    tiny = nearest_covariance(np.array([[1e-14, 0], [0, -1e-19]]))
    np.testing.assert_array_equal(tiny, [[1e-14, 0], [0, 0]])


def test_a_contraction_is_left_alone_and_anything_else_is_cut():
    A = np.random.default_rng(0).standard_normal((4, 4))
    small = A * (0.999 / np.linalg.norm(A, 2))
    assert is_contraction(small, 1e-6)
    assert nearest_contraction(small, 1e-6) is small
    assert not is_contraction(A / np.linalg.norm(A, 2), 1e-6)
    cut = nearest_contraction(A, 1e-6)
    assert is_contraction(cut, 1e-6)
    U, s, Vt = np.linalg.svd(A)
    np.testing.assert_allclose(cut, (U * np.minimum(s, 1)) @ Vt, atol=1e-5)
