"""SIGKILL, and sometimes SIGTERM, at random moments of every command that writes, then the same again until it is done.

What is there in the end has the bytes of an uninterrupted run, and nothing else is left behind. With --force an output
of another day is there at first, and after every kill it is there as it was, or the new one is, whole.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

from benchmarks.attacks.targets import as_if_large, content, write_inputs
from textlds.cli import main

_MOST = 8  # kills of one command, after which it is let run
_FIT = ["--state-size", "4", "--iterations", "6", "--em-horizon", "3"]
_TAG = ["--hidden", "4", "--rounds", "3", "--no-lexical", "--bundle"]
_COUNT = ["--vocab-size", "60", "--max-lag", "3"]

# in the folder of the attack, where the inputs are; what is made is "out"
COMMANDS = {
    "count": ["count", "text.txt", "-o", "out", *_COUNT, "--resume"],
    "count --force": ["count", "text.txt", "-o", "out", *_COUNT, "--force"],
    "fit": ["fit", "counts", "-o", "out", *_FIT, "--resume"],
    "fit --force": ["fit", "counts", "-o", "out", *_FIT, "--force"],
    "train": ["train", "text.txt", "-o", "out", *_COUNT, *_FIT, "--resume"],
    "train --force": ["train", "text.txt", "-o", "out", *_COUNT, *_FIT, "--force"],
    "merge": ["merge", "counts", "counts", "-o", "out", "--force"],
    "subtract": ["subtract", "twice", "counts", "-o", "out", "--force"],
    "index": ["index", "model", "text.txt", "-o", "out", "--resume"],
    "index --force": ["index", "model", "text.txt", "-o", "out", "--force"],
    "embed": ["embed", "model", "text.txt", "-o", "out.npz", "--force"],
    "pack": ["pack", "model", "-o", "out", "--force"],
    "prune": ["prune", "counts", "-o", "out", "--min-count", "40", "--force"],
    "calibrate": ["calibrate", "model", "text.txt", "--held-out", "text.txt", "-o", "out", "--force"],
    "export": ["export", "model", "-o", "out.vec", "--format", "word2vec", "--force"],
    "explore": ["explore", "model", "-o", "out", "--force"],
    "tagger tag": ["tagger", "tag", "tagger", "text.txt", "-o", "out.tsv", "--force"],
    "tagger train": ["tagger", "train", "model", "--train", "tags.tsv", "-o", "out", *_TAG, "--resume"],
    "tagger train --force": ["tagger", "train", "model", "--train", "tags.tsv", "-o", "out", *_TAG, "--force"],
}


class Killer:
    """Kills commands.

    Args:
        folder: For the inputs, the right results, and the places of attacks.
        commands: Which of COMMANDS.
    """

    def __init__(self, folder: Path, commands: list[str]) -> None:
        self.folder, self.commands, self.kills = folder, commands, 0
        self._inputs = folder / "inputs"
        write_inputs(self._inputs)
        prepare = [["count", "text.txt", "-o", "counts", *_COUNT], ["merge", "counts", "counts", "-o", "twice"]]
        with as_if_large():
            tagger = ["tagger", "train", "model", "--train", "tags.tsv", "-o", "tagger", *_TAG]
            for words in [*prepare, ["fit", "counts", "-o", "model", *_FIT], tagger]:
                _here(words, self._inputs)
            self._right, self._seconds = {}, {}
            for name in commands:
                # once here, so that every fork finds all code loaded
                _here(COMMANDS[name], self._place("right", name))
                place = self._place("right", name)
                status, self._seconds[name] = _child(COMMANDS[name], place, None)
                if status != 0:
                    raise AssertionError(f"textlds {name} ended with {status}")
                self._right[name] = content(place)

    def _place(self, folder: str, name: str) -> Path:
        """Return a new folder with the inputs of a command in it, and an old output if it is to be replaced."""
        place = self.folder / folder
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._inputs, place)
        if "--force" in COMMANDS[name]:
            old = place / _output(name)
            old.write_bytes(b"old") if old.suffix else shutil.copytree(place / "twice", old)
        return place

    def attack(self, seed: int) -> str | None:
        """Kill one command until it is done; return what is wrong with the result, or None."""
        rng = random.Random(seed)
        name = self.commands[seed % len(self.commands)]
        place = self._place(f"attack-{os.getpid()}", name)
        whole = [_of_output(found, name) for found in (content(place), self._right[name])]
        with as_if_large():
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
                    what = " ".join(seen.read_text().split()) if seen.exists() else "no traceback"
                    return f"{name}: after {kills} kills it ended with {status}: {what}"
                kills += 1
                for path in place.glob(".*.new"):  # killed before it was locked: cleared by a run a minute later
                    os.utime(path, (0, 0))
                if _of_output(content(place), name) not in whole:
                    return f"{name}: after {kills} kills the output is neither the old one nor the new one"
        wrong = _difference(self._right[name], content(place))
        shutil.rmtree(place)
        return f"{name}, after {kills} kills: {wrong}" if wrong else f"kills {kills}"


def _output(name: str) -> str:
    words = COMMANDS[name]
    return words[words.index("-o") + 1]


def _of_output(found: dict[str, str], name: str) -> dict[str, str]:
    output = _output(name)
    return {file: sum_ for file, sum_ in found.items() if file == output or file.startswith(f"{output}/")}


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
        except BaseException as error:
            (place / "traceback.txt").write_text("".join(traceback.format_exception_only(error)))
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


def _difference(right: dict[str, str], found: dict[str, str]) -> str | None:
    more, less = sorted(set(found) - set(right)), sorted(set(right) - set(found))
    other = sorted(name for name in set(right) & set(found) if right[name] != found[name])
    parts = [
        f"{what} {names[:3]}" for what, names in (("left over", more), ("missing", less), ("other", other)) if names
    ]
    return "; ".join(parts) or None
