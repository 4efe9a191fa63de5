"""The engine against the dense steady-state filter and smoother in the original coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import gaussian
from oracles.synthetic import KINDS, canonical_of, random_lds
from textlds.inference import engine as engine_module
from textlds.inference.engine import Engine, sequence_starts, taken
from textlds.inference.kernels import unpack_on_sphere

V, H = 9, 3
RAGGED = [5, 1, 0, 17, 2, 0, 1, 30, 17]


def make_engine(seed=0, *, kind="full", dtype=np.float64, **options):
    params, m = random_lds(seed, V=V, **{"h": H, "kind": kind, **options})
    return params, m, Engine(*canonical_of(params, m), dtype)


def random_ids(seed, n):
    return np.random.default_rng(seed).choice(V, n).astype(np.int32)


def run(engine, ids, lengths, method, *, threads=1):
    """Return pred, filt and smooth of every token, in the order of the ids."""
    out = {name: np.full((len(ids), len(engine.A)), np.nan, engine.dtype) for name in ("pred", "filt", "smooth")}
    seen = np.zeros(len(ids), int)

    def consume(posterior, rows, places):
        seen[places] += 1
        for name, target in out.items():
            means = getattr(posterior, name)
            if means is not None:
                target[places] = means[rows]

    engine.run(ids, sequence_starts(lengths), method, consume, threads=threads)
    assert np.all(seen == 1)
    return out


def truth(params, m, engine, ids, lengths, *, exact=False):
    """Return the same by the oracle, moved to the coordinates of inference."""
    T = engine.system.T
    parts = {"pred": [], "filt": [], "smooth": []}
    for piece in np.split(ids, np.cumsum(lengths)[:-1]):
        if len(piece) == 0:
            continue
        w = gaussian.observations(piece, m**2)
        if exact:
            filtered = gaussian.kalman_filter(params, m, w)
            smoothed = gaussian.joint_gaussian_posterior(params, m, w)
        else:
            filtered, smoothed = gaussian.steady_filter(params, m, w), gaussian.steady_smoother(params, m, w)
        for name, means in (("pred", filtered.means_pred), ("filt", filtered.means), ("smooth", smoothed.means)):
            parts[name].append(means @ T.T)
    return {name: np.concatenate(means) for name, means in parts.items()}


def close(found, expected, tolerance):
    for name in expected:
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=tolerance * scale, rtol=0, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["smooth", "exact"])
def test_ragged_sequences(kind, method):
    params, m, engine = make_engine(1, kind=kind)
    ids = random_ids(0, sum(RAGGED))
    found = run(engine, ids, RAGGED, method)
    close(found, truth(params, m, engine, ids, RAGGED, exact=method == "exact"), 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_filter_stops_before_the_smoother(kind):
    params, m, engine = make_engine(2, kind=kind)
    ids = random_ids(0, sum(RAGGED))
    found = run(engine, ids, RAGGED, "filter")
    assert np.all(np.isnan(found.pop("smooth")))
    expected = truth(params, m, engine, ids, RAGGED)
    expected.pop("smooth")
    close(found, expected, 1e-9)


@pytest.mark.parametrize("length", [1, 2, 3, 64, 65])
@pytest.mark.parametrize("h", [1, 3, 4, 5, 8])
def test_a_single_sequence(length, h):
    """Up to 64 tokens are done by the compiled kernel, which takes four rows at a time; 65 are not."""
    params, m, engine = make_engine(3, h=h)
    ids = random_ids(1, length)
    close(run(engine, ids, [length], "smooth"), truth(params, m, engine, ids, [length]), 1e-9)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 5), st.sampled_from(["smooth", "exact"]))
def test_any_lengths(lengths, seed, method):
    params, m, engine = make_engine(seed)
    ids = random_ids(seed, sum(lengths))
    if len(ids) == 0:
        engine.run(ids, sequence_starts(lengths), method, lambda *_: pytest.fail("there is nothing to consume"))
        return
    found = run(engine, ids, lengths, method)
    close(found, truth(params, m, engine, ids, lengths, exact=method == "exact"), 1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["filter", "smooth", "exact"])
def test_a_sequence_has_the_same_bits_alone_and_among_others(method, dtype):
    _, _, engine = make_engine(4, h=21, dtype=dtype)
    pieces = [random_ids(seed, length) for seed, length in enumerate([7, 1, 30, 64, 65, 7, 3, 2, 90, 11, 7])]
    together = run(engine, np.concatenate(pieces), [len(piece) for piece in pieces], method)
    begin = 0
    for piece in pieces:
        alone = run(engine, piece, [len(piece)], method)
        for name, means in alone.items():
            np.testing.assert_array_equal(means, together[name][begin : begin + len(piece)])
        begin += len(piece)


@pytest.mark.parametrize("method", ["smooth", "exact"])
def test_what_the_words_to_the_right_add_is_not_lost_in_rounding(method):
    """A system that hardly remembers: they move the state by little, in a direction that is known."""
    rights = {}
    for dtype in (np.float32, np.float64):
        _, _, engine = make_engine(4, h=6, radius=1e-4, dtype=dtype)
        found = rights[dtype] = np.zeros((8, 6))

        def consume(posterior, rows, places, found=found):
            found[places] = posterior.right[rows]
            np.testing.assert_array_equal(posterior.smooth, posterior.filt + posterior.right)
            assert np.abs(posterior.right).max() < 1e-2 * np.abs(posterior.filt).max()

        engine.run(np.arange(8, dtype=np.int32), np.array([0, 8]), method, consume)
    wrong = np.linalg.norm(rights[np.float32] - rights[np.float64], axis=1)
    assert np.all(wrong[:-1] < 3e-6 * np.linalg.norm(rights[np.float64], axis=1)[:-1])


def test_rows_beyond_a_table_are_of_the_one_that_follows_it():
    rng = np.random.default_rng(0)
    table, extra, rows = rng.standard_normal((6, 4)), rng.standard_normal((3, 4)), np.array([5, 8, 0, 6, 6, 2, -1])
    both = np.vstack([table, extra])
    np.testing.assert_array_equal(taken(table, rows[:-1], extra), both[rows[:-1]])
    np.testing.assert_array_equal(taken(table, rows, extra)[-1], table[-1])  # as NumPy has it
    np.testing.assert_array_equal(taken(table, rows[2:3], None), table[:1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unpacking_on_the_sphere(dtype):
    rng = np.random.default_rng(0)
    packed = rng.standard_normal((6, 4)).astype(dtype)
    packed[2] = 0
    packed[4] *= dtype(1e-7)  # rounding
    packed[3] *= dtype(1e25)  # its square is above the largest float32
    rows, targets = np.array([3, 2, 5, 4, 0]), np.array([1, 0, 3, 4, 2])
    out = np.full((5, 9), np.nan, dtype)
    unpack_on_sphere(packed, rows, targets, out, 4)
    assert np.all(np.isnan(out[:, [0, 1, 2, 3, 8]]))
    for row, target in zip(rows, targets, strict=True):
        exact = packed[row].astype(np.longdouble)
        norm = np.sqrt((exact**2).sum())
        expected = exact / norm if norm > 1e-5 else 0
        np.testing.assert_allclose(out[target, 4:8], expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("method", ["smooth", "filter"])
@pytest.mark.parametrize("radius", [0.5, 0.9])
def test_a_long_sequence_is_cut_without_harm(method, radius):
    params, m, engine = make_engine(5, radius=radius)
    lengths = [7000, 3, 2001, 400]
    assert max(lengths) > engine_module._CHUNK + 2 * engine.overlap
    ids = random_ids(3, sum(lengths))
    found, expected = run(engine, ids, lengths, method), truth(params, m, engine, ids, lengths)
    if method == "filter":
        found.pop("smooth")
        expected.pop("smooth")
    close(found, expected, 1e-6)


def test_overlap_is_long_enough_to_forget_and_not_much_longer():
    _, _, engine = make_engine(5)
    F = engine.system.shrink[:, None] * engine.system.A
    assert np.linalg.norm(np.linalg.matrix_power(F, engine.overlap), 2) <= 1e-7
    assert np.linalg.norm(F, 2) ** (engine.overlap - 1) > 1e-7


def test_a_cut_changes_less_than_its_overlap_promises(monkeypatch):
    """Against the same engine without a cut, for tiny chunks: the error is that of the overlap."""
    _, _, engine = make_engine(6)
    ids = random_ids(4, 3000)
    whole = run(engine, ids, [3000], "exact")["smooth"][1000:2000]  # exact gains are steady there, and never cut
    monkeypatch.setattr(engine_module, "_CHUNK", 16)
    cut = run(engine, ids, [3000], "smooth")["smooth"][1000:2000]
    assert 0 < np.abs(cut - whole).max() < 1e-6 * np.abs(whole).max()


def test_a_model_that_hardly_forgets_is_not_cut():
    # almost nothing is seen of the state, which almost never changes
    _, _, engine = make_engine(7, radius=0.9999, explained=1e-4)
    assert engine.overlap > 4 * engine_module._CHUNK
    starts = sequence_starts([20_000, 5])
    first, last, keep_from, keep_to = engine._pieces(starts, "smooth")
    assert first.tolist() == keep_from.tolist() == [0, 20_000]
    assert last.tolist() == keep_to.tolist() == [20_000, 20_005]


@pytest.mark.parametrize("method", ["smooth", "filter", "exact"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_any_number_of_threads(method, dtype, monkeypatch):
    monkeypatch.setattr(engine_module, "_BATCH_TOKENS", 300)
    _, _, engine = make_engine(8, dtype=dtype)
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(0, 40, 100).tolist(), 3000]
    ids = random_ids(5, sum(lengths))
    one, two, three = (run(engine, ids, lengths, method, threads=n) for n in (1, 2, 3))
    for name, means in one.items():
        assert means.tobytes() == two[name].tobytes() == three[name].tobytes()


@pytest.mark.parametrize("method", ["smooth", "exact"])
def test_single_precision_is_near_double(method):
    lengths = [3000, *RAGGED]
    ids = random_ids(6, sum(lengths))
    _, _, double = make_engine(9, h=5)
    _, _, single = make_engine(9, h=5, dtype=np.float32)
    found = run(single, ids, lengths, method)
    assert all(means.dtype == np.float32 for means in found.values())
    close(found, run(double, ids, lengths, method), 1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_and_steady_differ_at_the_start_only(kind):
    """Steady gains at the start leave an error that decays as fast as the filter forgets, and nowhere else."""
    _, _, engine = make_engine(10, kind=kind)
    n = 2 * engine.overlap + 200
    ids = random_ids(7, n)
    steady, exact = (run(engine, ids, [n], method) for method in ("smooth", "exact"))
    for name in ("pred", "filt", "smooth"):
        difference = np.abs(steady[name] - exact[name]).max(axis=1)
        scale = np.abs(exact[name]).max()
        assert difference[:2].max() > 1e-4 * scale
        assert difference[engine.overlap :].max() < 1e-6 * scale


def test_a_batch_larger_than_the_limit_is_split(monkeypatch):
    params, m, engine = make_engine(11)
    sizes = []
    batch = engine.batch
    monkeypatch.setattr(engine, "batch", lambda ids, *rest: sizes.append(len(ids)) or batch(ids, *rest))
    monkeypatch.setattr(engine_module, "_BATCH_TOKENS", 50)
    lengths = [20] * 10 + [3] * 10
    ids = random_ids(8, sum(lengths))
    close(run(engine, ids, lengths, "smooth"), truth(params, m, engine, ids, lengths), 1e-9)
    assert len(sizes) > 3
    assert sum(sizes) == len(ids)
