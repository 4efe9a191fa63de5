"""The attack: kills, damage, hostile text, odd numbers, crowds. A failure has a seed, with which it can be repeated.

    python -m benchmarks.soak                                  # everything: about an hour on two cores
    python -m benchmarks.soak --only damage --seconds 600
    python -m benchmarks.soak --only numbers --first 4235 --count 1        # one seed again
    python -m benchmarks.soak --only damage --seconds 600 --results docs/results   # a slice more, added to the figures

Every attack is bounded in time and in number. Figures go to RESULTS/soak.json and the page RESULTS/soak.md: slices add
up, whenever and side by side they run, and the page says which code each attacked.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import json
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import textlds
from benchmarks.attacks import damage, kill, load, numbers, pool, text

# how many by default, in how many seconds at most, and how many in one process
MODES = {
    "kill": (440, 1800, 2),
    "damage": (100_000, 3600, 500),
    "text": (1000, 900, 10),
    "numbers": (10_000, 1800, 200),
    "load": (30, 600, 1),
}
ABOUT = {
    "kill": "commands killed at random moments (a fifth by SIGTERM), and run again until done: the bytes of an "
    "uninterrupted run, nothing left over, and with --force an output at any time",
    "damage": "altered counts (whole, in shards, in blocks), models, packed models, models with probabilities of "
    "words, indexes, taggers and unfinished work of each, resealed or not: refused, or right results; no signal, hang, "
    "traceback or NaN, and no file opened elsewhere",
    "text": "hostile texts through counting (--memory 64MB), embedding and a tagger: a result or an error, within "
    "500 MB",
    "numbers": "random small corpora with random settings: finite, loadable, EM not falling",
    "load": "in turn: 3 processes and 4 threads that read a model which another process replaces until it is killed; "
    "spawned processes; a Dask cluster that loses a worker",
}


def prepared(mode: str, folder: Path) -> Callable[[int], str | None]:
    """Return the attack of a mode: what it needs is made in a folder, and all code is loaded."""
    if mode == "kill":
        return kill.Killer(folder, list(kill.COMMANDS)).attack
    if mode == "text":
        return text.Reader(folder).attack
    if mode == "load":
        return load.Crowd(folder).attack
    if mode == "numbers":
        attack = _quietly(numbers.run)
        for seed in range(40):  # of every kind, so that every fork finds all code loaded
            attack(seed)
        return attack
    return _quietly(damage.Damager(folder).attack)


def _quietly(attack: Callable[[int], str | None]) -> Callable[[int], str | None]:
    """Leave NumPy's warnings about numbers that are too large unsaid: the result is what is judged."""

    @functools.wraps(attack)
    def quiet(seed: int) -> str | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attack(seed)

    return quiet


def soak(mode: str, *, first: int, count: int, seconds: float, workers: int) -> dict[str, Any]:
    """Attack in one mode; return the figures of the slice."""
    began = time.perf_counter()
    done = kills = refused = 0
    failures: list[dict[str, Any]] = []
    with _room() as folder:
        attack = prepared(mode, folder)
        own = {"workers": 1 if mode == "load" else workers, "seconds": seconds, "batch": MODES[mode][2]}
        for seed, wrong in pool.run(attack, first, count, **own):
            done += 1
            if wrong is not None and wrong.startswith("kills "):
                kills += int(wrong.removeprefix("kills "))
            elif wrong == "":
                refused += 1
            elif wrong is not None:
                failures.append({"seed": seed, "what": wrong})
                print(f"{mode} {seed}: {wrong}", flush=True)
    found = {"first": first, "done": done, "seconds": round(time.perf_counter() - began, 1), "workers": own["workers"]}
    extra = {"kills": kills} if mode == "kill" else {"refused": refused} if mode == "numbers" else {}
    return {**found, **extra, "commit": commit(), "failures": len(failures), "examples": failures[:50]}


@contextlib.contextmanager
def _room() -> Iterator[Path]:
    """Make a folder, for all temporary files as well; in memory if it can be, where flushing files takes no time."""
    memory = Path("/dev/shm")
    fits = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    folder, before = Path(tempfile.mkdtemp(prefix="soak-", dir=memory if fits else None)), tempfile.tempdir
    (folder / "tmp").mkdir()
    (folder / "attack").mkdir()
    tempfile.tempdir = str(folder / "tmp")
    try:
        yield folder / "attack"
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def commit() -> str:
    """Return which code this is, with a plus if it was altered since."""
    root = Path(__file__).parent.parent
    try:
        words = ["git", "describe", "--always", "--exclude=*", "--abbrev=7", "--dirty=+"]
        return subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "not a clone"


