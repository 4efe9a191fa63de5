"""Where EM starts from, and how far it comes: the likelihood from three starts, for both kinds of observation.

    python -m benchmarks.starts TEXT [--tokens 5e6] [--state-size 100] [--iterations 20] [--results FOLDER]

Nats per token, relative to the static model, before the first iteration and after each; and the median of φ at the
start, which is 1 in a direction of which a word says nothing. Likelihoods of the two kinds do not compare.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.texts import first_lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--tokens", type=float, default=5e6)
    parser.add_argument("--state-size", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, help="folder for starts.json")
    arguments = parser.parse_args()
    counts = textlds.count(texts=first_lines(arguments.text, arguments.tokens), threads=arguments.threads)
    rows: list[dict[str, Any]] = []
    for observations in ("profiles", "words"):
        for start in ("neighbours", "subspace", "random"):
            settings = textlds.FitSettings(observations=observations, start=start)  # type: ignore[arg-type]
            first: list[float] = []

            def look(step: Any, first: list[float] = first) -> None:
                if step.iteration == 0:
                    first.append(float(np.median(step.model().spaces.engine("float64").system.shrink)))

            model = textlds.fit(
                counts, state_size=arguments.state_size, iterations=arguments.iterations, settings=settings,
                callback=look, threads=arguments.threads,
            )  # fmt: skip
            curve = [model.history.start, *model.history.log_likelihood]
            rows.append({"observations": observations, "start": start, "shrink": first[0], "log_likelihood": curve})
            shown = " ".join(f"{curve[i]:6.2f}" for i in range(0, len(curve), 5))
            print(f"{observations:<9} {start:<11} φ {first[0]:.2f}   {shown}", flush=True)
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        facts = {"tokens": int(counts.tokens), "state_size": arguments.state_size, "rows": rows}
        (arguments.results / "starts.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
