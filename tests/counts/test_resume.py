from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from counts.texts import count_to_folder, make_text
from storage.sealing import alter_arrays, part, reseal_work
from textlds.counts import counting, pieces, stages
from textlds.counts.lagcounts import LagCounts
from textlds.counts.plan import make_plan
from textlds.errors import ArgumentError, FormatError, OutputExistsError
from textlds.storage.work import LOCK, LOG, MANIFEST, PARTS, work_folder

OPTIONS = {"vocab_size": 500, "max_lag": 4, "threads": 2}

# Forks a counting process that is killed shortly after some of its calls, and does so again; the last one may finish.
KILLER = """
import dataclasses, json, os, random, shutil, signal, sys, threading
from textlds.counts import counting, pieces, sinks, stages
from textlds.counts.lagcounts import LagCounts

output, *corpus = sys.argv[1:]
plan = counting.make_plan
counting.make_plan = lambda memory, **o: dataclasses.replace(plan(memory, **o), piece_bytes=8_000, block_tokens=4_000)
left, later = [0], [0.0]

def counted(module, name):
    function = getattr(module, name)
    def wrapped(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            threading.Timer(later[0], os.kill, (os.getpid(), signal.SIGKILL)).start()
        return function(*arguments, **options)
    setattr(module, name, wrapped)

def count(name, **options):
    settings = counting.CountSettings(vocab_size=500, max_lag=4)
    counting.count_to_folder(corpus, name, settings=settings, threads=2, **options)

pieces.DURABLE_AFTER = 0
count(output + "-warm")
for module, name in [(stages, "tokenize"), (stages, "count_block"), (stages, "merge"), (pieces, "write_arrays"),
                     (stages, "write_arrays"), (counting, "write_folder"), (counting, "learn_vocabulary")]:
    counted(module, name)
moments = random.Random(0)
kills, status = 0, None
while status != 0 or kills < 5:
    if status == 0:
        shutil.rmtree(output)  # it was done before it was killed often enough: once more
    left[0], later[0] = moments.randint(1, 8), moments.uniform(0, 0.02)
    child = os.fork()
    if not child:
        count(output, resume=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    kills += status != 0
    if os.path.exists(output):
        LagCounts.load(output)  # never half of one
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
    names = {"a.txt", "b.txt", "reference", "counts", "counts-warm"}
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
    assert not list((work_folder(output) / PARTS).iterdir())
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
    with pytest.raises(ArgumentError, match="max_lag: 4 then, 3 now"):
        count_to_folder(corpus, output, resume=True, **{**OPTIONS, "max_lag": 3})
    with pytest.raises(ArgumentError, match="sources: 2 then, 1 now"):
        count_to_folder(corpus[:1], output, resume=True, **OPTIONS)
    stamp = os.stat(corpus[1])
    Path(corpus[1]).write_text("something else entirely")
    with pytest.raises(ArgumentError, match=r"changed: .*b\.txt"):
        count_to_folder(corpus, output, resume=True, **OPTIONS)
    assert stamp.st_size
    count_to_folder(corpus, output, force=True, **OPTIONS)  # begins anew
    assert not work_folder(output).exists()


def test_workers_and_memory_may_change(corpus, tmp_path, small, monkeypatch):
    output = tmp_path / "counts"
    leave_work(corpus, output)
    monkeypatch.undo()
    count_to_folder(corpus, output, resume=True, **{**OPTIONS, "threads": 1, "memory": "500MB"})
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
    count_to_folder(corpus, output, resume=True, **OPTIONS)  # begun with force, and so continued
    assert LagCounts.load(output).tokens > 15_000
    assert not work_folder(output).exists()


@pytest.mark.parametrize("force", [False, True])
def test_interrupted_while_clearing_up(corpus, tmp_path, small, force):
    """The result is there and so is the work: it is finished, whatever was there before."""
    output = tmp_path / "counts"
    if force:
        count_to_folder(corpus[:1], output, **OPTIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textlds.storage.work.Work._clear", lambda work: None)
        count_to_folder(corpus, output, force=force, **OPTIONS)
    assert work_folder(output).exists()
    before = files(output)
    with pytest.MonkeyPatch.context() as patch:
        tokenised = counted_calls(patch, stages, "tokenize")
        count_to_folder(corpus, output, resume=True, **OPTIONS)
    assert not tokenised
    assert files(output) == before
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".txt"] == ["counts"]


def test_only_files_can_be_resumed(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be read a second time"):
        count_to_folder(iter(["a b"]), tmp_path / "counts", resume=True)


def test_work_that_nobody_can_resume_is_removed(tmp_path):
    output = tmp_path / "counts"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, counting, "learn_vocabulary", 0)
        with pytest.raises(Interruption):
            count_to_folder(iter(["a b"]), output)
    assert not list(tmp_path.iterdir())
    with pytest.MonkeyPatch.context() as patch:  # as after a kill
        interrupt(patch, counting, "learn_vocabulary", 0)
        patch.setattr("textlds.storage.work.Work._clear", lambda work: None)
        with pytest.raises(Interruption):
            count_to_folder(iter(["a b"]), output)
    assert work_folder(output).exists()
    count_to_folder(iter(["a b"]), output)
    assert not work_folder(output).exists()


def test_resume_without_earlier_work_begins_it_and_finished_work_is_finished(corpus, tmp_path):
    count_to_folder(corpus, tmp_path / "counts", resume=True, **OPTIONS)
    before = files(tmp_path / "counts")
    count_to_folder(corpus, tmp_path / "counts", resume=True, **OPTIONS)
    assert files(tmp_path / "counts") == before
    with pytest.raises(ArgumentError, match=r"another job .max_lag: 4 then, 3 now"):
        count_to_folder(corpus, tmp_path / "counts", resume=True, **OPTIONS | {"max_lag": 3})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "counts"]


# Damage


def unfinished(corpus, output):
    """Leave the work of a count that was interrupted when all its runs were there."""
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, stages, "merge", 0)
        with pytest.raises(Interruption):
            count_to_folder(corpus, output, **OPTIONS)


def truncated(data):
    return data[: len(data) // 2]


def shorter_by_one(data):
    return data[:-1]


def flipped(data):
    middle = len(data) * 2 // 3
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


def zeros(data):
    return bytes(len(data))


@pytest.mark.parametrize("damage", [truncated, shorter_by_one, flipped, zeros, None])
def test_damaged_parts_are_made_again(corpus, tmp_path, small, damage):
    """Every file of the work folder in turn: the right bytes, or a clear error for the manifest alone."""
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    reference = files(tmp_path / "reference")
    output = tmp_path / "counts"
    unfinished(corpus, output)
    saved = tmp_path / "saved"
    shutil.copytree(work_folder(output), saved)
    victims = [path.relative_to(saved) for path in sorted(saved.rglob("*")) if path.is_file()]
    assert {path.name for path in victims} >= {MANIFEST, LOG, LOCK, "run.safetensors", "lag01-values.safetensors"}
    assert len(victims) > 40
    own = [path for path in victims if path.parent == Path()]
    some = {*own, *victims[[truncated, flipped, shorter_by_one, zeros, None].index(damage) :: 5]}  # each of them once
    for victim in sorted(some):
        shutil.rmtree(work_folder(output), ignore_errors=True)
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(saved, work_folder(output))
        path = work_folder(output) / victim
        data = path.read_bytes()
        if damage is None:
            path.unlink()
        elif data:
            path.write_bytes(damage(data))
        if victim.name == MANIFEST and damage is not None:
            with pytest.raises(FormatError, match=r"manifest\.json is damaged .* Start again with --force"):
                count_to_folder(corpus, output, resume=True, **OPTIONS)
            count_to_folder(corpus, output, force=True, **OPTIONS)
        else:
            count_to_folder(corpus, output, resume=True, **OPTIONS)
        assert files(output) == reference, victim
        assert not work_folder(output).exists()


def setting(place, value):
    def change(array):
        array.reshape(-1)[place] = value
        return array

    return change


FORGED = {
    "ids too large": ("piece-000003", "", {"ids": setting(1, 10**9)}),
    "ids too small": ("piece-000003", "", {"ids": setting(1, -5)}),
    "offsets": ("piece-000003", "", {"offsets": setting(1, 10**12)}),
    "counts": ("piece-000003", "", {"counts": setting(1, -1)}),
    "types that are not UTF-8": ("piece-000003", "", {"types": setting(0, 0x9E)}),
    "no table": ("piece-000003", "", {"types": None}),
    "pointers": ("run-00001", "run.safetensors", {"pointers": setting(700, 10**9)}),
    "no pointers": ("run-00001", "run.safetensors", {"pointers": None}),
    "occurrences": ("run-00001", "run.safetensors", {"unigrams": setting(3, -1)}),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_parts_reach_no_compiled_code(corpus, tmp_path, small, name):
    """Sums are right: whoever alters a folder may put them right."""
    which, file, changes = FORGED[name]
    output = tmp_path / "counts"
    unfinished(corpus, output)
    alter_arrays(part(work_folder(output), which) / file, **changes)
    reseal_work(work_folder(output))
    count_to_folder(corpus, output, resume=True, **OPTIONS)
    count_to_folder(corpus, tmp_path / "reference", **OPTIONS)
    assert files(output) == files(tmp_path / "reference")


@pytest.mark.parametrize("column", [10**9, -1])
def test_forged_columns_are_refused_where_they_are_read(corpus, tmp_path, small, column):
    output = tmp_path / "counts"
    unfinished(corpus, output)
    path = part(work_folder(output), "run-00001") / "lag02-columns.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:1000] + column.to_bytes(4, "little", signed=True) + data[1004:])
    reseal_work(work_folder(output))
    with pytest.raises(FormatError, match="out of range"):
        count_to_folder(corpus, output, resume=True, **OPTIONS)


def test_work_of_an_older_version_is_refused(corpus, tmp_path):
    old = tmp_path / "counts.partial-work"
    old.mkdir()
    (old / "manifest.json").write_text("{}")
    for resume in (False, True):
        with pytest.raises(OutputExistsError, match=r"older version of textlds.* --force"):
            count_to_folder(corpus, tmp_path / "counts", resume=resume, **OPTIONS)
    count_to_folder(corpus, tmp_path / "counts", force=True, **OPTIONS)
    assert old.exists()
