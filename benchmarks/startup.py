"""What it costs to have textlds: the time of imports and of the command line, the size of an installation.

    python -m benchmarks.startup [--repeats 15] [--model MODEL ...] [--tagger TAGGER ...] [--install] [--results FOLDER]

imports   a fresh interpreter each, contenders by turns, the files in the cache of the operating system; less the time
          of an interpreter that imports nothing. Medians of wall-clock and of processor time.
models    with --model, in new processes with warm caches: imports, reading the model, and the vectors of one sentence
          by one recipe after the other; then the memory of the process, that of its own and the mapped pages of files
taggers   with --tagger, likewise, and the tags of one sentence
commands  python -m textlds with --version and --help, interpreter included
size      with --install: the base installation from this source in an environment of its own, without pip; needs the
          package index
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.texts import markdown_table

ROOT = Path(__file__).parents[1]
IMPORTS = {
    "nothing": "pass",
    "textlds": "import textlds",
    "textlds, all public names": "import textlds; [getattr(textlds, name) for name in textlds.__all__]",
    "numpy": "import numpy",
    "scipy.sparse": "import scipy.sparse",
    "numba": "import numba",
    "gensim": "import gensim",
    "spacy": "import spacy",
    "torch": "import torch",
}
COMMANDS = {
    "textlds --version": ["--version"],
    "textlds --help": ["--help"],
    "textlds similar --help": ["similar", "--help"],
}
# one of them alone, in a process that has done nothing else
FIRST = """
import json, sys, time
def now(): return time.perf_counter(), time.process_time()
path, kind = sys.argv[1:]
times, names = [now()], []
def took(name): times.append(now()); names.append(name)
import textlds, textlds.model.loading, textlds.model.packed, textlds.vectors.stored, textlds.inference.diagonal
if kind == "tagger":
    import textlds.tagging.tagger, textlds.tagging.inputs
took("imports")
text = "The bank raised its interest rates."
if kind == "tagger":
    tagger = textlds.Tagger.load(path)
    took("load")
    next(tagger.tag([text]))
    took("first sentence")
else:
    model = textlds.load(path)
    took("load")
    model(text)
    took("first sentence")
    for recipe in ("features", "meaning"):
        model(text, recipe=recipe)
        took(recipe)
