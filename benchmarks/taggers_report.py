"""The page and the picture of benchmarks/taggers.py, of what is stored in taggers.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

OURS = "textlds"
_NOTES = {
    "UDPipe 1": " UDPipe 1 is trained for ten iterations, of which the best one on the development set is kept.",
    "spaCy + floret": " floret's vectors have 200 numbers and were learnt in one pass over the same text.",
}
_BEFORE = (
    " † was measured earlier, with textlds as it was then, on another machine, whose minutes and rates do not compare; "
    "its p is of the difference to textlds of then."
)
_SETS = {"test": "test set", "dev": "development set"}


def page(results: dict[str, Any]) -> str:
    """Return what was found as Markdown."""
    kinds = [row for found in results.values() for kind in ("rows", "curve") for row in found.get(kind, [])]
    before = any(row.get("before") for row in kinds)
    names = {row["name"] for row in kinds}
    lines = [
        "# Taggers", "",
        "Printed by `python -m benchmarks.taggers`, which says what each figure is. All taggers learn from the same "
        "labelled sentences with their tokens on one thread; minutes and rates are of processor time on a machine with "
        "other work on it, so that ratios count. Rates are from raw text to tags by each tagger's own tokeniser. ± is "
        "the standard deviation over seeds; p is of the difference to textlds (McNemar's exact test for tags, "
        "approximate randomisation for entities; first seeds). The transformer is small and reads lower case. "
        "Words only has all hashed features but clusters, which are of vectors: words, affixes, shapes, neighbours, "
        "the words beside the same word elsewhere in the document."
        + "".join(note for name, note in _NOTES.items() if name in names)
        + _BEFORE * before, "",
    ]  # fmt: skip
    for name, found in results.items():
        lines += [f"## {name}", ""]
        if found.get("rows"):
            lines += [*_rows(found), ""]
        if found.get("curve"):
            lines += [*_curve(found), ""]
        if found.get("genres"):
            lines += [*_genres(found["genres"]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(found: dict[str, Any]) -> list[str]:
    tags = found["task"] == "tags"
    measure = "accuracy" if tags else "F1"
    part = _SETS[found["rows"][0]["set"]]
    head = ["tagger", measure, *(["known", "unknown"] if tags else []), "seeds", "p", "minutes", "MB", "tokens/s"]
    rows = []
    for row in sorted(found["rows"], key=lambda row: (row["name"] != OURS, -row["mean"])):
        seeds = len(row["seeds"])
        value = f"{row['mean']:.2f}" + (f" ± {row['spread']:.2f}" if seeds > 1 else "")
        words = [f"{row[kind]:.1f}" for kind in ("known", "unknown")] if tags else []
        against = row.get("against textlds")
        rate = f"{row['tokens_per_second']:,.0f}" if "tokens_per_second" in row else ""
        name = row["name"] + " †" * row.get("before", False)
        rows.append([name, value, *words, str(seeds), _p(against), f"{row['minutes']:.1f}",
                     f"{row['bytes'] / 1e6:.0f}", rate])  # fmt: skip
    return [f"{found['tokens']:,} labelled tokens; {measure} on the {part}, per cent.", "", *_table(head, rows)]


def _p(against: dict[str, Any] | None) -> str:
    if against is None:
        return ""
    return "< 0.001" if against["p"] < 0.001 else f"{against['p']:.3f}"


def _curve(found: dict[str, Any]) -> list[str]:
    sizes = sorted({row["sentences"] for row in found["curve"]})
    cells = {(row["name"], row["sentences"]): row for row in found["curve"]}
    names = list(dict.fromkeys(row["name"] for row in found["curve"]))
    rows = []
    for name in names:
        values = [cells.get((name, size)) for size in sizes]
        rows.append([name, *("" if one is None else _drawn(one) for one in values)])
    measure = "Accuracy" if found["task"] == "tags" else "F1"
    about = (
        f"{measure} by the number of labelled sentences, mean of so many draws (all sentences are one draw), on a "
        "half of the development set. No "
        "tagger chose its rounds there, but how ours is made (its second layer, and from how many labels on) was "
        "chosen on the whole development set."
    )
    return [about, "", *_table(["tagger", *(f"{size:,}" for size in sizes)], rows)]


def _drawn(row: dict[str, Any]) -> str:
    return f"{row['mean']:.1f} ({len(row['values'])})" + " †" * row.get("before", False)


def _genres(found: list[dict[str, Any]]) -> list[str]:
    genres = list(dict.fromkeys(row["genre"] for row in found))
    cells = {(row["name"], row["genre"]): row["value"] for row in found}
    rows = []
    for name in dict.fromkeys(row["name"] for row in found):
        values = [cells.get((name, genre)) for genre in genres]
        rows.append([name, *("" if value is None else f"{value:.1f}" for value in values)])
    return ["Trained on one genre, measured on the others of the development set.", "", *_table(["", *genres], rows)]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def plot(found: dict[str, Any], title: str, path: Path) -> None:
    """Draw accuracy against speed of whole taggers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    rows = [row for row in found["rows"] if "tokens_per_second" in row]
    for row in rows:
        own, before = row["name"].startswith(OURS), row.get("before", False)
        color = "C3" if own else "C0"
        axes.plot(row["tokens_per_second"], row["mean"], "o" if own else "s", color=color,
                  markerfacecolor="none" if before else color)  # fmt: skip
        left = row["tokens_per_second"] > 30_000
        axes.annotate(row["name"] + " †" * before, (row["tokens_per_second"], row["mean"]),
                      xytext=(-7 if left else 7, -3), textcoords="offset points",
                      ha="right" if left else "left", fontsize=8)  # fmt: skip
    axes.set(xscale="log", xlabel="tokens per second from raw text to tags, one thread",
             ylabel=f"{'accuracy' if found['task'] == 'tags' else 'F1'}, test set, %",
             title=title + "; † on an earlier, slower machine" * any(row.get("before") for row in rows))  # fmt: skip
    axes.margins(0.15)
    axes.grid(alpha=0.3, which="both")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
