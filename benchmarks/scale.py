"""How cost grows with text, and what a corpus of any size costs: counting, fitting, embedding.

    python -m benchmarks.scale TEXT [--tokens 5e6 20e6 75e6] [--model MODEL] [--fit] [--results FOLDER]

counting   raw text to a counts folder in a process of its own: seconds, core seconds, how busy the cores were, peak
           memory, bytes of the counts. A size beyond the text is made by repeating it, and marked so: repeated text has
           no new pairs, so that its counts are too small and its time is a little too good.
fitting    with --fit, a model of the same counts, likewise
embedding  tokens per core second from raw text, and the limit that matrix products set: a token's state takes two
           products with h x h matrices, whatever else is done
costs      core hours and bytes for 10⁹, 10¹¹ and 10¹² tokens from these rates; bytes of counts grow as T^0.8

Writes scale.json, scale.md and scale.png.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.texts import BYTES_A_TOKEN, first_lines
from textlds.learn.budget import entries

GOALS = (1e9, 1e11, 1e12)
_CHILD = """
import json, resource, sys, time
import textlds
began, cpu = time.perf_counter(), time.process_time()
{work}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{"seconds": time.perf_counter() - began, "core seconds": time.process_time() - cpu,
                  "peak bytes": usage.ru_maxrss * 1024}}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--tokens", type=float, nargs="+", default=[5e6, 20e6, 75e6])
    parser.add_argument("--model", type=Path, help="a model folder; by default one is trained on the first 2M tokens")
    parser.add_argument("--vocab-size", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"load": os.getloadavg()[0], "threads": arguments.threads, "growth": []}
    with tempfile.TemporaryDirectory() as folder:
        for tokens in arguments.tokens:
            results["growth"].append(row := grown(arguments, tokens, Path(folder)))
            print(row)
    results["embedding"] = embedding(arguments)
    results["costs"] = costs(results)
    for name in ("embedding", "costs"):
        print(json.dumps(results[name], indent=1))
    if arguments.results:
        write(results, arguments.results)


def grown(arguments: argparse.Namespace, tokens: float, folder: Path) -> dict[str, Any]:
    """Count, and fit, the first so many tokens."""
    size, text = int(tokens * BYTES_A_TOKEN), folder / "text.txt"
    have = arguments.text.stat().st_size
    with text.open("wb") as file:
        left = size
        while left > 0:
            with arguments.text.open("rb") as source:
                while left > 0 and (block := source.read(min(left, 1 << 24))):
                    file.write(block)
                    left -= len(block)
    counts, options = folder / "counts", f"vocab_size={arguments.vocab_size}, threads={arguments.threads}"
    found = child(f"textlds.count({str(text)!r}, {options}, output={str(counts)!r})")
    row = {"tokens": tokens, "repeated": size > have, "counting": found}
    row["counts bytes"] = sum(path.stat().st_size for path in counts.iterdir())
    row["busy"] = found["core seconds"] / found["seconds"] / arguments.threads
    if arguments.fit:
        row["fitting"] = child(
            f"textlds.fit(textlds.LagCounts.load({str(counts)!r}), threads={arguments.threads})"
            f".save({str(folder / 'model')!r}, force=True)"
        )
    for path in counts.iterdir():
        path.unlink()
    counts.rmdir()
    return row


def child(work: str) -> dict[str, float]:
    """Run some code in a process of its own and return what it took, imports left out."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(work=work)], capture_output=True, text=True, check=True
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def embedding(arguments: argparse.Namespace) -> dict[str, float]:
    """Return tokens per core second by recipe, one thread, and the limit of matrix products."""
    lines = first_lines(arguments.text, 3e5)
    model = (
        textlds.load(arguments.model)
        if arguments.model
        else textlds.train(texts=first_lines(arguments.text, 2e6), vocab_size=min(arguments.vocab_size, 20_000))
    )
    found = {}
    for recipe in ("context", "features"):
        best = 0.0
        for _ in range(4):
            began, tokens = time.process_time(), 0
            for text in model.embed(lines, recipe=recipe, threads=1):
                tokens += len(text)
            best = max(best, tokens / (time.process_time() - began))
        found[f"{recipe}, tokens per core second"] = best
    h = model.state_size
    panel, matrix, least = np.ones((512, 2 * h), np.float32), np.ones((2 * h, h), np.float32), np.inf
    for _ in range(50):
        began = time.process_time()
        panel @ matrix
        least = min(least, time.process_time() - began)
    found["state size"], found["limit of matrix products, tokens per core second"] = h, 512 / max(least, 1e-6)
    return found


def costs(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return what corpora cost at the rate of the largest that was counted."""
    last = results["growth"][-1]
    per_token = last["counting"]["core seconds"] / last["tokens"]
    rate = results["embedding"]["context, tokens per core second"]
    return {
        f"{goal:.0e}": {
            "text bytes": goal * BYTES_A_TOKEN,
            "counting core hours": goal * per_token / 3600,
            "counts bytes": 8 * entries(goal, 200_000, 7),
            "embedding core hours": goal / rate / 3600,
            "bytes of one vector per token": goal * 4 * results["embedding"]["state size"],
        }
        for goal in GOALS
    }


def write(results: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.json").write_text(json.dumps(results, indent=1) + "\n")
    rows = [
        f"| {row['tokens']:.0e}{' (repeated)' if row['repeated'] else ''} | {row['counting']['seconds']:.1f} | "
        f"{row['counting']['core seconds']:.1f} | {100 * row['busy']:.0f} % | "
        f"{row['counting']['peak bytes'] / 1e9:.2f} | {row['counts bytes'] / 1e9:.2f} |"
        for row in results["growth"]
    ]
    costs_ = [
        f"| {goal} | {c['text bytes'] / 1e12:.3g} | {c['counting core hours']:.3g} | {c['counts bytes'] / 1e9:.3g} | "
        f"{c['embedding core hours']:.3g} | {c['bytes of one vector per token'] / 1e12:.3g} |"
        for goal, c in results["costs"].items()
    ]
    rates = [f"- {name}: {value:,.0f}" for name, value in results["embedding"].items()]
    lines = [
        "# Growth and cost", "",
        f"By `python -m benchmarks.scale`, {results['threads']} threads, load {results['load']:.1f}.", "",
        "| tokens | seconds | core seconds | cores busy | peak GB | counts GB |",
        "|---|---|---|---|---|---|", *rows, "",
        "Embedding from raw text, one thread:", "", *rates, "",
        "| tokens | text TB | counting, core hours | counts GB | embedding, core hours | vectors TB |",
        "|---|---|---|---|---|---|", *costs_, "",
    ]  # fmt: skip
    (folder / "scale.md").write_text("\n".join(lines), encoding="utf-8")
    draw(results["growth"], folder / "scale.png")


def draw(growth: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    tokens = [row["tokens"] for row in growth]
    for stage in ("counting", "fitting"):
        if all(stage in row for row in growth):
            left.plot(tokens, [row[stage]["core seconds"] for row in growth], marker="o", label=stage)
            right.plot(tokens, [row[stage]["peak bytes"] / 1e9 for row in growth], marker="o", label=stage)
    right.plot(tokens, [row["counts bytes"] / 1e9 for row in growth], marker="o", label="counts on disk")
    for axes, label in ((left, "core seconds"), (right, "GB")):
        axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel=label)
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
