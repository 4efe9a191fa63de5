"""Products of rows: against the definition, and the same bits whatever rows are beside a row."""

from __future__ import annotations

import numpy as np
import pytest

from textlds.linalg.products import add_product, product

SHAPES = [(1, 1), (3, 2), (8, 8), (20, 13), (50, 50), (100, 100), (77, 131), (400, 200), (0, 5), (5, 0)]


def by_definition(rows, matrix, out):
    """Add the products one by one, in the order of k, in twice the precision."""
    twice = np.longdouble if out.dtype == np.float64 else np.float64
    for k in range(len(matrix)):  # a fused step rounds once
        out = (rows[:, k, None].astype(twice) * matrix[k].astype(twice) + out.astype(twice)).astype(out.dtype)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "m"), SHAPES)
def test_against_the_definition(k, m, dtype):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 4, 5, 9, 12, 31, 400):
        rows, matrix, out = (rng.standard_normal(shape).astype(dtype) for shape in ((n, k), (k, m), (n, m)))
        expected = by_definition(rows, matrix, out)
        add_product(rows, matrix, out)
        np.testing.assert_allclose(
            out, expected, rtol=20 * np.finfo(dtype).eps, atol=20 * np.finfo(dtype).eps * (k + 1)
        )
        np.testing.assert_allclose(product(rows, matrix), rows @ matrix, atol=20 * np.finfo(dtype).eps * (k + 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "m"), SHAPES)
def test_a_row_does_not_depend_on_the_others(k, m, dtype):
    rng = np.random.default_rng(1)
    rows, matrix = rng.standard_normal((75, k)).astype(dtype), rng.standard_normal((k, m)).astype(dtype)
    whole = product(rows, matrix)
    for n in range(1, 75):
        begin = int(rng.integers(0, 75 - n))
        np.testing.assert_array_equal(product(rows[begin : begin + n], matrix), whole[begin : begin + n])


def test_what_is_not_contiguous_or_of_another_type_is_made_so():
    rng = np.random.default_rng(2)
    rows, matrix = rng.standard_normal((6, 9)).astype(np.float32), rng.standard_normal((7, 9))
    np.testing.assert_allclose(product(rows[::2], matrix.T), rows[::2].astype(np.float64) @ matrix.T)
    np.testing.assert_array_equal(product(rows, matrix.T[:4]), product(rows[:, :4], matrix.T[:4]))  # more columns
