"""SIGKILL, and sometimes SIGTERM, at random moments of every command that writes, then the same again until it is done.

What is there in the end has the bytes of an uninterrupted run, and nothing else is left behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import textlds.counts.counting as counting
from benchmarks.attacks.damage import TEXT
from textlds.cli import main

_MOST = 12  # kills of one command, after which it is let run
_FIT = ["--state-size", "4", "--iterations", "6", "--em-horizon", "3"]
_COUNT = ["--vocab-size", "60", "--max-lag", "3"]

# in the folder of the attack, where the inputs are; what is made is "out"
COMMANDS = {
    "count": ["count", "text.txt", "-o", "out", *_COUNT, "--resume"],
    "count --force": ["count", "text.txt", "-o", "out", *_COUNT, "--force"],
    "fit": ["fit", "counts", "-o", "out", *_FIT, "--resume"],
    "train": ["train", "text.txt", "-o", "out", *_COUNT, *_FIT, "--resume"],
    "merge": ["merge", "counts", "counts", "-o", "out", "--force"],
    "subtract": ["subtract", "twice", "counts", "-o", "out", "--force"],
    # one thread: those that OpenMP made for faiss do not survive a fork
    "index": ["index", "model", "text.txt", "-o", "out", "--resume", "--threads", "1"],
    "embed": ["embed", "model", "text.txt", "-o", "out.npz", "--force"],
}


@contextlib.contextmanager
def spilling() -> Iterator[None]:
    """Let a small text take the way of a large one: pieces of 4 KB, runs of 1500 tokens."""
    make_plan = counting.make_plan
    small = {"piece_bytes": 4000, "block_tokens": 1500}
    counting.make_plan = lambda *a, **o: dataclasses.replace(make_plan(*a, **o), **small)
    try:
        yield
    finally:
        counting.make_plan = make_plan


class Killer:
    """Kills commands.

    Args:
        folder: For the inputs, the right results, and the places of attacks.
        commands: Which of COMMANDS.
    """

    def __init__(self, folder: Path, commands: list[str]) -> None:
        self.folder, self.commands, self.kills = folder, commands, 0
        self._inputs = folder / "inputs"
        self._inputs.mkdir(parents=True)
        (self._inputs / "text.txt").write_text(TEXT + "\n")
        prepare = [["count", "text.txt", "-o", "counts", *_COUNT], ["merge", "counts", "counts", "-o", "twice"]]
        with spilling():
            for words in [*prepare, ["fit", "counts", "-o", "model", *_FIT]]:
                _here(words, self._inputs)
            self._right, self._seconds = {}, {}
            for name in commands:
                _here(COMMANDS[name], self._place("right"))  # once here, so that every fork finds all code loaded
                place = self._place("right")
                status, self._seconds[name] = _child(COMMANDS[name], place, None)
                if status != 0:
                    raise AssertionError(f"textlds {name} ended with {status}")
                self._right[name] = content(place)

    def _place(self, name: str) -> Path:
        """Return a new folder with the inputs in it."""
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._inputs, place)
        return place

    def attack(self, seed: int) -> str | None:
        """Kill one command until it is done; return what is wrong with the result, or None."""
        rng = random.Random(seed)
        name = self.commands[seed % len(self.commands)]
        place = self._place(f"attack-{os.getpid()}")
        with spilling():
            kills = 0
            while True:
                # a process takes a while to begin; kills are spread over all of its life, and somewhat beyond
                wait = None if kills == _MOST else rng.random() * 1.3 * self._seconds[name]
                number = signal.SIGTERM if rng.random() < 0.2 else signal.SIGKILL
                status, _ = _child(COMMANDS[name], place, wait, number)
                if status == 0:
                    break
                if status not in (-signal.SIGKILL, -signal.SIGTERM, 130, 143):  # 130: before a command began
                    seen = place / "traceback.txt"
                    last = seen.read_text().strip().splitlines()[-1] if seen.exists() else "no traceback"
                    return f"{name}: after {kills} kills it ended with {status}: {last}"
                kills += 1
        wrong = _difference(self._right[name], content(place))
        shutil.rmtree(place)
        return f"{name}, after {kills} kills: {wrong}" if wrong else f"kills {kills}"


def _here(words: list[str], place: Path) -> None:
    """Run the command line in this process."""
    before, handler = Path.cwd(), signal.getsignal(signal.SIGTERM)
    os.chdir(place)
    sys.argv = ["textlds", *words, "--quiet"]
    try:
        main()
    except SystemExit as error:
        if error.code:
            raise AssertionError(f"textlds {words[0]} ended with {error.code}") from error
    finally:
        os.chdir(before)
        signal.signal(signal.SIGTERM, handler)


def _child(words: list[str], place: Path, wait: float | None, number: int = signal.SIGKILL) -> tuple[int, float]:
    """Run the command line in a fork, and kill it after some seconds; return its exit code and how long it took."""
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.chdir(place)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            sys.argv = ["textlds", *words, "--quiet"]
            main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 0
        except KeyboardInterrupt:  # before the command line began, or after it ended
            code = 143
        except BaseException:
            (place / "traceback.txt").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    end = None if wait is None else began + wait
    while True:
        done, status = os.waitpid(pid, os.WNOHANG if end is not None else 0)
        if done:
            return os.waitstatus_to_exitcode(status), time.perf_counter() - began
        if time.perf_counter() >= end:
            os.kill(pid, number)
            end = None if number == signal.SIGKILL else end + 20
            number = signal.SIGKILL
        time.sleep(0.0005)


def content(place: Path) -> dict[str, str]:
    """Return the sum of every file below a folder, the time that things took left out."""
    found: dict[str, str] = {}
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        if file.is_dir():
            found[name] = "a folder"
            continue
        data = file.read_bytes()
        if file.name == "history.json":
            data = json.dumps({**json.loads(data), "seconds": None}).encode()
        elif file.name == "config.json":
            config = json.loads(data)
            config.get("files", {}).pop("history.json", None)
            for name_of_sum in ("model_sha256", "sha256"):
                config.pop(name_of_sum, None)
            data = json.dumps(config).encode()
        found[name] = hashlib.sha256(data).hexdigest()
    return found


def _difference(right: dict[str, str], found: dict[str, str]) -> str | None:
    more, less = sorted(set(found) - set(right)), sorted(set(right) - set(found))
    other = sorted(name for name in set(right) & set(found) if right[name] != found[name])
    parts = [
        f"{what} {names[:3]}" for what, names in (("left over", more), ("missing", less), ("other", other)) if names
    ]
    return "; ".join(parts) or None
