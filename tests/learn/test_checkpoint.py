"""A fit that is interrupted and goes on gives the same bits as one that is not."""

from __future__ import annotations

import json

import numpy as np
import pytest

import textlds.learn.run as fitting_module
from model.worlds import counts_of, markov_sentence
from oracles.synthetic import KINDS
from textlds.api import fit
from textlds.errors import ArgumentError, FormatError
from textlds.learn import checkpoint as checkpoint_module
from textlds.learn.checkpoint import Checkpoint

OPTIONS = {"state_size": 3, "iterations": 4, "compression": 20, "polish": 3}


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def counts():
    return counts_of([markov_sentence(0, 5000, V=40)])


@pytest.fixture(params=["every step", "now and then"])
def saving(request, monkeypatch):
    """Save after every step, or only where a phase begins and ends."""
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0 if request.param == "every step" else 1e9)


def interrupt_at(iteration):
    def callback(step):
        if step.iteration == iteration:
            raise Interrupted

    return callback


def bits(model):
    params = model.params
    arrays = [
        params.A,
        params.C,
        params.Q,
        *params.noise.arrays().values(),
        model.moments.smooth_smooth,
        model.lexicon.profiles,
        model.lexicon.spelling,
    ]
    return [array.tobytes() for array in arrays] + [model.history.log_likelihood, model.history.start]


def interrupted(counts, folder, iteration, **options):
    with pytest.raises(Interrupted):
        fit(counts, checkpoint=folder, callback=interrupt_at(iteration), **options)


@pytest.mark.usefixtures("saving")
@pytest.mark.parametrize("iteration", range(8))
def test_going_on_gives_the_bits_of_a_fit_that_never_stopped(counts, tmp_path, iteration):
    """Iterations 1 to 4 are on the sketch, 5 to 7 in the full space."""
    interrupted(counts, tmp_path / "work", iteration, **OPTIONS)
    resumed = fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS)
    whole = fit(counts, **OPTIONS)
    assert bits(resumed) == bits(whole)
    assert resumed.history.settings == whole.history.settings
    assert len(resumed.history.seconds) == 7
    assert np.all(np.diff(resumed.history.seconds) > 0)


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("start", ["subspace", "random"])
def test_without_a_sketch_and_for_every_noise(counts, tmp_path, monkeypatch, noise, start):
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    options = {"state_size": 3, "iterations": 5, "compression": "none", "noise": noise, "start": start}
    interrupted(counts, tmp_path / "work", 3, **options)
    assert bits(fit(counts, checkpoint=tmp_path / "work", resume=True, **options)) == bits(fit(counts, **options))


def test_interrupted_again_and_again(counts, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    interrupted(counts, tmp_path / "work", 2, **OPTIONS)
    for iteration in (3, 5, 6):
        interrupted(counts, tmp_path / "work", iteration, resume=True, **OPTIONS)
    resumed = fit(counts, checkpoint=tmp_path / "work", resume=True, threads=2, **OPTIONS)
    assert bits(resumed) == bits(fit(counts, threads=1, **OPTIONS))


def test_a_checkpoint_changes_nothing_and_a_finished_fit_can_be_had_again(counts, tmp_path):
    first = fit(counts, checkpoint=tmp_path / "work", **OPTIONS)
    assert bits(first) == bits(fit(counts, **OPTIONS))
    seen = []
    again = fit(
        counts, checkpoint=tmp_path / "work", resume=True, callback=lambda s: seen.append(s.iteration), **OPTIONS
    )
    assert bits(again) == bits(first)
    assert seen == [7]  # nothing was done twice


def test_the_sketch_and_the_lexicon_are_not_made_again(counts, tmp_path, monkeypatch):
    interrupted(counts, tmp_path / "work", 0, **OPTIONS)
    for name in ("sketch", "make_lexicon"):
        monkeypatch.setattr(fitting_module, name, lambda *_, **__: pytest.fail("it was there"))
    assert fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS).history.iterations == 7


@pytest.mark.parametrize(("what", "left"), [("make_lexicon", ["job", "sketch"]), ("sketch", ["job"])])
def test_interrupted_before_the_first_iteration(counts, tmp_path, monkeypatch, what, left):
    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fitting_module, what, fail)
        with pytest.raises(KeyboardInterrupt):
            fit(counts, checkpoint=tmp_path / "work", **OPTIONS)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == left
    assert bits(fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


@pytest.mark.parametrize("step", ["write_arrays", "write_json", "write_config"])
def test_interrupted_while_a_step_is_written(counts, tmp_path, monkeypatch, step):
    """The old step stays until the new one is whole."""
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    calls, original = [], getattr(checkpoint_module, step)

    def fail(path, *args, **kwargs):
        calls.append(path)
        if len(calls) > 6:
            raise OSError(28, "No space left on device")
        return original(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_module, step, fail)
        with pytest.raises(OSError, match="No space left"):
            fit(counts, checkpoint=tmp_path / "work", **OPTIONS)
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["job", "lexicon", "sketch", "step"]
    assert bits(fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


def test_more_iterations_may_be_asked_for(counts, tmp_path):
    options = {"state_size": 3, "compression": 20}
    fit(counts, checkpoint=tmp_path / "work", iterations=3, **options)
    more = fit(counts, checkpoint=tmp_path / "work", resume=True, iterations=6, polish=2, **options)
    assert bits(more) == bits(fit(counts, iterations=6, polish=2, **options))
    assert more.history.settings["iterations"] == 6  # of the fit that was done, not of the one that was broken off
    assert more.history.settings["polish"] == 2


def test_fewer_iterations_than_are_done(counts, tmp_path):
    options = {"state_size": 3, "compression": 20}
    five = fit(counts, checkpoint=tmp_path / "work", iterations=5, **options)
    assert bits(fit(counts, checkpoint=tmp_path / "work", resume=True, iterations=2, **options)) == bits(five)


def test_once_it_is_being_polished(counts, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    interrupted(counts, tmp_path / "work", 6, **OPTIONS)  # five are done, one of them polishing
    with pytest.raises(ArgumentError, match=r"iterations=9, but .* after 4 iterations .* Go on with iterations=4"):
        fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS | {"iterations": 9})
    as_it_is = fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS | {"polish": 0})
    assert bits(as_it_is) == bits(fit(counts, **OPTIONS | {"polish": 1}))
    more = fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS | {"polish": 4})
    assert bits(more) == bits(fit(counts, **OPTIONS | {"polish": 4}))


