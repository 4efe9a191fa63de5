"""The table of word similarity and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper import settings
from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import figures, spread
from benchmarks.paper.report.pictures import BLUE, ORANGE, picture
from benchmarks.recorded import shown

CONTEXT = "SCWS, "
STATIC = f"{CONTEXT}word"  # of the LDS, whatever the context
EQUAL = " / word, equal evidence"


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    default, lds, word2vec = (figures(content["cells"], f"{name} / ") for name in ("default", "LDS", "word2vec"))
    alone = [name for name in word2vec[0] if not name.startswith(CONTEXT)]
    path = folder / "similarity.png"
    _draw(path, default, lds, word2vec, alone)
    pairs = min(lds[0][name]["found"] for name in alone)
    return [
        Text(
            f"Spearman's rank correlation of cosines with people's judgements, × 100. Words by themselves: the default "
            f"model's vectors of meaning, the “word” part of the paper's model, and word2vec's vectors (window "
            f"{settings.WORD2VEC['window']}, as for tagging), learnt from the same tokens. Chance alone moves a "
            f"correlation by "
            f"about 100/√n: {100 / np.sqrt(pairs):.0f} for the smallest set, "
            f"{100 / np.sqrt(lds[0][STATIC]['found']):.0f} for SCWS. The paper has no such study."
        ),
        Table(
            ("set", "pairs found", "default, meaning", "paper's LDS", "paper's LDS, equal weighting", "word2vec"),
            [
                (
                    name,
                    f"{lds[0][name]['found']} of {lds[0][name]['pairs']}",
                    _rho(default, name),
                    *(_rho(lds, name + kind) for kind in ("", EQUAL)),
                    _rho(word2vec, name),
                )
                for name in alone
            ],
        ),
        Table(
            ("SCWS: words in their contexts", "default", "paper's LDS", "word2vec"),
            [
                *((name.removeprefix(CONTEXT), _rho(default, name), "", "") for name in _contexts(default)),
                *((name.removeprefix(CONTEXT), "", _rho(lds, name), "") for name in _contexts(lds)),
                *((name.removeprefix(CONTEXT), "", "", _rho(word2vec, name)) for name in _contexts(word2vec)),
            ],
        ),
        Figure(path, "Rank correlation with people's judgements, means over seeds"),
        claims_table(_claims(default, word2vec, alone)),
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
    default: Sequence[Mapping[str, Any]], word2vec: Sequence[Mapping[str, Any]], alone: Sequence[str]
) -> list[Claim]:
    above = [name for name in alone if _mean(default, name) > _mean(word2vec, name)]
    static, in_context = f"{CONTEXT}meaning", f"{CONTEXT}meaning in context"
    best = max(_contexts(word2vec), key=lambda name: _mean(word2vec, name))
    return [
        Claim(
            "words by themselves: meaning above word2vec",
            len(above) == len(alone),
            f"on {len(above)} of {len(alone)} sets" + (f": {', '.join(above)}" if above else ""),
        ),
        Claim(
            "meaning in context above meaning alone (SCWS)",
            _mean(default, in_context) > _mean(default, static),
            f"{_mean(default, in_context):.1f} against {_mean(default, static):.1f}",
        ),
        Claim(
            "in context: meaning above word2vec (SCWS)",
            _mean(default, in_context) > _mean(word2vec, best),
            f"{_mean(default, in_context):.1f} against {_mean(word2vec, best):.1f}",
        ),
    ]


def _draw(
    path: Path,
    default: Sequence[Mapping[str, Any]],
    lds: Sequence[Mapping[str, Any]],
    word2vec: Sequence[Mapping[str, Any]],
    alone: Sequence[str],
) -> None:
    rows: list[tuple[str, float | None, float | None]] = [
        (name, _mean(default, name), _mean(word2vec, name)) for name in alone
    ]
    rows += [(name, _mean(default, name), None) for name in _contexts(default)]
    rows += [(name, None, _mean(word2vec, name)) for name in _contexts(word2vec)]
    with picture(path, figsize=(7.5, 0.42 * len(rows) + 1)) as (_, axes):
        for place, (_, first, second) in enumerate(rows):
            if first is not None and second is not None:
                axes.plot([first, second], [place, place], color="#bbbbbb", linewidth=2, zorder=1)
        for values, colour, label in (
            ([row[1] for row in rows], BLUE, "default model"),
            ([row[2] for row in rows], ORANGE, "word2vec"),
        ):
            known = [(value, place) for place, value in enumerate(values) if value is not None]
            axes.plot(*zip(*known, strict=True), "o", color=colour, markersize=7, label=label)
        axes.plot(
            [_mean(lds, name + EQUAL) for name in alone], range(len(alone)), "o", color=BLUE, markersize=7,
            markerfacecolor="white", label="paper's model, equal weighting",
        )  # fmt: skip
        axes.axhline(len(alone) - 0.5, color="#c8c8c8", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [shown(name) for name, *_ in rows])
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel="Spearman's correlation × 100")
        axes.margins(x=0.1)
        axes.legend(loc="best")
