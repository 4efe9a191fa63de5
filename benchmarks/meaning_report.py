"""The page of benchmarks/meaning.py."""

from __future__ import annotations

from typing import Any


def page(results: dict[str, Any]) -> str:
    """Return what was found as Markdown."""
    model = results["model"]
    tokens = f"{model['tokens'] / 1e6:.0f}M tokens, " if model.get("tokens") else ""
    lines = ["# Meaning", ""]
    lines += [f"Printed by `python -m benchmarks.meaning`, which says what each figure is. {tokens}{model['words']:,} "
              f"words, {model['state_size']} dimensions.", ""]  # fmt: skip
    if "similarity" in results:
        names = list(next(iter(results["similarity"].values())))
        rows = [
            [kind, *(f"{found[name]['rho']:.1f}" for name in names)] for kind, found in results["similarity"].items()
        ]
        for kind, found in results["similarity"].items():
            rows.append([f"{kind}, frequent words", *(f"{found[name]['rho of frequent']:.1f}" for name in names)])
        found = next(iter(results["similarity"].values()))
        rows.append(["pairs found", *(f"{found[name]['found']} of {found[name]['pairs']}" for name in names)])
        rows.append(["of these frequent", *(str(found[name]["frequent"]) for name in names)])
        lines += ["## Words alone", "", "Spearman's correlation with people, times 100, on the half of each set that "
                  "nothing was chosen on.", "", *_table(["vectors", *names], rows)]  # fmt: skip
    if "context" in results:
        found = results["context"]
        rows = [[name, f"{rho:.1f}"] for name, rho in found["rho"].items()]
        share = found["bootstrap samples in which context is better"]
        lines += ["## Words in context", "", f"SCWS, {found['pairs']} pairs that nothing was chosen on. The word in "
                  f"context is better than the word alone in {share:.1%} of bootstrap samples.", "",
                  *_table(["vectors", "SCWS"], rows)]  # fmt: skip
    if "analogies" in results:
        rows = [
            [kind, *(f"{found[k]['right']:.1f} of {found[k]['questions']:,}" for k in found)]
            for kind, found in results["analogies"].items()
        ]
        kinds = list(next(iter(results["analogies"].values())))
        lines += ["## Analogies", "", "Per cent right.", "", *_table(["vectors", *kinds], rows)]
    if "new words" in results:
        keys = [key for key in results["new words"][0] if key not in ("from", "to", "words")]
        rows = [
            [f"{row['from']:,} to {row['to']:,}", row["words"], *(f"{row[key]:.2f}" for key in keys)]
            for row in results["new words"]
        ]
        lines += ["## New words", "", "Mean cosine of the predicted vector with the one from all the text; these words "
                  "were hidden from both regressions.", "", *_table(["occurrences", "words", *keys], rows)]  # fmt: skip
    if "cost" in results:
        rows = [
            [
                name,
                f"{row['tokens'] / 1e6:.0f}M",
                f"{row['processor seconds']:.0f} s",
                f"{row['peak bytes'] / 1e9:.1f} GB",
            ]
            for name, row in results["cost"].items()
        ]
        lines += ["## Cost", "", *_table(["", "tokens", "processor time", "peak memory"], rows)]
    if "ambiguous" in results:
        lines += ["## Neighbours in context", "", *_table(["word", "context", "neighbours"], results["ambiguous"])]
    return "\n".join(lines)


def _table(head: list[Any], rows: list[list[Any]]) -> list[str]:
    made = [f"| {' | '.join(map(str, head))} |", "|---" * len(head) + "|"]
    return [*made, *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows), ""]
