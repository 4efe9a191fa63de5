"""``textlds fit --select``: try a grid of settings on one sketch and write the best model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textlds.cli.output import print_json, say
from textlds.errors import ArgumentError

if TYPE_CHECKING:
    from textlds.learn.select import Selection
    from textlds.learn.settings import FitSettings
    from textlds.model.textlds import TextLDS


def parse_grid(options: list[str]) -> dict[str, list[Any]]:
    """Read ``["state-size=50,100", "pseudocount=paper"]`` as the grid of :func:`textlds.select`."""
    grid: dict[str, list[Any]] = {}
    for option in options:
        name, equals, values = option.partition("=")
        if not equals or not name or not values:
            raise ArgumentError(f"--select {option!r}: write it as NAME=VALUE,VALUE, such as state-size=50,100,200.")
        grid[name.strip().replace("-", "_")] = [_value(value.strip()) for value in values.split(",")]
    return grid


def select_model(
    counts: str,
    output: Path,
    grid: dict[str, list[Any]],
    *,
    held_out: Path | None,
    settings: FitSettings,
    threads: int | None,
    force: bool,
    quiet: bool,
) -> Selection[TextLDS]:
    """Try the grid and write the best model."""
    from textlds.api import select
    from textlds.cli.texts import open_texts, read_texts
    from textlds.counts.lagcounts import LagCounts
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    texts = None
    if held_out is not None:
        sources = open_texts([str(held_out)], text_column="text", encoding_errors="strict", quiet=quiet)
        texts = [text.content for text in read_texts(sources)]
    selection = select(
        LagCounts.load(counts), grid, held_out=texts, settings=settings, threads=threads, progress=not quiet
    )
    selection.model.save(output, force=force)
    return selection


def report_selection(selection: Selection[TextLDS], output: Path, *, as_json: bool, quiet: bool) -> None:
    """Print all trials, best first."""
    if as_json:
        trials = [dataclasses.asdict(trial) for trial in selection.trials]
        print_json({"output": str(output), "trials": trials})
    else:
        names = list(selection.best.settings)
        rows = [[*names, "log-likelihood", "held out", "seconds"]]
        for trial in selection.trials:
            held_out = "" if trial.held_out is None else f"{trial.held_out:.4f}"
            values = [str(trial.settings[name]) for name in names]
            rows.append([*values, f"{trial.log_likelihood:.4f}", held_out, f"{trial.seconds:.1f}"])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    say(f"Wrote {output}: the first of these.", quiet=quiet)


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
