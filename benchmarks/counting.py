"""From raw text to counts on disk: rates, scaling and memory, with peers in the same run on the same text.

    python benchmarks/counting.py TEXT [--sections kernel gensim scaling budget] [--tokens 20e6] [--results FOLDER]

kernel   a stream of rows (V = 100,000) to one sparse array a lag, one thread: textlds and scipy's coo -> csr
gensim   all of `textlds count` (process start, reading, tokenising, counting, writing and checking the folder) and one
         epoch of gensim's CBOW alone (tokenised text in memory, vocabulary built before the clock starts), same text,
         same number of threads
scaling  `textlds count` on prefixes of the text with one and two workers: time, processor time, peak memory; a plot
budget   all of the text under --memory 2GB

All but `budget` (one run each) is run three times, in `gensim` and `scaling` by turns, and the least wall-clock and the
least processor time are taken; on a machine that others use, processor time compares better.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from textlds.corpus.reading.opening import open_sources
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.blocks import count_block
from textlds.counts.pieces import Piece, PieceText, row_blocks, tokenize
from textlds.counts.sinks import MemorySink
from textlds.counts.stages import cut_pieces

MAX_LAG, VOCAB_SIZE, REPEATS = 7, 100_000, 3
SECTIONS = ("kernel", "gensim", "scaling", "budget")
BYTES_A_TOKEN = 5.32  # of English Wikipedia


# The peak of the process itself: ru_maxrss of a child begins with that of its parent.
PROGRAM = """
import sys
peak = sys.argv.pop(1)
from textlds.cli import main
try:
    main()