rows = {name: [b - a for a, b in zip(*pair)] for name, pair in zip(names, zip(times, times[1:]))}
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
memory = {name: 1024 * int(status[field].split()[0]) for name, field in (("own", "RssAnon"), ("mapped", "RssFile"))}
print(json.dumps({"times": rows, "memory": memory}))
"""
KINDS = ("seconds", "cpu_seconds")
MEMORY = ("own", "mapped")
LIMIT_SECONDS, LIMIT_BYTES = 0.3, 300e6
Cost = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--model", nargs="*", default=[], help="model folders, or names of installed models")
    parser.add_argument("--tagger", nargs="*", default=[], help="tagger folders")
    parser.add_argument("--install", action="store_true", help="measure an installation, too")
    parser.add_argument("--results", type=Path, help="folder for startup.json")
    arguments = parser.parse_args()
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}")
    results: dict[str, Any] = {"machine": machine, "load": os.getloadavg()[0], "repeats": arguments.repeats}
    results["imports"] = imports(arguments.repeats)
    results["commands"] = commands(arguments.repeats)
    results["models"] = {Path(path).name: first_sentence(path, "model", arguments.repeats) for path in arguments.model}
    results["taggers"] = {
        Path(path).name: first_sentence(path, "tagger", arguments.repeats) for path in arguments.tagger
    }
    if arguments.install:
        results["size"] = installation()
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        path = arguments.results / "startup.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        kept = {name: value for name, value in results.items() if value}
        results = {**before, **kept}
        path.write_text(json.dumps(results, indent=1) + "\n")
        (arguments.results / "startup.md").write_text("\n".join(report(results)), encoding="utf-8")


def imports(repeats: int) -> dict[str, Cost]:
    """Measure the imports that work here, less an interpreter that imports nothing."""
    runs = {name: [sys.executable, "-c", code] for name, code in IMPORTS.items()}
    found = medians({name: run for name, run in runs.items() if works(run)}, repeats)
    nothing = found.pop("nothing")
    costs = {name: {kind: max(0.0, cost[kind] - nothing[kind]) for kind in cost} for name, cost in found.items()}
    show("imports", costs)
    own = costs["textlds"]["seconds"]
    print(f"  import textlds: {own:.3f} s, limit {LIMIT_SECONDS} s: {'kept' if own < LIMIT_SECONDS else 'NOT KEPT'}")
    return costs


def commands(repeats: int) -> dict[str, Cost]:
    """Measure commands that do no work."""
    runs = {name: [sys.executable, "-m", "textlds", *words] for name, words in COMMANDS.items()}
    found = medians(runs, repeats)
    show("commands", found)
    return found


def first_sentence(path: str, kind: str, repeats: int) -> dict[str, Any]:
    """Measure what a process needs before it has the vectors or tags of one sentence; medians."""
    run = [sys.executable, "-c", FIRST, path, kind]
    works(run)  # compiles
    rows = [json.loads(subprocess.run(run, capture_output=True, check=True).stdout) for _ in range(repeats)]
    found: dict[str, Any] = {
        name: {unit: statistics.median(row["times"][name][i] for row in rows) for i, unit in enumerate(KINDS)}
        for name in rows[0]["times"]
    }
    ready = [found["load"], found["first sentence"]]
    found["load and first sentence"] = {unit: sum(part[unit] for part in ready) for unit in KINDS}
    show(f"{kind} {path}", found)
    found["memory"] = {name: statistics.median(row["memory"][name] for row in rows) for name in rows[0]["memory"]}
    print("  " + ", ".join(f"{name} memory {size / 1e6:.0f} MB" for name, size in found["memory"].items()))
    return found


def report(results: dict[str, Any]) -> list[str]:
    """Return startup.md."""
    lines = [
        "# Start-up", "",
        f"By `python -m benchmarks.startup`: {results['machine']}; medians of {results['repeats']} new processes, "
        "files in the cache of the system, kernels compiled before; seconds, and processor seconds in brackets.", "",
    ]  # fmt: skip
    for title, table in (("model", results.get("models")), ("tagger", results.get("taggers"))):
        if table:
            steps = [name for name in next(iter(table.values())) if name != "memory"]
            rows = [
                [name, *(_cell(row[step]) for step in steps), *(f"{row['memory'][of] / 1e6:.0f}" for of in MEMORY)]
                for name, row in table.items()
            ]
            lines += markdown_table([title, *steps, "own memory, MB", "mapped, MB"], rows)
    for title in ("imports", "commands"):
        if results.get(title):
            lines += markdown_table([title, "s"], [[name, _cell(cost)] for name, cost in results[title].items()])
    lines.append("Imports are those of a process that does nothing else, less an interpreter that imports nothing.")
    if "size" in results:
        lines += ["", "Installed without extras: " + ", ".join(
            f"{results['size'][name] / 1e6:.0f} MB {name.replace('_', ' ')}"
            for name in ("download", "installed", "with_byte_code")
        ) + "."]  # fmt: skip
    return [*lines, ""]


def _cell(cost: Cost) -> str:
    return f"{cost['seconds']:.3f} ({cost['cpu_seconds']:.3f})"


def works(run: Sequence[str]) -> bool:
    """Try a run; this also brings its files into the cache."""
    return subprocess.run(run, capture_output=True, check=False).returncode == 0


def medians(runs: dict[str, list[str]], repeats: int) -> dict[str, Cost]:
    """Return the median times of every run, by turns."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for run in runs.values():
        works(run)
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(timed(run))
    return {
        name: {
            "seconds": statistics.median(wall for wall, _ in pairs),
            "cpu_seconds": statistics.median(cpu for _, cpu in pairs),
        }
        for name, pairs in times.items()
    }


def timed(run: Sequence[str]) -> tuple[float, float]:
    """Return wall-clock and processor seconds of a process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(title: str, costs: dict[str, Cost]) -> None:
    print(title)
    for name, cost in costs.items():
        print(f"  {name:<30} {cost['seconds']:8.3f} s {cost['cpu_seconds']:8.3f} s CPU")


def installation() -> dict[str, Any]:
    """Install the base into an environment of its own; return what is downloaded and the bytes of every package."""
    with tempfile.TemporaryDirectory() as folder:
        wheels, environment = Path(folder) / "wheels", Path(folder) / "environment"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "wheel", "--wheel-dir", str(wheels), str(ROOT)], check=True)
        venv.create(environment, with_pip=False)
        here = [*pip, "--python", str(environment / "bin" / "python"), "install", "--no-index"]
        subprocess.run([*here, "--no-compile", "--find-links", str(wheels), "textlds"], check=True)
        (packages,) = environment.glob("lib/python*/site-packages")
        sizes = {entry.name: size_of(entry) for entry in packages.iterdir()}
        subprocess.run([sys.executable, "-m", "compileall", "-qq", str(packages)], check=False)  # as pip does
        found = {"download": size_of(wheels), "installed": sum(sizes.values()), "with_byte_code": size_of(packages)}
    print("base installation with dependencies")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:8]:
        print(f"  {name:<30} {size / 1e6:8.1f} MB")
    for name, size in found.items():
        print(f"  all, {name.replace('_', ' '):<25} {size / 1e6:8.1f} MB")
    print(f"  limit {LIMIT_BYTES / 1e6:.0f} MB: {'kept' if found['with_byte_code'] < LIMIT_BYTES else 'NOT KEPT'}")
    return {**found, "packages": sizes}


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


if __name__ == "__main__":
    main()
