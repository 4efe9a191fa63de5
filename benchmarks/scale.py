"""How cost grows with text, and what a corpus of any size costs: counting, fitting, embedding.

    python -m benchmarks.scale TEXT [--tokens 5e6 20e6 75e6] [--fit] [--peers 2e6] [--model MODEL] [--results FOLDER]

counting   raw text to a counts folder in a process of its own: seconds, core seconds, how busy the cores were, peak
           memory, bytes of the counts. A size beyond the text is made by repeating it, and marked so: repeated text has
           no new pairs, so that its counts are too small and its time is a little too good.
fitting    with --fit, a model of the same counts, likewise
peers      with --peers, on so many tokens and one thread: an epoch of gensim's CBOW, one of fastText's (floret), and
           GloVe's counting as scipy does it, all with a window of seven words. What fastText takes to set up its table
           of two million rows is measured on a few lines.
embedding  with --model, tokens per core second from raw text, and the limit that matrix products set: a token's state
           takes two products with h x h matrices, whatever else is done
costs      core hours and bytes for 10⁹, 10¹¹ and 10¹² tokens. Their rates are fitted to the smaller runs and tried on
           the larger ones: counting grows with the tokens, fitting with the bytes of the counts, which grow as T^0.8

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

GOALS = {1e9: "10⁹", 1e11: "10¹¹", 1e12: "10¹²"}
WINDOW = 7
FASTTEXT = "fastText, CBOW, an epoch"
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
    if arguments.scratch is not None:
        arguments.scratch.mkdir(parents=True, exist_ok=True)
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
            results["fastText set-up, core seconds"] = fasttext(arguments, 2e4, Path(folder))
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
    found[FASTTEXT] = fasttext(arguments, arguments.peers, folder)
    return {name: 1e6 * seconds / tokens for name, seconds in found.items()}


def fasttext(arguments: argparse.Namespace, tokens: float, folder: Path) -> float:
    """Return the core seconds of an epoch of fastText's CBOW on so many tokens, one thread, set-up included."""
    text = folder / "fasttext.txt"
    write_text(arguments.text, tokens, text)
    return child(
        f"import floret; floret.train_unsupervised({str(text)!r}, model='cbow', dim={arguments.state_size}, "
        f"ws={WINDOW}, epoch=1, thread=1, verbose=0)"
    )["core seconds"]


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


