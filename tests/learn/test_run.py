from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from model.worlds import CLASSES, SETTINGS, counts_of, fit, grammar_text, markov_sentence
from oracles.synthetic import KINDS
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, CountsError, RankError
from textlds.learn.em import em_steps, evaluate
from textlds.learn.moments import word_moments
from textlds.learn.settings import FitSettings
from textlds.learn.sketch import sketch
from textlds.learn.ssid import random_start, subspace_identification
from textlds.model.textlds import TextLDS

SMALL = {"state_size": 4, "iterations": 5}


@pytest.fixture(scope="module")
def counts():
    return counts_of([markov_sentence(0, 10_000, V=40)])


@pytest.fixture(scope="module")
def wide():
    """Enough words for a sketch to be the default at a state of 4."""
    return counts_of([markov_sentence(0, 30_000, V=300, classes=8)])


def bits(model):
    params = model.params
    arrays = [params.A, params.C, params.Q, *params.noise.arrays().values(), model.frequencies]
    arrays += [model.moments.filt_filt, model.moments.smooth_filt, model.moments.smooth_smooth]
    arrays += [model.lexicon.profiles, model.lexicon.spelling]
    return [array.tobytes() for array in arrays] + [model.history.log_likelihood, model.history.start]


# What fit does, done by hand


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("start", ["subspace", "random"])
def test_a_fit_in_the_full_space_is_its_parts_one_after_the_other(counts, noise, start):
    model = fit(counts, compression="none", noise=noise, start=start, seed=3, **SMALL)
    moments = word_moments(counts.unigrams, counts.lags, threads=1)
    make = {"subspace": subspace_identification, "random": random_start}[start]
    params = make(moments, 4, rng=np.random.default_rng([3, 2]), noise=noise)
    steps = list(itertools.islice(em_steps(params, moments), 6))
    assert model.history.start == steps[0].log_likelihood
    assert model.history.log_likelihood == [step.log_likelihood for step in steps[1:]]
    last = steps[-1]
    np.testing.assert_array_equal(model.params.A, last.params.A)
    np.testing.assert_array_equal(model.params.C, last.params.C.astype(np.float32))
    np.testing.assert_array_equal(model.moments.smooth_smooth, last.statistics.smooth_smooth)
    np.testing.assert_array_equal(model.moments.smooth_filt, last.statistics.smooth_filt)
    np.testing.assert_array_equal(model.moments.filt_filt, last.statistics.filt_filt)
    np.testing.assert_array_equal(model.frequencies, moments.frequencies)
    assert model.vocabulary is counts.vocabulary
    assert model.params.noise.kind == noise


@pytest.mark.parametrize("noise", ["full", "spherical"])
def test_a_fit_on_a_sketch_is_its_parts_one_after_the_other(wide, noise):
    model = fit(wide, noise=noise, seed=3, **SMALL)
    assert model.history.settings["sketch_size"] == 4 * 4 + 100
    moments = word_moments(wide.unigrams, wide.lags, threads=1)
    small = sketch(moments, 116, rng=np.random.default_rng([3, 1]), threads=1)
    params = subspace_identification(small.moments, 4, rng=np.random.default_rng([3, 2]), noise=noise)
    steps = list(itertools.islice(em_steps(params, small.moments), 6))
    assert model.history.log_likelihood == [step.log_likelihood for step in steps[1:]]
    np.testing.assert_array_equal(model.params.C, (small.basis @ steps[-1].params.C).astype(np.float32))
    # and the model that comes out has, over all words, the likelihood that the history says
    full = evaluate(model.params, moments, horizon=7)
    assert full.log_likelihood == pytest.approx(model.history.log_likelihood[-1], abs=1e-5)


def test_options_of_subspace_identification_reach_it(counts):
    options = {"output": "regression", "covariance": "paper", "whitened": False, "horizon": 3}
    moments = word_moments(counts.unigrams, counts.lags, threads=1)
    params = subspace_identification(moments, 4, rng=np.random.default_rng([0, 2]), **options)
    model = fit(counts, state_size=4, iterations=0, **{f"ssid_{name}": value for name, value in options.items()})
    np.testing.assert_array_equal(model.params.A, params.A)
    assert model.history.start == evaluate(params, moments, horizon=7).log_likelihood


# Reproducibility