def test_a_fit_that_its_callback_stopped_stays_stopped(counts, tmp_path):
    def callback(step):
        return step.iteration >= 2

    first = fit(counts, checkpoint=tmp_path / "work", callback=callback, **OPTIONS)
    again = fit(counts, checkpoint=tmp_path / "work", callback=callback, resume=True, **OPTIONS)
    assert first.history.iterations == again.history.iterations == 2
    assert bits(first) == bits(again)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state_size": 2}, "state_size: 3 then, 2 now"),
        ({"seed": 1}, "seed: 0 then, 1 now"),
        ({"noise": "spherical"}, "noise: 'full' then, 'spherical' now"),
        ({"pseudocount": 1.0}, r"pseudocount: 'paper' then, 1\.0 now"),
        ({"compression": "none"}, "compression: 20 then, 'none' now"),
        ({"em_horizon": 5, "seed": 2}, r"seed: 0 then, 2 now; em_horizon: 7 then, 5 now"),
    ],
)
def test_another_fit_is_refused(counts, tmp_path, change, message):
    interrupted(counts, tmp_path / "work", 2, **OPTIONS)
    with pytest.raises(ArgumentError, match=f"belongs to another fit .*{message}.* delete it to start anew"):
        fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS | change)
    assert bits(fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


def test_other_counts_are_refused(counts, tmp_path):
    interrupted(counts, tmp_path / "work", 2, **OPTIONS)
    with pytest.raises(ArgumentError, match="tokens: 5000 then, 6000 now"):
        fit(counts_of([markov_sentence(0, 6000, V=40)]), checkpoint=tmp_path / "work", resume=True, **OPTIONS)
    with pytest.raises(ArgumentError, match=r"pairs: \[.*\] then, \[.*\] now"):
        fit(counts_of([markov_sentence(1, 5000, V=40)]), checkpoint=tmp_path / "work", resume=True, **OPTIONS)


def test_what_is_left_is_not_overwritten_unasked(counts, tmp_path):
    interrupted(counts, tmp_path / "work", 2, **OPTIONS)
    with pytest.raises(
        ArgumentError, match=r"left from an interrupted fit. Go on from it with resume=True \(--resume\)"
    ):
        fit(counts, checkpoint=tmp_path / "work", **OPTIONS)


def test_resuming_nothing_starts_from_the_beginning(counts, tmp_path):
    resumed = fit(counts, checkpoint=tmp_path / "folder" / "work", resume=True, **OPTIONS)
    assert bits(resumed) == bits(fit(counts, **OPTIONS))


@pytest.mark.parametrize("wrong", [{"pseudocount": -1}, {"em_horizon": 8}, {"threads": 0}, {"noise": "pink"}])
def test_arguments_that_are_refused_leave_no_folder_behind(counts, tmp_path, wrong):
    with pytest.raises(ArgumentError):
        fit(counts, checkpoint=tmp_path / "work", **OPTIONS | wrong)
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("part", ["job", "lexicon", "sketch", "step"])
def test_a_damaged_checkpoint_is_refused(counts, tmp_path, part):
    interrupted(counts, tmp_path / "work", 2, **OPTIONS)
    folder = tmp_path / "work" / part
    name = "config.json" if part == "job" else "arrays.safetensors"
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match=name):
        fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS)


def test_what_is_no_checkpoint_is_refused(counts, tmp_path):
    interrupted(counts, tmp_path / "work", 2, **OPTIONS)
    config = tmp_path / "work" / "job" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"job": 5}))
    with pytest.raises(FormatError, match="not the checkpoint of a fit"):
        fit(counts, checkpoint=tmp_path / "work", resume=True, **OPTIONS)
    (tmp_path / "file").write_text("something else")
    for resume in (False, True):
        with pytest.raises(ArgumentError, match="is a file; a checkpoint is a folder"):
            fit(counts, checkpoint=tmp_path / "file", resume=resume, **OPTIONS)
    assert (tmp_path / "file").read_text() == "something else"


def test_a_folder_that_is_there_already_is_used_and_what_is_in_it_kept(counts, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    fit(counts, checkpoint=tmp_path, state_size=3, iterations=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job", "lexicon", "notes.txt", "step"]


def test_a_checkpoint_can_be_discarded(tmp_path):
    work = Checkpoint(tmp_path / "work", {"state_size": 3}, resume=False)
    assert (tmp_path / "work" / "job").exists()
    assert work.load_sketch(threads=1) is None
    assert work.load_step(np.ones(3)) is None
    work.discard()
    assert not (tmp_path / "work").exists()
