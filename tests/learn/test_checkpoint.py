"""A fit that is interrupted and resumed gives the same bits as one that is not."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import textlds
import textlds.learn.run as fitting_module
from model.worlds import counts_of, fit, markov_sentence
from oracles.synthetic import KINDS
from storage.sealing import alter_arrays, part, reseal_work
from textlds.errors import ArgumentError, FormatError, OutputExistsError, TextLDSError
from textlds.learn import checkpoint as checkpoint_module
from textlds.storage.work import PARTS, work_folder

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
        fit(counts, output=folder, callback=interrupt_at(iteration), **options)


@pytest.mark.usefixtures("saving")
@pytest.mark.parametrize("iteration", range(8))
def test_going_on_gives_the_bits_of_a_fit_that_never_stopped(counts, tmp_path, iteration):
    """Iterations 1 to 4 are on the sketch, 5 to 7 in the full space."""
    interrupted(counts, tmp_path / "m", iteration, **OPTIONS)
    resumed = fit(counts, output=tmp_path / "m", resume=True, **OPTIONS)
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
    interrupted(counts, tmp_path / "m", 3, **options)
    assert bits(fit(counts, output=tmp_path / "m", resume=True, **options)) == bits(fit(counts, **options))


def test_interrupted_again_and_again(counts, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    interrupted(counts, tmp_path / "m", 2, **OPTIONS)
    for iteration in (3, 5, 6):
        interrupted(counts, tmp_path / "m", iteration, resume=True, **OPTIONS)
    resumed = fit(counts, output=tmp_path / "m", resume=True, threads=2, **OPTIONS)
    assert bits(resumed) == bits(fit(counts, threads=1, **OPTIONS))


def test_an_output_changes_nothing_and_a_finished_fit_can_be_had_again(counts, tmp_path):
    first = fit(counts, output=tmp_path / "m", **OPTIONS)
    assert bits(first) == bits(fit(counts, **OPTIONS))
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    again = fit(counts, output=tmp_path / "m", resume=True, callback=lambda s: pytest.fail("it is done"), **OPTIONS)
    assert again.params.A.tobytes() == textlds.load(tmp_path / "m").params.A.tobytes()
    with pytest.raises(ArgumentError, match=r"another job .*seed: 0 then, 1 now"):
        fit(counts, output=tmp_path / "m", resume=True, seed=1, **OPTIONS)
    with pytest.raises(OutputExistsError, match="exists already"):
        fit(counts, output=tmp_path / "m", **OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_the_sketch_and_the_lexicon_are_not_made_again(counts, tmp_path, monkeypatch):
    interrupted(counts, tmp_path / "m", 0, **OPTIONS)
    for name in ("sketch", "make_lexicon"):
        monkeypatch.setattr(fitting_module, name, lambda *_, **__: pytest.fail("it was there"))
    assert fit(counts, output=tmp_path / "m", resume=True, **OPTIONS).history.iterations == 7


@pytest.mark.parametrize(("what", "left"), [("make_lexicon", ["sketch.1"]), ("sketch", [])])
def test_interrupted_before_the_first_iteration(counts, tmp_path, monkeypatch, what, left):
    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fitting_module, what, fail)
        with pytest.raises(KeyboardInterrupt):
            fit(counts, output=tmp_path / "m", **OPTIONS)
    assert sorted(path.name for path in (tmp_path / "m.work" / PARTS).iterdir()) == left
    assert bits(fit(counts, output=tmp_path / "m", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


@pytest.mark.parametrize("step", ["write_arrays", "write_json"])
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
            fit(counts, output=tmp_path / "m", **OPTIONS)
    assert not (tmp_path / "m").exists()
    assert bits(fit(counts, output=tmp_path / "m", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


def test_more_or_fewer_iterations_may_be_asked_for(counts, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    options = {"state_size": 3, "compression": 20}
    interrupted(counts, tmp_path / "m", 4, iterations=5, **options)
    shutil.copytree(tmp_path / "m.work", tmp_path / "n.work")
    more = fit(counts, output=tmp_path / "m", resume=True, iterations=6, polish=2, **options)
    assert bits(more) == bits(fit(counts, iterations=6, polish=2, **options))
    assert more.history.settings["iterations"] == 6  # of the fit that was done, not of the one that was broken off
    assert more.history.settings["polish"] == 2
    fewer = fit(counts, output=tmp_path / "n", resume=True, iterations=2, **options)  # three are done
    assert bits(fewer) == bits(fit(counts, iterations=3, **options))


def test_once_it_is_being_polished(counts, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    interrupted(counts, tmp_path / "m", 6, **OPTIONS)  # five are done, one of them polishing
    with pytest.raises(ArgumentError, match=r"iterations=9, but .* after 4 iterations .* Resume with iterations=4"):
        fit(counts, output=tmp_path / "m", resume=True, **OPTIONS | {"iterations": 9})
    shutil.copytree(tmp_path / "m.work", tmp_path / "n.work")
    as_it_is = fit(counts, output=tmp_path / "m", resume=True, **OPTIONS | {"polish": 0})
    assert bits(as_it_is) == bits(fit(counts, **OPTIONS | {"polish": 1}))
    more = fit(counts, output=tmp_path / "n", resume=True, **OPTIONS | {"polish": 4})
    assert bits(more) == bits(fit(counts, **OPTIONS | {"polish": 4}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state_size": 2}, "state_size: 3 then, 2 now"),
        ({"seed": 1}, "seed: 0 then, 1 now"),
        ({"noise": "spherical"}, "noise: 'full' then, 'spherical' now"),
        ({"pseudocount": 1.0}, r"pseudocount: 'auto' then, 1\.0 now"),
        ({"compression": "none"}, "compression: 20 then, 'none' now"),
        ({"em_horizon": 5, "seed": 2}, r"seed: 0 then, 2 now; em_horizon: 7 then, 5 now"),
    ],
)
def test_another_fit_is_refused(counts, tmp_path, change, message):
    interrupted(counts, tmp_path / "m", 2, **OPTIONS)
    with pytest.raises(ArgumentError, match=f"belongs to another job .*{message}.* start again with --force"):
        fit(counts, output=tmp_path / "m", resume=True, **OPTIONS | change)
    assert bits(fit(counts, output=tmp_path / "m", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


def test_other_counts_are_refused(counts, tmp_path):
    interrupted(counts, tmp_path / "m", 2, **OPTIONS)
    with pytest.raises(ArgumentError, match="tokens: 5000 then, 6000 now"):
        fit(counts_of([markov_sentence(0, 6000, V=40)]), output=tmp_path / "m", resume=True, **OPTIONS)
    with pytest.raises(ArgumentError, match=r"pairs: \[.*\] then, \[.*\] now"):
        fit(counts_of([markov_sentence(1, 5000, V=40)]), output=tmp_path / "m", resume=True, **OPTIONS)


def test_what_is_left_is_not_overwritten_unasked(counts, tmp_path):
    interrupted(counts, tmp_path / "m", 2, **OPTIONS)
    with pytest.raises(OutputExistsError, match=r"unfinished work .* resume=True \(--resume\)"):
        fit(counts, output=tmp_path / "m", **OPTIONS)


def test_resuming_nothing_starts_from_the_beginning(counts, tmp_path):
    resumed = fit(counts, output=tmp_path / "folder" / "m", resume=True, **OPTIONS)
    assert bits(resumed) == bits(fit(counts, **OPTIONS))


@pytest.mark.parametrize(
    "wrong", [{"pseudocount": -1}, {"em_horizon": 8}, {"threads": 0}, {"noise": "pink"}, {"state_size": 41}]
)
def test_arguments_that_are_refused_leave_no_folder_behind(counts, tmp_path, wrong):
    with pytest.raises(TextLDSError):
        fit(counts, output=tmp_path / "m", **{**OPTIONS, "compression": "none", **wrong})
    assert not list(tmp_path.iterdir())


def test_damaged_parts_are_made_again(counts, tmp_path):
    """Every file of the work folder in turn, cut short, changed and removed."""
    whole = bits(fit(counts, **OPTIONS))
    interrupted(counts, tmp_path / "saved", 2, **OPTIONS)
    saved = tmp_path / "saved.work"
    victims = [path.relative_to(saved) for path in sorted(saved.rglob("*")) if path.is_file()]
    assert len(victims) == 7  # manifest, log, lock, lexicon, sketch, two of the step
    for number, victim in enumerate(victims):
        for damage in (lambda d: d[: len(d) // 2], lambda d: d[:-9] + bytes([d[-9] ^ 1]) + d[-8:], None):
            output = tmp_path / f"m{number}"
            shutil.copytree(saved, work_folder(output))
            path = work_folder(output) / victim
            data = path.read_bytes()
            if damage is None:
                path.unlink()
            elif data:
                path.write_bytes(damage(data))
            if victim.name == "manifest.json" and damage is not None:
                with pytest.raises(FormatError, match=r"manifest\.json is damaged"):
                    fit(counts, output=output, resume=True, **OPTIONS)
                shutil.rmtree(work_folder(output))
                continue
            assert bits(fit(counts, output=output, resume=True, **OPTIONS)) == whole, victim
            assert not work_folder(output).exists()
            shutil.rmtree(output)


FORGED = {
    "other shape": ("step", "arrays.safetensors", {"A": lambda A: A[:2]}),
    "not finite": ("step", "arrays.safetensors", {"Q": lambda Q: Q + np.nan}),
    "no noise": ("step", "arrays.safetensors", {"noise.M": None}),
    "a sketch without a basis": ("sketch", "", {"basis": None}),
    "a sketch of another size": ("sketch", "", {"M2": lambda M: M[:-1]}),
    "spelling of no power of two": ("lexicon", "", {"spelling": lambda G: G[:-1]}),
    "fewer words": ("lexicon", "", {"profiles": lambda L: L[:-1]}),
}


@pytest.mark.parametrize("name", FORGED)
def test_parts_that_were_forged_are_made_again(counts, tmp_path, monkeypatch, name):
    """Sums are right: whoever alters a folder may put them right."""
    which, file, changes = FORGED[name]
    monkeypatch.setattr(fitting_module, "_SAVE_EVERY", 0.0)
    interrupted(counts, tmp_path / "m", 2, **OPTIONS)
    work = work_folder(tmp_path / "m")
    alter_arrays(part(work, which) / file, **changes)
    reseal_work(work)
    assert bits(fit(counts, output=tmp_path / "m", resume=True, **OPTIONS)) == bits(fit(counts, **OPTIONS))


def test_what_is_no_folder_to_write(counts, tmp_path):
    (tmp_path / "m.work").write_text("something else")
    with pytest.raises(OutputExistsError, match="is a file; unfinished work"):
        fit(counts, output=tmp_path / "m", **OPTIONS)
    assert (tmp_path / "m.work").read_text() == "something else"
    with pytest.raises(ArgumentError, match="not the name of a folder"):
        fit(counts, output="", **OPTIONS)
