"""Closed standard streams, no text, and arguments in the wrong order: an error that helps, never a traceback."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cli.runs import Run

COMMANDS = {
    "help": (["--help"], True),
    "version": (["--version"], True),
    "info": (["info", "MODEL"], True),
    "similar": (["similar", "MODEL", "cat"], True),
    "embed": (["embed", "MODEL", "TEXT"], True),
    "embed to a file": (["embed", "MODEL", "TEXT", "-o", "OUT.npz"], False),
    "standard input": (["score", "MODEL", "-"], True),
    "refused": (["info", "nothing-there"], False),
}


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams with a shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("name", COMMANDS)
def test_closed_streams(name: str, closed: str, model: Path, tmp_path: Path) -> None:
    arguments, prints = COMMANDS[name]
    text = tmp_path / "text.txt"
    text.write_text("the cat sees the dog\n")
    places = {"MODEL": str(model), "TEXT": str(text), "OUT.npz": str(tmp_path / "out.npz")}
    words = [places.get(argument, argument) for argument in arguments]
    script = f'exec "$@" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", sys.executable, "-m", "textlds", *words],
        input="the cat\n", capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    reads_nothing = name == "standard input" and "<&-" in closed
    fails = name == "refused" or reads_nothing or (prints and ">&-" in closed.replace("2>&-", ""))
    assert done.returncode == (1 if fails else 0), done.stderr
    if closed == ">&-" and prints:
        assert "standard output is closed" in done.stderr
    if closed == "<&-" and reads_nothing:
        assert "there is no text in" in done.stderr


@pytest.mark.parametrize("command", ["embed", "score"])
def test_no_text_is_an_error_and_leaves_no_output(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    options = ["-o", tmp_path / "out.npz"] if command == "embed" else []
    result = run(command, model, tmp_path / "empty.txt", *options, code=1)
    assert "there is no text in " in result.stderr
    assert not (tmp_path / "out.npz").exists()
    assert "standard input" in run(command, model, *options, code=1, input="").stderr


def test_text_where_counts_are_needed(run: Run, corpus: Path, model: Path, tmp_path: Path) -> None:
    error = run("fit", corpus, "-o", tmp_path / "m", code=1).stderr
    assert f"{corpus} is a file, but counts are needed here" in error.replace("\n", " ")
    assert "textlds train" in error
    error = run("fit", model, "-o", tmp_path / "m", code=1).stderr
    assert "is a model, but counts are needed here" in error.replace("\n", " ")


def test_text_where_the_model_comes_first(run: Run, corpus: Path, model: Path) -> None:
    error = run("embed", corpus, model, code=1).stderr.replace("\n", " ")
    assert f"{corpus} is a file, but a model is needed here" in error
    assert "The model is the first argument" in error


def test_a_refused_connection_is_not_a_missing_file(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/a.txt"
        error = run("count", address, "-o", tmp_path / "c", code=1).stderr.replace("\n", " ")
    assert "there is no file" not in error
    assert f"cannot read {address}" in error
    assert "Check the address and the connection" in error