finally:
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    open(peak, "w").write(status["VmHWM"].split()[0])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sections", nargs="+", default=SECTIONS, choices=SECTIONS)
    parser.add_argument("--tokens", type=float, default=20e6, help="size of the text for kernel and gensim")
    parser.add_argument("--results", type=Path, help="folder for counting.json and counting.png")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, {platform.machine()}", "load": os.getloadavg()[0]}
    print(
        f"{results['machine']}, load {results['load']:.1f}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for section in arguments.sections:
            run = {"kernel": kernel, "gensim": gensim, "scaling": scaling, "budget": budget}[section]
            print(f"\n{section}")
            results[section] = run(arguments.text, int(arguments.tokens), Path(folder))
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        path = arguments.results / "counting.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **results}, indent=1) + "\n")
        if "scaling" in results:
            plot(results["scaling"], arguments.results / "counting.png")


def kernel(text: Path, tokens: int, folder: Path) -> dict[str, Any]:
    rows, n_rows = stream_of_rows(text, min(tokens, 20_000_000))
    n = int((rows >= 0).sum())

    def ours(workers: int) -> Callable[[], int]:
        def run() -> int:
            sink = MemorySink(n_rows, MAX_LAG)
            count_block(rows, first=0, n_rows=n_rows, max_lag=MAX_LAG, threads=workers, sink=sink)
            return sum(lag.nnz for lag in sink.lags())

        return run

    def scipy() -> int:
        pairs = 0
        sentence = np.cumsum(rows < 0)
        for lag in range(1, MAX_LAG + 1):
            later, earlier = rows[lag:], rows[:-lag]
            valid = (later >= 0) & (earlier >= 0) & (sentence[lag:] == sentence[:-lag])
            ones = np.ones(int(valid.sum()), np.uint32)
            pairs += sp.coo_array((ones, (later[valid], earlier[valid])), shape=(n_rows, n_rows)).tocsr().nnz
        return pairs

    result = {}
    ours(1)()
    for name, function in [("textlds, 1 thread", ours(1)), ("textlds, 2 threads", ours(2)), ("scipy, 1 thread", scipy)]:
        wall, cpu, pairs = best(function)
        result[name] = {"seconds": wall, "cpu_seconds": cpu, "pairs": pairs, "rate": n * MAX_LAG / wall}
        print(
            f"  {name:20} {wall:6.2f} s ({cpu:6.2f} s CPU)  {n * MAX_LAG / wall / 1e6:6.1f} M token·lags/s"
            f"  ({n * MAX_LAG / cpu / 1e6:6.1f} a CPU second)  {pairs:,} pairs"
        )
    ratio = result["scipy, 1 thread"]["cpu_seconds"] / result["textlds, 1 thread"]["cpu_seconds"]
    print(f"  textlds / scipy, one thread: {ratio:.1f} times (CPU time)")
    return {**result, "tokens": n, "ratio_to_scipy": ratio}


def gensim(text: Path, tokens: int, folder: Path) -> dict[str, Any]:
    from gensim.models import Word2Vec

    path = prefix(text, tokens, folder)
    sentences = tokenised(path)
    result: dict[str, Any] = {}
    for threads in (1, 2):
        ours, theirs = [], []
        for _ in range(REPEATS):  # by turns, the same number of times: other load falls on both
            ours.append(command(path, folder, threads))
            model = Word2Vec(
                vector_size=200, window=7, sg=0, workers=threads, max_final_vocab=VOCAB_SIZE, min_count=1, seed=0
            )
            model.build_vocab(sentences)
            train = functools.partial(model.train, sentences, total_examples=model.corpus_count, epochs=1)
            wall, cpu, _ = best(train, repeats=1)
            theirs.append({"seconds": wall, "cpu_seconds": cpu})
        n = ours[0]["tokens"]
        mine, gensims = least(ours), least(theirs)
        ratios = {name: gensims[name] / mine[name] for name in ("seconds", "cpu_seconds")}
        result[f"{threads} threads"] = {
            "textlds count": ours,
            "gensim CBOW epoch": theirs,
            "ratios of the least": ratios,
        }
        print(
            f"  {threads} thread(s), {n / 1e6:.1f} M tokens: textlds count {mine['seconds']:.1f} s "
            f"({n / mine['seconds'] / 1e6:.2f} M tokens/s), gensim CBOW epoch {gensims['seconds']:.1f} s "
            f"({n / gensims['seconds'] / 1e6:.2f} M/s): {ratios['seconds']:.1f} times; CPU {mine['cpu_seconds']:.1f} s "
            f"and {gensims['cpu_seconds']:.1f} s: {ratios['cpu_seconds']:.1f} times"
        )
    return result


def scaling(text: Path, tokens: int, folder: Path) -> list[dict[str, Any]]:
    rows = []
    for millions in (5, 10, 20, 40, 75):
        path = prefix(text, millions * 1_000_000, folder)
        runs: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
        for _, workers in itertools.product(range(REPEATS), runs):  # by turns: other load falls on both
            runs[workers].append(command(path, folder, workers))
        for workers, facts in runs.items():
            chosen = {"workers": workers, **facts[0], **least(facts), "all": facts}
            chosen["peak_bytes"] = max(run["peak_bytes"] for run in facts)
            rows.append(chosen)
            print(
                f"  {chosen['tokens'] / 1e6:5.1f} M tokens, {workers} worker(s): {chosen['seconds']:6.1f} s, "
                f"{chosen['cpu_seconds']:6.1f} s CPU, {chosen['tokens'] / chosen['seconds'] / 1e6:5.2f} M tokens/s, "
                f"peak {chosen['peak_bytes'] / 1e6:6.0f} MB"
            )
        path.unlink()
    return rows


def budget(text: Path, tokens: int, folder: Path) -> dict[str, Any]:
    result = {}
    for memory in ("2GB", "500MB"):
        facts = command(text, folder, 2, "--memory", memory)
        result[memory] = facts
        print(
            f"  {facts['tokens'] / 1e6:.1f} M tokens under --memory {memory}, 2 workers: {facts['seconds']:.1f} s, "
            f"peak {facts['peak_bytes'] / 1e6:.0f} MB with interpreter and libraries"
        )
    return result


def command(path: Path, folder: Path, workers: int, *options: str) -> dict[str, Any]:
    """Run ``textlds count`` in a process of its own and measure it."""
    output = folder / "counts"
    arguments = ["count", str(path), "-o", str(output), "--force", "-q", "--threads", str(workers), *options]
    program = [sys.executable, "-c", PROGRAM, str(folder / "peak"), *arguments]
    begin = time.perf_counter()
    process = os.posix_spawn(sys.executable, program, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begin
    if status:
        raise SystemExit(f"textlds count failed with status {status}")
    config = json.loads((output / "config.json").read_text())
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": int((folder / "peak").read_text()) * 1024,
        "tokens": config["tokens"],
        "pairs": sum(config["pairs"]),
    }


def least(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the least wall-clock and the least processor time of some runs."""
    return {name: min(run[name] for run in runs) for name in ("seconds", "cpu_seconds")}


def best(function: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, float, Any]:
    """Return the least wall-clock and processor time of some runs, and what the function returned."""
    walls, cpus, value = [], [], None
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        value = function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus), value


def prefix(text: Path, tokens: int, folder: Path) -> Path:
    """Write the beginning of the text, about so many tokens of whole lines, to a file of its own."""
    path = folder / f"first-{tokens}.txt"
    with text.open("rb") as source, path.open("wb") as target:
        target.write(source.read(int(tokens * BYTES_A_TOKEN)))
        target.write(source.readline())
    return path


def pieces_of(text: Path, tokens: int) -> list[Piece]:
    pieces = itertools.islice(cut_pieces(open_sources([text]), 1 << 24), 1 + int(tokens * BYTES_A_TOKEN) >> 24 or 1)
    return [tokenize(PieceText(piece.source, piece.chunks), TextSettings()) for piece in pieces]


def stream_of_rows(text: Path, tokens: int) -> tuple[np.ndarray[Any, Any], int]:
    pieces = pieces_of(text, tokens)
    vocabulary = Vocabulary.learn([p.table for p in pieces], vocab_size=VOCAB_SIZE, settings=TextSettings())
    size = 2 * sum(len(piece.ids) for piece in pieces)
    rows, _ = next(row_blocks(pieces, vocabulary, block_tokens=size, max_lag=MAX_LAG))
    return rows.copy(), len(vocabulary)


def tokenised(path: Path) -> list[list[str]]:
    """Return the lines of a text as lists of the tokens that textlds finds; equal tokens are one string."""
    worker = ChunkTokenizer(TextSettings())
    lines = []
    for chunk in open_sources([path])[0].chunks():
        ids = worker.ids(chunk.data, end=chunk.end)
        words = np.array([*worker.table.words(), ""], dtype=object)
        lines += [part[part != ""].tolist() for part in np.split(words[ids], np.flatnonzero(ids < 0)) if len(part) > 1]
    return lines


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    for workers, marker in ((1, "o"), (2, "s")):
        chosen = [row for row in rows if row["workers"] == workers]
        millions = [row["tokens"] / 1e6 for row in chosen]
        label = f"{workers} worker{'s' * (workers > 1)}"
        line = left.plot(millions, [row["seconds"] for row in chosen], marker=marker, label=f"{label}, wall clock")[0]
        cpu = [row["cpu_seconds"] for row in chosen]
        left.plot(millions, cpu, ":", color=line.get_color(), label=f"{label}, CPU time")
        right.plot(millions, [row["peak_bytes"] / 1e6 for row in chosen], marker=marker, label=label)
    left.set(xlabel="million tokens", ylabel="seconds", title="textlds count, raw text to disk", ylim=(0, None))
    right.set(xlabel="million tokens", ylabel="MB", title="peak memory (--memory 4GB)", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=130)
    print(f"\nwrote {path}")


if __name__ == "__main__":
    main()
