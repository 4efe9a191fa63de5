"""The model on real text: likelihood curves, the paper's Table 1 for our data, neighbours, timings.

    python -m benchmarks.records --ptb ptb.train.txt --ptb-held-out ptb.valid.txt --wikipedia TEXT --results FOLDER

Penn Treebank (the language-model split, already tokenised): both starts, 100 iterations of plain EM in the full space.
Wikipedia (its first 20M tokens, raw): the defaults but for h = 100 and V = 50,000. Writes records.json, records.png and
records.md; the page is made from the numbers, never by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import textlds
from benchmarks.texts import PENN_TREEBANK, PENN_TREEBANK_WORDS, first_lines

WORDS = ("river", "bank", "quickly", "Paris", "1990s", "who", "blue", "therefore")
CONTEXTS = (
    ("bank", "He sat on the bank of the river ."),
    ("bank", "The bank raised its interest rates ."),
    ("May", "He was born on May 5 ."),
    ("May", "May was a good friend of hers ."),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptb", type=Path, required=True)
    parser.add_argument("--ptb-held-out", type=Path, required=True)
    parser.add_argument("--wikipedia", type=Path, required=True)
    parser.add_argument("--tokens", type=float, default=20e6)
    parser.add_argument("--iterations", type=int, default=100, help="of EM on the Penn Treebank")
    parser.add_argument("--state-sizes", type=int, nargs=2, default=(50, 100), help="Penn Treebank, Wikipedia")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, required=True)
    arguments = parser.parse_args()
    results = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {arguments.threads} threads",
        "ptb": ptb(arguments),
        "wikipedia": wikipedia(arguments),
    }
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "records.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (arguments.results / "records.md").write_text(page(results), encoding="utf-8")
    plot(results, arguments.results / "records.png")
    print(page(results))


def ptb(arguments: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()
    counts = textlds.count([arguments.ptb], threads=arguments.threads, text=PENN_TREEBANK, counting=PENN_TREEBANK_WORDS)
    results: dict[str, Any] = {"tokens": int(counts.tokens), "count_seconds": time.perf_counter() - began, "curves": {}}
    held_out = arguments.ptb_held_out.read_text(encoding="utf-8").splitlines()
    for start in ("subspace", "random"):
        model = textlds.fit(
            counts,
            state_size=arguments.state_sizes[0],
            iterations=arguments.iterations,
            pseudocount=200,
            settings=textlds.FitSettings(start=start, compression="none", observations="words"),  # type: ignore[arg-type]
            threads=arguments.threads,
        )
        results["curves"][start] = [model.history.start, *model.history.log_likelihood]
        results[f"{start}_seconds"] = model.history.seconds[-1]
        results[f"{start}_held_out"] = float(model.log_likelihood(held_out))
        if start == "subspace":
            results["dynamics"] = table(model)
    return results


def wikipedia(arguments: argparse.Namespace) -> dict[str, Any]:
    lines = first_lines(arguments.wikipedia, arguments.tokens)
    began = time.perf_counter()
    counts = textlds.count(texts=lines, vocab_size=50_000, threads=arguments.threads)
    results: dict[str, Any] = {"tokens": int(counts.tokens), "count_seconds": time.perf_counter() - began}
    size = arguments.state_sizes[1]
    options = {"state_size": size, "observations": "words", "threads": arguments.threads}
    model, start = textlds.fit(counts, **options), textlds.fit(counts, iterations=0, **options)
    results["fit_seconds"] = model.history.seconds[-1]
    results["sketch_loss"] = model.history.settings.get("sketch_loss", 0.0)
    results["curve"] = [model.history.start, *model.history.log_likelihood]
    results["dynamics"], results["dynamics of subspace identification alone"] = table(model), table(start)
    results["similar"] = {word: words(model.similar(word, n=8)) for word in WORDS if word in model.vocabulary}
    results["in context"] = [
        [w, text, words(model.similar(w, context=text, n=8))] for w, text in CONTEXTS if w in model.vocabulary
    ]
    sentences = lines[:3000]
    began = time.perf_counter()
    tokens = sum(len(sentence) for sentence in model.embed(sentences, threads=arguments.threads))
    results["embed_rate"] = tokens / (time.perf_counter() - began)
    return results


def table(model: textlds.TextLDS) -> list[list[Any]]:
    return [[round(t.strength, 3), t.source, t.target] for t in model.dynamics(n=6)]


def words(found: list[tuple[str, float]]) -> list[str]:
    return [word for word, _ in found]


def page(results: dict[str, Any]) -> str:
    p, w = results["ptb"], results["wikipedia"]
    subspace, random = p["curves"]["subspace"], p["curves"]["random"]
    lines = [
        "# The model on real text",
        "",
        f"Made by `benchmarks/records.py` ({results['machine']}). Log-likelihoods are nats per token, relative to the",
        "static model, which knows the frequency of words and nothing of their order.",
        "",
        "![Likelihood curves](records.png)",
        "",
        "## Penn Treebank, language-model split",
        "",
        f"{p['tokens']:,} tokens, V = 10,000, h = 50, 200 pseudocounts per type, a boundary token, the full space.",
        f"Counting took {p['count_seconds']:.1f} s, {len(subspace) - 1} iterations {p['subspace_seconds']:.0f} s.",
        "",
        "| start | before EM | 20 iterations | 50 | all | held out |",
        "|---|---|---|---|---|---|",
    ]
    for name, curve in (("subspace identification", subspace), ("random", random)):
        key = name.split()[0]
        steps = [curve[min(n, len(curve) - 1)] for n in (0, 20, 50, len(curve))]
        cells = [*steps, p[f"{key}_held_out"]]
        lines.append(f"| {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    lines += ["", "The strongest transitions of the state:", "", *transitions(p["dynamics"])]
    lines += [
        "",
        "## Wikipedia",
        "",
        f"{w['tokens']:,} tokens of raw text, V = 50,000, h = 100, all else the defaults. Counting took",
        f"{w['count_seconds']:.1f} s, learning {w['fit_seconds']:.1f} s, {len(w['curve']) - 1} iterations on a sketch",
        f"which leaves {100 * w['sketch_loss']:.2f} % of ‖C‖² out. Embedding raw text:",
        f"{w['embed_rate']:,.0f} tokens per second.",
        "",
        "The strongest transitions of the state (the paper's Table 1):",
        "",
        *transitions(w["dynamics"]),
        "",
        "The same after subspace identification alone:",
        "",
        *transitions(w["dynamics of subspace identification alone"]),
        "",
        "| word | nearest words |",
        "|---|---|",
        *(f"| {word} | {' '.join(found)} |" for word, found in w["similar"].items()),
        "",
        "| word | in context | nearest words there |",
        "|---|---|---|",
        *(f"| {word} | {text} | {' '.join(found)} |" for word, text, found in w["in context"]),
        "",
    ]
    return "\n".join(lines)


def transitions(rows: list[list[Any]]) -> list[str]:
    cells = (f"| {strength:.3f} | {escape(source)} | {escape(target)} |" for strength, source, target in rows)
    return ["| σ | from | to |", "|---|---|---|", *cells]


def escape(some: list[str]) -> str:
    return " ".join(f"`{word}`" for word in some).replace("|", "\\|")


def plot(results: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    for name, curve in results["ptb"]["curves"].items():
        left.plot(curve, label=f"{name} start")
    left.set(title="Penn Treebank, h = 50", xlabel="EM iterations", ylabel="nats per token over the static model")
    right.plot(results["wikipedia"]["curve"], label="subspace start")
    right.set(title="Wikipedia, 20M tokens, h = 100", xlabel="EM iterations")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
