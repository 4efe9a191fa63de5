"""Merged counts against sums of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from textlds.lexicon import cooccurrences as module
from textlds.lexicon.cooccurrences import cooccurrences, merged_rows
from textlds.linalg.sparse import SparseMatrix


def random_lags(n, lags=3, *, density=0.2, dtype=np.uint32, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(lags):
        dense = rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < density)
        made.append(sp.csr_array(dense.astype(dtype)))
    return made


def dense(matrix):
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out = np.zeros(matrix.shape)
    out[rows, matrix.indices] = matrix.data
    return out


@pytest.mark.parametrize("block", [3, 128])
@pytest.mark.parametrize(("rows", "columns"), [((0, 40), 40), ((0, 25), 25), ((25, 40), 25), ((7, 7), 10), ((0, 1), 1)])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.float64])
def test_it_is_the_weighted_sum_of_lags_and_their_transposes(monkeypatch, block, rows, columns, dtype):
    monkeypatch.setattr(module, "_MOST_ROWS", block)
    lags, shape = random_lags(40, dtype=dtype), [1.0, 0.5, 0.0]
    whole = sum(s * (lag + lag.T).toarray().astype(float) for s, lag in zip(shape, lags, strict=True))
    for threads in (1, 2):
        found = cooccurrences(lags, shape, rows=rows, columns=columns, threads=threads)
        np.testing.assert_array_equal(dense(found), whole[slice(*rows), :columns])
        assert (found.data > 0).all()
        for i in range(found.shape[0]):
            assert (np.diff(found.indices[found.indptr[i] : found.indptr[i + 1]]) > 0).all()


def test_the_lags_are_left_as_they_are_and_threads_change_nothing():
    lags = random_lags(300, density=0.05)
    before = [lag.copy() for lag in lags]
    one, two = (cooccurrences(lags, [1, 0.7, 0.3], rows=(0, 300), columns=300, threads=n) for n in (1, 2))
    assert one.data.tobytes() == two.data.tobytes()
    assert one.indices.tobytes() == two.indices.tobytes()
    for a, b in zip(before, lags, strict=True):
        assert (a != b).nnz == 0


def test_counts_of_weights_that_are_not_binary_are_added_in_one_order():
    """Rows that are streamed from disk or held by a cluster have the same bits as those of lags in memory."""
    lags, shape = random_lags(200, density=0.1), [1, 1 / 3, 0.7]
    whole = cooccurrences(lags, shape, rows=(0, 200), columns=200, threads=2)
    ahead = [SparseMatrix.from_scipy(lag) for lag in lags]
    rows = merged_rows(ahead, [lag.transpose() for lag in ahead], shape, 200)
    assert rows.indices.tobytes() == whole.indices.tobytes()
    assert rows.data.tobytes() == whole.data.tobytes()
    expected = sum(s * (lag + lag.T).toarray().astype(float) for s, lag in zip(shape, lags, strict=True))
    np.testing.assert_allclose(dense(whole), expected, rtol=1e-6)