def parted(growth: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the runs that rates are fitted to, and the larger ones that they are tried on.

    Repeated text is tried on; without any, the largest run is.
    """
    known = [row for row in growth if not row["repeated"]] or growth[:1]
    if len(known) == len(growth) > 1:
        known = growth[:-1]
    return known, [row for row in growth if row not in known]


def line(rows: list[dict[str, Any]], stage: str) -> tuple[float, float]:
    """Return (a, b) of core seconds = a + b x, x the tokens of counting or the bytes of the counts for fitting.

    Relative errors count, so that the small runs do; a is at least 0.
    """
    rows = [row for row in rows if stage in row]
    x = np.array([amount(row, stage) for row in rows])
    y = np.array([row[stage]["core seconds"] for row in rows])
    if len(rows) > 1:
        b, a = np.polyfit(x, y, 1, w=1 / y)
        if a >= 0 < b:
            return float(a), float(b)
    return 0.0, float(np.mean(y / x))


def amount(row: dict[str, Any], stage: str) -> float:
    """Return what the time of a stage grows with."""
    return float(row["tokens"] if stage == "counting" else row["counts bytes"])


def tried(results: dict[str, Any]) -> list[tuple[float, str, float, float]]:
    """Return tokens, stage, predicted and measured core seconds of every run that no rate was fitted to."""
    known, others = parted(results["growth"])
    found: list[tuple[float, str, float, float]] = []
    for row in others:
        for stage in ("counting", "fitting"):
            if stage in row and any(stage in one for one in known):
                a, b = line(known, stage)
                found.append((row["tokens"], stage, a + b * amount(row, stage), row[stage]["core seconds"]))
    return found


def costs(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return what corpora cost at the rates of the smaller runs; fitting only if it was measured."""
    known, _ = parted(results["growth"])
    rate = results["embedding"]["context, tokens per core second"]
    found = {}
    for goal in GOALS:
        counts_bytes = 8 * entries(goal, results["vocab_size"], WINDOW)
        of_stages = {}
        for stage, x in (("counting", goal), ("fitting", counts_bytes)):
            if any(stage in row for row in known):
                a, b = line(known, stage)
                of_stages[f"{stage} core hours"] = (a + b * x) / 3600
        found[f"{goal:.0e}"] = {
            "text bytes": goal * BYTES_A_TOKEN,
            **of_stages,
            "counts bytes": counts_bytes,
            "embedding core hours": goal / rate / 3600,
            "bytes of one vector per token": goal * 4 * results["embedding"]["state size"],
        }
    return found


def peer_rates(results: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return core seconds to set up, and per million tokens without that, of the other libraries."""
    set_up = results.get("fastText set-up, core seconds", 0.0)
    millions = results.get("peers_tokens", 0.0) / 1e6
    return {
        name: (set_up, max(rate - set_up / millions, 0.0)) if name == FASTTEXT else (0.0, rate)
        for name, rate in results.get("peers", {}).items()
    }


def plain(value: float) -> str:
    """Return three digits of a number, and no exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:.10f}".rstrip("0").rstrip(".")


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
    trials = tried(results)
    if trials:
        sizes = ", ".join(f"{row['tokens'] / 1e6:,.6g}M" for row in parted(results["growth"])[0])
        lines += [f"Rates fitted to the runs of {sizes} tokens, and tried on the others:", ""]
        lines += markdown_table(
            ["tokens", "", "predicted, core s", "measured, core s", "measured / predicted"],
            [
                [f"{tokens / 1e6:,.6g}M", stage, plain(predicted), plain(measured), f"{measured / predicted:.2f}"]
                for tokens, stage, predicted, measured in trials
            ],
        )
    if "peers" in results:
        last = parted(results["growth"])[0][-1]
        own = {"textlds, counting": (0.0, 1e6 * last["counting"]["core seconds"] / last["tokens"])}
        rates = [
            [name, f"{rate:.3f}", f"{set_up:.1f}" if set_up else ""]
            for name, (set_up, rate) in (own | peer_rates(results)).items()
        ]
        heads = ["one pass over the text", "core seconds per million tokens", "and to set up, core seconds"]
        lines += markdown_table(heads, rates)
        lines += [
            f"textlds read {last['tokens'] / 1e6:,.6g}M tokens, the others {results['peers_tokens'] / 1e6:g}M on one "
            "thread. fastText first fills a table of two million rows.", "",
        ]  # fmt: skip
    if "embedding" in results:
        lines += ["Embedding from raw text, one thread:", ""]
        lines += [*(f"- {name}: {value:,.0f}" for name, value in results["embedding"].items()), ""]
        found = costs(results)
        columns = {
            "text TB": ("text bytes", 1e12),
            "counting, core hours": ("counting core hours", 1),
            "counts GB": ("counts bytes", 1e9),
            "fitting, core hours": ("fitting core hours", 1),
            "embedding, core hours": ("embedding core hours", 1),
            "vectors TB": ("bytes of one vector per token", 1e12),
        }
        columns = {head: (name, unit) for head, (name, unit) in columns.items() if name in found["1e+09"]}
        cells = [
            [GOALS[float(goal)], *(plain(cost[name] / unit) for name, unit in columns.values())]
            for goal, cost in found.items()
        ]
        lines += ["At these rates, extrapolated:", "", *markdown_table(["tokens", *columns], cells)]
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
    for name, (set_up, rate) in peer_rates(results).items():
        label = f"{name}, at its rate"
        left.plot(tokens, [set_up + rate * n / 1e6 for n in tokens], linestyle="--", linewidth=1, label=label)
    right.plot(tokens, [row["counts bytes"] / 1e9 for row in growth], marker="o", label="counts on disk")
    for axes, label in ((left, "core seconds"), (right, "GB")):
        axes.set(xscale="log", yscale="log", xlabel="tokens (beyond 75M: repeated text)", ylabel=label)
        axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
