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
from benchmarks.soak import MODES, added, page, store  # noqa: E402

# damage: the mutations of 600 seeds reach every way of altering every kind of folder
SHARE = {"kill": 19, "damage": 600, "text": 30, "numbers": 120, "load": 2}


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")
@pytest.mark.parametrize("mode", MODES)
def test_a_share_of_the_attack(mode: str, tmp_path: Path) -> None:
    words = ["--only", mode, "--count", str(SHARE[mode]), "--seconds", "120", "--workers", "1"]
    run = [sys.executable, "-m", "benchmarks.soak", *words, "--results", str(tmp_path)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True)
    [found] = json.loads((tmp_path / "soak.json").read_text())["modes"][mode]
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


SLICE = {"first": 5, "done": 10, "seconds": 1.5, "workers": 1, "commit": "a", "failures": 1, "kills": 3}
SLICE["examples"] = [{"seed": 7, "what": "it broke"}]


def test_slices_of_the_same_code_that_follow_each_other_are_one() -> None:
    after = {**SLICE, "first": 15, "examples": []}
    whole = {**SLICE, "done": 20, "seconds": 3.0, "failures": 2, "kills": 6}
    assert added([SLICE], after) == added([after], SLICE) == [whole]
    assert added([], after) == [after]
    for other in ({**after, "first": 99}, {**after, "commit": "b"}, {**after, "workers": 2}):
        assert added([SLICE], other) == added([other], SLICE) == [SLICE, other]


def test_a_seed_counts_once() -> None:
    again = {**SLICE, "first": 14, "commit": "b"}
    assert added([SLICE], again) == [again]
    assert added([SLICE, {**SLICE, "first": 40}], again) == [again, {**SLICE, "first": 40}]


def test_a_seed_that_was_mended_is_attacked_again_and_the_others_stay() -> None:
    examples = [{"seed": 7, "what": "it broke"}, {"seed": 9, "what": "it broke"}]
    before = {"first": 0, "done": 20, "seconds": 40.0, "workers": 1, "commit": "a", "failures": 2, "examples": examples}
    again = {**before, "first": 7, "done": 1, "seconds": 3.0, "commit": "b", "failures": 0, "examples": []}
    left, mended, right = added([before], again)
    assert (left["first"], left["done"], left["seconds"], left["failures"], left["examples"]) == (0, 7, 14.0, 0, [])
    assert mended == again
    assert (right["first"], right["done"], right["seconds"], right["examples"]) == (8, 12, 24.0, examples[1:])
    assert added([{**before, "failures": 60}], again) == [again]  # not all are named


def test_slices_may_be_stored_by_several_processes_at_once(tmp_path: Path) -> None:
    threads = [threading.Thread(target=store, args=(tmp_path, "kill", {**SLICE, "first": 10 * k})) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [found] = json.loads((tmp_path / "soak.json").read_text())["modes"]["kill"]
    assert (found["first"], found["done"], found["kills"]) == (0, 200, 60)
    assert "| 200 of 440, 60 kills | 20 | 0 min |" in (tmp_path / "soak.md").read_text()


def test_failures_are_on_the_page_with_their_seeds_and_the_code() -> None:
    modes = {
        "numbers": [{**SLICE, "seconds": 60.0, "refused": 4}, {**SLICE, "first": 20, "commit": "b", "examples": []}]
    }
    text = page({"version": "1", "machine": "m", "modes": modes})
    assert "| 20 of 10,000, 6 kills, of which 16 were fitted and 4 refused as they should be | 2 | 1 min |" in text
    assert "- `numbers`, seed 7: it broke" in text
    assert "| `numbers` | 5–14 | a | 1 |\n| `numbers` | 20–29 | b | 1 |" in text
