"""Leading eigenvectors against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from textlds.linalg.krylov import krylov_products, leading_eigenvectors


def symmetric(rows, values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((rows, len(values))))
    return (Q * values) @ Q.T


@pytest.mark.parametrize("rows", [5, 700, 1500])
def test_they_are_those_of_largest_modulus(rows):
    values = np.array([9.0, -7.0, 5.0, 4.0, -3.0, *np.linspace(1, 0.1, max(rows - 5, 0))])[:rows]
    S = symmetric(rows, values)
    products = []

    def multiply(panel):
        products.append(panel.shape)
        return (S @ panel).astype(np.float32)

    found, vectors = leading_eigenvectors(multiply, rows, 5, rng=np.random.default_rng(1), threads=1)
    np.testing.assert_allclose(found, values[:5], rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-4)
    np.testing.assert_allclose(S @ vectors, vectors * found, atol=2e-3)
    assert len(products) <= krylov_products(5)


def test_a_matrix_of_low_rank_has_no_more_than_its_rank():
    S = symmetric(3000, np.array([3.0, -2.0, 1.0]))
    found, vectors = leading_eigenvectors(
        lambda panel: (S @ panel).astype(np.float32), 3000, 10, rng=np.random.default_rng(0), threads=1
    )
    np.testing.assert_allclose(found[:3], [3, -2, 1], rtol=1e-4)
    assert np.abs(found[3:]).max(initial=0) < 1e-3
    assert np.isfinite(vectors).all()


def test_the_same_bits_for_any_number_of_threads():
    S = symmetric(2000, np.linspace(5, 0.1, 200)).astype(np.float32)
    one, two = (
        leading_eigenvectors(lambda panel: S @ panel, 2000, 20, rng=np.random.default_rng(0), threads=n) for n in (1, 2)
    )
    assert one[1].tobytes() == two[1].tobytes()