@pytest.mark.parametrize("compression", ["none", 60])
@pytest.mark.parametrize("start", ["subspace", "random"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(wide, compression, start):
    options = {"compression": compression, "start": start, "polish": 1, **SMALL}
    one, two = (fit(wide, seed=5, threads=threads, **options) for threads in (1, 2))
    assert bits(one) == bits(two)
    assert bits(fit(wide, seed=6, threads=1, **options)) != bits(one)


# Compression


def test_a_sketch_of_everything_loses_nothing(counts):
    """40 words and the row of unknown ones, which is never seen: 39 dimensions are all there are."""
    full, small = (fit(counts, compression=c, **SMALL) for c in ("none", 39))
    np.testing.assert_allclose(small.history.log_likelihood, full.history.log_likelihood, atol=1e-6)


def test_a_sketch_that_covers_the_range_loses_little(wide):
    full, small = (fit(wide, compression=c, **SMALL) for c in ("none", "auto"))
    lost = full.history.log_likelihood[-1] - small.history.log_likelihood[-1]
    assert 0 < lost < 0.1 * full.history.log_likelihood[-1]
    rough = fit(wide, compression=8, **SMALL)
    assert full.history.log_likelihood[-1] - rough.history.log_likelihood[-1] > 2 * lost


def test_polishing_raises_the_likelihood(wide):
    model = fit(wide, compression=8, polish=3, **SMALL)
    likelihoods = model.history.log_likelihood
    assert len(likelihoods) == 5 + 3
    assert np.all(np.diff(likelihoods) > 0)
    # C leaves the basis, so the first step in the full space gains more than the last on the sketch
    assert likelihoods[5] - likelihoods[4] > likelihoods[4] - likelihoods[3]
    unpolished = fit(wide, compression=8, **SMALL)
    assert unpolished.history.log_likelihood == likelihoods[:5]
    moments = word_moments(wide.unigrams, wide.lags, threads=1)
    assert evaluate(model.params, moments, horizon=7).log_likelihood == pytest.approx(likelihoods[-1], abs=1e-5)


def test_polishing_without_a_sketch_is_more_iterations(counts):
    one = fit(counts, compression="none", state_size=4, iterations=3, polish=2)
    other = fit(counts, compression="none", state_size=4, iterations=5)
    assert bits(one) == bits(other)


@pytest.mark.parametrize(
    ("options", "vocabulary", "size"),
    [
        ({}, 50_000, 900),
        ({"state_size": 100}, 50_000, 500),
        ({"state_size": 100}, 1000, 500),
        ({"state_size": 100}, 999, None),
        ({"noise": "spherical"}, 50_000, 900),
        ({"noise": "diagonal"}, 50_000, None),
        ({"noise": "bohning"}, 50_000, None),
        ({"ssid_whitened": False}, 50_000, None),
        ({"compression": "none"}, 50_000, None),
        ({"compression": 300}, 50_000, 300),
        ({"compression": 300}, 250, 249),
    ],
)
def test_the_size_of_the_sketch(options, vocabulary, size):
    settings = FitSettings(observations="words", **{"state_size": 200, **options})
    assert settings.sketch_size(vocabulary) == size
    assert FitSettings(state_size=200).sketch_size(vocabulary) is None  # profiles need none


# When to stop


def test_tolerance(counts):
    all_of_them = fit(counts, state_size=4, iterations=60).history
    likelihoods = [all_of_them.start, *all_of_them.log_likelihood]
    tolerance = 0.003
    stop = next(i for i, gain in enumerate(np.diff(likelihoods), start=1) if gain < tolerance)
    assert 1 < stop < 60
    assert fit(counts, state_size=4, iterations=60, tolerance=tolerance).history.iterations == stop
    assert fit(counts, state_size=4, iterations=60, tolerance=100.0).history.iterations == 1


@pytest.mark.parametrize("compression", ["none", 20])
def test_a_callback_sees_every_step_and_stops_the_fit(counts, compression):
    seen = []

    def callback(step):
        seen.append((step.iteration, step.log_likelihood))
        return step.iteration == 3

    model = fit(counts, state_size=4, iterations=10, polish=2, compression=compression, callback=callback)
    assert [iteration for iteration, _ in seen] == [0, 1, 2, 3]
    assert [value for _, value in seen] == [model.history.start, *model.history.log_likelihood]
    assert model.history.iterations == 3


def test_a_callback_sees_polishing_too_and_every_iteration_once(counts):
    seen = []
    fit(counts, compression=20, polish=2, callback=lambda step: seen.append(step.iteration), **SMALL)
    assert seen == list(range(5 + 2 + 1))
    seen.clear()
    model = fit(
        counts, compression=20, polish=5, callback=lambda s: seen.append(s.iteration) or s.iteration > 5, **SMALL
    )
    assert seen == list(range(7))
    assert model.history.iterations == 6


@pytest.mark.parametrize("compression", ["none", 20])
def test_a_callback_may_ask_for_the_model(counts, compression):
    """It is the one that a fit of so many iterations returns, and later iterations do not change it."""
    models = {}

    def callback(step):
        models[step.iteration] = step.model()

    final = fit(counts, compression=compression, polish=2, callback=callback, **SMALL)
    assert bits(models[7]) == bits(final)
    assert bits(models[3]) == bits(fit(counts, compression=compression, state_size=4, iterations=3))
    assert models[3].history.iterations == 3
    assert isinstance(models[0], TextLDS)
    assert len(list(models[0].embed(["aaa aab"]))) == 1


def test_no_iterations(counts):
    model = fit(counts, state_size=4, iterations=0)
    assert model.history.log_likelihood == model.history.seconds == []
    assert model.history.start > 0
    assert model.history.iterations == 0


# What comes of it


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("start", ["subspace", "random"])
def test_likelihood_never_falls(wide, noise, start):
    model = fit(wide, noise=noise, start=start, state_size=4, iterations=12)
    likelihoods = [model.history.start, *model.history.log_likelihood]
    assert np.diff(likelihoods).min() > -1e-9


def test_full_noise_explains_most(counts):
    """The paper's claim: the other kinds of noise are worse."""
    final = {kind: fit(counts, noise=kind, state_size=4, iterations=15).history.log_likelihood[-1] for kind in KINDS}
    assert final["full"] > final["diagonal"] > final["bohning"]
    assert final["full"] > final["spherical"] > final["bohning"]


def test_held_out_text_is_explained_too():
    model = fit(counts_of([grammar_text(0, 3000)]), state_size=5, iterations=15)
    held_out = float(model.log_likelihood([grammar_text(1, 500)]))
    assert held_out > 0.5 * model.history.log_likelihood[-1]
    shuffled = np.random.default_rng(0).permutation(grammar_text(1, 500)).tolist()
    assert float(model.log_likelihood([shuffled])) < 0
    assert float(model.log_likelihood([grammar_text(1, 500)[::-1]])) < 0.5 * held_out  # time has a direction


def test_the_history_is_enough_to_do_it_again(counts):
    options = {"seed": 9, "noise": "spherical", "em_horizon": 5, "ssid_horizon": 3, "compression": 20, "polish": 1}
    model = fit(counts, pseudocount=2.5, **options, **SMALL)
    recorded = model.history.settings
    assert recorded["pseudocount_used"] == 2.5
    assert recorded["tokens"] == 10_000
    assert recorded["vocabulary"] == 41
    assert recorded["max_lag"] == 7
    assert TextSettings.from_json(recorded["text"]) == SETTINGS
    assert recorded["textlds_version"]
    names = {field.name for field in dataclasses.fields(FitSettings)}
    again = fit(counts, **{name: value for name, value in recorded.items() if name in names})
    assert bits(again) == bits(model)
    assert len(model.history.seconds) == 6
    assert all(0 < a < b for a, b in itertools.pairwise(model.history.seconds))
    assert {type(value) for value in [*model.history.log_likelihood, model.history.start]} == {float}


def test_the_papers_pseudocount(counts):
    """0.2 T / V: 1000 per type at a billion tokens and 200,000 types."""
    model = fit(counts, **SMALL)
    kappa = 0.2 * 10_000 / 41
    assert model.history.settings["pseudocount"] == "paper"
    assert model.history.settings["pseudocount_used"] == pytest.approx(kappa)
    np.testing.assert_allclose(model.frequencies, (counts.unigrams + kappa) / (10_000 + 41 * kappa))
    none = fit(counts, pseudocount=0, **SMALL)
    np.testing.assert_allclose(none.frequencies, counts.unigrams / 10_000)


def test_progress_is_reported_phase_by_phase(counts):
    class Recorder:
        def __init__(self):
            self.tasks = {}

        def task(self, name, total, unit=""):
            recorder = self

            class Task:
                def __enter__(self):
                    recorder.tasks[name] = [total, 0]
                    return self

                def __exit__(self, *_):
                    pass

                def advance(self, amount=1.0, note=""):
                    recorder.tasks[name][1] += amount

            return Task()

    recorder = Recorder()
    fit(counts, compression=20, polish=2, progress=recorder, **SMALL)
    assert list(recorder.tasks) == ["Sketch", "Subspace", "Profiles", "Meaning", "EM", "Polish"]
    for name in ("Profiles", "Meaning", "Sketch", "EM", "Polish"):
        total, done = recorder.tasks[name]
        assert done == total
    assert recorder.tasks["EM"][0] == 5


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state_size": 0}, "state_size=0 must be 'auto' or a whole number of at least 1"),
        ({"state_size": 2.5}, r"state_size=2\.5 must be 'auto' or a whole number"),
        ({"iterations": -1}, "iterations=-1 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"seed": None}, "seed=None must be"),
        ({"seed": True}, "seed=True must be"),
        ({"em_horizon": 0}, "em_horizon=0 must be"),
        ({"em_horizon": 8}, "em_horizon=8 is not between 1 and 7, the largest lag in the counts. Count with max_lag=8"),
        ({"ssid_horizon": 5}, "needs lags up to 9, but the counts hold 7. Count with max_lag=9, or set ssid_horizon=4"),
        ({"ssid_horizon": 1}, "ssid_horizon=1 must be a whole number of at least 2"),
        ({"polish": -1}, "polish=-1 must be"),
        ({"noise": "pink"}, "noise='pink' is not one of 'full', 'diagonal', 'spherical', 'bohning'"),
        ({"start": "cold"}, "start='cold' is not one of 'auto', 'subspace', 'neighbours', 'random'"),
        ({"ssid_output": "last"}, "ssid_output='last' is not one of"),
        ({"ssid_covariance": "none"}, "ssid_covariance='none' is not one of"),
        ({"tolerance": -0.1}, r"tolerance=-0\.1 must be a number of at least 0"),
        ({"tolerance": float("nan")}, "tolerance=nan must be"),
        ({"tolerance": "small"}, "tolerance='small' must be"),
        ({"compression": "lots"}, "compression='lots' must be 'auto' or 'none' or a whole number"),
        ({"compression": 3}, "compression=3 must be .* at least state_size=4"),
        ({"compression": 10.5}, r"compression=10\.5 must be"),
        ({"pseudocount": -1}, "pseudocount=-1 must be 'auto' or 'paper' or a number of at least 0"),
        ({"pseudocount": float("nan")}, "pseudocount=nan must be"),
        ({"pseudocount": "lots"}, "pseudocount='lots' must be"),
        ({"observations": "letters"}, "observations='letters' is not one of 'profiles', 'words'"),
        ({"observations": "profiles", "noise": "diagonal"}, "noise='diagonal' is about one-hot words"),
        ({"observations": "profiles", "polish": 2}, "polish=2 is about one-hot words.* Add observations='words'"),
        ({"observations": "profiles", "compression": 60}, "leave compression out"),
        ({"start": "neighbours", "noise": "spherical"}, "start='neighbours' needs noise='full', not 'spherical'"),
        ({"threads": 0}, "threads=0 must be"),
        ({"resume": True}, "resume=True needs output"),
        ({"noise": "diagonal", "compression": 20}, "cannot be combined with compression"),
        ({"ssid_whitened": False, "compression": 20}, "needs the full space: set compression='none'"),
    ],
)
def test_bad_arguments(counts, options, message):
    with pytest.raises(ArgumentError, match=message):
        fit(counts, **{"state_size": 4, "iterations": 1, **options})


@pytest.mark.parametrize("wrong", [None, "counts", [1, 2]])
def test_what_is_no_counts(wrong):
    with pytest.raises(ArgumentError, match=r"counts must be LagCounts, as textlds\.count returns them, not"):
        fit(wrong)


@pytest.mark.parametrize("start", ["subspace", "random"])
def test_a_state_larger_than_the_vocabulary(counts, start):
    for size in (41, 200):
        with pytest.raises(RankError, match=f"state_size={size}"):
            fit(counts, state_size=size, start=start, iterations=1)


@pytest.mark.parametrize("start", ["subspace", "random"])
def test_a_state_larger_than_the_rank_of_the_data(start):
    """Three words in turn: two dimensions are all there are, and a sketch of three finds no more."""
    counts = counts_of([["aaa", "aab", "aac"] * 100])
    with pytest.raises(RankError, match="state_size=3 exceeds"):
        fit(counts, state_size=3, start=start, compression=3, iterations=1)
    assert fit(counts, state_size=2, start=start, compression=3, iterations=1).state_size == 2


def test_counts_too_poor_to_fit():
    with pytest.raises(CountsError, match="single type"):
        fit(counts_of([["aaa"] * 50]), state_size=1)
    with pytest.raises(CountsError, match="side by side"):
        fit(counts_of([["aaa"], ["aab"]] * 50), state_size=1)


def test_texts_shorter_than_the_horizons_are_fitted():
    model = fit(counts_of([["aaa", "aab", "aac"]] * 50), state_size=1, iterations=5)
    assert np.min(np.diff([model.history.start, *model.history.log_likelihood])) > -1e-9


@pytest.mark.parametrize("pseudocount", ["paper", 1.0, 0.0])
@pytest.mark.parametrize("state_size", [3, 5, 8])
def test_short_lines_of_a_rigid_grammar_do_not_break_em(state_size, pseudocount):
    # lags centred and scaled by their own sums are no autocovariance here, and EM would diverge
    text = grammar_text(0, 4000)
    ends = [i + 1 for i, word in enumerate(text) if word in CLASSES["end"]]
    clauses = [text[a:b] for a, b in itertools.pairwise([0, *ends])]
    assert 3 < np.mean([len(clause) for clause in clauses]) < 7
    counts = counts_of(clauses)
    model = fit(counts, state_size=state_size, iterations=40, pseudocount=pseudocount, compression="none")
    assert np.min(np.diff([model.history.start, *model.history.log_likelihood])) > -1e-7
