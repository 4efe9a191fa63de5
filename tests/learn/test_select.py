from __future__ import annotations

import numpy as np
import pytest

import textlds
from model.worlds import counts_of, grammar_text
from textlds.errors import ArgumentError
from textlds.learn.settings import FitSettings

WORDS = FitSettings(observations="words")


@pytest.fixture(scope="module")
def counts():
    return counts_of([grammar_text(0, 1500)])


def test_trials_are_the_fits_they_name(counts):
    grid = {"state_size": [2, 4], "iterations": [3, 6]}
    held_out = [grammar_text(1, 300)]
    found = textlds.select(counts, grid, held_out=held_out, settings=FitSettings(observations="words", seed=5))
    assert len(found.trials) == 4
    merits = [trial.held_out for trial in found.trials]
    assert merits == sorted(merits, reverse=True)
    for trial in found.trials:
        model = textlds.fit(counts, settings=FitSettings(observations="words", seed=5, **trial.settings))
        assert trial.log_likelihood == model.history.log_likelihood[-1]
        assert trial.held_out == pytest.approx(float(model.log_likelihood(held_out)), rel=1e-12)
    assert found.model.state_size == found.best.settings["state_size"]
    assert float(found.model.log_likelihood(held_out)) == pytest.approx(found.best.held_out, rel=1e-12)


def test_the_score_decides(counts):
    found = textlds.select(counts, {"state_size": [2, 3, 4], "iterations": [2]}, score=lambda m: -m.state_size)
    assert [trial.settings["state_size"] for trial in found.trials] == [2, 3, 4]
    assert found.model.state_size == 2


def test_settings_that_are_the_same_for_all(counts):
    found = textlds.select(
        counts, {"iterations": [1, 2]}, settings=FitSettings(observations="words", state_size=3, noise="spherical")
    )
    assert found.model.state_size == 3
    assert found.model.params.noise.kind == "spherical"
    assert found.model.history.settings["iterations"] == found.best.settings["iterations"]


def test_trials_on_a_shared_sketch_can_be_made_again(counts):
    grid = {"state_size": [2, 4], "compression": ["auto", 10], "iterations": [2]}
    for trial in textlds.select(counts, grid, settings=WORDS).trials:
        again = textlds.fit(counts, settings=FitSettings(observations="words", **trial.settings))
        assert trial.log_likelihood == again.history.log_likelihood[-1]


def test_the_best_model_is_the_fit_of_its_settings(counts):
    grid = {"state_size": [2, 4], "pseudocount": [1.0, 5.0], "compression": [10], "iterations": [2]}
    found = textlds.select(counts, grid, settings=WORDS, score=lambda m: float(np.abs(m.params.A).sum()))
    again = textlds.fit(counts, settings=FitSettings(observations="words", **found.best.settings))
    assert found.model.lexicon.profiles.tobytes() == again.lexicon.profiles.tobytes()
    assert found.model.params.C.tobytes() == again.params.C.tobytes()


def test_measures_that_cannot_rank(counts):
    grid = {"state_size": [2], "iterations": [1]}
    with pytest.raises(ArgumentError, match="cannot be ranked"):
        textlds.select(counts, grid, score=lambda model: float("nan"))
    with pytest.raises(ArgumentError, match="no text"):
        textlds.select(counts, grid, held_out=[])


def test_a_sketch_is_made_once_for_each_pseudocount(counts, monkeypatch):
    made = []
    real = textlds.learn.select.make_sketch
    monkeypatch.setattr(textlds.learn.select, "make_sketch", lambda *args: made.append(args[1]) or real(*args))
    grid = {"state_size": [2, 3], "pseudocount": [1.0, 5.0], "compression": [8], "iterations": [2]}
    found = textlds.select(counts, grid, settings=WORDS, score=lambda m: float(np.abs(m.params.A).sum()))
    assert len(found.trials) == 4
    assert made == [8, 8]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"statesize": [1]}, r"has no 'statesize'\. Did you mean 'state_size'\?"),
        ({"state_size": 5}, "give a list"),
        ({"state_size": []}, "give a list"),
        ({"noise": "full"}, "give a list"),
        ({"pseudocount": [1, 2]}, "Give a score"),
        ({"state_size": [0]}, "at least 1"),
        ({"tolerance": [0.1]}, "the grid has no 'tolerance'. There are: acceleration"),
        ({"iterations": [1, "x"]}, "whole number"),
        ({"ssid_whitened": ["false"]}, "True or False"),
    ],
)
def test_grids_that_make_no_sense(counts, grid, message):
    with pytest.raises(ArgumentError, match=message):
        textlds.select(counts, grid)


def test_settings_that_a_search_cannot_have(counts):
    with pytest.raises(ArgumentError, match="neither polish nor tolerance"):
        textlds.select(counts, {"iterations": [1]}, settings=FitSettings(observations="words", polish=2))
    with pytest.raises(ArgumentError, match=r"give it as settings=FitSettings\(seed=\.\.\.\)"):
        textlds.select(counts, {"iterations": [1]}, seed=3)


def test_the_window_of_meaning_is_chosen_by_a_score(counts):
    grid = {"meaning_window": ["flat", "1"], "state_size": [2], "iterations": [1]}
    with pytest.raises(ArgumentError, match="do not depend on meaning_window"):
        textlds.select(counts, grid)
    seen = {}

    def score(model):
        seen[model.history.settings["meaning_window"]] = model.lexicon.meaning.vectors.tobytes()
        return float(model.history.settings["meaning_window"] == "1")

    found = textlds.select(counts, grid, score=score)
    assert found.best.settings["meaning_window"] == "1"
    for window, vectors in seen.items():
        settings = FitSettings(meaning_window=window)
        assert (
            textlds.fit(counts, state_size=2, iterations=1, settings=settings).lexicon.meaning.vectors.tobytes()
            == vectors
        )
    assert seen["flat"] != seen["1"]


def test_what_is_observed_is_chosen_by_a_score(counts):
    grid = {"observations": ["words", "profiles"], "state_size": [3], "iterations": [2]}
    with pytest.raises(ArgumentError, match="depends on observations"):
        textlds.select(counts, grid)
    found = textlds.select(counts, grid, score=lambda model: model.observations == "profiles")
    assert [trial.settings["observations"] for trial in found.trials] == ["profiles", "words"]
    assert found.model.observations == "profiles"
