"""Table 3 and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import earlier, figures, p_value, signed, significant, spread, values
from benchmarks.paper.report.pictures import BLUE, ORANGE, picture
from benchmarks.recorded import shown

COLUMNS = ("Lex", "Lex + Brown", "Lex + word2vec", "Lex + LDS")
DEFAULT = "Lex + default"
PAPER = {"dev": (93.90, 93.79, 94.14, 94.21), "test": (89.34, 89.76, 90.00, 89.9)}


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    cells = content["cells"]
    path = folder / "ner.png"
    _draw(path, cells)
    columns = _columns(cells)
    kinds = {column: figures(cells, f"{column} / ")[0]["kind"] for column in columns}
    return [
        Text(
            f"F1 of entities, exactly found. Chosen on the development set: "
            f"{'; '.join(f'{column}: {kind}' for column, kind in kinds.items() if column != 'Lex')}."
            f"{_earlier(folder, kinds)}"
        ),
        Table(("", *columns), [*_scores(cells), *_paper(len(columns))]),
        Figure(path, "Entity F1: ours (dots) and the paper's (diamonds)"),
        Table(
            ("test F1", *columns),
            _by_kind(cells),
            "The same by kind of entity",
        ),
        Table(
            ("", "difference, dev", "", "difference, test", ""),
            _tests(cells),
            "Approximate randomisation between columns",
        ),
        Table(("vectors", "penalty and scale", "dev F1"), _search(cells), "The search, on the development set"),
        claims_table(_claims(cells)),
    ]


def _columns(cells: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paper's columns, and that of the default model if it was measured."""
    return (*COLUMNS, DEFAULT) if f"{DEFAULT} / seed 0" in cells else COLUMNS


def _earlier(folder: Path, kinds: Mapping[str, str]) -> str:
    """Say that the test set has been read before, if it has."""
    found, text = earlier(folder, "ner"), ""
    if found:
        text += (
            f" The test set has been read twice for Lex + LDS: a first time before words had profiles and spelling "
            f"with equal weighting; the kind chosen then ({found['kind']}) had a test F1 of {found['test']:.2f}."
        )
    default = earlier(folder, "ner, default")
    if default and default["kind"] != kinds.get(DEFAULT):
        text += (
            f" And twice for {DEFAULT}: a first time before the recipe features was as it is; the kind chosen then "
            f"({default['kind']}) had {default['test']:.2f}."
        )
    return text


def _scores(cells: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (part, *(spread(values(cells, f"{column} / ", part)) for column in _columns(cells))) for part in ("dev", "test")
    ]


def _paper(columns: int) -> list[tuple[str, ...]]:
    blank = ["–"] * (columns - len(COLUMNS))
    return [(f"the paper, {part}", *(f"{value:.2f}" for value in row), *blank) for part, row in PAPER.items()]


def _by_kind(cells: Mapping[str, Any]) -> list[tuple[str, ...]]:
    details = [figures(cells, f"{column} / ")[0]["detail"]["test"] for column in _columns(cells)]
    names = sorted({name for detail in details for name in detail["by_kind"]})
    rows = [(name, *(f"{detail['by_kind'].get(name, 0):.2f}" for detail in details)) for name in names]
    rows += [(name, *(f"{detail[name]:.2f}" for detail in details)) for name in ("precision", "recall")]
    return rows


def _tests(cells: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key, cell in cells.items():
        if " against " in key:
            found = cell["figures"]
            pieces = [(signed(found[part]["difference"]), p_value(found[part]["p"])) for part in ("dev", "test")]
            rows.append((key, *pieces[0], *pieces[1]))
    return rows


def _search(cells: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key, cell in cells.items():
        if key.startswith("dev / "):
            asked = cell["settings"]
            scale = f", scale {asked['crf']['vector_scale']:g}" if "learnt" in asked else ""
            rows.append((asked["kind"], f"c2 {asked['crf']['c2']:g}{scale}", f"{cell['figures']['f1']:.2f}"))
    return rows


def _claims(cells: Mapping[str, Any]) -> list[Claim]:
    made = []
    for column in ("Lex + word2vec", "Lex + LDS", *_columns(cells)[len(COLUMNS) :]):
        test = cells[f"{column} against Lex"]["figures"]["test"]
        made.append(
            Claim(
                f"{column} is above Lex on the test set, by more than chance",
                test["difference"] > 0 and significant(test["p"]),
                f"{signed(test['difference'])} ({p_value(test['p'])})",
            )
        )
    brown = cells["Lex + Brown against Lex"]["figures"]
    made.append(
        Claim(
            "Brown clusters help on the test set and not on the development set",
            brown["test"]["difference"] > 0 >= brown["dev"]["difference"],
            f"test {signed(brown['test']['difference'])} ({p_value(brown['test']['p'])}), dev "
            f"{signed(brown['dev']['difference'])} ({p_value(brown['dev']['p'])})",
        )
    )
    both = cells["Lex + LDS against Lex + word2vec"]["figures"]["test"]
    made.append(
        Claim(
            "LDS and word2vec do not differ by more than chance on the test set",
            not significant(both["p"]),
            f"LDS {signed(both['difference'])} ({p_value(both['p'])})",
        )
    )
    return made


def _draw(path: Path, cells: Mapping[str, Any]) -> None:
    with picture(path, 1, 2, figsize=(9, 2.9)) as (_, both):
        for axes, part in zip(both, ("dev", "test"), strict=True):
            for row, column in enumerate(_columns(cells)):
                some = values(cells, f"{column} / ", part)
                label = "here" if row == 0 else None
                axes.plot(some, [row - 0.12] * len(some), "o", color=BLUE, alpha=0.7, label=label)
                mean = float(np.mean(some))
                axes.text(mean, row - 0.24, f"{mean:.2f}", ha="center", va="bottom", fontsize=8, color=BLUE)
                if row < len(COLUMNS):
                    label = "the paper" if row == 0 else None
                    axes.plot(PAPER[part][row], row + 0.14, "D", color=ORANGE, markersize=5, label=label)
            names = _columns(cells)
            axes.set_yticks(range(len(names)), list(map(shown, names)) if part == "dev" else [""] * len(names))
            axes.set(
                ylim=(len(names) - 0.5, -0.6), xlabel="entity F1", title="Development" if part == "dev" else "Test"
            )
            axes.margins(x=0.15)
        both[1].legend(loc="best", fontsize=8)
