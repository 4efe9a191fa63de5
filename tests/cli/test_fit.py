"""``textlds fit`` and ``textlds train``: outputs, checkpoints, interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.runs import Run
from textlds import LagCounts, load
from textlds.storage.work import LOG, PARTS, STAGE, read_work

SIZE = ("--state-size", "6", "--iterations", "4", "--quiet")
# long enough to be interrupted, saved at every iteration
LONG = ("--state-size", "8", "--iterations", "1000", "--seed", "3", "--threads", "1")
DRIVER = "import textlds.learn.run as f; f._SAVE_EVERY = 0.0; from textlds.cli import main; main()"


def weights(model: Path) -> bytes:
    return (model / "model.safetensors").read_bytes()


def test_fit_writes_a_model_and_reports_it(run: Run, counts: Path, tmp_path: Path) -> None:
    result = run("fit", counts, "-o", tmp_path / "m", *SIZE, "--json")
    facts = json.loads(result.stdout)
    model = load(tmp_path / "m")
    assert facts["state_size"] == model.state_size == 6
    assert facts["iterations"] == 4
    assert facts["log_likelihood"] == model.history.log_likelihood[-1]
    assert os.listdir(tmp_path) == ["m"]


def test_options_reach_the_fit(run: Run, counts: Path, tmp_path: Path) -> None:
    options = (
        "--pseudocount 2.5 --noise spherical --start random --em-horizon 5 --compression none --tolerance 0.5 --seed 9 "
        "--observations words --meaning-size 9 --meaning-window 1,0.5"
    )
    run("fit", counts, "-o", tmp_path / "m", *SIZE, *options.split())
    settings = load(tmp_path / "m").history.settings
    assert settings["pseudocount"] == 2.5
    assert settings["noise"] == "spherical"
    assert settings["start"] == "random"
    assert settings["em_horizon"] == 5
    assert settings["compression"] == "none"
    assert settings["tolerance"] == 0.5
    assert settings["seed"] == 9
    assert settings["meaning_window"] == "1,0.5"
    assert settings["meaning_size"] == load(tmp_path / "m").meaning_size == 9
    refused = run("fit", counts, "-o", tmp_path / "n", *SIZE, "--meaning-window", "round", code=1)
    assert "--meaning-window round must be one of 'near', 'triangular'" in " ".join(refused.stderr.split())


def test_an_output_that_exists_is_refused_before_any_work(run: Run, counts: Path, tmp_path: Path) -> None:
    run("fit", counts, "-o", tmp_path / "m", *SIZE)
    before = weights(tmp_path / "m")
    # the counts do not exist: the output is looked at first
    assert "exists already" in run("fit", tmp_path / "absent", "-o", tmp_path / "m", *SIZE, code=1).stderr
    run("fit", counts, "-o", tmp_path / "m", *SIZE, "--seed", 5, "--force")
    assert weights(tmp_path / "m") != before


def test_a_model_is_no_counts(run: Run, model: Path, tmp_path: Path) -> None:
    assert "is a model, but counts are needed here" in run("fit", model, "-o", tmp_path / "m", *SIZE, code=1).stderr
    assert not list(tmp_path.iterdir())


def test_settings_that_cannot_work_leave_nothing(run: Run, counts: Path, tmp_path: Path) -> None:
    result = run("fit", counts, "-o", tmp_path / "m", "--quiet", "--state-size", 6, "--em-horizon", 9, code=1)
    assert "--em-horizon 9" in result.stderr
    assert not list(tmp_path.iterdir())


def test_one_lag_is_enough(run: Run, corpus: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the counts have lag 1 alone"):
        run("train", corpus, "-o", tmp_path / "m", *SIZE, "--max-lag", 1)
    assert load(tmp_path / "m").history.settings["em_horizon"] == 1


def test_what_was_left_out_is_said_and_on_record(run: Run, corpus: Path, tmp_path: Path) -> None:
    for number, options in enumerate(((), ("--boundaries", "document"))):
        options = (*SIZE[:-1], "--min-count", 2, *options)
        result = run("train", corpus, "-o", tmp_path / str(number), *options)
        settings = load(tmp_path / str(number)).history.settings
        assert settings["min_count"] == 2
        if number:
            assert "with --boundaries document, contexts cross lines" in result.stderr
            assert settings["repeats"] == "all"
        else:
            assert "are all counted" not in result.stderr
            assert settings["repeats"]["kept"] == 1
            assert "min_count" in json.loads(run("info", tmp_path / "0", "--json").stdout)["fit"]


def test_a_finished_model_of_other_counts_is_not_taken_for_this_one(run: Run, corpus: Path, tmp_path: Path) -> None:
    run("train", corpus, "-o", tmp_path / "m", *SIZE)
    run("train", corpus, "-o", tmp_path / "m", *SIZE, "--resume")
    for options, message in (
        (("--repeats", "all"), "then, 'all' now"),
        (("--min-count", 4), "min_count: 1 then, 4 now"),
        (("--max-lag", 8), "max_lag: 7 then, 8 now"),
    ):
        assert message in run("train", corpus, "-o", tmp_path / "m", *SIZE, "--resume", *options, code=1).stderr


def test_an_output_without_a_name(run: Run, counts: Path) -> None:
    assert "not the name of a folder" in run("fit", counts, "-o", "", *SIZE, code=1).stderr


def test_a_folder_that_is_no_work_of_ours_is_not_removed(run: Run, counts: Path, tmp_path: Path) -> None:
    (tmp_path / "m.work").mkdir()
    (tmp_path / "m.work" / "thesis.txt").write_text("years of work")
    result = run("fit", counts, "-o", tmp_path / "m", *SIZE, "--force", code=1)
    assert "thesis.txt" in result.stderr
    assert (tmp_path / "m.work" / "thesis.txt").exists()


def test_a_checkpoint_of_an_older_version_is_refused(run: Run, counts: Path, tmp_path: Path) -> None:
    (tmp_path / "m.checkpoint" / "job").mkdir(parents=True)
    assert "older version" in run("fit", counts, "-o", tmp_path / "m", *SIZE, "--resume", code=1).stderr
    run("fit", counts, "-o", tmp_path / "m", *SIZE, "--force")
    assert sorted(os.listdir(tmp_path)) == ["m", "m.checkpoint"]


def test_resume_without_unfinished_work_starts_anew(run: Run, counts: Path, tmp_path: Path) -> None:
    result = run("fit", counts, "-o", tmp_path / "m", "--state-size", 6, "--iterations", 1, "--resume")
    assert "starting from the beginning" in result.stderr


def test_resume_of_finished_work_says_so(run: Run, counts: Path, corpus: Path, tmp_path: Path) -> None:
    fitting = ["fit", counts, "-o", tmp_path / "m", "--state-size", 6, "--iterations", 1]
    counting = ["count", corpus, "-o", tmp_path / "c", "--max-lag", 3]
    training = ["train", corpus, "-o", tmp_path / "t", "--state-size", 6, "--iterations", 1]
    for command in (fitting, counting, training):
        run(*command)
        assert "finished already" in run(*command, "--resume").stderr
    assert sorted(os.listdir(tmp_path)) == ["c", "m", "t"]
    assert "state_size: 6 then, 5 now" in run(*fitting, "--resume", "--state-size", 5, code=1).stderr
    assert sorted(os.listdir(tmp_path)) == ["c", "m", "t"]


def start(arguments: list[object]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", DRIVER, *map(str, arguments)]
    # a shell that runs the tests in the background lets them inherit that Ctrl-C is ignored
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_iterations(checkpoint: Path, n: int, child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline:
        try:
            step = max((checkpoint / PARTS).glob("step.*"), key=lambda path: path.stat().st_mtime)
            if json.loads((step / "facts.json").read_text())["done"] >= n and (checkpoint / LOG).exists():
                return
        except (OSError, ValueError):
            pass  # not begun, or just being replaced
        assert child.poll() is None, child.communicate()[1].decode()
        time.sleep(0.002)
    raise AssertionError("the fit did not get going")


@pytest.fixture(scope="module")
def uninterrupted(run: Run, counts: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "m"
    run("fit", counts, "-o", path, *LONG, "--quiet")
    return weights(path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_fit_goes_on_to_the_same_bits(
    run: Run, counts: Path, tmp_path: Path, uninterrupted: bytes, how: signal.Signals
) -> None:
    output, checkpoint = tmp_path / "m", tmp_path / "m.work"
    child = start(["fit", counts, "-o", output, *LONG])
    wait_for_iterations(checkpoint, 5, child)
    child.send_signal(how)
    _, errors = child.communicate(timeout=900)
    if how != signal.SIGKILL:
        assert child.returncode == 128 + how
        assert b"--resume" in errors
        assert b"Traceback" not in errors
    assert not output.exists()
    done = json.loads(run("info", checkpoint, "--json").stdout)
    assert done["kind"] == "work"
    assert 4 <= done["iterations"] < 1000

    refused = run("fit", counts, "-o", output, *LONG, code=1).stderr
    assert "--resume" in refused
    assert "--force" in refused
    other = run("fit", counts, "-o", output, "--state-size", 7, "--resume", code=1).stderr
    assert "state_size: 8 then, 7 now" in other

    run("fit", counts, "-o", output, *LONG, "--resume", "--quiet")
    assert weights(output) == uninterrupted
    assert os.listdir(tmp_path) == ["m"]
    assert load(output).history.iterations == 1000


def test_force_throws_a_checkpoint_away(run: Run, counts: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "m.work"
    child = start(["fit", counts, "-o", tmp_path / "m", *LONG])
    wait_for_iterations(checkpoint, 1, child)
    child.kill()
    child.communicate()
    run("fit", counts, "-o", tmp_path / "m", *SIZE, "--force")
    assert os.listdir(tmp_path) == ["m"]


def test_train_is_count_and_fit(run: Run, corpus: Path, counts: Path, model: Path, tmp_path: Path) -> None:
    result = run(
        "train", corpus, "-o", tmp_path / "m", *SIZE, "--json", "--counts-output", tmp_path / "c", "--repeats", "all"
    )
    assert json.loads(result.stdout)["vocabulary"] == len(load(model).vocabulary)
    assert weights(tmp_path / "m") == weights(model)
    for file in counts.iterdir():
        assert file.read_bytes() == (tmp_path / "c" / file.name).read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["c", "m"]


def test_train_reads_standard_input(run: Run, corpus: Path, model: Path, tmp_path: Path) -> None:
    run("train", "-", "-o", tmp_path / "m", *SIZE, input=corpus.read_bytes())
    assert weights(tmp_path / "m") == weights(model)
    assert os.listdir(tmp_path) == ["m"]


def test_train_refuses_outputs_that_exist(run: Run, corpus: Path, counts: Path, tmp_path: Path) -> None:
    options = ["--counts-output", counts, *SIZE]
    assert "exists already" in run("train", corpus, "-o", tmp_path / "m", *options, code=1).stderr
    assert not list(tmp_path.iterdir())


def test_settings_that_no_counts_can_serve_are_refused_before_counting(run: Run, corpus: Path, tmp_path: Path) -> None:
    missing = tmp_path / "absent.txt"  # the text is looked for first, and only then the settings
    assert "there is no file" in run("train", missing, "-o", tmp_path / "m", "--state-size", 999, code=1).stderr
    for options, message in (
        (["--vocab-size", 20, "--state-size", 999], "exceeds what a vocabulary of"),
        (["--em-horizon", 9], "Count with --max-lag 9"),
        (["--ssid-horizon", 5, "--observations", "words"], "Count with --max-lag 9"),
    ):
        result = run("train", corpus, "-o", tmp_path / "m", *options, code=1)
        assert message in result.stderr
        assert "Count: done" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_counts_outlive_a_fit_that_cannot_work(run: Run, corpus: Path, model: Path, tmp_path: Path) -> None:
    """The corpus has fewer words than the vocabulary might have had: that is known only when it is counted."""
    wrong = ["train", corpus, "-o", tmp_path / "m", "--state-size", 999, "--observations", "words", "--quiet"]
    assert "exceeds what a vocabulary" in run(*wrong, code=1).stderr
    job, parts = read_work(tmp_path / "m.work")
    assert job["task"] == "train"
    assert parts.noted(STAGE) is None
    # the next try needs neither --resume nor --force, and counts nothing again
    result = run("train", corpus, "-o", tmp_path / "m", *SIZE[:-1])
    assert "Count: done" not in result.stderr
    assert weights(tmp_path / "m") == weights(model)
    assert os.listdir(tmp_path) == ["m"]
    # nor is other text in the way
    run(*wrong[:3], tmp_path / "n", *wrong[4:], code=1)
    run("train", corpus, "-o", tmp_path / "n", *SIZE, "--max-lag", 8)
    assert sorted(os.listdir(tmp_path)) == ["m", "n"]


def test_two_processes_with_one_output(run: Run, counts: Path, tmp_path: Path) -> None:
    child = start(["fit", counts, "-o", tmp_path / "m", *LONG])
    wait_for_iterations(tmp_path / "m.work", 1, child)
    try:
        for options in ([], ["--resume"], ["--force"]):
            refused = run("fit", counts, "-o", tmp_path / "m", *LONG, *options, code=1).stderr
            assert "another process is making" in refused
        assert child.poll() is None
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("keep_counts", [False, True])
def test_an_interrupted_train_keeps_its_iterations(
    run: Run, corpus: Path, tmp_path: Path, uninterrupted: bytes, keep_counts: bool
) -> None:
    output, checkpoint = tmp_path / "m", tmp_path / "m.work"
    arguments = ["train", corpus, "-o", output, *LONG, *(["--counts-output", tmp_path / "c"] if keep_counts else [])]
    child = start(arguments)
    wait_for_iterations(checkpoint, 5, child)
    child.kill()
    child.communicate()
    done = json.loads(run("info", checkpoint, "--json").stdout)["iterations"]
    assert done >= 4
    run(*arguments, "--resume", "--quiet")
    assert weights(output) == uninterrupted
    assert sorted(os.listdir(tmp_path)) == (["c", "m"] if keep_counts else ["m"])


def test_train_does_not_go_on_with_a_fit(run: Run, corpus: Path, counts: Path, tmp_path: Path) -> None:
    child = start(["fit", counts, "-o", tmp_path / "m", *LONG])
    wait_for_iterations(tmp_path / "m.work", 1, child)
    child.kill()
    child.communicate()
    assert (
        "task: 'fit' then, 'train' now" in run("train", corpus, "-o", tmp_path / "m", *LONG, "--resume", code=1).stderr
    )


def test_select_tries_a_grid_and_writes_the_best(run: Run, counts: Path, corpus: Path, tmp_path: Path) -> None:
    grid = ["--select", "state-size=2,3", "--select", "iterations=1,4", "--held-out", corpus]
    result = run("fit", counts, "-o", tmp_path / "best", *grid, "--json")
    trials = json.loads(result.stdout)["trials"]
    assert len(trials) == 4
    held_out = [trial["held_out"] for trial in trials]
    assert held_out == sorted(held_out, reverse=True)
    best = load(tmp_path / "best")
    assert best.state_size == trials[0]["settings"]["state_size"]
    refused = run("fit", counts, "-o", tmp_path / "x", "--select", "state-size", code=1)
    assert refused.stderr.startswith("error: --select")


def test_select_keeps_the_other_options(run: Run, counts: Path, tmp_path: Path) -> None:
    options = ["--state-size", 3, "--noise", "spherical", "--observations", "words", "--select", "iterations=1,2"]
    run("fit", counts, "-o", tmp_path / "m", *options)
    facts = json.loads(run("info", tmp_path / "m", "--json").stdout)
    assert facts["state_size"] == 3
    assert facts["noise"] == "spherical"
    assert "--select" in run("fit", counts, "-o", tmp_path / "x", "--held-out", counts, code=1).stderr


def test_text_that_cannot_be_read_leaves_nothing_in_the_way(run: Run, corpus: Path, tmp_path: Path) -> None:
    bad = tmp_path / "latin1.txt"
    bad.write_bytes(b"caf\xe9 au lait\n" * 50 + corpus.read_bytes())
    assert "UTF-8" in run("train", bad, "-o", tmp_path / "m", *SIZE, code=1).stderr
    run("train", bad, "-o", tmp_path / "m", *SIZE, "--encoding-errors", "replace")
    assert load(tmp_path / "m").state_size == 6


def test_train_takes_the_vocabulary_of_counts(run: Run, corpus: Path, counts: Path, tmp_path: Path) -> None:
    run("train", corpus, "-o", tmp_path / "m", *SIZE, "--vocab", counts)
    assert load(tmp_path / "m").vocabulary == LagCounts.load(counts).vocabulary