def added(slices: list[dict[str, Any]], found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return slices with one more, in the order of seeds; a seed counts once, the last time that it was attacked with.

    Slices of the same code that follow each other become one.
    """
    first, stop = found["first"], found["first"] + found["done"]
    kept = [part for one in slices for part in _without(one, first, stop)]
    merged: list[dict[str, Any]] = []
    for one in sorted([*kept, found], key=lambda one: one["first"]):
        last = merged[-1] if merged else None
        alike = last and all(last[name] == one[name] for name in ("commit", "workers"))
        if last and alike and last["first"] + last["done"] == one["first"]:
            sums = {name: last[name] + one[name] for name in ("done", "seconds", "failures")}
            sums |= {name: last[name] + one[name] for name in ("kills", "refused") if name in one}
            merged[-1] = {**last, **sums, "examples": [*last["examples"], *one["examples"]][:50]}
        else:
            merged.append(one)
    return merged


def _without(one: dict[str, Any], first: int, stop: int) -> list[dict[str, Any]]:
    """Return what is left of a slice without some seeds.

    Where it cannot be told what was found at which seed, nothing is: kills, refusals, or more failures than are named.
    """
    begin, end = one["first"], one["first"] + one["done"]
    if begin >= stop or end <= first:
        return [one]
    if "kills" in one or "refused" in one or len(one["examples"]) != one["failures"]:
        return []
    parts = []
    for low, high in ((begin, first), (stop, end)):
        if low < high:
            named = [example for example in one["examples"] if low <= example["seed"] < high]
            seconds = round(one["seconds"] * (high - low) / one["done"], 1)
            own = {"first": low, "done": high - low, "seconds": seconds, "failures": len(named), "examples": named}
            parts.append({**one, **own})
    return parts


def page(results: dict[str, Any]) -> str:
    """Return the figures as a page."""
    lines = [
        "# Attacked",
        "",
        "`python -m benchmarks.soak` attacks what is here; this page is made by it. An attack is repeated by its seed:",
        "`python -m benchmarks.soak --only MODE --first SEED --count 1`.",
        "",
        f"textlds {results['version']}, {results['machine']}.",
        "",
        "A run that was bounded in time made fewer attacks than a full one: both numbers are given. Time is that of",
        "all workers together.",
        "",
        "| mode | what | attacks | failures | time |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    modes = {mode: results["modes"][mode] for mode in MODES if mode in results["modes"]}
    for mode, slices in modes.items():
        done, kills, refused, failures = (
            sum(one.get(name, 0) for one in slices) for name in ("done", "kills", "refused", "failures")
        )
        of = f" of {MODES[mode][0]:,}" if done < MODES[mode][0] else ""  # it was bounded in time
        more = f", {kills:,} kills" if kills else ""
        more += (
            f", of which {done - refused:,} were fitted and {refused:,} refused as they should be" if refused else ""
        )
        minutes = sum(one["seconds"] * one["workers"] for one in slices) / 60
        lines.append(f"| `{mode}` | {ABOUT[mode]} | {done:,}{of}{more} | {failures} | {minutes:.0f} min |")
    lines += ["", "## Failures", ""]
    examples = [(mode, example) for mode, slices in modes.items() for one in slices for example in one["examples"]]
    lines += [f"- `{mode}`, seed {example['seed']}: {example['what']}" for mode, example in examples] or ["None."]
    lines += ["", "## Which code", "", "| mode | seeds | commit | failures |", "| --- | --- | --- | ---: |"]
    lines += [
        f"| `{mode}` | {one['first']}–{one['first'] + one['done'] - 1} | {one['commit']} | {one['failures']} |"
        for mode, slices in modes.items()
        for one in slices
    ]
    return "\n".join([*lines, ""])


def store(folder: Path, mode: str, found: dict[str, Any]) -> None:
    """Add a slice to the figures in a folder, and make the page again; other processes may do so at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        path = folder / "soak.json"
        before = slices_of(folder)
        results = {
            "version": textlds.__version__,
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "modes": {**before, mode: added(before.get(mode, []), found)},
        }
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(page(results), encoding="utf-8")
    finally:
        os.close(handle)


def slices_of(folder: Path | None) -> dict[str, list[dict[str, Any]]]:
    """Return the slices of every mode that a folder has."""
    path = folder / "soak.json" if folder else None
    found: dict[str, list[dict[str, Any]]] = {}
    if path and path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))["modes"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--first", type=int, help="the first seed; by default, the one after those in the results")
    parser.add_argument("--count", type=int, help="attacks of each mode")
    parser.add_argument("--seconds", type=float, help="at most, for each mode")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, help="folder for soak.json and soak.md; nothing is written without")
    arguments = parser.parse_args()
    logging.getLogger("textlds").setLevel(logging.ERROR)
    for mode in arguments.only:
        ends = [one["first"] + one["done"] for one in slices_of(arguments.results).get(mode, [])]
        first = arguments.first if arguments.first is not None else max(ends, default=0)
        count, seconds = arguments.count or MODES[mode][0], arguments.seconds or MODES[mode][1]
        found = soak(mode, first=first, count=count, seconds=seconds, workers=arguments.workers)
        print(f"{mode}: {found['done']:,} attacks, {found['failures']} failures, {found['seconds']:.0f} s", flush=True)
        if arguments.results:
            store(arguments.results, mode, found)


if __name__ == "__main__":
    main()
