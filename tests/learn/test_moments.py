from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.gaussian import observations
from oracles.synthetic import lag_counts, markov_kernel, markov_text, text_moments
from textlds.errors import ArgumentError, CountsError
from textlds.learn.moments import Moments, resolve_pseudocount, word_moments

V = 20


def dense_psi(unigrams, matrix, kappa):
    """Write Ψ_k down by its definition."""
    tokens, size = unigrams.sum(), len(unigrams)
    mu, f = (unigrams + kappa) / (tokens + kappa * size), unigrams / tokens
    total = np.zeros((size, size))
    for i, j in zip(*np.nonzero(matrix.toarray()), strict=True):  # every pair, centred by the mean of the corpus
        total += matrix[i, j] * np.outer(np.eye(size)[i] - f, np.eye(size)[j] - f)
    smoothing = tokens / (tokens + kappa * size)
    W = np.diag(mu**-0.5)
    return smoothing * W @ (total / tokens) @ W


@pytest.mark.parametrize("pseudocount", [0.0, 3.5, "paper"])
@pytest.mark.parametrize("seed", range(2))
def test_operators_are_their_definition(seed, pseudocount):
    ids = markov_text(seed, 2000)
    unigrams, lags = lag_counts(ids, V, 4)
    moments = word_moments(unigrams, lags, pseudocount=pseudocount, threads=2)
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((V, 3)), rng.standard_normal((V, 3))
    for operator, matrix in zip(moments.lags, lags, strict=True):
        expected = dense_psi(unigrams, matrix, moments.pseudocount)
        np.testing.assert_allclose(operator.to_dense(), expected, atol=1e-14)
        np.testing.assert_allclose(operator.matmat(X), expected @ X, atol=1e-13)
        np.testing.assert_allclose(operator.rmatmat(X), expected.T @ X, atol=1e-13)
        assert np.sum(operator.matmat(X) * Y) == pytest.approx(np.sum(X * operator.rmatmat(Y)), rel=1e-11)


@pytest.mark.parametrize("pseudocount", [0.0, 0.1, 50.0, "paper"])
def test_the_null_direction_is_exactly_null(pseudocount):
    # sentences of different lengths, so that every lag has marginals of its own
    rng = np.random.default_rng(0)
    parts = np.split(markov_text(3, 3000), np.sort(rng.choice(np.arange(1, 3000), 300, replace=False)))
    counted = [lag_counts(part, V, 5) for part in parts]
    lags = [sp.csr_array(sum(part[1][k] for part in counted)) for k in range(5)]
    moments = word_moments(sum(part[0] for part in counted), lags, pseudocount=pseudocount)
    m = moments.null
    assert np.linalg.norm(m) == pytest.approx(1, abs=1e-14)
    for operator in moments.lags:
        assert np.max(np.abs(operator.matmat(m[:, None]))) < 1e-12
        assert np.max(np.abs(operator.rmatmat(m[:, None]))) < 1e-12
    assert np.max(np.abs(moments.lag0(m[:, None]))) < 1e-12


@pytest.mark.parametrize("pseudocount", [0.0, 0.1, 50.0, "paper"])
@pytest.mark.parametrize("length", [3, 10, 1000])
def test_the_moments_are_the_autocovariance_of_a_process(length, pseudocount):
    # the block Toeplitz matrix of an autocovariance is positive semidefinite, however short the sequences
    ids = markov_text(3, 3000)
    counted = [lag_counts(ids[i : i + length], V, 5) for i in range(0, 3000, length)]
    lags = [sp.csr_array(sum(part[1][k] for part in counted)) for k in range(5)]
    moments = word_moments(sum(part[0] for part in counted), lags, pseudocount=pseudocount)
    psi = [moments.lag0(np.eye(V)), *(lag.to_dense() for lag in moments.lags)]
    toeplitz = np.block([[psi[i - j] if i >= j else psi[j - i].T for j in range(6)] for i in range(6)])
    assert np.linalg.eigvalsh(toeplitz)[0] > -1e-12


