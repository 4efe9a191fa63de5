"""The attack: kills, damage, hostile text, odd numbers, crowds. A failure has a seed, with which it can be repeated.

    python -m benchmarks.soak                                  # everything: about two hours on two cores
    python -m benchmarks.soak --only damage --seconds 600
    python -m benchmarks.soak --only numbers --first 4235 --count 1        # one seed again
    python -m benchmarks.soak --only damage --seconds 600 --results docs/results   # a slice more, added to the figures

Every attack is bounded in time and in number. Figures go to RESULTS/soak.json and the page RESULTS/soak.md.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import logging
import os
import platform
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import textlds
from benchmarks.attacks import damage, kill, load, numbers, pool, text

# how many by default, in how many seconds at most, and how many in one process
MODES = {
    "kill": (700, 2400, 2),
    "damage": (100_000, 3600, 100),
    "text": (3000, 900, 10),
    "numbers": (10_000, 1800, 100),
    "load": (30, 600, 1),
}
ABOUT = {
    "kill": "commands killed at random moments (a fifth by SIGTERM), and run again until done: the bytes of an "
    "uninterrupted run, nothing left over, and with --force an output at any time",
    "damage": "altered counts, models, packed models, indexes, taggers and unfinished work of each, resealed or not: "
    "refused, or right results; no signal, hang, traceback or NaN, and no file opened elsewhere",
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
        numbers.run(3)
        return _quietly(numbers.run)
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
    """Attack in one mode; return the figures."""
    began = time.perf_counter()
    done = kills = refused = 0
    failures: list[dict[str, Any]] = []
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {"first": first, "done": done, "asked": count, "seconds": round(time.perf_counter() - began, 1)}
    extra = {"kills": kills} if mode == "kill" else {"refused": refused} if mode == "numbers" else {}
    return {**found, **extra, "failures": len(failures), "examples": failures[:50]}


def joined(before: dict[str, Any] | None, found: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of two runs, the second of which went on where the first ended; or of the second alone."""
    if before is None or before["first"] + before["done"] != found["first"]:
        return found
    total = {name: before[name] + found[name] for name in found if name not in ("first", "examples")}
    return {"first": before["first"], **total, "examples": [*before["examples"], *found["examples"]][:50]}


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
        "A run that was bounded in time made fewer attacks than a full one: both numbers are given.",
        "",
        "| mode | what | attacks | failures | seeds | time |",
        "| --- | --- | ---: | ---: | --- | ---: |",
    ]
    for mode, found in results["modes"].items():
        of = f" of {MODES[mode][0]:,}" if found["done"] < MODES[mode][0] else ""  # it was bounded in time
        more = f", {found['kills']:,} kills" if "kills" in found else ""
        more += f", of which {found['refused']:,} were refused as they should be" if found.get("refused") else ""
        seeds = f"{found['first']}–{found['first'] + found['done'] - 1}"
        lines.append(
            f"| `{mode}` | {ABOUT[mode]} | {found['done']:,}{of}{more} | {found['failures']} | {seeds} | "
            f"{found['seconds'] / 60:.0f} min |"
        )
    counted = collections.Counter({mode: found["failures"] for mode, found in results["modes"].items()})
    lines += ["", "## Failures", ""]
    if not counted.total():
        lines.append("None.")
    for mode, found in results["modes"].items():
        lines += [f"- `{mode}`, seed {example['seed']}: {example['what']}" for example in found["examples"]]
    return "\n".join([*lines, ""])


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
    path = arguments.results / "soak.json" if arguments.results else None
    before = json.loads(path.read_text(encoding="utf-8"))["modes"] if path and path.exists() else {}
    results: dict[str, Any] = {
        "version": textlds.__version__,
        "machine": f"{arguments.workers} workers on {os.cpu_count()} cores, {platform.machine()}",
        "modes": before,
    }
    for mode in arguments.only:
        then = results["modes"].get(mode)
        first = arguments.first if arguments.first is not None else then["first"] + then["done"] if then else 0
        count, seconds = arguments.count or MODES[mode][0], arguments.seconds or MODES[mode][1]
        found = soak(mode, first=first, count=count, seconds=seconds, workers=arguments.workers)
        print(f"{mode}: {found['done']:,} attacks, {found['failures']} failures, {found['seconds']:.0f} s", flush=True)
        results["modes"][mode] = joined(then, found)
        results["modes"] = {name: results["modes"][name] for name in MODES if name in results["modes"]}
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            path.with_suffix(".md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
