"""A small share of ``python -m benchmarks.soak``, with fixed seeds. It forks, so it has a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of what is installed

from benchmarks.attacks import pool  # noqa: E402
from benchmarks.soak import MODES, joined, page  # noqa: E402

# damage: the mutations of 600 seeds reach every way of altering every kind of folder
SHARE = {"kill": 14, "damage": 600, "text": 30, "numbers": 120, "load": 2}


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
@pytest.mark.parametrize("mode", MODES)
def test_a_share_of_the_attack(mode: str, tmp_path: Path) -> None:
    words = ["--only", mode, "--count", str(SHARE[mode]), "--seconds", "120", "--workers", "1"]
    run = [sys.executable, "-m", "benchmarks.soak", *words, "--results", str(tmp_path)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True)
    found = json.loads((tmp_path / "soak.json").read_text())["modes"][mode]
    assert found["examples"] == []
    assert 0 < found["done"] <= SHARE[mode]
    assert "None." in (tmp_path / "soak.md").read_text()


def test_whatever_happens_to_a_worker_is_seen() -> None:
    """The harness itself: signals, exits, exceptions and refusals are told apart, and no seed is lost."""
    import os
    import signal

    def attack(seed: int) -> str | None:
        if seed == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if seed == 5:
            os._exit(7)
        if seed == 6:
            raise ZeroDivisionError("no\nway")
        return "" if seed == 8 else None

    found = dict(pool.run(attack, 0, 250, workers=2, seconds=60))
    assert sorted(found) == list(range(250))
    wrong = {seed: text for seed, text in found.items() if text}
    assert wrong == {
        3: "the process ended with SIGSEGV", 5: "the process ended with exit code 7", 6: "ZeroDivisionError: no way",
    }  # fmt: skip
    assert found[8] == ""


def test_a_hang_is_seen_by_what_a_process_does_and_not_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that sleeps for ever, one that never ends, and one whose children are at work all the time."""
    monkeypatch.setattr(pool, "_SECONDS", 2)

    def attack(seed: int) -> str | None:
        if seed == 1:
            threading.Event().wait()
        while seed == 3:
            pass
        if seed == 5:
            subprocess.run([sys.executable, "-c", "import time\nfor _ in range(9): time.sleep(0.5); sum(range(10**6))"])
        return None

    found = dict(pool.run(attack, 0, 7, workers=2, seconds=60, batch=2))
    assert sorted(found) == list(range(7))
    hung = "the process ended with SIGKILL (it hung)"
    assert {seed: text for seed, text in found.items() if text} == {1: hung, 3: hung}


def test_slices_are_joined_where_one_follows_the_other() -> None:
    slice_ = {"first": 5, "done": 10, "asked": 20, "seconds": 1.5, "failures": 1, "examples": [{"seed": 7}], "kills": 3}
    after = {**slice_, "first": 15, "examples": []}
    whole = {"first": 5, "done": 20, "asked": 40, "seconds": 3.0, "failures": 2, "examples": [{"seed": 7}], "kills": 6}
    assert joined(slice_, after) == whole
    assert joined(None, after) == after
    assert joined(slice_, {**after, "first": 99})["first"] == 99


def test_failures_are_on_the_page_with_their_seeds() -> None:
    found = {"first": 5, "done": 10, "asked": 10, "seconds": 60.0, "failures": 1}
    modes = {"damage": {**found, "examples": [{"seed": 12, "what": "it broke"}]}}
    text = page({"version": "1", "machine": "m", "modes": modes})
    assert "| 10 of 100,000 | 1 | 5–14 | 1 min |" in text
    assert "- `damage`, seed 12: it broke" in text
