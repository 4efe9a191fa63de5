"""The table of word similarity and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import figures, spread
from benchmarks.paper.report.pictures import BLUE, ORANGE, picture
from benchmarks.recorded import shown

CONTEXT = "SCWS, "
STATIC = f"{CONTEXT}word"  # of the LDS, whatever the context
EQUAL = " / word, equal evidence"


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    lds, word2vec = (figures(content["cells"], f"{name} / ") for name in ("LDS", "word2vec"))
    alone = [name for name in word2vec[0] if not name.startswith(CONTEXT)]
    path = folder / "similarity.png"
    _draw(path, lds, word2vec, alone)
    pairs = min(lds[0][name]["found"] for name in alone)
    return [
        Text(
            f"Spearman's rank correlation of cosines with people's judgements, × 100. Words by themselves: the “word” "
            f"part against word2vec's vector, learnt from the same tokens. Chance alone moves a correlation by "
            f"about 100/√n: {100 / np.sqrt(pairs):.0f} for the smallest set, "
            f"{100 / np.sqrt(lds[0][STATIC]['found']):.0f} for SCWS. The paper has no such study."
        ),
        Table(
            ("set", "pairs found", "LDS", "LDS, equal evidence", "word2vec"),
            [
                (
                    name,
                    f"{lds[0][name]['found']} of {lds[0][name]['pairs']}",
                    *(_rho(lds, name + kind) for kind in ("", EQUAL)),
                    _rho(word2vec, name),
                )
                for name in alone
            ],
        ),
        Table(
            ("SCWS: words in their contexts", "LDS", "word2vec"),
            [
                *((name.removeprefix(CONTEXT), _rho(lds, name), "") for name in _contexts(lds)),
                *((name.removeprefix(CONTEXT), "", _rho(word2vec, name)) for name in _contexts(word2vec)),
            ],
        ),
        Figure(path, "Rank correlation with people's judgements, means over seeds"),
        claims_table(_claims(lds, word2vec, alone)),
    ]


def _contexts(some: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in some[0] if name.startswith(CONTEXT)]


def _values(some: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [100 * float(found[name]["rho"]) for found in some]


def _rho(some: Sequence[Mapping[str, Any]], name: str) -> str:
    return spread(_values(some, name), 1)


def _mean(some: Sequence[Mapping[str, Any]], name: str) -> float:
    return float(np.mean(_values(some, name)))


def _claims(
    lds: Sequence[Mapping[str, Any]], word2vec: Sequence[Mapping[str, Any]], alone: Sequence[str]
) -> list[Claim]:
    above = [name for name in alone if _mean(lds, name + EQUAL) > _mean(word2vec, name)]
    static = max((STATIC, f"{STATIC}, equal evidence"), key=lambda name: _mean(lds, name))
    in_context = max(
        (name for name in _contexts(lds) if not name.startswith(STATIC)), key=lambda name: _mean(lds, name)
    )
    chance = 100 / np.sqrt(lds[0][STATIC]["found"])
    best = max(_contexts(word2vec), key=lambda name: _mean(word2vec, name))
    return [
        Claim(
            "words by themselves: LDS, equal evidence, above word2vec",
            len(above) == len(alone),
            f"on {len(above)} of {len(alone)} sets" + (f": {', '.join(above)}" if above else ""),
        ),
        Claim(
            f"the context tells the LDS more than the word alone, by more than chance ({chance:.0f}, SCWS)",
            bool(_mean(lds, in_context) > _mean(lds, static) + chance),
            f"{in_context.removeprefix(CONTEXT)} {_mean(lds, in_context):.1f}, {static.removeprefix(CONTEXT)} "
            f"{_mean(lds, static):.1f}",
        ),
        Claim(
            "in context: LDS above word2vec (SCWS)",
            max(_mean(lds, name) for name in _contexts(lds)) > _mean(word2vec, best),
            f"{max(_mean(lds, name) for name in _contexts(lds)):.1f} against {_mean(word2vec, best):.1f}",
        ),
    ]


def _draw(
    path: Path, lds: Sequence[Mapping[str, Any]], word2vec: Sequence[Mapping[str, Any]], alone: Sequence[str]
) -> None:
    rows: list[tuple[str, float | None, float | None]] = [
        (name, _mean(lds, name), _mean(word2vec, name)) for name in alone
    ]
    rows += [(name, _mean(lds, name), None) for name in _contexts(lds)]
    rows += [(name, None, _mean(word2vec, name)) for name in _contexts(word2vec)]
    with picture(path, figsize=(7.5, 0.42 * len(rows) + 1)) as (_, axes):
        for place, (_, first, second) in enumerate(rows):
            if first is not None and second is not None:
                axes.plot([first, second], [place, place], color="#bbbbbb", linewidth=2, zorder=1)
        for values, colour, label in (
            ([row[1] for row in rows], BLUE, "LDS"),
            ([row[2] for row in rows], ORANGE, "word2vec"),
        ):
            known = [(value, place) for place, value in enumerate(values) if value is not None]
            axes.plot(*zip(*known, strict=True), "o", color=colour, markersize=7, label=label)
        axes.plot(
            [_mean(lds, name + EQUAL) for name in alone], range(len(alone)), "o", color=BLUE, markersize=7,
            markerfacecolor="white", label="LDS, equal weighting",
        )  # fmt: skip
        axes.axhline(len(alone) - 0.5, color="#c8c8c8", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [shown(name) for name, *_ in rows])
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel="Spearman's correlation × 100")
        axes.margins(x=0.1)
        axes.legend(loc="best")
