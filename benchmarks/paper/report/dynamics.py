"""Table 1 and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import figures, p_value, significant, spread
from benchmarks.paper.report.pictures import BLUE, GREEN, GREY, ORANGE, picture

KINDS = ("EM", "subspace identification")
DEFAULT = "default"
MEASURES = ("lift", "purity", "likeness")


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    cells = content["cells"]
    em, ssid, *default = (figures(cells, kind)[0]["pairs"] for kind in _kinds(cells))
    path = folder / "dynamics.png"
    _draw(path, em, ssid, *default)
    return [
        Text(
            "A maps its right singular vectors to its left ones. For each, the words most likely in that state (seed "
            "0), with the rank and size of the singular value σ and how much of a state stays (the cosine of the two "
            "vectors: 1 is a topic that A leaves alone, 0 a step from one kind of word to another). The state is in "
            "coordinates with unit process noise. First the strongest pairs, then of the others those whose words are "
            "most alike to word2vec (of the default model, those that share a tag most), by which nobody's taste "
            "chooses what is shown."
        ),
        *(_pairs(pairs, "The default model, which observes profiles") for pairs in default),
        _pairs(em, "The paper's model, after EM"),
        _pairs(ssid, "The paper's model, after subspace identification alone"),
        Figure(path, f"Transitions of the state: {', '.join(_kinds(cells))}"),
        Text(
            "How much structure all the lists have: lift is log₂ of how much oftener than by chance a word of the list "
            "after follows one of the list before in the text; purity is the share of a list's words whose most "
            "frequent universal tag in the treebank is the list's dominant one; likeness is the mean cosine of two "
            "words of a list by word2vec, not measured for the default model. Over all pairs of A, lists of nine words "
            "that the treebank has. Purity and likeness were the measures at first; lift was added after they had come "
            "out against the paper's remark, because the pairs could be read as steps from word to word. So it "
            "supports the remark less than a measure chosen beforehand would."
        ),
        _structure(cells),
        claims_table(_claims(cells)),
    ]


def _kinds(cells: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paper's two, and the default model if it was measured."""
    return (*KINDS, DEFAULT) if f"{DEFAULT} / seed 0" in cells else KINDS


def _pairs(pairs: Sequence[Mapping[str, Any]], caption: str) -> Table:
    rows = [
        (
            str(pair["rank"]),
            f"{pair['strength']:.2f}",
            f"{pair['stays']:.2f}",
            _words(pair["source"]),
            _words(pair["target"]),
        )
        for pair in pairs
    ]
    return Table(("rank", "σ", "stays", "words before", "words after"), rows, caption)


def _words(words: Sequence[str]) -> str:
    return " ".join(f"`{word}`" if word != "`" else "`` ` ``" for word in words)


def _structure(cells: Mapping[str, Any]) -> Table:
    rows = []
    for kind in _kinds(cells):
        seeds = figures(cells, f"{kind} / ")
        rows.append((kind, *(spread([seed[name] for seed in seeds if name in seed], 3) for name in MEASURES)))
    chance = figures(cells, "random words")[0]
    rows.append(("random words", *(f"{chance[name]:.3f}" for name in MEASURES)))
    return Table(("lists of", *MEASURES), rows)


def _claims(cells: Mapping[str, Any]) -> list[Claim]:
    from scipy.stats import mannwhitneyu

    em, ssid = (figures(cells, f"{kind} / ")[0] for kind in KINDS)
    chance = figures(cells, "random words")[0]
    made = []
    for name, lists, sentence in (
        ("lift", "lifts", "the words after follow the words before"),
        ("purity", "purities", "the words of a list share a tag"),
        ("likeness", "likenesses", "the words of a list are alike"),
    ):
        p = float(mannwhitneyu(em[lists], ssid[lists], alternative="greater").pvalue)
        made.append(
            Claim(
                f"the pairs have structure that those of subspace identification alone have not: {sentence}",
                em[name] > ssid[name] and significant(p),
                f"{name} {em[name]:.3f} after EM, {ssid[name]:.3f} before it, {chance[name]:.3f} by chance "
                f"(Mann–Whitney, one-sided, {p_value(p)})",
            )
        )
    for kind in _kinds(cells)[len(KINDS) :]:
        default = figures(cells, f"{kind} / ")[0]
        for name, lists in (("lift", "lifts"), ("purity", "purities")):
            p = float(mannwhitneyu(default[lists], em[lists], alternative="greater").pvalue)
            made.append(
                Claim(
                    f"the pairs of the default model have more structure than those of the paper's: {name}",
                    default[name] > em[name] and significant(p),
                    f"{default[name]:.3f} against {em[name]:.3f} (Mann–Whitney, one-sided, {p_value(p)})",
                )
            )
    stays = np.array(em["stays"])
    made.append(
        Claim(
            "most pairs are steps from one kind of word to another, some are topics that stay",
            bool(np.mean(stays < 0.5) > 0.5 and stays.max() >= 0.5),
            f"{np.sum(stays < 0.5)} of {len(stays)} pairs keep less than half of the state; the one that stays most "
            f"keeps {stays.max():.2f}",
        )
    )
    return made


def _draw(path: Path, *shown: Sequence[Mapping[str, Any]]) -> None:
    height = 0.78 * max(map(len, shown)) + 0.7
    with picture(path, 1, len(shown), figsize=(7.5 * len(shown), height)) as (_, all_axes):
        for axes, pairs, title, colour in zip(all_axes, shown, (*KINDS, DEFAULT), (BLUE, ORANGE, GREEN), strict=False):
            axes.set(xlim=(0, 10), ylim=(len(pairs) - 0.4, -0.9))
            axes.axis("off")
            axes.set_title(f"{title[0].upper()}{title[1:]}")
            for row, pair in enumerate(pairs):
                for x, words in ((2.1, pair["source"]), (7.9, pair["target"])):
                    axes.text(
                        x, row, _wrapped(words), ha="center", va="center", fontsize=9, parse_math=False,
                        bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour},
                    )  # fmt: skip
                axes.annotate(
                    "", (5.9, row), (4.1, row),
                    arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 0.7 + 3 * _relative(pair, pairs)},
                )  # fmt: skip
                axes.text(
                    5, row - 0.22, f"{pair['rank']}: σ {pair['strength']:.2f}", ha="center", fontsize=8, color=GREY
                )
                axes.text(5, row + 0.33, f"stays {pair['stays']:.2f}", ha="center", fontsize=8, color=GREY)


def _relative(pair: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]]) -> float:
    return float(pair["strength"] / max(np.max([other["strength"] for other in pairs]), 1e-12))


def _wrapped(words: Sequence[str]) -> str:
    """Return words on three lines."""
    per_line = -(-len(words) // 3)
    return "\n".join("  ".join(words[start : start + per_line]) for start in range(0, len(words), per_line))
