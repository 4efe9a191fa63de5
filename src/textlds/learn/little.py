"""Too little text: what a fit warns of before it begins."""

from __future__ import annotations

import logging

from textlds.counts.lagcounts import LagCounts
from textlds.learn.settings import FitSettings, auto_state_size

_log = logging.getLogger("textlds")

LITTLE = 10_000  # tokens, below which a fit warns


def warn_of_little(counts: LagCounts, settings: FitSettings) -> None:
    """Warn of counts of few tokens, with the cause if it is known, and of a state too large for them."""
    tokens, rows = counts.tokens, len(counts.vocabulary)
    if tokens < LITTLE:
        _log.warning(
            "The counts have only %s tokens; with fewer than %s, vectors are poor. %sCount more text; a million tokens "
            "is enough to start with.",
            f"{tokens:,}", f"{LITTLE:,}", _left_out(counts),
        )  # fmt: skip
    chosen = auto_state_size(tokens, rows)
    if isinstance(settings.state_size, int) and settings.state_size > 2 * chosen:
        _log.warning(
            "state_size=%d is large for %s tokens and %s words; state_size='auto' would be %d.",
            settings.state_size, f"{tokens:,}", f"{rows:,}", chosen,
        )  # fmt: skip


def _left_out(counts: LagCounts) -> str:
    """Return the sentence on repeated lines if there were some."""
    repeats = counts.record.get("repeats", {})
    if not repeats.get("units_left_out"):
        return ""
    lines, units, tokens = (f"{repeats[name]:,}" for name in ("units_left_out", "units", "tokens_left_out"))
    return (
        f"{lines} of {units} lines repeat others and are left out, {tokens} tokens; "
        f"repeats='all' (--repeats all) counts them. "
    )