def test_rows_are_later_words_and_columns_earlier_ones():
    a, b, c = 0, 1, 2
    _, lags = lag_counts([a, b, a, b, c], 3, 2)
    # "a b a b c": b follows a twice, a follows b once, c follows b once; nothing follows c
    assert lags[0].toarray().tolist() == [[0, 1, 0], [2, 0, 0], [0, 1, 0]]
    psi = text_moments([a, b, a, b, c], 3, 2).lags[0]
    follows = psi.to_dense()
    e_a, e_b = np.eye(3)[:, [a]], np.eye(3)[:, [b]]
    mu = np.array([0.4, 0.4, 0.2])
    # N − a fᵀ − f bᵀ + 4 f fᵀ, over the five tokens
    assert follows[b, a] == pytest.approx((2 - 2 * 0.4 - 0.4 * 2 + 4 * 0.4 * 0.4) / 5 / np.sqrt(mu[b] * mu[a]))
    assert follows[c, b] == pytest.approx((1 - 1 * 0.4 - 0.2 * 2 + 4 * 0.2 * 0.4) / 5 / np.sqrt(mu[c] * mu[b]))
    assert follows[b, c] == pytest.approx((0 - 2 * 0.2 - 0.4 * 0 + 4 * 0.4 * 0.2) / 5 / np.sqrt(mu[b] * mu[c]))
    assert psi.matmat(e_a)[b, 0] == pytest.approx(follows[b, a])  # Ψ e_a: what comes after a
    assert psi.rmatmat(e_b)[a, 0] == pytest.approx(follows[b, a])  # Ψᵀ e_b: what comes before b


def test_moments_of_a_circular_text_are_averages_over_its_tokens():
    ids = markov_text(1, 500)
    moments = text_moments(ids, V, 3, circular=True)
    w = observations(ids, moments.frequencies)
    for k in (1, 2, 3):
        average = np.roll(w, -k, axis=0).T @ w / len(w)  # E[w_{t+k} w_tᵀ]
        np.testing.assert_allclose(moments.lags[k - 1].to_dense(), average, atol=1e-12)
    np.testing.assert_allclose(moments.lag0(np.eye(V)), w.T @ w / len(w), atol=1e-12)


def test_moments_of_a_markov_chain_come_from_its_kernel():
    kernel = markov_kernel(5, V=6, classes=3)
    values, vectors = np.linalg.eig(kernel)
    mu = np.real(vectors[:, np.argmax(values.real)])
    mu /= mu.sum()
    moments = text_moments(markov_text(5, 100_000, V=6, classes=3), 6, 2)
    for k in (1, 2):
        joint = np.linalg.matrix_power(kernel, k) * mu[None, :]  # [later, earlier]
        expected = (joint - np.outer(mu, mu)) / np.sqrt(np.outer(mu, mu))
        found = moments.lags[k - 1].to_dense()
        np.testing.assert_allclose(found, expected, atol=0.03)
        assert np.abs(found - expected.T).max() > 0.1  # the transpose would be another text


@pytest.mark.parametrize("panel", [np.float32, np.float64])
def test_the_panel_decides_the_precision(panel):
    operator = text_moments(markov_text(2, 1000), V, 1).lags[0]
    X = np.random.default_rng(0).standard_normal((V, 7)).astype(panel)
    for found, expected in [
        (operator.matmat(X), operator.to_dense() @ X),
        (operator.rmatmat(X), operator.to_dense().T @ X),
    ]:
        assert found.dtype == panel
        np.testing.assert_allclose(found, expected, atol=1e-13 if panel is np.float64 else 2e-5)


def test_products_leave_the_panel_alone():
    operator = text_moments(markov_text(2, 1000), V, 1).lags[0]
    X = np.ones((V, 2))
    operator.matmat(X)
    operator.rmatmat(X)
    assert (X == 1).all()


