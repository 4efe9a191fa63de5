from __future__ import annotations

import numpy as np
import pytest

from textlds.linalg.operators import DenseOperator, HankelOperator, ScaledOperator


def dense_lags(seed, count, n=4):
    rng = np.random.default_rng(seed)
    return [DenseOperator(rng.standard_normal((n, n))) for _ in range(count)]


def operators():
    rng = np.random.default_rng(0)
    rectangle = DenseOperator(rng.standard_normal((6, 4)))
    yield pytest.param(rectangle, id="dense")
    yield pytest.param(ScaledOperator(rectangle, rng.uniform(1, 2, 6), rng.uniform(1, 2, 4)), id="scaled")
    for r in (1, 2, 3, 4):
        yield pytest.param(HankelOperator(dense_lags(r, 2 * r - 1)), id=f"hankel-{r}")
    scaled = [ScaledOperator(lag, rng.uniform(1, 2, 4), rng.uniform(1, 2, 4)) for lag in dense_lags(9, 5)]
    yield pytest.param(HankelOperator(scaled), id="hankel-of-scaled")


@pytest.mark.parametrize("operator", list(operators()))
def test_products_against_dense_and_adjoint(operator):
    rng = np.random.default_rng(1)
    rows, columns = operator.shape
    dense = operator.to_dense()
    assert dense.shape == (rows, columns)
    X, Y = rng.standard_normal((columns, 3)), rng.standard_normal((rows, 3))
    np.testing.assert_allclose(operator.matmat(X), dense @ X, atol=1e-12)
    np.testing.assert_allclose(operator.rmatmat(Y), dense.T @ Y, atol=1e-12)
    assert np.sum(operator.matmat(X) * Y) == pytest.approx(np.sum(X * operator.rmatmat(Y)), rel=1e-12)


@pytest.mark.parametrize("operator", list(operators()))
def test_products_take_any_layout_and_leave_the_panel_alone(operator):
    X = np.asfortranarray(np.random.default_rng(2).standard_normal((operator.shape[1], 3)))
    before = X.copy()
    np.testing.assert_allclose(operator.matmat(X), operator.to_dense() @ X, atol=1e-12)
    np.testing.assert_array_equal(X, before)


def test_scaled_is_diag_times_matrix_times_diag():
    M, left, right = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 100.0]), np.array([1.0, 7.0])
    np.testing.assert_array_equal(
        ScaledOperator(DenseOperator(M), left, right).to_dense(), np.diag(left) @ M @ np.diag(right)
    )


def test_blocks_of_hankel_are_where_the_definition_puts_them():
    lags = dense_lags(3, 5)  # r = 3
    H = HankelOperator(lags).to_dense()
    for i in range(3):
        for j in range(3):
            block = H[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
            np.testing.assert_array_equal(block, lags[(3 + i - j) - 1].matrix)  # H[i, j] = M_{r+i−j}


class CountingOperator(DenseOperator):
    """Counts how often it is multiplied."""

    calls = 0

    def matmat(self, X):
        CountingOperator.calls += 1
        return super().matmat(X)


def test_hankel_reads_each_lag_once():
    lags = [CountingOperator(lag.matrix) for lag in dense_lags(4, 7)]
    HankelOperator(lags).matmat(np.ones((16, 2)))
    assert CountingOperator.calls == 7


def test_hankel_needs_an_odd_number_of_lags():
    with pytest.raises(ValueError, match="odd number, not 4"):
        HankelOperator(dense_lags(0, 4))
