"""The page of benchmarks/meaning.py."""

from __future__ import annotations

from typing import Any


def page(results: dict[str, Any]) -> str:
    """Return what was found as Markdown."""
    lines = [
        "# Meaning",
        "",
        "Printed by `python -m benchmarks.meaning`, which says what each figure is. Vectors have 300 dimensions, those "
        "of use as many as the state has, unless a row names another number.",
        "",
    ]
    amounts = results.get("amounts", {})
    for amount, found in sorted(results.get("words", {}).items(), key=lambda item: -float(item[0].split("M")[0])):
        lines += [f"## Words alone, {amount}", "", *_similarity(found["similarity"])]
        if "analogies" in found:
            lines += ["Google's analogies, per cent right:", "", *_analogies(found["analogies"])]
    if "context" in results:
        found = results["context"]
        rows = [[name, f"{rho:.1f}"] for name, rho in found["rho"].items()]
        share = found["bootstrap samples in which context is better"]
        text = (
            f"SCWS, {found['pairs']} pairs that nothing was chosen on. The word in context is better than the word "
            f"alone in {share:.1%} of bootstrap samples."
        )
        lines += [f"## Words in context, {amounts['context']}", "", text, "", *table(["vectors", "SCWS"], rows)]
    if "new words" in results:
        keys = [key for row in results["new words"] for key in row if key not in ("from", "to", "words")]
        keys = list(dict.fromkeys(keys))
        rows = [
            [
                f"{row['from']:,} to {row['to']:,}",
                row["words"],
                *(f"{row[key]:.2f}" if key in row else "" for key in keys),
            ]
            for row in results["new words"]
        ]
        text = (
            "Mean cosine of the predicted vector with the one from all the text, from the spelling, from 1, 4 or 16 "
            "contexts, and from both. These words were hidden from both regressions."
        )
        lines += [f"## New words, {amounts['new words']}", "", text, "", *table(["occurrences", "words", *keys], rows)]
    if "cost" in results:
        rows = [
            [amount, name, f"{row['processor seconds']:.0f} s", f"{row['peak bytes'] / 1e9:.1f} GB",
             f"{row['bytes of the counts'] / 1e9:.1f} GB"]
            for amount, found in results["cost"].items() for name, row in found.items()
        ]  # fmt: skip
        head = ["text", "", "processor time", "peak memory", "of which the counts"]
        lines += ["## Cost", "", "100,000 words, one thread.", "", *table(head, rows)]
    if "ambiguous" in results:
        lines += [
            f"## Neighbours in context, {amounts['ambiguous']}",
            "",
            *table(["word", "context", "neighbours"], results["ambiguous"]),
        ]
    return "\n".join(lines)


def _similarity(found: dict[str, Any]) -> list[str]:
    found = dict(sorted(found.items(), key=lambda item: item[0] != "meaning"))  # ours first; peers of other runs stay
    sets = next(iter(found.values()))["sets"]
    names, rows = list(sets), []
    for key, told in (("rho", ""), ("rho of frequent", ", frequent words"), ("rho of the whole set", ", whole sets"),
                      ("rho of frequent, whole set", ", frequent words, whole sets"),
                      ("rho with unknown words", ", unknown words by their spelling")):  # fmt: skip
        for kind, one in found.items():
            if key in one["sets"][names[0]]:
                seconds = f"{one['seconds']:,.0f} s" if one["seconds"] and key == "rho" else ""
                rows.append([f"{kind}{told}", *(f"{one['sets'][name][key]:.1f}" for name in names), seconds])
    for kind, one in found.items():
        shares = [one["sets"][name].get("samples in which meaning is above") for name in names]
        if None not in shares:
            rows.append([f"bootstrap samples in which meaning is above {kind}", *(f"{s:.0%}" for s in shares), ""])
    rows.append(["pairs found", *(f"{sets[name]['found']} of {sets[name]['pairs']}" for name in names), ""])
    rows.append(["of these frequent", *(str(sets[name]["frequent"]) for name in names), ""])
    text = (
        "Spearman's correlation with people, times 100, on the half of each set that nothing was chosen on, unless it "
        "says whole sets. Frequent are the 50,000 most frequent words. The time is processor time of learning."
    )
    return [text, "", *table(["vectors", *names, "time"], rows)]


def _analogies(found: dict[str, Any]) -> list[str]:
    kinds = list(next(iter(found.values())))
    rows = [
        [name, *(f"{one[k]['right']:.1f} of {one[k]['questions']:,}" for k in kinds)] for name, one in found.items()
    ]
    return table(["vectors", *kinds], rows)


def table(head: list[Any], rows: list[list[Any]]) -> list[str]:
    """Return a table as lines of Markdown."""
    made = [f"| {' | '.join(map(str, head))} |", "|---" * len(head) + "|"]
    return [*made, *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows), ""]
