"""The command line as a whole: help, version, errors, streams, exit codes."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from cli.runs import Run, process
from textlds import __version__, api
from textlds.cli import _PANELS, count, fit, index, output, train
from textlds.corpus.settings import CountSettings, IndexSettings, TextSettings
from textlds.learn.settings import FitSettings
from textlds.search import OccurrenceIndex
from textlds.settings import Settings

COMMANDS = [name for names in _PANELS.values() for name in names]


def test_help_lists_every_command_and_the_exit_codes(run: Run) -> None:
    files = Path(output.__file__).parent.glob("*.py")
    assert {file.stem for file in files if "\ndef command(" in file.read_text()} <= set(COMMANDS)
    text = run("--help").stdout
    assert all(command in text for command in COMMANDS)
    assert "130" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, command: str) -> None:
    text = run(command, "--help", env={"COLUMNS": "200"}).stdout
    assert f"textlds {command} [OPTIONS]" in text
    assert "Examples" in text
    assert "[bold]" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_name_options_that_exist(run: Run, command: str) -> None:
    members = getattr(importlib.import_module(f"textlds.cli.{command}"), "COMMANDS", ())
    for path in [(command,), *((command, member) for member in members)]:
        after = run(*path, "--help", env={"COLUMNS": "300"}).stdout.partition("Examples")[2]
        lines = [line.strip() for line in after.splitlines() if line.strip().startswith(f"textlds {command}")]
        assert lines, path
        for line in lines:
            _, *words = shlex.split(line.split("#")[0].split("|")[0])
            named = words[:2] if members else words[:1]  # of a group, the examples are those of its members
            options = run(*named, "--help", env={"COLUMNS": "300"}).stdout.partition("Examples")[0]
            for word in words:
                assert not word.startswith("-") or word == "-" or word in options, f"{word} of {line!r}"


@pytest.mark.parametrize(
    ("command", "function", "kinds"),
    [
        (count.command, api.count, (CountSettings, TextSettings)),
        (fit.command, api.fit, (FitSettings,)),
        (train.command, api.train, (FitSettings, CountSettings, TextSettings)),
        (index.command, OccurrenceIndex.build, (IndexSettings,)),
    ],
)
def test_every_setting_is_an_option_and_an_argument_of_the_function(
    command: Callable[..., None], function: Callable[..., object], kinds: tuple[type[Settings], ...]
) -> None:
    options = inspect.signature(command).parameters
    arguments = get_type_hints(function)
    for kind in kinds:
        assert any(kind in get_args(hint) for hint in arguments.values()), kind
        for name, field in kind.options().items():
            assert str(options[name].default) == str(field.default), name
            assert field.metadata["option"].help in options[name].annotation.__metadata__[0].help
    assert len(inspect.signature(function).parameters) <= 12
    of_python = {"paths", "texts", "client", "progress", "callback", "corpus", "return"}
    assert set(arguments) - set(options) <= of_python | {"text", "counting", "settings", "reading"}


def test_the_words_of_the_settings_are_those_of_the_code() -> None:
    from textlds.lds.noise import NOISE_KINDS

    assert FitSettings.options()["noise"].metadata["option"].words == NOISE_KINDS


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_is_broken_or_cut_off_at_80_columns(run: Run, command: str) -> None:
    members = getattr(importlib.import_module(f"textlds.cli.{command}"), "COMMANDS", ())
    for path in [(command,), *((command, member) for member in members)]:
        text = run(*path, "--help", env={"COLUMNS": "80"}).stdout
        assert "…" not in text, path
        for line in text.splitlines():
            assert not re.search(r"<[^<>]*\|[^<>]*$", line), f"{path}: {line}"


def test_expert_options_are_in_a_panel_of_their_own(run: Run) -> None:
    before, _, advanced = run("train", "--help", env={"COLUMNS": "100"}).stdout.partition("─ Advanced ─")
    for name in ("--ssid-horizon", "--ssid-output", "--ssid-covariance", "--no-ssid-whitened", "--max-line-bytes"):
        assert name in advanced
        assert name not in before


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"textlds {__version__}\n"


def test_a_bare_call_shows_the_help() -> None:
    done = process([])
    assert b"Usage: textlds" in done.stdout + done.stderr


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; sys.argv = ['textlds', '--help']\n"
        "from textlds.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'matplotlib', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr.decode()


def test_usage_errors_have_code_2(run: Run, counts: Path, tmp_path: Path) -> None:
    run("no-such-command", code=2)
    run("fit", counts, code=2)
    run("fit", counts, "-o", tmp_path / "m", "--em-horizon", 0, code=2)
    run("fit", counts, "-o", tmp_path / "m", "--noise", "loud", code=2)
    result = run("fit", counts, "-o", tmp_path / "m", "--pseudocount", "many", code=2)
    assert "neither a number nor" in " ".join(result.stderr.replace("│", " ").split())
    assert not list(tmp_path.iterdir())


def test_errors_are_one_line_without_a_traceback_and_have_code_1(tmp_path: Path) -> None:
    done = process(["info", tmp_path / "absent"])
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.decode() == (
        f"error: {tmp_path / 'absent'} does not exist. Give the path of a folder that textlds wrote.\n"
    )


def test_a_system_error_is_told_in_the_same_way(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("plot", model, "-o", tmp_path / "file" / "x.png", code=1)
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_out_of_memory_is_told_in_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    def greedy() -> None:
        raise MemoryError

    with pytest.raises(typer.Exit) as info:
        output.guarded(greedy)()
    assert info.value.exit_code == 1
    assert "out of memory" in capsys.readouterr().err


def test_an_error_with_brackets_is_printed_as_it_is(run: Run) -> None:
    assert "/tmp/[bold]x[/bold]" in run("info", "/tmp/[bold]x[/bold]", code=1).stderr


def test_a_closed_pipe_ends_quietly(model: Path, corpus: Path) -> None:
    command = shlex.join([sys.executable, "-m", "textlds", "score", str(model), str(corpus)])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} --quiet | head -n 1"], capture_output=True, timeout=900, check=False
    )
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""
    assert done.returncode == 141


def test_no_colour_and_no_bar_where_there_is_no_terminal(counts: Path, tmp_path: Path) -> None:
    options = ["--state-size", 3, "--iterations", 1]
    done = process(["fit", counts, "-o", tmp_path / "m", *options, "--json"])
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stdout.count(b"\n") == 1
    assert b"EM: done" in done.stderr


def test_no_color_is_honoured_on_a_terminal(model: Path) -> None:
    plain = _on_terminal(["similar", model, "cat"], {"NO_COLOR": "1", "TERM": "xterm-256color"})
    assert b"cat" not in plain  # the word itself is no neighbour
    assert b"cosine" in plain
    assert b"\x1b[3" not in plain  # no foreground colour


def _on_terminal(arguments: list[object], environment: dict[str, str]) -> bytes:
    """Run with standard output on a pseudo-terminal and return what was written to it."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "textlds", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, **environment}) as child:
        os.close(theirs)
        text = b""
        try:
            while block := os.read(ours, 4096):
                text += block
        except OSError:  # Linux: the other side is closed
            pass
        assert child.wait(timeout=900) == 0
    os.close(ours)
    return text