def test_threads_do_not_change_a_bit():
    unigrams, lags = lag_counts(markov_text(4, 5000), V, 2)
    X = np.random.default_rng(0).standard_normal((V, 9))
    one, three = (word_moments(unigrams, lags, pseudocount=1.0, threads=n).lags[1] for n in (1, 3))
    assert one.matmat(X).tobytes() == three.matmat(X).tobytes()
    assert one.rmatmat(X).tobytes() == three.rmatmat(X).tobytes()


def test_pseudocounts_smooth_the_frequencies_and_shrink_the_moments():
    unigrams, lags = lag_counts(markov_text(0, 2000), V, 1)
    plain, smooth = (word_moments(unigrams, lags, pseudocount=kappa) for kappa in (0.0, 100.0))
    np.testing.assert_allclose(plain.frequencies, unigrams / 2000)
    np.testing.assert_allclose(smooth.frequencies, (unigrams + 100) / (2000 + 100 * V))
    assert smooth.frequencies.sum() == pytest.approx(1)
    assert (smooth.pseudocount, smooth.tokens, smooth.rank) == (100.0, 2000.0, V - 1)
    assert np.linalg.norm(smooth.lags[0].to_dense(), 2) < np.linalg.norm(plain.lags[0].to_dense(), 2)


def test_the_papers_rule_is_the_papers_number():
    assert resolve_pseudocount("paper", tokens=1e9, vocabulary=200_000) == pytest.approx(1000)
    assert resolve_pseudocount("paper", tokens=2e9, vocabulary=100_000) == pytest.approx(4000)
    assert resolve_pseudocount(0, tokens=1e9, vocabulary=10) == 0.0
    assert resolve_pseudocount(2.5, tokens=1e9, vocabulary=10) == 2.5


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "papers", None])
def test_a_pseudocount_that_is_none_is_refused(bad):
    with pytest.raises(ArgumentError, match=r"pseudocount=.*0 or more, or 'paper'"):
        resolve_pseudocount(bad, tokens=1e6, vocabulary=100)


def test_words_that_never_occur_do_not_vary():
    ids = np.array([0, 1, 3, 1, 0, 3, 3, 1, 0] * 20)
    moments = text_moments(ids, 5, 2)  # words 2 and 4 never occur
    assert moments.rank == 2
    for operator in moments.lags:
        found = operator.to_dense()
        assert np.isfinite(found).all()
        assert not found[[2, 4]].any()
        assert not found[:, [2, 4]].any()
        assert np.isfinite(operator.matmat(np.ones((5, 1)))).all()
    # with a pseudocount they do
    assert text_moments(ids, 5, 2, pseudocount=1.0).rank == 4


def test_coordinates_without_a_null_direction_are_left_alone():
    moments = text_moments(markov_text(0, 500), V, 1)
    X = np.ones((V, 2))
    np.testing.assert_array_equal(Moments(moments.lags, None, V).lag0(X), X)


def test_a_single_type_is_refused():
    with pytest.raises(CountsError, match="single type"):
        text_moments(np.zeros(50, int), 3, 2)


def test_no_tokens_are_refused():
    with pytest.raises(CountsError, match="no tokens"):
        word_moments(np.zeros(4, int), [sp.csr_array((4, 4), dtype=np.uint32)])


def test_a_lag_that_no_text_reaches_has_no_covariance():
    unigrams, lags = lag_counts([0, 1, 2], 3, 2)
    lags.append(sp.csr_array((3, 3), dtype=np.int64))
    assert not word_moments(unigrams, lags).lags[2].to_dense().any()


def test_texts_of_one_word_each_are_not_told_to_count_no_lags():
    with pytest.raises(CountsError, match=r"side by side.*single word.*boundaries='none'"):
        word_moments(np.array([1, 1]), [sp.csr_array((2, 2), dtype=np.int64)])
