from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from counts.texts import make_text
from textlds.counts import LagCounts, count_to_folder, counting, pieces, stages
from textlds.counts.plan import make_plan
from textlds.counts.work import MANIFEST, work_folder
from textlds.errors import ArgumentError, CountsError, OutputExistsError

OPTIONS = {"vocab_size": 500, "max_lag": 4, "workers": 2}

# Forks a counting process, kills it after a random time, and does so again; the last one may finish. All it does is
# made slow, so that kills fall everywhere.
KILLER = """
import dataclasses, json, os, random, signal, sys, time
from textlds.counts import LagCounts, counting, pieces, sinks, stages

output, *corpus = sys.argv[1:]
plan = counting.make_plan
counting.make_plan = lambda memory, **o: dataclasses.replace(plan(memory, **o), piece_bytes=8_000, block_tokens=4_000)

def slow(module, name):
    function = getattr(module, name)
    def wrapped(*arguments, **options):
        time.sleep(0.005)
        result = function(*arguments, **options)
        time.sleep(0.005)
        return result
    setattr(module, name, wrapped)

def count(name, **options):
    counting.count_to_folder(corpus, name, vocab_size=500, max_lag=4, workers=2, **options)

pieces.DURABLE_AFTER = 0
count(output + "-warm")
for module, name in [(stages, "tokenize"), (stages, "count_block"), (stages, "merge"), (pieces, "write_arrays"),
                     (stages, "write_arrays"), (counting, "write_folder"), (counting, "learn_vocabulary")]:
    slow(module, name)
begin = time.monotonic(); count(output + "-slow"); seconds = time.monotonic() - begin
moments = random.Random(0)
kills = 0
while kills < 30:
    child = os.fork()
    if not child:
        count(output, resume=True)
        os._exit(0)
    time.sleep(moments.uniform(0, seconds / 4))
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        assert status == 0, status
        break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills += 1
    if os.path.exists(output):
        LagCounts.load(output)  # never half of one
if not done:
    count(output, resume=True)
print(json.dumps({"kills": kills}))
"""


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def corpus(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for seed, path in enumerate(paths):
        path.write_text(make_text(seed, 8000), encoding="utf-8")
    return [str(path) for path in paths]


@pytest.fixture
def small(monkeypatch):
    sizes = {"piece_bytes": 8000, "block_tokens": 4000}
    monkeypatch.setattr(pieces, "DURABLE_AFTER", 0)
    monkeypatch.setattr(
        counting, "make_plan", lambda memory, **options: dataclasses.replace(make_plan(memory, **options), **sizes)
    )
    return sizes


class Interruption(Exception):
    pass


def interrupt(patch, module, name, calls):
    """Let ``calls`` calls of a function through and fail at the next one."""
    function = getattr(module, name)
    left = [calls]

    def wrapped(*arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise Interruption(name)
        return function(*arguments, **options)

    patch.setattr(module, name, wrapped)


def counted_calls(patch, module, name):
    function = getattr(module, name)
    calls = []

    def wrapped(*arguments, **options):
        calls.append(name)
        return function(*arguments, **options)

    patch.setattr(module, name, wrapped)
    return calls


def test_killed_at_random_moments_it_ends_with_the_same_bytes(corpus, tmp_path):
    output = tmp_path / "counts"
    run = subprocess.run(
        [sys.executable, "-c", KILLER, str(output), *corpus], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["kills"] >= 5
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    assert files(output) == files(tmp_path / "reference")
    names = {"a.txt", "b.txt", "reference", "counts", "counts-warm", "counts-slow"}
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize(
    ("module", "name", "calls"),
    [
        (stages, "tokenize", 0),
        (stages, "tokenize", 7),
        (counting, "learn_vocabulary", 0),
        (stages, "count_block", 0),
        (stages, "count_block", 3),
        (stages, "merge", 0),
        (counting, "write_folder", 0),
    ],
)
def test_interrupted_at_every_stage(corpus, tmp_path, small, module, name, calls):
    output = tmp_path / "counts"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, module, name, calls)
        with pytest.raises(Interruption):
            count_to_folder(corpus, output, **OPTIONS)
    assert not output.exists()
    with pytest.raises(OutputExistsError, match="--resume"):
        count_to_folder(corpus, output, **OPTIONS)
    with pytest.MonkeyPatch.context() as patch:
        tokenised, counted = counted_calls(patch, stages, "tokenize"), counted_calls(patch, stages, "count_block")
        count_to_folder(corpus, output, resume=True, **OPTIONS)
    n_pieces, blocks = 11, 5
    assert len(tokenised) <= n_pieces - (calls if name == "tokenize" else n_pieces)  # what was done is not done again
    assert len(counted) <= blocks - (
        calls if name == "count_block" else blocks if name in ("merge", "write_folder") else 0
    )
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    assert files(output) == files(tmp_path / "reference")
    assert not work_folder(output).exists()


def test_what_took_no_time_is_done_again(corpus, tmp_path, small, monkeypatch):
    monkeypatch.setattr(pieces, "DURABLE_AFTER", 3600)
    output = tmp_path / "counts"
    leave_work(corpus, output)
    assert [path.name for path in work_folder(output).iterdir()] == [MANIFEST]
    count_to_folder(corpus, output, resume=True, **OPTIONS)
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    assert files(output) == files(tmp_path / "reference")


def leave_work(corpus, output, **options):
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, stages, "tokenize", 3)
        with pytest.raises(Interruption):
            count_to_folder(corpus, output, **{**OPTIONS, **options})
    assert (work_folder(output) / MANIFEST).is_file()


def test_other_options_or_text_are_refused(corpus, tmp_path, small):
    output = tmp_path / "counts"
    leave_work(corpus, output)
    with pytest.raises(CountsError, match="max_lag was 4 and is 3"):
        count_to_folder(corpus, output, resume=True, **{**OPTIONS, "max_lag": 3})
    with pytest.raises(CountsError, match="there were 2 and are 1"):
        count_to_folder(corpus[:1], output, resume=True, **OPTIONS)
    stamp = os.stat(corpus[1])
    Path(corpus[1]).write_text("something else entirely")
    with pytest.raises(CountsError, match=r"changed: .*b\.txt"):
        count_to_folder(corpus, output, resume=True, **OPTIONS)
    assert stamp.st_size
    count_to_folder(corpus, output, force=True, **OPTIONS)  # begins anew
    assert not work_folder(output).exists()


def test_workers_and_memory_may_change(corpus, tmp_path, small, monkeypatch):
    output = tmp_path / "counts"
    leave_work(corpus, output)
    monkeypatch.undo()
    count_to_folder(corpus, output, resume=True, **{**OPTIONS, "workers": 1, "memory": "500MB"})
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    assert files(output) == files(tmp_path / "reference")


def test_an_output_is_replaced_only_with_force(corpus, tmp_path, small):
    output = tmp_path / "counts"
    count_to_folder(corpus[:1], output, **OPTIONS)
    before = files(output)
    with pytest.raises(OutputExistsError, match="--force"):
        count_to_folder(corpus, output, **OPTIONS)
    leave_work(corpus, output, force=True)
    assert files(output) == before
    with pytest.raises(OutputExistsError, match="force"):
        count_to_folder(corpus, output, resume=True, **OPTIONS)
    count_to_folder(corpus, output, resume=True, force=True, **OPTIONS)
    assert LagCounts.load(output).tokens > 15_000


def test_interrupted_while_clearing_up(corpus, tmp_path, small):
    output = tmp_path / "counts"
    leave_work(corpus, output)
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    os.rename(tmp_path / "reference", output)
    count_to_folder(corpus, output, resume=True, **OPTIONS)
    assert not work_folder(output).exists()


def test_only_files_can_be_resumed(tmp_path):
    with pytest.raises(ArgumentError, match="only files"):
        count_to_folder(iter(["a b"]), tmp_path / "counts", resume=True)


def test_work_that_nobody_can_go_on_with_is_removed(tmp_path, monkeypatch):
    output = tmp_path / "counts"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, counting, "learn_vocabulary", 0)
        with pytest.raises(Interruption):
            count_to_folder(iter(["a b"]), output)
    assert not list(tmp_path.iterdir())
    with pytest.MonkeyPatch.context() as patch:  # as after a kill
        interrupt(patch, counting, "learn_vocabulary", 0)
        patch.setattr("textlds.counts.work.Work.clear", lambda work: work.folder.mkdir(exist_ok=True) or None)
        patch.setattr(Path, "mkdir", lambda *arguments, **options: os.makedirs(arguments[0], exist_ok=True))
        with pytest.raises(Interruption):
            count_to_folder(iter(["a b"]), output)
    assert work_folder(output).exists()
    count_to_folder(iter(["a b"]), output)
    assert not work_folder(output).exists()


def test_resume_without_earlier_work_begins_it(corpus, tmp_path):
    count_to_folder(corpus, tmp_path / "counts", resume=True, **OPTIONS)
    assert LagCounts.load(tmp_path / "counts").max_lag == 4
    with pytest.raises(OutputExistsError):
        count_to_folder(corpus, tmp_path / "counts", resume=True, **OPTIONS)
