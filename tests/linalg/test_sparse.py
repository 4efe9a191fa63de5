from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.sparse_twin import gather_twin, scaled_twin, transpose_twin
from textlds.linalg.gathering import CRUMBS, STRETCH_BYTES
from textlds.linalg.sparse import SparseMatrix

# Widths on both sides of one block of columns (64 of float64, 128 of float32) and of two.
WIDTHS = [1, 5, 64, 65, 129, 200, 300]


def counts_matrix(seed, shape=(40, 30), density=0.2, dtype=np.uint32):
    """Return counts with empty rows, empty columns, and one row far longer than the others."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 1000, shape) * (rng.random(shape) < density)
    dense[3], dense[-1], dense[:, 5] = 0, 0, 0
    dense[7] = rng.integers(1, 50, shape[1])
    return sp.csr_array(dense.astype(dtype))


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.float64])
def test_products_are_those_of_the_twin(dtype):
    matrix = counts_matrix(0, dtype=dtype)
    M = SparseMatrix.from_scipy(matrix)
    X, Y = np.random.default_rng(1).standard_normal((30, 5)), np.random.default_rng(2).standard_normal((40, 5))
    arrays = matrix.indptr, matrix.indices, matrix.data
    np.testing.assert_allclose(M.matmat(X), gather_twin(*arrays, X), rtol=1e-12, atol=1e-9)
    transposed = sp.csr_array(matrix.T.tocsr())
    expected = gather_twin(transposed.indptr, transposed.indices, transposed.data, Y)
    np.testing.assert_allclose(M.rmatmat(Y), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("panel", [np.float32, np.float64])
@pytest.mark.parametrize("width", [3, 140])
def test_scaled_product_is_that_of_the_twin(panel, width):
    matrix = counts_matrix(1)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, width)).astype(panel)
    before = X.copy()
    left, right = rng.standard_normal(40), rng.standard_normal(30)
    U, V = rng.standard_normal((40, 2)), rng.standard_normal((30, 2))
    expected = np.array(scaled_twin(matrix.indptr, matrix.indices, matrix.data, X, left, right, U, V))
    dense = (left[:, None] * matrix.toarray() - U @ V.T) * right
    np.testing.assert_allclose(expected, dense @ X, atol=1e-9)
    found = [SparseMatrix.from_scipy(matrix, threads=n).scaled_matmat(X, left, right, U, V) for n in (1, 3)]
    assert found[0].dtype == panel
    assert found[0].tobytes() == found[1].tobytes()
    tolerance = 1e-12 if panel is np.float64 else 3e-6
    assert np.max(np.abs(found[0] - expected)) <= tolerance * np.max(np.abs(expected))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("panel", [np.float32, np.float64])
def test_few_columns_are_scattered_to_what_the_transpose_gathers(panel):
    matrix = counts_matrix(2)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 5)).astype(panel)
    left, right = rng.standard_normal(30), rng.standard_normal(40)
    U, V = rng.standard_normal((30, 2)), rng.standard_normal((40, 2))
    M = SparseMatrix.from_scipy(matrix)
    scattered = M.scaled_rmatmat(X, left, right, U, V)
    assert not M._transpose
    gathered = M.transpose().scaled_matmat(X, left, right, U, V)
    # the way does not depend on what was done before: an interrupted fit goes on to the same bits
    assert M.scaled_rmatmat(X, left, right, U, V).tobytes() == scattered.tobytes()
    transposed = sp.csr_array(matrix.T.tocsr())
    arrays = transposed.indptr, transposed.indices, transposed.data
    expected = np.array(scaled_twin(*arrays, X, left, right, U, V))
    for found in (scattered, gathered):
        assert found.dtype == panel
        tolerance = 1e-12 if panel is np.float64 else 3e-6
        assert np.max(np.abs(found - expected)) <= tolerance * np.max(np.abs(expected))


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.float64])
def test_marginals_are_sums(dtype):
    matrix = counts_matrix(4, dtype=dtype)
    rows, columns = SparseMatrix.from_scipy(matrix).marginals()
    np.testing.assert_array_equal(rows, matrix.toarray().sum(axis=1))
    np.testing.assert_array_equal(columns, matrix.toarray().sum(axis=0))


def test_a_function_of_the_entries_goes_both_ways():
    matrix = counts_matrix(6)
    roots = SparseMatrix.from_scipy(matrix, threads=2).mapped(np.sqrt)
    dense, rng = np.sqrt(matrix.toarray()), np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 20)), rng.standard_normal((40, 20))
    np.testing.assert_allclose(roots.matmat(X), dense @ X, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(roots.rmatmat(Y), dense.T @ Y, rtol=1e-10, atol=1e-12)


def test_transpose_is_that_of_the_twin():
    matrix = counts_matrix(3)
    M = SparseMatrix.from_scipy(matrix)
    T = M.transpose()
    assert T.shape == (30, 40)
    rows = transpose_twin(matrix.indptr, matrix.indices, matrix.data, 30)
    for j, row in enumerate(rows):
        own = slice(T.indptr[j], T.indptr[j + 1])
        assert list(zip(T.indices[own].tolist(), T.data[own].tolist(), strict=True)) == row
    assert T.data.dtype == matrix.data.dtype
    assert M.transpose() is T  # built once


@pytest.mark.parametrize("panel", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
def test_both_directions_against_dense(panel, width):
    matrix = counts_matrix(4)
    M, dense = SparseMatrix.from_scipy(matrix), matrix.toarray().astype(np.float64)
    rng = np.random.default_rng(width)
    X, Y = rng.standard_normal((30, width)).astype(panel), rng.standard_normal((40, width)).astype(panel)
    tolerance = 1e-12 if panel is np.float64 else 3e-6
    for found, expected in [(M.matmat(X), dense @ X), (M.rmatmat(Y), dense.T @ Y)]:
        assert found.dtype == panel
        assert np.max(np.abs(found - expected)) <= tolerance * np.max(np.abs(expected))


@pytest.mark.parametrize("panel", [np.float32, np.float64])
def test_the_number_of_threads_does_not_change_a_bit(panel):
    matrix = counts_matrix(5, shape=(500, 300), density=0.1)
    X = np.random.default_rng(0).standard_normal((300, 70)).astype(panel)
    Y = np.random.default_rng(1).standard_normal((500, 70)).astype(panel)
    one = SparseMatrix.from_scipy(matrix, threads=1)
    for threads in (2, 3, 7):
        many = SparseMatrix.from_scipy(matrix, threads=threads)
        assert many.matmat(X).tobytes() == one.matmat(X).tobytes()
        assert many.rmatmat(Y).tobytes() == one.rmatmat(Y).tobytes()


@pytest.mark.parametrize(("panel", "width"), [(np.float32, 109), (np.float32, 64), (np.float64, 47)])
def test_a_panel_larger_than_the_cache_is_gathered_by_stretches(panel, width):
    """Rows of many entries are cut where a stretch ends, others are not; some begin late and some end early."""
    rng = np.random.default_rng(width)
    n = 5 * STRETCH_BYTES // (np.dtype(panel).itemsize * width) + 7
    assert n // 4 > CRUMBS * 6
    dense = (rng.random((12, n)) < 0.5) * rng.integers(1, 50, (12, n))
    dense[1], dense[2, 40:], dense[3, : n - 3], dense[4, : n // 2], dense[5, n // 3 :] = 0, 0, 0, 0, 0
    matrix, X = sp.csr_array(dense.astype(np.uint32)), rng.standard_normal((n, width)).astype(panel)
    one, three = (SparseMatrix.from_scipy(matrix, threads=threads).matmat(X) for threads in (1, 3))
    assert one.tobytes() == three.tobytes()
    expected = dense.astype(np.float64) @ X.astype(np.float64)
    assert np.max(np.abs(one - expected)) <= (1e-12 if panel is np.float64 else 3e-6) * np.max(np.abs(expected))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_wide_matrix_is_transposed_by_stripes_and_an_unsorted_one_as_a_whole(threads):
    matrix = counts_matrix(10, shape=(60, 1700), density=0.05)
    twin = transpose_twin(matrix.indptr, matrix.indices, matrix.data, 1700)
    T = SparseMatrix.from_scipy(matrix, threads=threads).transpose()
    assert np.repeat(np.arange(1700), np.diff(T.indptr)).tolist() == [j for j, row in enumerate(twin) for _ in row]
    pairs = list(zip(T.indices.tolist(), T.data.tolist(), strict=True))
    assert pairs == [pair for row in twin for pair in row]
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)])
    indices, data = matrix.indices[order], matrix.data[order]
    unsorted = SparseMatrix(matrix.indptr.astype(np.int64), indices, data, 1700, threads)
    assert unsorted.transpose().indices.tobytes() == T.indices.tobytes()
    assert unsorted.transpose().data.tobytes() == T.data.tobytes()
    X = np.random.default_rng(0).standard_normal((1700, 130))
    np.testing.assert_allclose(unsorted.matmat(X), matrix.toarray() @ X, rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_cover_every_row_once(threads):
    for matrix in (counts_matrix(6), sp.csr_array((8, 3), dtype=np.uint32), counts_matrix(7, shape=(9, 9))):
        parts = SparseMatrix.from_scipy(matrix, threads=threads)._parts()
        assert [row for first, last in parts for row in range(first, last)] == list(range(matrix.shape[0]))


def test_layout_of_the_panel_does_not_matter():
    M = SparseMatrix.from_scipy(counts_matrix(8))
    X = np.random.default_rng(0).standard_normal((30, 12))
    expected = M.matmat(X)
    np.testing.assert_array_equal(M.matmat(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(M.matmat(np.hstack([X, X])[:, :12]), expected)


def test_empty_matrices_and_panels():
    M = SparseMatrix.from_scipy(sp.csr_array((6, 4), dtype=np.uint32))
    assert not M.matmat(np.ones((4, 3))).any()
    assert not M.rmatmat(np.ones((6, 3))).any()
    assert M.matmat(np.ones((4, 0))).shape == (6, 0)


def test_counts_are_not_rounded_to_the_panel_before_they_are_summed_in_float64():
    matrix = sp.csr_array(np.array([[2**24 + 1, 1]], np.int64))
    assert SparseMatrix.from_scipy(matrix).matmat(np.ones((2, 1)))[0, 0] == 2**24 + 2


def test_the_counts_are_wrapped_not_copied_and_not_written():
    matrix = counts_matrix(9)
    matrix.indptr = matrix.indptr.astype(np.int64)
    M = SparseMatrix.from_scipy(matrix)
    assert np.shares_memory(M.data, matrix.data)
    assert np.shares_memory(M.indices, matrix.indices)
    assert matrix.data.flags.writeable  # only our view of it is read-only
