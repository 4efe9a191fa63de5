"""Table 2 and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import figures, p_value, signed, significant, spread
from benchmarks.paper.report.pictures import BLUE, GREEN, GREY, ORANGE, picture
from benchmarks.paper.treebanks import NAMES

Cells = Mapping[str, Any]
TAGS = {"universal": "universal tags", "ptb": "PTB tags"}
PAPER = {
    "universal": {
        "word2vec": 95.00, "SSID": 89.26, "EM": 96.44, "Lex": 97.97, "Lex + EM": 98.05, "Lex + word2vec": 98.02,
    },
    "ptb": {"word2vec": 92.58, "SSID": 83.00, "EM": 94.30, "Lex": 97.28, "Lex + EM": 97.32, "Lex + word2vec": 97.35},
}  # fmt: skip
UNITS = 25  # the paper's


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    cells = content["cells"]
    path = folder / "pos.png"
    _draw(path, cells)
    blocks: list[Block] = [
        Text(_chosen(cells)),
        Table(
            ("test set", *_columns(cells)),
            _main_rows(cells),
            f"Accuracy on the test sets, local classifiers with {UNITS} hidden units",
        ),
        Figure(path, "Accuracy on the test sets (dots, a seed each; diamonds are the paper's, on its own corpus)"),
    ]
    return [
        *blocks,
        *(_with_units(cells, units) for units in _units(cells) if units != UNITS),
        Table(("test set", *_columns(cells)), _by_words(cells), f"Known and unknown words ({UNITS} units)"),
        Table(("dev set", *_columns(cells)), _dev_rows(cells), f"Development sets ({UNITS} units)"),
        *_tests(cells),
        Table(("trial", "chosen by", "dev"), _search(cells), "The searches, on development sets"),
        claims_table(_claims(cells)),
    ]


def _chosen(cells: Cells) -> str:
    word2vec = _settings(cells, "word2vec")
    iterations = {name: _settings(cells, name)["iteration"] for name in _local(cells) if name.startswith("EM")}
    stops = "; ".join(f"{name}: {n}" for name, n in iterations.items())
    return (
        f"Per cent of words. Chosen on development sets: word2vec with window {word2vec['window']}, "
        f"{word2vec['epochs']} epochs, {word2vec['size']} dimensions; iterations of EM: {stops}. Words are known if "
        f"the treebank's training part has them."
    )


def _settings(cells: Cells, column: str) -> dict[str, Any]:
    found: dict[str, Any] = cells[f"ewt / {column} / seed 0"]["settings"]
    return found


def _tasks() -> list[tuple[str, str]]:
    return [(bank, tags) for bank in NAMES for tags in TAGS]


def _columns(cells: Cells) -> list[str]:
    """Return all columns in the order of the cells."""
    keys = [key.split(" / ") for key in cells]
    return [key[1] for key in keys if key[0] == "ewt" and key[-1] == "seed 0"]


def _lexical(cells: Cells) -> list[str]:
    return [column for column in _columns(cells) if column.startswith("Lex")]


def _local(cells: Cells) -> list[str]:
    return [column for column in _columns(cells) if not column.startswith("Lex")]


def _units(cells: Cells) -> list[int]:
    scores = figures(cells, "ewt / word2vec / seed 0")[0]["scores"]
    return sorted({int(name.split(", ")[1]) for name in scores})


def _name(column: str, tags: str, units: int) -> str:
    """Return the name of a column's scores: CRFs have no hidden units."""
    return tags if column.startswith("Lex") else f"{tags}, {units}"


def _scores(
    cells: Cells, bank: str, column: str, tags: str, units: int = UNITS, *, part: str = "test", words: str = "all"
) -> list[float]:
    """Return the accuracies of a column, one a seed; none where no word is of that kind."""
    name = _name(column, tags, units)
    found = [one["scores"][name][part][words] for one in figures(cells, f"{bank} / {column} / seed ")]
    return [float(value) for value in found if value is not None]


def _row(
    cells: Cells, bank: str, tags: str, columns: Sequence[str], units: int = UNITS, **kind: str
) -> tuple[str, ...]:
    label = f"{NAMES[bank]}, {TAGS[tags]}"  # type: ignore[index]
    return (label, *(spread(_scores(cells, bank, column, tags, units, **kind)) for column in columns))


def _main_rows(cells: Cells) -> list[tuple[str, ...]]:
    columns = _columns(cells)
    rows = [_row(cells, bank, tags, columns) for bank, tags in _tasks()]
    for tags, known in PAPER.items():
        rows.append((f"the paper, {TAGS[tags]}", *(f"{known[name]:.2f}" if name in known else "–" for name in columns)))
    return rows


def _with_units(cells: Cells, units: int) -> Table:
    rows = [_row(cells, bank, tags, _local(cells), units) for bank, tags in _tasks()]
    return Table(("test set", *_local(cells)), rows, f"The same with {units} hidden units")


def _by_words(cells: Cells) -> list[tuple[str, ...]]:
    rows = []
    for bank, tags in _tasks():
        for words in ("known", "unknown"):
            name, *values = _row(cells, bank, tags, _columns(cells), words=words)
            rows.append((f"{name}, {words}", *values))
    return rows


def _dev_rows(cells: Cells) -> list[tuple[str, ...]]:
    return [_row(cells, bank, tags, _columns(cells), part="dev") for bank, tags in _tasks()]


