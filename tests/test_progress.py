from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import textwrap

import pytest

from textlds import progress as module
from textlds.progress import Rate, RichProgress, SilentProgress, clock, human, resolve


class Recorder:
    """A progress of one's own."""

    def __init__(self):
        self.events = []

    @contextlib.contextmanager
    def task(self, name, total, unit=""):
        self.events.append((name, total, unit))
        yield self
        self.events.append("end")

    def advance(self, amount=1.0, note=""):
        self.events.append((amount, note))


def work(progress):
    with resolve(progress).task("count", 3, "tokens") as task:
        for n in range(3):
            task.advance(note=f"{n} M/s")


def test_silence_is_silent(capsys):
    work(False)
    assert capsys.readouterr() == ("", "")
    assert isinstance(resolve(False), SilentProgress)


def test_any_object_with_the_methods_will_do():
    recorder = Recorder()
    work(recorder)
    assert resolve(recorder) is recorder
    assert recorder.events == [("count", 3, "tokens"), (1.0, "0 M/s"), (1.0, "1 M/s"), (1.0, "2 M/s"), "end"]


def test_off_a_terminal_one_line_is_printed_when_a_task_ends(capsys):
    assert isinstance(resolve(True), RichProgress)
    work(True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "count: done in 0:00, 2 M/s\n"


def test_a_note_stays_until_another_comes(capsys):
    with RichProgress().task("fit", None, "bytes") as task:
        task.advance(note="-1.5")
        task.advance()
    assert capsys.readouterr().err == "fit: done in 0:00, -1.5\n"


def test_a_note_may_hold_brackets(capsys):
    with RichProgress().task("read", 1) as task:
        task.advance(note="[x] a[b].txt")
    assert capsys.readouterr().err == "read: done in 0:00, [x] a[b].txt\n"


def test_a_task_that_fails_is_not_done(capsys):
    def fail():
        with RichProgress().task("fit", 2) as task:
            task.advance()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert capsys.readouterr().err == ""


BAR = """
    from textlds.progress import RichProgress
    with RichProgress().task("fit", 4) as task:
        for n in range(4):
            task.advance(note="[x] likelihood 1.25")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_on_a_terminal_there_is_a_bar():
    import pty  # not on every system

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "140"}
    command = [sys.executable, "-c", textwrap.dedent(BAR)]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        output = b""
        while select.select([ours], [], [], 30)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            output += piece
        os.close(ours)
        assert process.wait(timeout=900) == 0
        assert process.stdout.read() == b""  # standard output is for results
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output.decode())
    assert "fit" in text
    assert "4 of 4" in text
    assert "[x] likelihood 1.25" in text


class Clock:
    """A time that passes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def time(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def test_off_a_terminal_lines_come_now_and_then_and_ever_more_rarely(time, capsys):
    with RichProgress().task("EM", 50, "iterations") as task:
        for n in range(50):
            time.now += 20
            task.advance(1, f"likelihood {n}")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "EM: 1 of 50, 0:20, 16:20 left, likelihood 0"
    assert lines[1] == "EM: 2 of 50, 0:40, 16:00 left, likelihood 1"
    assert lines[-1] == "EM: done in 16:40, likelihood 49"
    assert 6 < len(lines) < 15


def test_a_task_of_less_than_ten_seconds_has_one_line(time, capsys):
    with RichProgress().task("Sketch", 5, "products") as task:
        for _ in range(5):
            time.now += 1.5
            task.advance()
    assert capsys.readouterr().err == "Sketch: done in 0:08\n"


@pytest.mark.parametrize(
    ("total", "unit", "expected"),
    [
        (4_983_724, "tokens", "T: 50%, 0:10, 0:10 left"),
        (2e9, "bytes", "T: 50%, 0:10, 0:10 left"),
        (1000, "products", "T: 500 of 1,000, 0:10, 0:10 left"),
        (None, "", "T: 0:10"),
        (None, "bytes", "T: 0:10"),
    ],
)
def test_amounts_are_for_people(time, capsys, total, unit, expected):
    with RichProgress().task("T", total, unit) as task:
        time.now += 10
        task.advance((total or 2) / 2)
    assert capsys.readouterr().err.splitlines()[0] == expected


def test_numbers_and_times_as_people_say_them():
    assert [human(n) for n in (0, 950, 12_345, 1_234_567, 75_500_000, 4.5e9, 2e13)] == [
        "0", "950", "12,345", "1.23 M", "75.5 M", "4.5 G", "20,000 G",
    ]  # fmt: skip
    assert [clock(s) for s in (0, 59.6, 61, 3599, 3600, 90_061)] == [
        "0:00",
        "1:00",
        "1:01",
        "59:59",
        "1:00:00",
        "25:01:01",
    ]


def test_a_rate_leaves_out_what_came_before_the_first_tokens(time):
    rate = Rate()
    time.now += 30  # compiling
    assert rate.note(1000) == "1,000 tokens"
    time.now += 2
    assert rate.note(4_000_000) == "4 M tokens, 2 M/s"
