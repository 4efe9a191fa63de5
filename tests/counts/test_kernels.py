from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.counting_twin import pairs_twin, rows_twin, sum_twin
from textlds.counts import blocks, kernels
from textlds.counts.sinks import CsrSource, MemorySink


def count(rows, n_rows, max_lag, *, first=0, **options):
    sink = MemorySink(n_rows, max_lag)
    unigrams = blocks.count_block(
        np.asarray(rows, np.int32), first=first, n_rows=n_rows, max_lag=max_lag, sink=sink, **{"threads": 1, **options}
    )
    return unigrams, sink.lags()


def as_dict(matrix):
    coo = matrix.tocoo()
    return dict(zip(zip(coo.row.tolist(), coo.col.tolist(), strict=True), coo.data.tolist(), strict=True))


def zipf_rows(seed, n, n_rows, stop_every=20):
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.zipf(1.3, n) - 1, n_rows - 1).astype(np.int32)
    rows[rng.random(n) < 1 / stop_every] = kernels.STOP
    return rows


def test_orientation_is_later_by_earlier():
    _, (lag1, lag2) = count([0, 1, 0, 1, 2], 3, 2)  # a b a b c
    assert lag1.toarray().tolist() == [[0, 1, 0], [2, 0, 0], [0, 1, 0]]  # [b, a] = 2: b stands right of a twice
    assert lag2.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


@given(st.lists(st.integers(-1, 9), max_size=60), st.integers(1, 8), st.integers(1, 2))
@settings(max_examples=150, deadline=None)
def test_count_rows_agrees_with_its_twin(rows, max_lag, threads):
    unigrams, lags = count(rows, 10, max_lag, threads=threads)
    for lag, expected in zip(lags, pairs_twin(rows, max_lag), strict=True):
        assert as_dict(lag) == dict(expected)
    assert dict(Counter(row for row in rows if row >= 0)) == {i: n for i, n in enumerate(unigrams.tolist()) if n}


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 4096, 4097, 9000])
def test_every_size_of_the_bitmap(n_rows):
    rows = zipf_rows(n_rows, 3000, n_rows)
    rows[::7] = np.random.default_rng(1).integers(0, n_rows, len(rows[::7]))
    _, lags = count(rows, n_rows, 3)
    for lag, expected in zip(lags, pairs_twin(rows.tolist(), 3), strict=True):
        assert as_dict(lag) == dict(expected)
        assert lag.has_sorted_indices
        lag.check_format(full_check=True)


def test_very_frequent_rows_are_counted_alike():
    rows = zipf_rows(3, 20_000, 50, stop_every=30)
    rows[rows >= 20] = 0
    assert (rows == 0).sum() >= kernels.FREQUENT
    _, lags = count(rows, 50, 3, threads=2)
    for lag, expected in zip(lags, pairs_twin(rows.tolist(), 3), strict=True):
        assert as_dict(lag) == dict(expected)


def test_blocks_with_context_add_up_to_the_whole():
    rows, n_rows, max_lag = zipf_rows(0, 5000, 300), 300, 5
    unigrams, whole = count(rows, n_rows, max_lag, threads=2, entries=64)  # many ranges of rows
    total, counted = np.zeros(n_rows, np.int64), [np.zeros((n_rows, n_rows), np.int64) for _ in whole]
    for begin in range(0, len(rows), 700):
        context = min(begin, max_lag)
        part = rows[begin - context : begin + 700]
        n, lags = count(part, n_rows, max_lag, first=context)
        total += n
        for k, lag in enumerate(lags):
            counted[k] += lag.toarray().astype(np.int64)
    assert np.array_equal(total, unigrams)
    for k, lag in enumerate(whole):
        assert np.array_equal(counted[k], lag.toarray())


@given(st.lists(st.integers(-2, 5), max_size=50), st.booleans(), st.lists(st.integers(0, 50), max_size=4))
@settings(max_examples=200, deadline=None)
def test_to_rows_agrees_with_its_twin_however_the_stream_is_cut(ids, boundary_token, cuts):
    ids = [*ids, -2]
    rows_of = np.array([3, 1, 4, 1, 5, 9], np.int32)
    boundary_row = 7 if boundary_token else -1
    edges = sorted({0, len(ids), *(min(cut, len(ids)) for cut in cuts)})
    rows, state, boundaries, after_token = [], kernels.AFTER_STOP, 0, False
    for low, high in itertools.pairwise(edges):
        part = np.array(ids[low:high], np.int32)
        out = np.empty(2 * len(part), np.int32)
        n, state = kernels.to_rows(part, rows_of, boundary_row, state, out)
        rows += out[:n].tolist()
        runs, after_token = kernels.count_boundaries(part, after_token)
        boundaries += runs
    assert rows == rows_twin(ids, rows_of.tolist(), boundary_row)
    assert boundaries == (rows.count(7) if boundary_token else rows.count(-1))


matrices = st.dictionaries(st.tuples(st.integers(0, 69), st.integers(0, 69)), st.integers(1, 2**40), max_size=30)


@given(st.lists(st.tuples(matrices, st.integers(-3, 3)), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_merge_rows_agrees_with_its_twin(terms):
    def csr(matrix):
        rows, columns = zip(*matrix, strict=True) if matrix else ((), ())
        return sp.coo_array((np.array(list(matrix.values()), np.int64), (rows, columns)), shape=(70, 70)).tocsr()

    sink = MemorySink(70, 1)
    weights = [weight for _, weight in terms]
    sources = [CsrSource([csr(matrix)]) for matrix, _ in terms]
    blocks.merge(sources, weights, max_lag=1, threads=1, sink=sink)
    assert as_dict(sink.lags()[0]) == sum_twin([matrix for matrix, _ in terms], weights)


def test_first_bad_row():
    pointers = np.array([0, 2, 4], np.int64)
    assert kernels.first_bad_row(pointers, np.array([0, 3, 1, 2], np.int32), 4) == -1
    assert kernels.first_bad_row(pointers, np.array([0, 4, 1, 2], np.int32), 4) == 0
    assert kernels.first_bad_row(pointers, np.array([0, 3, 2, 2], np.int32), 4) == 1
    assert kernels.first_bad_row(pointers, np.array([-1, 3, 1, 2], np.int32), 4) == 0
