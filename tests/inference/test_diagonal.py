"""The engine in the eigenbasis against the dense steady-state filter and smoother, and the lock-step engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.test_engine import RAGGED, V, make_engine, random_ids, truth
from textlds.inference import diagonal
from textlds.inference.diagonal import DiagonalEngine, distinct_words
from textlds.inference.engine import sequence_starts
from textlds.inference.scans import copy_words, cut, finish, number_words, row_length, scan_backward, scan_forward


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-5)


def vectors(
    engine, gains, ids, lengths, whitener, *, smooth=True, threads=1, parts=("state", "left_context", "right_context")
):
    parts = [part for part in parts if smooth or part != "right_context"]
    h = whitener.shape[1]
    out = np.full((len(ids), len(parts) * h), np.nan, engine.dtype)
    readings = [(engine.reading(part, whitener, smooth=smooth), i * h) for i, part in enumerate(parts)]
    numbers, distinct = distinct_words(ids, V)
    own = np.ascontiguousarray(gains[distinct], engine.dtype)
    engine.run(numbers, own, sequence_starts(lengths), readings, out, threads=threads)
    return {part: out[:, i * h : (i + 1) * h] for i, part in enumerate(parts)}


def expected(params, m, lockstep, ids, lengths, whitener, *, smooth=True):
    means = truth(params, m, lockstep, ids, lengths)
    state = means["smooth"] if smooth else means["filt"]
    found = {"state": unit(state @ whitener), "left_context": unit(means["pred"] @ whitener)}
    return {**found, "right_context": unit((means["smooth"] - means["filt"]) @ whitener)} if smooth else found


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("h", [1, 2, 3, 8, 17])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ragged_sequences(seed, h, smooth):
    params, m, lockstep = make_engine(seed, h=h)
    whitener = np.random.default_rng(seed).standard_normal((h, h))
    ids = random_ids(seed, sum(RAGGED))
    engine = DiagonalEngine(lockstep.system, np.float64)
    assert engine.usable
    found = vectors(engine, lockstep.gains, ids, RAGGED, whitener, smooth=smooth)
    for part, rows in expected(params, m, lockstep, ids, RAGGED, whitener, smooth=smooth).items():
        np.testing.assert_allclose(found[part], rows, atol=1e-8, err_msg=part)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 5))
def test_any_lengths(lengths, seed):
    params, m, lockstep = make_engine(seed)
    ids = random_ids(seed, sum(lengths))
    engine = DiagonalEngine(lockstep.system, np.float64)
    found = vectors(engine, lockstep.gains, ids, lengths, np.eye(3))
    if len(ids):
        for part, rows in expected(params, m, lockstep, ids, lengths, np.eye(3)).items():
            np.testing.assert_allclose(found[part], rows, atol=1e-7, err_msg=part)


@pytest.mark.parametrize("radius", [0.5, 0.9])
def test_long_sequences_are_cut_without_harm(radius):
    params, m, lockstep = make_engine(5, radius=radius)
    lengths = [7000, 3, 2001, 400, 700]
    ids = random_ids(3, sum(lengths))
    found = vectors(DiagonalEngine(lockstep.system, np.float64), lockstep.gains, ids, lengths, np.eye(3))
    for part, rows in expected(params, m, lockstep, ids, lengths, np.eye(3)).items():
        np.testing.assert_allclose(found[part], rows, atol=1e-5, err_msg=part)


def test_single_precision_is_as_near_to_double_as_the_lockstep_engine_is_within_a_small_factor():
    _, _, lockstep = make_engine(9, h=8)
    ids = random_ids(6, 3000)
    single, double = DiagonalEngine(lockstep.system), DiagonalEngine(lockstep.system, np.float64)
    found, exact = (vectors(e, lockstep.gains, ids, [3000], np.eye(8)) for e in (single, double))
    assert single.dtype == np.float32
    for part in found:
        error = np.linalg.norm(found[part] - exact[part], axis=1)
        assert np.median(error) < 1e-6
        assert error.max() < 1e-4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_any_number_of_threads_and_for_a_sequence_by_itself(dtype, monkeypatch):
    monkeypatch.setattr(diagonal, "_PIECE", 64)
    monkeypatch.setattr(diagonal, "_ROWS", 4)
    _, _, lockstep = make_engine(8)
    engine = DiagonalEngine(lockstep.system, dtype)
    lengths = [*np.random.default_rng(0).integers(0, 40, 100).tolist(), 3000]
    ids = random_ids(5, sum(lengths))
    one, two, three = (vectors(engine, lockstep.gains, ids, lengths, np.eye(3), threads=n) for n in (1, 2, 3))
    for part, rows in one.items():
        assert rows.tobytes() == two[part].tobytes() == three[part].tobytes()
    alone = vectors(engine, lockstep.gains, ids[-3000:], [3000], np.eye(3))
    for part, rows in alone.items():
        np.testing.assert_allclose(rows, one[part][-3000:], atol=1e-5)


def test_the_end_of_a_sequence_has_nothing_to_its_right_and_its_beginning_nothing_to_its_left():
    _, _, lockstep = make_engine(4, h=8)
    lengths = [1, 5, 1, 1, 30]
    found = vectors(DiagonalEngine(lockstep.system), lockstep.gains, random_ids(1, 38), lengths, np.eye(8))
    starts = sequence_starts(lengths)
    assert not found["left_context"][starts[:-1]].any()
    assert not found["right_context"][starts[1:] - 1].any()
    assert found["left_context"].any(axis=1).sum() == 38 - 5 == found["right_context"].any(axis=1).sum()


def test_a_basis_that_is_none_is_refused():
    """A Jordan block has one eigenvector; one nearly so amplifies rounding errors."""
    _, _, lockstep = make_engine(0)
    system = replace(lockstep.system, shrink=np.ones(3))
    for corner, usable in ((0.0, False), (1e-12, False), (0.3, True)):
        A = np.array([[0.5, 0.4, 0.0], [corner, 0.5, 0.4], [0.0, corner, 0.5]])
        assert DiagonalEngine(replace(system, A=A)).usable == usable
    assert DiagonalEngine(replace(system, A=np.zeros((3, 3)))).usable


def test_numbers_are_given_in_the_order_in_which_words_occur():
    ids = np.array([7, 3, 7, 7, 0, 3], np.int32)
    numbers, seen, distinct = np.empty_like(ids), np.full(8, -1, np.int32), np.empty_like(ids)
    assert number_words(ids, numbers, seen, distinct) == 3
    assert numbers.tolist() == [0, 1, 0, 0, 2, 1]
    assert distinct[:3].tolist() == [7, 3, 0]
    assert np.all(seen == -1)


@settings(max_examples=100)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(4, 20), st.integers(0, 9))
def test_pieces_keep_every_token_once_and_read_what_they_need(lengths, piece, overlap):
    starts = sequence_starts(lengths)
    bounds = np.empty((len(starts) + 2 * (int(starts[-1]) // piece + 1), 4), np.int64)
    n = cut(starts, piece, overlap, bounds)
    kept = [t for _, begin, end, _ in bounds[:n].tolist() for t in range(begin, end)]
    assert kept == list(range(starts[-1]))
    for low, begin, end, high in bounds[:n].tolist():
        first = max(s for s in starts.tolist() if s <= begin)
        last = min(s for s in starts.tolist() if s >= end)
        assert low == max(first, begin - overlap)
        assert high == min(last, end + overlap)
        assert begin < end


def test_kernels_and_their_uncompiled_twins_agree():
    rng = np.random.default_rng(0)
    h, c, lengths = 7, 2, [3, 1, 6, 1]
    numbers = rng.integers(0, 5, 11).astype(np.int32)
    fresh = np.zeros(12, np.bool_)
    fresh[sequence_starts(lengths)] = True
    table, ends = rng.standard_normal((5, 2 * h)), rng.standard_normal((4, h))
    real, imaginary = rng.standard_normal(h), rng.standard_normal(c)
    found, twin = np.zeros((2, 11, 2 * h))
    for out, pick in ((found, lambda f: f), (twin, lambda f: f.py_func)):
        pick(scan_forward)(numbers, fresh, table, real, imaginary, 0, 11, out)
        pick(scan_backward)(numbers, fresh, table, real, imaginary, 0, 11, ends, out)
    np.testing.assert_allclose(found, twin, rtol=1e-12)
    written, slow = np.zeros((2, 11, 20))
    own = rng.standard_normal((5, h))
    finish(found[:, :h].copy(), own, numbers, 0, 11, written, 3)
    copy_words(own, np.where(numbers == 2, -1, numbers), written, 0, 11, 10)
    slow[:, 3:10] = unit(found[:, :h] + own[numbers])
    slow[:, 10:17] = np.where((numbers == 2)[:, None], 0, own[numbers])
    np.testing.assert_allclose(written, slow, rtol=1e-12)


def test_the_length_of_a_row():
    row = np.random.default_rng(0).standard_normal(37).astype(np.float32)
    assert row_length(row, 32, np.empty(16, np.float32)) == pytest.approx(np.linalg.norm(row), rel=1e-6)
    assert row_length(row * np.float32(1e-7), 32, np.empty(16, np.float32)) == np.inf
