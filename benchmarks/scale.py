"""How cost grows with text, and what a corpus of any size costs: counting, fitting, embedding.

    python -m benchmarks.scale TEXT [--tokens 5e6 20e6 75e6] [--fit] [--peers 2e6] [--model MODEL] [--results FOLDER]

counting   raw text to a counts folder in a process of its own: seconds, core seconds, how busy the cores were, peak
           memory, bytes of the counts. A size beyond the text is made by repeating it, and marked so: repeated text has
           no new pairs, so that its counts are too small and its time is a little too good.
fitting    with --fit, a model of the same counts, likewise
peers      with --peers, on so many tokens and one thread: an epoch of gensim's CBOW, one of fastText's (floret), and
           GloVe's counting as scipy does it, all with a window of seven words
embedding  with --model, tokens per core second from raw text, and the limit that matrix products set: a token's state
           takes two products with h x h matrices, whatever else is done
costs      core hours and bytes for 10⁹, 10¹¹ and 10¹² tokens from these rates; bytes of counts grow as T^0.8

Writes scale.json, scale.md and scale.png. What is there already and is not measured again is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import textlds
from benchmarks.texts import BYTES_A_TOKEN, first_lines, markdown_table
from textlds.learn.budget import entries

GOALS = (1e9, 1e11, 1e12)
WINDOW = 7
# the peak of the process itself: ru_maxrss of a child begins with that of its parent
_CHILD = """
import json, time
import textlds
began, cpu = time.perf_counter(), time.process_time()
{work}
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({{"seconds": time.perf_counter() - began, "core seconds": time.process_time() - cpu,
                  "peak bytes": int(status["VmHWM"].split()[0]) * 1024}}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--tokens", type=float, nargs="*", default=[5e6, 20e6, 75e6])
    parser.add_argument("--model", type=Path, help="a model folder, to measure embedding with")
    parser.add_argument("--vocab-size", type=int, default=200_000)
    parser.add_argument("--state-size", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--peers", type=float, help="tokens that the other libraries read")
    parser.add_argument("--scratch", type=Path, help="folder for texts and counts")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    stored = arguments.results / "scale.json" if arguments.results else None
    results: dict[str, Any] = {"growth": []}
    if stored is not None and stored.exists():
        results = json.loads(stored.read_text())
    results |= {name: getattr(arguments, name) for name in ("threads", "vocab_size", "state_size")}
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        for tokens in arguments.tokens:
            row = grown(arguments, tokens, Path(folder))
            others = [old for old in results["growth"] if old["tokens"] != tokens]
            results["growth"] = sorted([*others, row], key=lambda one: float(one["tokens"]))
            print(row)
            if arguments.results:
                write(results, arguments.results)
        if arguments.peers:
            results["peers"], results["peers_tokens"] = peers(arguments, Path(folder)), arguments.peers
    if arguments.model:
        results["embedding"] = embedding(arguments)
    print(json.dumps({name: results.get(name) for name in ("peers", "embedding")}, indent=1))
    if arguments.results:
        write(results, arguments.results)


def grown(arguments: argparse.Namespace, tokens: float, folder: Path) -> dict[str, Any]:
    """Count, and fit, the first so many tokens."""
    text, counts = folder / "text.txt", folder / "counts"
    repeated = write_text(arguments.text, tokens, text)
    options = f"vocab_size={arguments.vocab_size}, threads={arguments.threads}"
    found = child(f"textlds.count({str(text)!r}, {options}, output={str(counts)!r})")
    row = {"tokens": tokens, "repeated": repeated, "load": os.getloadavg()[0], "counting": found}
    row["counts bytes"] = sum(path.stat().st_size for path in counts.iterdir())
    row["busy"] = found["core seconds"] / found["seconds"] / arguments.threads
    if arguments.fit:
        row["fitting"] = child(
            f"textlds.fit(textlds.LagCounts.load({str(counts)!r}), threads={arguments.threads}, "
            f"state_size={arguments.state_size}).save({str(folder / 'model')!r}, force=True)"
        )
    for path in counts.iterdir():
        path.unlink()
    counts.rmdir()
    return row


def write_text(source: Path, tokens: float, target: Path) -> bool:
    """Write the first so many tokens, about, of a text, in whole lines; returns whether it had to be repeated."""
    left = size = int(tokens * BYTES_A_TOKEN)
    with target.open("wb") as file:
        while left > 0:
            with source.open("rb") as opened:
                while left > 0 and (block := opened.read(min(left, 1 << 24)) + opened.readline()):
                    file.write(block)
                    left -= len(block)
    return size > source.stat().st_size


def child(work: str) -> dict[str, float]:
    """Run some code in a process of its own and return what it took, imports left out."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(work=work)], stdout=subprocess.PIPE, text=True, check=True
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def peers(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Return core seconds per million tokens, by library, one thread."""
    from gensim.models import Word2Vec

    text = folder / "peers.txt"
    write_text(arguments.text, arguments.peers, text)
    lines = [line.split() for line in text.read_text(encoding="utf-8", errors="ignore").splitlines() if line.strip()]
    tokens, h, found = sum(map(len, lines)), arguments.state_size, {}
    model = Word2Vec(vector_size=h, window=WINDOW, sg=0, min_count=5, workers=1)
    model.build_vocab(lines)
    began = time.process_time()
    model.train(lines, total_examples=len(lines), epochs=1)
    found["gensim, CBOW, an epoch"] = time.process_time() - began
    began = time.process_time()
    count_as_glove(lines)
    found["GloVe's counting, scipy"] = time.process_time() - began
    code = (
        f"import floret; floret.train_unsupervised({str(text)!r}, model='cbow', dim={h}, ws={WINDOW}, epoch=1, "
        f"thread=1, verbose=0)"
    )
    found["fastText, CBOW, an epoch"] = child(code)["core seconds"]
    return {name: 1e6 * seconds / tokens for name, seconds in found.items()}


def count_as_glove(lines: list[list[str]]) -> sp.csr_array:
    """Return symmetric counts in a window, weighted by 1 / distance, as GloVe counts them."""
    known = {word: i for i, (word, n) in enumerate(Counter(w for line in lines for w in line).most_common()) if n >= 5}
    ids = np.concatenate([np.array([*(known.get(w, -1) for w in line), *[-1] * WINDOW]) for line in lines])
    total = sp.csr_array((len(known), len(known)))
    for k in range(1, WINDOW + 1):
        both = (ids[k:] >= 0) & (ids[:-k] >= 0)
        pairs = (np.full(both.sum(), 1 / k), (ids[k:][both], ids[:-k][both]))
        total += sp.coo_array(pairs, shape=total.shape).tocsr()
    return total + total.T


def embedding(arguments: argparse.Namespace) -> dict[str, float]:
    """Return tokens per core second by recipe, one thread, and the limit of matrix products."""
    lines = first_lines(arguments.text, 3e5)
    model = textlds.load(arguments.model)
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
    lines = [
        "# Growth and cost", "",
        f"By `python -m benchmarks.scale`: V = {results['vocab_size']:,}, h = {results['state_size']}, "
        f"threads: {results['threads']}. On a machine that others use, core seconds compare better than seconds. Text "
        "beyond 75M tokens is the same text repeated, which has no new pairs.", "",
        *markdown_table(
            ["tokens", "load", "counting, s", "core s", "cores busy", "peak GB", "counts GB", "fitting, s", "core s",
             "peak GB"],
            [_cells(row) for row in results["growth"]],
        ),
    ]  # fmt: skip
    if "peers" in results:
        last = results["growth"][-1]
        own = {"textlds, counting": 1e6 * last["counting"]["core seconds"] / last["tokens"]}
        rates = [[name, f"{value:.3f}"] for name, value in (own | results["peers"]).items()]
        lines += markdown_table(["one pass over the text", "core seconds per million tokens"], rates)
        lines += [
            f"The others read {results['peers_tokens'] / 1e6:g}M tokens, on one thread; fastText's figure includes "
            "setting up its table of two million rows, which longer texts make up for.", "",
        ]  # fmt: skip
    if "embedding" in results:
        lines += ["Embedding from raw text, one thread:", ""]
        lines += [*(f"- {name}: {value:,.0f}" for name, value in results["embedding"].items()), ""]
        costs_ = [
            [goal, f"{c['text bytes'] / 1e12:.3g}", f"{c['counting core hours']:.3g}", f"{c['counts bytes'] / 1e9:.3g}",
             f"{c['embedding core hours']:.3g}", f"{c['bytes of one vector per token'] / 1e12:.3g}"]
            for goal, c in costs(results).items()
        ]  # fmt: skip
        head = ["tokens", "text TB", "counting, core hours", "counts GB", "embedding, core hours", "vectors TB"]
        lines += markdown_table(head, costs_)
    (folder / "scale.md").write_text("\n".join(lines), encoding="utf-8")
    draw(results, folder / "scale.png")


def _cells(row: dict[str, Any]) -> list[str]:
    counting, fitting = row["counting"], row.get("fitting")
    fitted = ["", "", ""]
    if fitting:
        fitted = [f"{fitting['seconds']:.0f}", f"{fitting['core seconds']:.0f}", f"{fitting['peak bytes'] / 1e9:.2f}"]
    return [
        f"{row['tokens'] / 1e6:,.0f}M{', repeated' if row['repeated'] else ''}", f"{row['load']:.1f}",
        f"{counting['seconds']:.1f}", f"{counting['core seconds']:.1f}", f"{100 * row['busy']:.0f} %",
        f"{counting['peak bytes'] / 1e9:.2f}", f"{row['counts bytes'] / 1e9:.2f}", *fitted,
    ]  # fmt: skip


def draw(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    growth = results["growth"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    tokens = [row["tokens"] for row in growth]
    for stage in ("counting", "fitting"):
        rows = [row for row in growth if stage in row]
        own = [row["tokens"] for row in rows]
        left.plot(own, [row[stage]["core seconds"] for row in rows], marker="o", label=stage)
        right.plot(own, [row[stage]["peak bytes"] / 1e9 for row in rows], marker="o", label=stage)
    drawn = {name: rate for name, rate in results.get("peers", {}).items() if not name.startswith("fastText")}
    for name, rate in drawn.items():  # that of fastText is not a rate: most of it is setting up its table
        left.plot(tokens, [rate * n / 1e6 for n in tokens], linestyle="--", linewidth=1, label=f"{name}, at its rate")
    right.plot(tokens, [row["counts bytes"] / 1e9 for row in growth], marker="o", label="counts on disk")
    for axes, label in ((left, "core seconds"), (right, "GB")):
        axes.set(xscale="log", yscale="log", xlabel="tokens (beyond 75M: repeated text)", ylabel=label)
        axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