def _tests(cells: Cells) -> list[Block]:
    """Return the tests between neighbouring columns of interest, a table a group."""
    pairs = [
        ("EM", "word2vec"), ("word2vec", "SSID"), ("EM", "SSID"), *((best, "word2vec ± 1") for best in _best(cells)),
        *((best, "EM") for best in _best(cells)), ("Lex + EM", "Lex"), ("Lex + word2vec", "Lex"),
        ("Lex + EM", "Lex + word2vec"), *((column, "Lex") for column in _lexical(cells)[3:]),
    ]  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for first, second in dict.fromkeys(pairs):
        cells_of_row = [f"{first} over {second}"]
        for bank, tags in _tasks():
            difference, p = _compared(cells, bank, tags, first, second)
            cells_of_row.append(f"{signed(difference)} ({p_value(p)})")
        rows.append(tuple(cells_of_row))
    head = ("", *(f"{NAMES[bank]}, {TAGS[tags]}" for bank, tags in _tasks()))  # type: ignore[index]
    return [Table(head, rows, f"Points of test accuracy, and McNemar's exact test of it (seed 0, {UNITS} units)")]


def _best(cells: Cells) -> list[str]:
    """Return the columns with more than the paper's vector."""
    return [column for column in _local(cells) if column.startswith("EM, ")]


def _compared(cells: Cells, bank: str, tags: str, first: str, second: str, units: int = UNITS) -> tuple[float, float]:
    """Return by how much the first column is above the second with seed 0, and the probability of it by chance."""
    found = cells[f"{bank} / tests"]["figures"][_name(first, tags, units)]
    test = found.get(f"{first} against {second}") or found[f"{second} against {first}"]
    scores = [_scores(cells, bank, column, tags, units)[0] for column in (first, second)]
    return scores[0] - scores[1], float(test["p"])


def _search(cells: Cells) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key, cell in cells.items():
        if key.startswith("search / "):
            lexical = " / Lex" in key
            by = "universal tags of that treebank" if lexical else "mean of both treebanks and tag sets"
            rows.append((key.removeprefix("search / "), by, f"{cell['figures']['dev']:.2f}"))
    return rows


def _claims(cells: Cells) -> list[Claim]:
    made = [_above(cells, "EM", "word2vec"), _above(cells, "word2vec", "SSID"), _reduction(cells)]
    best = max(_best(cells), key=lambda name: np.mean(_scores(cells, "ewt", name, "universal", part="dev")))
    made.append(_above(cells, best, "word2vec ± 1"))
    if "transformer" in _columns(cells):
        ours, theirs = (float(np.mean(_scores(cells, "ewt", name, "universal"))) for name in (best, "transformer"))
        made.append(
            Claim(
                f"{best} is within 3 points of the transformer on UD EWT, universal tags",
                theirs - ours <= 3,
                f"{ours:.2f} against {theirs:.2f}",
            )
        )
    return [*made, *(_above(cells, column, "Lex", tags=("universal",)) for column in _lexical(cells)[1:])]


def _above(cells: Cells, first: str, second: str, *, tags: Sequence[str] = tuple(TAGS)) -> Claim:
    found = {(bank, kind): _compared(cells, bank, kind, first, second) for bank, kind in _tasks() if kind in tags}
    details = (
        f"{NAMES[bank]}, {TAGS[kind]}: {signed(difference)} ({p_value(p)})"  # type: ignore[index]
        for (bank, kind), (difference, p) in found.items()
    )
    holds = all(difference > 0 and significant(p) for difference, p in found.values())
    where = "everywhere" if len(tags) > 1 else f"on {TAGS[tags[0]]} of both treebanks"
    return Claim(f"{first} is above {second} {where}, by more than chance", holds, "; ".join(details))


def _reduction(cells: Cells) -> Claim:
    shares = {}
    for bank in NAMES:
        ours, theirs = (100 - float(np.mean(_scores(cells, bank, name, "universal"))) for name in ("EM", "word2vec"))
        shares[bank] = 100 * (theirs - ours) / max(theirs, 1e-9)
    return Claim(
        "EM makes at least 20 % fewer mistakes than word2vec on universal tags (the paper: 29 %)",
        all(share >= 20 for share in shares.values()),
        "; ".join(f"{NAMES[bank]}: {share:.0f} %" for bank, share in shares.items()),
    )


def _draw(path: Path, cells: Cells) -> None:
    columns = _columns(cells)
    with picture(path, 2, 2, figsize=(10, 0.42 * 2 * len(columns) + 1.6), sharey=True) as (_, grid):
        for axes, (bank, tags) in zip(grid.flat, _tasks(), strict=True):
            for row, column in enumerate(columns):
                colour = GREEN if column.startswith("Lex") else BLUE if column[:2] in ("EM", "SS") else GREY
                some = _scores(cells, bank, column, tags)
                axes.plot(some, [row] * len(some), "o", color=colour, alpha=0.7)
                axes.text(max(some), row, f"  {np.mean(some):.1f}", va="center", fontsize=8, color=colour)
                if column in PAPER[tags]:
                    axes.plot(PAPER[tags][column], row, "D", color=ORANGE, markersize=4)
            axes.set_yticks(range(len(columns)), columns)
            axes.set(title=f"{NAMES[bank]}, {TAGS[tags]}", ylim=(len(columns) - 0.5, -0.5))  # type: ignore[index]
            axes.margins(x=0.15)
