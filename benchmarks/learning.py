"""From counts to a model: the sketch against the full space, cost against the corpus, and gensim on the same text.

    python -m benchmarks.learning TEXT [--sections train spmm relaxation sketch] [--threads 2] [--results FOLDER]

train       `textlds train` from raw text to model (V = 100,000, h = 200) on beginnings of the text, time and memory, of
            profiles and of one-hot words; and gensim's CBOW with 200 dimensions and 5 epochs on the largest of them
            (tokenised in memory before the clock starts), the same number of threads
spmm        sparse times dense on real counts (20M tokens, V = 50,000), float32 and float64, both directions: textlds
            and scipy, one thread
relaxation  E-steps until plain EM's likelihood after 50 iterations is reached: plain and over-relaxed
sketch      learning from the same counts (20M tokens, V = 50,000, h = 100, 50 iterations): full space and sketch

Wall-clock and processor seconds are printed with the number of threads; on a machine that others use, compare ratios.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import textlds
from benchmarks.texts import first_bytes
from textlds.learn import em
from textlds.learn.moments import word_moments
from textlds.learn.run import make_sketch
from textlds.learn.settings import FitSettings
from textlds.learn.ssid import subspace_identification
from textlds.linalg.sparse import SparseMatrix
from textlds.linalg.threads import one_blas_thread
from textlds.progress import SilentProgress

# train comes first: a process is said to need at least the memory of the one that starts it
SECTIONS = ("train", "spmm", "relaxation", "sketch")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sections", nargs="+", default=SECTIONS, choices=SECTIONS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=float, default=20e6, help="size of the text for all but train")
    parser.add_argument("--sizes", type=float, nargs="+", default=[5e6, 20e6, 75e6], help="of the texts of train")
    parser.add_argument("--epochs", type=int, default=5, help="of gensim")
    parser.add_argument("--vocab-size", type=int, default=50_000, help="for all but train")
    parser.add_argument("--state-size", type=int, default=100, help="for all but train")
    parser.add_argument("--results", type=Path, help="folder for learning.json and learning.png")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, {platform.machine()}", "load": os.getloadavg()[0]}
    print(f"{results['machine']}, load {results['load']:.1f}, numpy {np.__version__}, {arguments.threads} threads")
    sections = {"spmm": spmm, "relaxation": relaxation, "sketch": sketch, "train": train}
    with tempfile.TemporaryDirectory() as folder:
        for name in (one for one in SECTIONS if one in arguments.sections):
            print(f"\n{name}", flush=True)
            results[name] = sections[name](arguments, Path(folder))
    if arguments.results:
        write(results, arguments.results)


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return value, {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


def show(name: str, facts: dict[str, Any]) -> None:
    cells = (f"{key} {value:,.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in facts.items())
    print(f"  {name:<44} {', '.join(cells)}", flush=True)


def prefix(text: Path, tokens: float, folder: Path) -> Path:
    """Return a file with about so many tokens of the text, whole lines."""
    path = folder / f"{int(tokens)}.txt"
    if not path.exists():
        path.write_bytes(first_bytes(text, tokens))
    return path


def counts_of(arguments: argparse.Namespace, folder: Path) -> textlds.LagCounts:
    path = folder / "counts"
    if not path.exists():
        text = prefix(arguments.text, arguments.tokens, folder)
        textlds.count([text], vocab_size=arguments.vocab_size, threads=arguments.threads).save(path)
    return textlds.LagCounts.load(path)


def spmm(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    matrix = counts_of(arguments, folder).lags[2]
    results: dict[str, Any] = {"entries": int(matrix.nnz)}
    for dtype, width in itertools.product((np.float32, np.float64), (128, 512)):
        name = f"{np.dtype(dtype).name}, {width} columns"
        results[name] = one_spmm(matrix, dtype, width)
        show(f"{name}, 1 thread", results[name])
    return results


def one_spmm(matrix: Any, dtype: Any, width: int) -> dict[str, float]:
    X = np.random.default_rng(0).standard_normal((matrix.shape[1], width)).astype(dtype)
    ours = SparseMatrix.from_scipy(matrix, threads=1)
    theirs = sp.csr_array((matrix.data.astype(dtype), matrix.indices, matrix.indptr), shape=matrix.shape)
    transposed = theirs.T.tocsr()
    ours.rmatmat(X[:, :1])  # the transpose, and compilation, are not what is measured
    contenders = {
        "textlds M X": lambda: ours.matmat(X),
        "scipy M X": lambda: theirs @ X,
        "textlds Mᵀ X": lambda: ours.rmatmat(X),
        "scipy Mᵀ X": lambda: transposed @ X,
    }
    best = dict.fromkeys(contenders, np.inf)
    for _, (name, work) in itertools.product(range(4), contenders.items()):
        best[name] = min(best[name], timed(work)[1]["cpu_seconds"])
    flops = 2 * matrix.nnz * width
    facts = {f"{name} GFlop/s": flops / seconds / 1e9 for name, seconds in best.items()}
    facts["ratio M X"] = best["scipy M X"] / best["textlds M X"]
    facts["ratio Mᵀ X"] = best["scipy Mᵀ X"] / best["textlds Mᵀ X"]
    return facts


def relaxation(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    counts = counts_of(arguments, folder)
    settings = FitSettings(state_size=arguments.state_size, observations="words")
    words = word_moments(counts.unigrams, counts.lags, threads=arguments.threads)
    size = settings.sketch_size(len(counts.vocabulary)) or len(counts.vocabulary)
    results: dict[str, Any] = {}
    with one_blas_thread():
        small = make_sketch(words, size, 0, arguments.threads, SilentProgress()).moments
        start = subspace_identification(small, settings.state_size, rng=np.random.default_rng([0, 2]))
        evaluations = [0]
        real = em.evaluate

        def counted(*args: Any, **options: Any) -> em.EMStep:
            evaluations[0] += 1
            return real(*args, **options)

        em.evaluate = counted  # type: ignore[assignment]  # steps that were replaced cost an E-step too
        try:
            for goal in (50, 100):
                plain = next(itertools.islice(em.em_steps(start, small), goal, None)).log_likelihood
                evaluations[0] = 0
                steps = em.em_steps(start, small, relaxation=em.FIRST_RELAXATION)
                likelihoods = [next(steps).log_likelihood]
                for step in steps:
                    likelihoods.append(step.log_likelihood)
                    if likelihoods[-1] >= plain or evaluations[0] >= 2 * goal or step.stalled:
                        break
                facts = {
                    "likelihood": plain,
                    "plain E-steps": goal,
                    "over-relaxed E-steps": evaluations[0] - 1,
                    "ratio": (evaluations[0] - 1) / goal,
                    "least gain": float(np.min(np.diff(likelihoods))),
                }
                show(f"to the likelihood of {goal} plain iterations", facts)
                results[str(goal)] = facts
        finally:
            em.evaluate = real
    return results


def sketch(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    counts = counts_of(arguments, folder)
    results: dict[str, Any] = {"threads": arguments.threads}
    for compression in ("auto", "none"):
        model, facts = timed(
            lambda compression=compression: textlds.fit(
                counts,
                state_size=arguments.state_size,
                iterations=50,
                settings=textlds.FitSettings(compression=compression, observations="words"),
                threads=arguments.threads,
            )
        )
        history = model.history
        facts["seconds an iteration"] = float(np.median(np.diff(history.seconds)))
        facts["log-likelihood"] = history.log_likelihood[-1]
        facts["share of C outside the sketch"] = history.settings.get("sketch_loss", 0.0)
        show({"auto": "sketch", "none": "full space"}[compression], facts)
        results[compression] = facts
    results["ratio"] = results["none"]["seconds"] / results["auto"]["seconds"]
    results["cpu_ratio"] = results["none"]["cpu_seconds"] / results["auto"]["cpu_seconds"]
    show("full space / sketch", {"wall": results["ratio"], "processor": results["cpu_ratio"]})
    return results


def train(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = {"threads": arguments.threads, "textlds": [], "words": []}
    for tokens in arguments.sizes:
        text = prefix(arguments.text, tokens, folder)
        for name, observations in (("textlds", "profiles"), ("words", "words")):
            facts = one_training(text, observations, arguments.threads, folder / "model")
            show(f"textlds train, {observations}", facts)
            results[name].append(facts)
    last = results["textlds"][-1]
    try:
        results["gensim"] = gensim(text, arguments)
    except ImportError:
        print("  gensim: not installed")
        return results
    results["ratio"] = results["gensim"]["seconds"] / last["seconds"]
    results["cpu_ratio"] = results["gensim"]["cpu_seconds"] / last["cpu_seconds"]
    show("gensim / textlds train", {"wall": results["ratio"], "processor": results["cpu_ratio"]})
    return results


def one_training(text: Path, observations: str, threads: int, output: Path) -> dict[str, Any]:
    """Train from raw text in a process of its own; return what it took, memory in MB."""
    command = [sys.executable, "-m", "textlds", "train", str(text), "-o", str(output), "--force", "--quiet"]
    sizes = ["--vocab-size", "100000", "--state-size", "200", "--threads", str(threads)]
    began = time.perf_counter()
    process = subprocess.Popen([*command, *sizes, "--observations", observations])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # wait4 took it: Popen must not wait again
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    seconds, history = time.perf_counter() - began, textlds.load(output).history
    return {
        "tokens": int(history.settings["tokens"]),
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "learning seconds": history.seconds[-1],
        "memory": used.ru_maxrss / 1024,
    }


def gensim(text: Path, arguments: argparse.Namespace) -> dict[str, float]:
    from gensim.models import Word2Vec

    with text.open(encoding="utf-8") as lines:
        sentences = [line.split() for line in lines]  # fewer tokens than textlds finds, which favours gensim
    model = Word2Vec(vector_size=200, window=3, sg=0, workers=arguments.threads, max_final_vocab=100_000, min_count=1)
    model.build_vocab(sentences)
    _, facts = timed(lambda: model.train(sentences, total_examples=model.corpus_count, epochs=arguments.epochs))
    show(f"gensim CBOW, {arguments.epochs} epochs, {arguments.threads} threads", facts)
    return facts


def write(results: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "learning.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **results}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if "train" in results:
        plot(results["train"], folder / "learning.png")


def plot(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    tokens = [row["tokens"] / 1e6 for row in results["textlds"]]
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(tokens, [row["seconds"] for row in results["textlds"]], "o-", label="textlds train, raw text to model")
    axes.plot(tokens, [row["seconds"] for row in results["words"]], "o--", label="the same, observing one-hot words")
    axes.plot(tokens, [row["learning seconds"] for row in results["textlds"]], "s-", label="its learning part")
    if "gensim" in results:
        axes.plot(tokens[-1:], [results["gensim"]["seconds"]], "^", label="gensim CBOW, 5 epochs")
    axes.set(xlabel="million tokens", ylabel="seconds", xscale="log", yscale="log")
    axes.set_xticks(tokens, [f"{size:.0f}" for size in tokens])
    axes.set_yticks([50, 100, 200, 400], ["50", "100", "200", "400"])
    axes.minorticks_off()
    axes.set_title(f"V = 100,000, h = 200, {results['threads']} threads")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
