"""What holds for every matrix of counts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.sparse_twin import gather_twin
from textlds.learn.moments import word_moments
from textlds.linalg.operators import DenseOperator, HankelOperator
from textlds.linalg.sparse import SparseMatrix
from textlds.linalg.svd import randomized_svd


@st.composite
def count_matrices(draw):
    n, m = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    entries = draw(st.dictionaries(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), st.integers(1, 10**6)))
    dense = np.zeros((n, m), draw(st.sampled_from([np.uint32, np.int64])))
    for place, value in entries.items():
        dense[place] = value
    return sp.csr_array(dense)


@st.composite
def texts(draw):
    """Sentences of a small language with at least two words and one pair at every lag."""
    V, max_lag = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    words = st.integers(0, V - 1)
    sentences = draw(st.lists(st.lists(words, max_size=8), max_size=6))
    return [*sentences, [*range(V), *draw(st.lists(words, min_size=max_lag, max_size=8))]], V, max_lag


def panel(seed, rows, width):
    return np.random.default_rng(seed).standard_normal((rows, width))


@given(count_matrices(), st.integers(0, 3), st.integers(1, 4), st.integers(0, 100))
def test_sparse_products(matrix, width, threads, seed):
    M = SparseMatrix.from_scipy(matrix, threads=threads)
    n, m = matrix.shape
    X, Y = panel(seed, m, width), panel(seed, n, width)
    scale = 1e-12 * (1 + abs(matrix).sum())
    expected = np.array(gather_twin(matrix.indptr, matrix.indices, matrix.data, X)).reshape(n, width)
    np.testing.assert_allclose(M.matmat(X), expected, atol=scale)
    np.testing.assert_allclose(M.rmatmat(Y), matrix.toarray().T.astype(float) @ Y, atol=scale)
    np.testing.assert_array_equal(M.transpose().transpose().indices, matrix.indices)
    np.testing.assert_allclose(np.sum(M.matmat(X) * Y), np.sum(X * M.rmatmat(Y)), atol=10 * scale)


@given(texts(), st.sampled_from([0.0, 0.3, 20.0, "paper"]))
def test_moments_of_any_text(text, pseudocount):
    sentences, V, max_lag = text
    unigrams = np.bincount([word for sentence in sentences for word in sentence], minlength=V)
    lags = []
    for k in range(1, max_lag + 1):
        counts = np.zeros((V, V), np.int64)
        for sentence in sentences:
            for earlier, later in zip(sentence, sentence[k:], strict=False):
                counts[later, earlier] += 1
        lags.append(sp.csr_array(counts))
    moments = word_moments(unigrams, lags, pseudocount=pseudocount, threads=1)
    m = moments.null[:, None]
    X, Y = panel(0, V, 2), panel(1, V, 2)
    for psi in moments.lags:
        dense = psi.to_dense()
        np.testing.assert_allclose(psi.matmat(X), dense @ X, atol=1e-11)
        np.testing.assert_allclose(psi.rmatmat(Y), dense.T @ Y, atol=1e-11)
        assert max(np.abs(psi.matmat(m)).max(), np.abs(psi.rmatmat(m)).max()) < 1e-12


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 1000))
def test_hankel_products(r, n, seed):
    rng = np.random.default_rng(seed)
    H = HankelOperator([DenseOperator(rng.standard_normal((n, n))) for _ in range(2 * r - 1)])
    X, Y = rng.standard_normal((r * n, 2)), rng.standard_normal((r * n, 2))
    np.testing.assert_allclose(H.matmat(X), H.to_dense() @ X, atol=1e-12)
    np.testing.assert_allclose(H.rmatmat(Y), H.to_dense().T @ Y, atol=1e-12)


@settings(max_examples=50)
@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_svd_of_any_matrix(rows, columns, data):
    rank = data.draw(st.integers(1, min(rows, columns)))
    true_rank = data.draw(st.integers(0, min(rows, columns)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    M = rng.standard_normal((rows, true_rank)) @ rng.standard_normal((true_rank, columns))
    U, s, Vt = randomized_svd(DenseOperator(M), rank, rng)
    # the oversampled panel spans everything at this size, so that the leading part is exact
    np.testing.assert_allclose(s, np.linalg.svd(M, compute_uv=False)[:rank], atol=1e-9)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(M @ Vt.T, U * s, atol=1e-8)
