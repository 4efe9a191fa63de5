"""``textlds prune``: make counts smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table, say


def prune_folder(
    counts: Path, output: Path, *, min_count: int, vocab_size: int | None, max_lag: int | None, force: bool
) -> dict[str, Any]:
    """Shrink, truncate and prune counts, in this order, write them, and return what was dropped.

    Args:
        counts: The counts folder to read.
        output: The counts folder to write.
        min_count: Drop pairs that occur less often at a lag.
        vocab_size: Fold all but the most frequent types into their unknown classes; None keeps all.
        max_lag: Drop the lags beyond; None keeps all.
        force: Overwrite the output.
    """
    from textlds.counts.lagcounts import LagCounts
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    before = LagCounts.load(counts)
    kept = before if max_lag is None else before.truncate(max_lag)
    kept = kept if vocab_size is None else kept.shrink(vocab_size)
    pruned = kept.prune(min_count)
    pruned.counts.save(output, force=force)
    return {
        "output": str(output),
        "dropped_lags": before.max_lag - kept.max_lag,
        "dropped_types": before.vocabulary.n_types - kept.vocabulary.n_types,
        "lags": [
            {"pairs": pairs, "dropped_pairs": dropped, "occurrences": total, "dropped_occurrences": lost}
            for pairs, dropped, total, lost in zip(
                kept.pairs,
                pruned.dropped_pairs,
                (lag.sum().item() for lag in kept.lags),
                pruned.dropped_occurrences,
                strict=True,
            )
        ],
    }


def command(
    counts: Annotated[Path, typer.Argument(metavar="COUNTS", help="A counts folder.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="COUNTS", help="The counts folder to write.")],
    min_count: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Drop pairs that occur less often at a lag.")
    ] = 1,
    vocab_size: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="Fold all but this many words into their unknown classes."),
    ] = None,
    max_lag: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Drop larger lags.")] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Make counts smaller, and say what was dropped.

    With fewer words or lags the counts stay exact: they are what counting with these settings would have given.
    Dropping rare pairs is not exact, and nothing can be subtracted from pruned counts.
    """
    dropped = prune_folder(counts, output, min_count=min_count, vocab_size=vocab_size, max_lag=max_lag, force=force)
    if as_json:
        print_json(dropped)
    else:
        rows = [
            [str(k), f"{lag['pairs']:,}", *_share(lag, "pairs"), f"{lag['occurrences']:,}", *_share(lag, "occurrences")]
            for k, lag in enumerate(dropped["lags"], start=1)
        ]
        headings = ["lag", "pairs", "dropped", "", "occurrences", "dropped", ""]
        print_table(headings, rows, right=range(7))
    say(
        f"Wrote {output}: {dropped['dropped_types']:,} words folded into unknown classes, "
        f"{dropped['dropped_lags']} lags and {sum(lag['dropped_pairs'] for lag in dropped['lags']):,} pairs dropped.",
        quiet=quiet,
    )


def _share(lag: dict[str, Any], name: str) -> tuple[str, str]:
    dropped = lag[f"dropped_{name}"]
    return f"{dropped:,}", f"{100 * dropped / max(lag[name], 1):.1f} %"


EXAMPLES = (
    ("textlds prune counts -o small --min-count 2", "drop pairs seen once"),
    ("textlds prune counts -o small --vocab-size 20000 --max-lag 4", "exact"),
)
