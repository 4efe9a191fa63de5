"""Where EM starts from, and how far it comes: the likelihood from three starts, for both kinds of observation.

    python -m benchmarks.starts TEXT [--tokens 5e6] [--state-size 100] [--iterations 20] [--results FOLDER]

Nats per token, relative to the static model, before the first iteration and after each (those of the two kinds of
observation do not compare); the median of φ at the start, which is 1 in a direction of which a word says nothing; and
the signal that the start sees, the mean over directions u of uᵀ C Σ Cᵀ u, which is 1 where the state explains all of
an observation: in the h / 4 directions in which neighbours agree most (left singular vectors of Ψ_1), and in those in
which words seven apart do (of Ψ_7). The neighbours' start is also tried with as little signal as the others see. Rows
that are there already are kept.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.texts import first_lines, markdown_table
from textlds.learn import ssid
from textlds.learn.moments import Moments, word_moments
from textlds.learn.run import make_sketch
from textlds.lexicon.observed import ObservedLexicon
from textlds.linalg.tall import Tall
from textlds.progress import SilentProgress

KINDS = ("profiles", "words")
LITTLE = 0.03  # signal
STARTS = ("neighbours", "subspace", "random", f"neighbours, s = {LITTLE}")
LAGS = (1, 7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--tokens", type=float, default=5e6)
    parser.add_argument("--state-size", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--observations", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, help="folder for starts.json and starts.md")
    arguments = parser.parse_args()
    counts = textlds.count(texts=first_lines(arguments.text, arguments.tokens), threads=arguments.threads)
    path = arguments.results and arguments.results / "starts.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"] if path and path.exists() else []
    usual = ssid.SIGNAL
    for observations in arguments.observations:
        directions: dict[int, Tall] = {}  # the same for all starts
        for start in STARTS:
            if any((row["observations"], row["start"]) == (observations, start) for row in rows):
                continue
            first: dict[str, Any] = {}

            def look(step: Any, first: dict[str, Any] = first, directions: dict[int, Tall] = directions) -> None:
                if step.iteration == 0:
                    model = step.model()
                    if not directions:
                        directions |= agreeing(counts, model, arguments.threads)
                    first["shrink"] = float(np.median(model.spaces.engine("float64").system.shrink))
                    first["signal"] = {str(lag): signal(model, found) for lag, found in directions.items()}

            kind, _, little = start.partition(", ")
            ssid.SIGNAL = LITTLE if little else usual
            settings = textlds.FitSettings(observations=observations, start=kind)  # type: ignore[arg-type]
            model = textlds.fit(
                counts, state_size=arguments.state_size, iterations=arguments.iterations, settings=settings,
                callback=look, threads=arguments.threads,
            )  # fmt: skip
            curve = [model.history.start, *model.history.log_likelihood]
            rows.append({"observations": observations, "start": start, **first, "log_likelihood": curve})
            print(*_row(rows[-1]), sep="   ", flush=True)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.sort(key=lambda row: (row["observations"], STARTS.index(row["start"])))
        facts = {"tokens": int(counts.tokens), "state_size": arguments.state_size, "rows": rows}
        path.write_text(json.dumps(facts, indent=1) + "\n")
        path.with_suffix(".md").write_text(report(facts), encoding="utf-8")


def agreeing(counts: textlds.LagCounts, model: textlds.TextLDS, threads: int) -> dict[int, Tall]:
    """Return the directions of words in which those so many positions apart agree most, (V, h / 4) for every lag."""
    used = model.history.settings["pseudocount_used"]
    words = word_moments(counts.unigrams, counts.lags, pseudocount=used, threads=threads)
    if isinstance(model.lexicon, ObservedLexicon):
        basis = model.lexicon.basis(words.frequencies, threads)
    else:
        basis = _sketched(words, model.history.settings["sketch_size"], threads)
    found = {}
    for lag in LAGS:
        small = basis.T @ words.lags[lag - 1].matmat(basis)
        found[lag] = basis @ np.linalg.svd(small)[0][:, : -(-model.state_size // 4)].astype(np.float32)
    return found


def _sketched(words: Moments, size: int, threads: int) -> Tall:
    return make_sketch(words, size, 0, threads, SilentProgress()).basis  # type: ignore[arg-type]


def signal(model: textlds.TextLDS, directions: Tall) -> float:
    """Return the mean share of an observation that is signal in these directions."""
    params = model.params
    seen = directions.T @ params.C
    return float(np.einsum("ih,hk,ik->", seen, params.cov_stationary(), seen) / directions.shape[1])


def _row(row: dict[str, Any]) -> list[str]:
    kind = row["observations"] if row["observations"] == "profiles" else "words, on the sketch"
    curve = row["log_likelihood"]
    shown = [f"{curve[i]:.2f}".replace("-", "−") for i in (0, 5, 10, 20) if i < len(curve)]
    return [kind, row["start"], f"{row['shrink']:.2f}", *(f"{row['signal'][str(lag)]:.3f}" for lag in LAGS), *shown]


def report(facts: dict[str, Any]) -> str:
    """Return the figures as a page."""
    head = ["observations", "start", "median φ", *(f"signal, lag {lag}" for lag in LAGS)]
    steps = [str(i) for i in (0, 5, 10, 20) if i < len(facts["rows"][0]["log_likelihood"])]
    return "\n".join(
        [
            "# Where EM starts",
            "",
            f"{facts['tokens'] / 1e6:.1f} million tokens of Wikipedia, h = {facts['state_size']}. Nats per token after "
            "so many iterations; the median of φ at the start; and the share of an observation that the start calls "
            "signal, in the h / 4 directions in which words so many positions apart agree most. `python -m "
            "benchmarks.starts` prints these figures.",
            "",
            *markdown_table([*head, *steps], [_row(row) for row in facts["rows"]]),
        ]
    )


if __name__ == "__main__":
    main()
