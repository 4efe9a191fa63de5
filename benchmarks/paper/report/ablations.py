"""The table of ablations and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import figures, signed, spread, tagger, tokens
from benchmarks.paper.report.pictures import BLUE, GREEN, GREY, ORANGE, RED, picture
from benchmarks.recorded import shown

BANKS = {"ewt": "EWT", "ptb": "Penn Treebank"}
COLOURS = (BLUE, GREEN, ORANGE, RED)
LIMIT = 4.0  # points: what is farther away would squeeze the rest together


@dataclass(frozen=True)
class Base:
    """Means and spreads of the base over its seeds, by measure."""

    mean: Mapping[str, float]
    spread: Mapping[str, float]

    def difference(self, found: Mapping[str, Any], name: str) -> float:
        """Return how far a row is above the base."""
        return float(found[name] - self.mean[name])

    def matters(self, found: Mapping[str, Any], name: str) -> bool:
        """Tell whether a row differs by more than twice the spread over seeds (at least a tenth of a point)."""
        return abs(self.difference(found, name)) > max(2 * self.spread[name], 0.1)


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    cells = content["cells"]
    seeds = figures(cells, "base / ")
    names = [name for name in seeds[0] if name != "log_likelihood"]
    base = Base(
        {name: float(np.mean([found[name] for found in seeds])) for name in names},
        {name: float(np.std([found[name] for found in seeds], ddof=1)) if len(seeds) > 1 else 0.0 for name in names},
    )
    path = folder / "ablations.png"
    rows = [(cell["settings"], cell["figures"]) for key, cell in cells.items() if not key.startswith("base / ")]
    _draw(path, rows, base, names)
    asked = cells["base / seed 0"]["settings"]
    return [
        Text(
            f"The base: {_base(asked)}. Accuracy on development sets, universal tags "
            f"({tagger(asked['classifier'])}). Each row changes one setting of the base; differences in points, bold "
            f"where they exceed twice the base's standard deviation over {len(seeds)} seeds and a tenth of a point. "
            f"One seed a row."
        ),
        Table(
            ("", "", *map(_title, names)),
            [
                ("base", "", *(spread([found[name] for found in seeds]) for name in names)),
                *((s["group"], s["name"], *(_entry(base, found, name) for name in names)) for s, found in rows),
            ],
        ),
        Figure(path, "Accuracy of each change against the base, points"),
        claims_table(_claims(cells, base, names)),
    ]


def _base(asked: Mapping[str, Any]) -> str:
    count, fit = asked["count"], asked["fit"]
    options = ", ".join(f"{name} {value}" for name, value in {**count, **fit}.items() if name != "seed")
    return f"{tokens(asked['tokens'])}, {options}"


def _title(name: str) -> str:
    bank, _, parts = name.partition(", ")
    return f"{BANKS[bank]}, {parts}"


def _entry(base: Base, found: Mapping[str, Any], name: str) -> str:
    text = signed(base.difference(found, name))
    return f"**{text}**" if base.matters(found, name) else text


def _claims(cells: Mapping[str, Any], base: Base, names: Sequence[str]) -> list[Claim]:
    made = []
    first = [name for name in names if name.endswith("state")]

    def lower(key: str, claim: str) -> None:
        if key in cells:
            found = cells[key]["figures"]
            text = ", ".join(f"{_title(name)} {signed(base.difference(found, name))}" for name in first)
            made.append(Claim(claim, all(base.difference(found, name) < 0 for name in first), text))

    for kind in ("diagonal", "spherical", "bohning"):
        lower(f"noise / {kind}", f"{kind.replace('bohning', 'Böhning')} noise is worse than full noise")
    lower("start / subspace identification alone", "subspace identification alone is worse than EM after it")
    lower("start / random", "EM from a random start is worse than from subspace identification")
    pair = [f"start / {name}" for name in ("the same, not whitened", "subspace identification alone")]
    if all(key in cells for key in pair):
        plain, whitened = (cells[key]["figures"] for key in pair)
        text = ", ".join(f"{_title(name)} {signed(whitened[name] - plain[name])}" for name in first)
        made.append(
            Claim("whitening helps subspace identification", all(whitened[name] > plain[name] for name in first), text)
        )
    return made


def _draw(path: Path, rows: Sequence[tuple[Any, Any]], base: Base, names: Sequence[str]) -> None:
    labels = [f"{asked['group']}: {asked['name']}" for asked, _ in rows]
    with picture(path, figsize=(9, 0.27 * len(rows) + 1.5)) as (figure, axes):
        for number, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
            values = np.array([base.difference(found, name) for _, found in rows])
            places = np.arange(len(rows)) + (number - (len(names) - 1) / 2) * 0.14
            inside = np.abs(values) <= LIMIT
            axes.plot(values[inside], places[inside], "o", color=colour, markersize=4.5, label=_title(name))
            for sign, mark in ((-1, "<"), (1, ">")):
                beyond = sign * values > LIMIT
                axes.plot(np.full(beyond.sum(), sign * LIMIT), places[beyond], mark, color=colour, markersize=5)
        widest = max(base.spread.values())
        axes.axvspan(-2 * widest, 2 * widest, color=GREY, alpha=0.15, linewidth=0, label="seeds, ± 2 σ")
        axes.axvline(0, color=GREY, linewidth=1)
        for row in range(1, len(rows)):
            if rows[row][0]["group"] != rows[row - 1][0]["group"]:
                axes.axhline(row - 0.5, color="#c8c8c8", linewidth=0.8)
        axes.set_yticks(range(len(rows)), map(shown, labels), fontsize=8)
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel=f"points against the base (triangles: beyond {LIMIT:g})")
        axes.grid(axis="y", visible=False)
        figure.legend(fontsize=8, loc="outside upper center", ncols=3)
