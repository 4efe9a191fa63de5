from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import textwrap

import pytest

from textlds.progress import RichProgress, SilentProgress, resolve


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
    assert err == "count: done 2 M/s\n"


def test_a_note_stays_until_another_comes(capsys):
    with RichProgress().task("fit", None, "bytes") as task:
        task.advance(note="-1.5")
        task.advance()
    assert capsys.readouterr().err == "fit: done -1.5\n"


def test_a_note_may_hold_brackets(capsys):
    with RichProgress().task("read", 1) as task:
        task.advance(note="[x] a[b].txt")
    assert capsys.readouterr().err == "read: done [x] a[b].txt\n"


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
        assert process.wait(timeout=30) == 0
        assert process.stdout.read() == b""  # standard output is for results
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output.decode())
    assert "fit" in text
    assert "4/4" in text
    assert "[x] likelihood 1.25" in text
