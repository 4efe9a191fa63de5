"""Unfinished work: parts that are believed only if they are whole, locks, leftovers of dead processes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from storage.sealing import logged
from textlds.errors import ArgumentError, FormatError, OutputExistsError
from textlds.storage.folders import new_file, new_folder, write_config
from textlds.storage.parts import Parts
from textlds.storage.work import LOG, MANIFEST, PARTS, Work, work_folder

JOB = {"task": "test", "size": 3}


def keep(parts, name, content):
    return parts.keep(name, lambda path: path.write_bytes(content))


def keep_folder(parts, name, **files):
    def write(path):
        path.mkdir()
        for file, content in files.items():
            (path / file).write_bytes(content)

    return parts.keep(name, write)


class Interruption(BaseException):
    pass


def interrupted(output, do=lambda work: None, **options):
    with contextlib.suppress(Interruption), Work(output, JOB, **options) as work:
        do(work)
        raise Interruption


# Parts


@pytest.fixture
def place(tmp_path):
    return tmp_path / "parts", tmp_path / "log"


def test_parts_and_notes_are_found_by_a_later_process(place):
    parts = Parts(*place)
    keep(parts, "a", b"one")
    keep_folder(parts, "b", x=b"two", y=b"")
    keep(parts, "a", b"three")  # in place of the first
    keep(parts, "c", b"four")
    parts.note("n", {"k": [1, None]})
    parts.forget("c")
    for found in (parts, Parts(*place)):
        assert found.find("a").read_bytes() == b"three"
        assert (found.find("b") / "x").read_bytes() == b"two"
        assert found.find("c") is None
        assert found.noted("n") == {"k": [1, None]}
        assert found.noted("m") is None
    assert len(list(place[0].iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "x").write_bytes(b"twO"),
        lambda folder: (folder / "x").write_bytes(b"tw"),
        lambda folder: (folder / "y").unlink(),
        lambda folder: (folder / "z").write_bytes(b""),
        lambda folder: os.rename(folder, folder.with_name("elsewhere")),
    ],
)
def test_a_part_with_any_damage_is_not_there(place, damage, caplog):
    path = keep_folder(Parts(*place), "b", x=b"two", y=b"")
    damage(path)
    assert Parts(*place).find("b") is None
    assert "made again" in caplog.text


def test_a_part_that_was_not_finished_is_not_there(place):
    def fail(path):
        path.write_bytes(b"half")
        raise Interruption

    parts = Parts(*place)
    keep(parts, "a", b"one")
    with pytest.raises(Interruption):
        parts.keep("a", fail)
    again = Parts(*place)
    again.tidy()
    assert again.find("a").read_bytes() == b"one"
    assert [path.name for path in place[0].iterdir()] == ["a.1"]


def test_a_torn_or_altered_log_loses_only_what_it_names(place):
    parts = Parts(*place)
    for name in "abc":
        keep(parts, name, name.encode() * 10)
    whole = place[1].read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole)):
        place[1].write_bytes(whole[:cut])
        found = [name for name in "abc" if Parts(*place).find(name) is not None]
        assert found == list("abc")[: len(found)]
        assert len(found) in (whole[:cut].count(b"\n"), whole[:cut].count(b"\n") + 1)  # a newline says nothing
    rng = random.Random(0)
    for _ in range(300):
        at = rng.randrange(len(lines[0]), len(lines[0]) + len(lines[1]) - 1)
        place[1].write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
        parts = Parts(*place)
        assert parts.find("a")
        assert parts.find("b") is None or place[1].read_bytes() == whole
    place[1].write_bytes(whole[:-5])
    parts = Parts(*place)
    parts.tidy()
    keep(parts, "d", b"new")  # not appended to the torn line
    assert [name for name in "abcd" if Parts(*place).find(name)] == ["a", "b", "d"]


@pytest.mark.parametrize(
    "record",
    [
        {"part": "../../precious", "number": 1, "files": {}},
        {"part": "/precious", "number": 1, "files": {}},
        {"part": "a", "number": "1/../../../precious", "files": {}},
        {"part": "a", "number": 2**70, "files": {}},
        {"part": "a", "number": 1},
        {"part": [], "number": 1, "files": {}},
        {"note": [], "value": 1},
        {"forget": {}},
        ["part"],
    ],
)
def test_a_record_that_was_forged_is_not_believed_and_leads_nowhere(place, record):
    """A part that is replaced or forgotten is removed: a name must not lead out of the folder."""
    precious = place[0].parent / "precious.1"
    precious.write_bytes(b"years of work")
    keep(Parts(*place), "b", b"one")
    with place[1].open("ab") as log:
        log.write(logged(record))
    parts = Parts(*place)
    assert parts.find("b").read_bytes() == b"one"
    for name in ("a", "../../precious", "/precious"):
        assert parts.find(name) is None
        parts.forget(name)
    keep(parts, "a", b"two")
    assert parts.find("a").read_bytes() == b"two"
    assert precious.read_bytes() == b"years of work"


def test_a_part_that_its_reader_cannot_read_is_made_again(place, caplog):
    keep(Parts(*place), "a", b"12")
    parts = Parts(*place)
    assert parts.read("a", lambda path: int(path.read_bytes())) == 12
    assert parts.read("b", lambda path: int(path.read_bytes())) is None
    keep(parts, "a", b"twelve")
    assert parts.read("a", lambda path: int(path.read_bytes())) is None
    assert "made again" in caplog.text
    assert parts.find("a") is None


def test_parts_of_this_process_only(tmp_path):
    parts = Parts(tmp_path / "parts")
    keep(parts, "a", b"one")
    assert parts.find("a").read_bytes() == b"one"
    assert not parts.durable
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.1"]


def test_many_threads_keep_parts(place):
    parts = Parts(*place)
    threads = [threading.Thread(target=keep, args=(parts, f"p{n}", b"%d" % n)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = Parts(*place)
    assert [again.find(f"p{n}").read_bytes() for n in range(20)] == [b"%d" % n for n in range(20)]


# The work for an output


def publish(work):
    with work.publishing(work.output) as folder:
        (folder / "data").write_text("done")
        write_config(folder, kind="test", content={})


def test_work_is_resumed_and_removed_when_it_is_done(tmp_path):
    output = tmp_path / "out"
    interrupted(output, lambda work: keep(work.parts, "a", b"one"), sizes={"n": 5})
    with pytest.raises(OutputExistsError, match="unfinished work"):
        Work(output, JOB)
    with pytest.raises(ArgumentError, match="size: 3 then, 4 now"):
        Work(output, {**JOB, "size": 4}, resume=True)
    with Work(output, JOB, sizes={"n": 7}, resume=True) as work:
        assert work.sizes == {"n": 5}
        assert work.parts.find("a").read_bytes() == b"one"
        publish(work)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with Work(output, JOB, resume=True) as work:
        assert work.finished
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_of_ours_leaves_nothing_new_and_keeps_what_was_there(tmp_path):
    output = tmp_path / "out"
    with pytest.raises(ArgumentError), Work(output, JOB):
        raise ArgumentError("no")
    assert not list(tmp_path.iterdir())
    interrupted(output)
    with pytest.raises(ArgumentError), Work(output, JOB, resume=True):
        raise ArgumentError("no")
    assert work_folder(output).exists()


def test_an_old_output_stays_until_the_new_one_is_there(tmp_path):
    output = tmp_path / "out"
    with Work(output, JOB) as work:
        publish(work)
    (output / "data").write_text("old")
    interrupted(output, force=True)
    assert (output / "data").read_text() == "old"
    with Work(output, JOB, resume=True) as work:  # force was given when it began
        assert not work.finished
        publish(work)
        assert (output / "data").read_text() == "done"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_that_another_program_made_meanwhile_is_not_taken_for_ours(tmp_path):
    output = tmp_path / "out"
    interrupted(output)
    with new_folder(output) as folder:
        write_config(folder, kind="test", content={"mine": "no"})
    with pytest.raises(OutputExistsError, match="exists already"):
        Work(output, JOB, resume=True)
    assert work_folder(output).exists()


def test_one_process_at_a_time(tmp_path):
    output = tmp_path / "out"
    with Work(output, JOB) as work:
        for options in ({}, {"resume": True}, {"force": True}):
            with pytest.raises(OutputExistsError, match="another process is making"):
                Work(output, JOB, **options)
        publish(work)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_damaged_manifest(tmp_path):
    output = tmp_path / "out"
    interrupted(output)
    manifest = work_folder(output) / MANIFEST
    whole = manifest.read_bytes()
    rng = random.Random(0)
    for _ in range(200):
        at = rng.randrange(len(whole))
        manifest.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :])
        with contextlib.suppress(FormatError):  # white space may be altered
            Work(output, JOB, resume=True).__exit__(Interruption, Interruption(), None)
        assert work_folder(output).exists()
    manifest.write_bytes(b"[]")
    with pytest.raises(FormatError, match="Start again with --force"):
        Work(output, JOB, resume=True)
    with Work(output, JOB, force=True):
        pass
    assert not work_folder(output).exists()


def test_killed_before_it_began_or_while_it_was_cleared(tmp_path):
    output = tmp_path / "out"
    for leave in ((), (PARTS,), (LOG, PARTS)):
        work_folder(output).mkdir()
        for name in leave:
            (work_folder(output) / name).mkdir() if name == PARTS else (work_folder(output) / name).touch()
        with Work(output, JOB) as work:
            assert not work.finished
        assert not list(tmp_path.iterdir())


def refused(output, *, begin=None, **options):
    """Let a last stage be refused."""
    with contextlib.suppress(ArgumentError), Work(output, JOB, **options) as work:
        work.retry = True
        if begin:
            work.begin(begin)
        raise ArgumentError("this stage cannot work")


def test_a_stage_that_is_refused_is_in_nobodys_way_but_one_in_progress_is_kept(tmp_path):
    output = tmp_path / "out"
    refused(output)
    interrupted(output, lambda work: work.begin({"n": 1}))  # taken up without asking
    with pytest.raises(OutputExistsError, match="unfinished work"):  # but not once it is going on
        Work(output, {**JOB, "size": 4})
    refused(output, begin={"n": 2}, resume=True)
    with pytest.raises(OutputExistsError, match="unfinished work"):
        Work(output, {**JOB, "size": 4})
    with Work(output, JOB, resume=True) as work:
        assert not work.begin({"n": 1})
    refused(output)
    with Work(output, {**JOB, "size": 4}) as work:  # another job: what was there is of no use
        assert work.begin({"n": 1})


# Temporary folders and files of dead processes

HOLD = """
import sys, time
from textlds.storage.folders import new_file, new_folder
with {make}(sys.argv[1]) as inside:
    print("ready", flush=True)
    time.sleep(100)
"""


@pytest.mark.parametrize("make", ["new_folder", "new_file"])
def test_what_a_dead_process_left_is_removed_and_what_a_living_one_holds_is_not(tmp_path, make):
    target = tmp_path / "out"

    def start():
        child = subprocess.Popen([sys.executable, "-c", HOLD.format(make=make), str(target)], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        return child

    def left():
        return {path.name for path in tmp_path.iterdir()} - {"out"}

    dead, living = start(), start()
    try:
        assert len(left()) == 2
        os.kill(dead.pid, signal.SIGKILL)
        dead.wait()
        assert len(left()) == 2
        other = tmp_path / ".other.abc.partial"
        other.mkdir()
        with (new_folder if make == "new_folder" else new_file)(target) as inside:
            if isinstance(inside, Path):
                write_config(inside, kind="test", content={})
            assert len(left() - {other.name}) == 2  # its own, and the living one's
        assert len(left() - {other.name}) == 1
        assert other.exists()
    finally:
        for child in (dead, living):
            child.kill()
            child.communicate()
