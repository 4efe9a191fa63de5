"""A small share of ``python -m benchmarks.soak``, with fixed seeds. It forks, so it has a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of what is installed

from benchmarks.attacks import pool  # noqa: E402
from benchmarks.soak import MODES, page  # noqa: E402

# damage: the mutations of 600 seeds reach every way of altering every kind of folder
SHARE = {"kill": 16, "damage": 600, "text": 30, "numbers": 120, "load": 1}


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
@pytest.mark.parametrize("mode", MODES)
def test_a_share_of_the_attack(mode: str, tmp_path: Path) -> None:
    words = ["--only", mode, "--count", str(SHARE[mode]), "--seconds", "120", "--results", str(tmp_path)]
    run = [sys.executable, "-m", "benchmarks.soak", *words]
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


def test_failures_are_on_the_page_with_their_seeds() -> None:
    found = {"first": 5, "done": 10, "asked": 10, "seconds": 60.0, "failures": 1}
    modes = {"damage": {**found, "examples": [{"seed": 12, "what": "it broke"}]}}
    text = page({"version": "1", "machine": "m", "modes": modes})
    assert "| 10 | 1 | 5–14 | 1 min |" in text
    assert "- `damage`, seed 12: it broke" in text