def test_quiet_before_or_after_the_command(run: Run, counts: Path, tmp_path: Path) -> None:
    options = ["--state-size", 3, "--iterations", 1]
    assert run("--quiet", "fit", counts, "-o", tmp_path / "a", *options).stderr == ""
    assert run("fit", counts, "-o", tmp_path / "b", *options, "-q").stderr == ""
    assert "Wrote" in run("fit", counts, "-o", tmp_path / "c", *options).stderr


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o default -F"), ("zsh", "#compdef textlds"), ("fish", "complete --command")]
)
def test_completion_is_shown_for_the_shell_that_is_named(shell: str, mark: str) -> None:
    done = process(["--show-completion", shell])
    assert done.returncode == 0
    assert mark in done.stdout.decode()
    assert done.stderr == b""


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """In a real shell: the script is read, and a line is completed as the shell would."""
    (tmp_path / "textlds").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m textlds "$@"\n')
    (tmp_path / "textlds").chmod(0o755)
    script = """
        eval "$(textlds --show-completion bash)"
        COMP_WORDS=(textlds sub); COMP_CWORD=1; _textlds_completion textlds; echo "${COMPREPLY[@]}"
        COMP_WORDS=(textlds fit --state); COMP_CWORD=2; _textlds_completion textlds; echo "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.stdout.split() == ["subtract", "--state-size"], done.stderr


def test_help_has_no_escape_codes_in_a_pipe() -> None:
    for arguments in (["--help"], ["evaluate", "--help"], ["fit"]):
        done = process(arguments)
        assert b"\x1b" not in done.stdout + done.stderr, arguments


def test_ctrl_c_has_code_130(tmp_path: Path) -> None:
    """While it waits for standard input."""
    import signal

    command = [sys.executable, "-m", "textlds", "count", "-", "-o", str(tmp_path / "counts")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        while not (tmp_path / "counts.work").exists() and child.poll() is None:  # it reads as soon as that is there
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=900) == 130
        assert child.stderr is not None
        assert b"Traceback" not in child.stderr.read()
    assert not (tmp_path / "counts").exists()


def test_the_exit_codes_are_those_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    listed = page.partition("| exit code |")[2].splitlines()[2:]
    codes = [int(line.split("|")[1]) for line in listed if line.startswith("|")]
    assert codes == [
        output.OK, output.FAILED, output.USAGE, output.INTERRUPTED, output.PIPE_CLOSED, output.TERMINATED
    ]  # fmt: skip


def test_long_facts_continue_below_themselves_on_a_terminal(monkeypatch, capsys):
    from rich.console import Console

    from textlds.cli import output

    facts = [
        ("what", "a model"),
        ("fit", "state_size=40, iterations=20, seed=0, noise=full"),
        ("odd", "[b]" + 40 * "x"),
    ]
    monkeypatch.setattr(output, "_console", lambda: Console(force_terminal=True, width=30, color_system=None))
    output.print_facts(facts)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == ["what  a model", "fit   state_size=40,", "      iterations=20, seed=0,"]
    assert all(line.startswith(("what", "fit ", "odd ", "      ")) for line in lines)
    assert "[b]xxx" in lines[4]  # no markup
    monkeypatch.setattr(output, "_console", lambda: Console(force_terminal=False, width=30))
    output.print_facts(facts)
    assert capsys.readouterr().out.splitlines()[1] == f"fit   {facts[1][1]}"  # for programs, one line each
