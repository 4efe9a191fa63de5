"""The supplementary figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.report.blocks import Block, Claim, Figure, Table, Text, claims_table
from benchmarks.paper.report.numbers import figures, signed, spread, tagger, tokens
from benchmarks.paper.report.pictures import BLUE, GREEN, GREY, ORANGE, picture

STARTS = {"subspace": "subspace identification", "random": "random"}  # of one-hot words, the paper's model
OF_PROFILES = {
    "profiles, neighbours": "neighbours",
    "profiles, subspace": "subspace identification",
    "profiles, random": "random",
}
PAPER_STOP = 50


def section(content: Mapping[str, Any], folder: Path) -> list[Block]:
    """Return the blocks of the study."""
    cells = content["cells"]
    path = folder / "likelihood.png"
    _draw(path, cells)
    others = folder / "likelihood-profiles.png"
    of_profiles = {start: name for start, name in OF_PROFILES.items() if figures(cells, start)}
    if of_profiles:
        _draw(others, cells, of_profiles)
    asked = next(iter(cells.values()))["settings"]
    fit = asked["fit"]
    return [
        Text(
            f"{tokens(asked['tokens'])}, V = {asked['count']['vocab_size']:,}, h = {fit['state_size']}. Log-likelihood "
            f"is that of the training counts, nats per token over the static model; accuracy is on the development set "
            f"of UD EWT, universal tags, with the smoothed state ({tagger(asked['classifier'])})."
        ),
        Figure(path, "Log-likelihood and tagging accuracy against EM iterations, a line per seed"),
        Table(("", *(f"{n} iterations" for n in _looks(cells))), _rows(cells, STARTS)),
        *(_about_profiles(cells, of_profiles, others) if of_profiles else []),
        claims_table(_claims(cells)),
    ]


def _about_profiles(cells: Mapping[str, Any], starts: Mapping[str, str], path: Path) -> list[Block]:
    return [
        Text(
            "The same where profiles are observed, as the default model does, with one seed; *neighbours* is the start "
            "of the default, which section 15 of the page on mathematics explains. Log-likelihoods of the two kinds of "
            "observation do not compare."
        ),
        Figure(path, "The same where profiles are observed"),
        Table(("", *(f"{n} iterations" for n in _looks(cells))), _rows(cells, starts), "Observing profiles"),
    ]


def _looks(cells: Mapping[str, Any]) -> list[int]:
    """Return some of the iterations at which accuracy was measured."""
    known = sorted(int(n) for n in figures(cells, "subspace")[0]["accuracy"])
    wanted = {0, 10, 20, 50, known[-1]} | ({known[len(known) // 2]} if len(known) < 6 else set())
    return [n for n in known if n in wanted]


def _rows(cells: Mapping[str, Any], starts: Mapping[str, str]) -> list[tuple[str, ...]]:
    rows = []
    for what, digits in (("log_likelihood", 2), ("accuracy", 2)):
        for start, name in starts.items():
            some = figures(cells, start)
            at = [[_at(found, what, n) for found in some] for n in _looks(cells)]
            label = "log-likelihood" if what == "log_likelihood" else "accuracy"
            rows.append((f"{label}, {name} start", *(spread(column, digits) for column in at)))
    return rows


def _at(found: Mapping[str, Any], what: str, iteration: int) -> float:
    series = found[what]
    if what == "accuracy":
        return float(series[str(iteration)])
    return float(series[min(iteration, len(series) - 1)])


def _claims(cells: Mapping[str, Any]) -> list[Claim]:
    subspace, random = figures(cells, "subspace"), figures(cells, "random")
    last = min(len(found["log_likelihood"]) for found in (*subspace, *random)) - 1
    gain = float(np.mean([found["log_likelihood"][last] - found["log_likelihood"][0] for found in subspace]))
    starts = [float(np.mean([found["log_likelihood"][0] for found in some])) for some in (subspace, random)]
    ends = [float(np.mean([found["log_likelihood"][last] for found in some])) for some in (subspace, random)]
    level = ends[1]  # how soon the one is where the other ends
    reached = [next((n for n, x in enumerate(f["log_likelihood"]) if x >= level), last) for f in subspace]
    after = [_after_stop(found) for found in subspace]
    return [
        Claim(
            "both starts are nearly equal in likelihood",
            abs(starts[0] - starts[1]) < 0.1 * gain,
            f"{starts[0]:.3f} and {starts[1]:.3f}, a difference of {signed(starts[0] - starts[1], 3)} where EM gains "
            f"{gain:.3f}",
        ),
        Claim(
            "from subspace identification EM climbs quickly, from random parameters slowly",
            ends[0] > ends[1] and float(np.mean(reached)) < last / 2,
            f"after {last} iterations {ends[0]:.3f} and {ends[1]:.3f}; what the random start has then, the other has "
            f"after {np.mean(reached):.0f}",
        ),
        Claim(
            f"accuracy falls after the {PAPER_STOP}th iteration, by more than its spread over seeds",
            float(np.mean(after)) < -2 * _standard_error(after),
            f"from iteration {PAPER_STOP if last > PAPER_STOP else last} to {last}: {spread(after)} points; best at "
            f"iteration {spread([float(found['best_iteration']) for found in subspace], 0)}",
        ),
    ]


def _standard_error(some: Sequence[float]) -> float:
    """Return that of a mean; infinite for one value, which has no spread."""
    return float(np.std(some, ddof=1) / np.sqrt(len(some))) if len(some) > 1 else math.inf


def _after_stop(found: Mapping[str, Any]) -> float:
    known = {int(n): value for n, value in found["accuracy"].items()}
    last = max(known)
    stop = min(known, key=lambda n: abs(n - PAPER_STOP))
    return float(known[last] - known[stop])


def _draw(path: Path, cells: Mapping[str, Any], starts: Mapping[str, str] = STARTS) -> None:
    with picture(path, 2, 1, figsize=(7, 6), sharex=True, height_ratios=(3, 2)) as (_, (top, bottom)):
        colours = {"subspace identification": BLUE, "random": ORANGE, "neighbours": GREEN}
        for start, name in starts.items():
            colour = colours[name]
            for number, found in enumerate(figures(cells, start)):
                label = f"{name} start" if number == 0 else None
                top.plot(found["log_likelihood"], color=colour, alpha=0.8, linewidth=1.6, label=label)
                known = sorted((int(n), value) for n, value in found["accuracy"].items())
                bottom.plot(*zip(*known, strict=True), "o-", color=colour, alpha=0.8, markersize=3.5, linewidth=1.2)
        if top.get_xlim()[1] > PAPER_STOP:
            for axes in (top, bottom):
                axes.axvline(PAPER_STOP, color=GREY, linestyle=":", linewidth=1)
            top.annotate(
                "the paper stops", (PAPER_STOP, 0.04), xycoords=("data", "axes fraction"), xytext=(4, 0),
                textcoords="offset points", fontsize=8, color=GREY,
            )  # fmt: skip
        top.set(ylabel="log-likelihood, nats per token")
        top.legend(loc="center right")
        bottom.set(xlabel="EM iterations", ylabel="dev accuracy, %")
