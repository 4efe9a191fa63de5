"""What is on record of counts besides their numbers: what was left out of the text before it was counted.

The record is part of ``config.json``. ``repeats`` is there where lines that repeat were left out (see
:class:`textlds.counts.repeats.Repeats`), ``min_count`` where words were left out because they are rare.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from textlds.errors import REMEDY, CountsError, FormatError

Record = Mapping[str, Any]

MIXED = "mixed"  # counts with and without repeated lines were added
_NAMES = ("repeats", "min_count")
_FACTS = ("units", "units_left_out", "tokens_left_out")

_log = logging.getLogger("textlds")


def read_record(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record in the ``config.json`` of counts."""
    record = {name: config[name] for name in _NAMES if name in config}
    repeats, least = record.get("repeats", {"kept": MIXED}), record.get("min_count", 1)
    numbers = isinstance(repeats, dict) and [repeats.get("kept"), *(repeats.get(name, 0) for name in _FACTS)]
    if not numbers or not all(_is_count(n) for n in [least, *numbers] if n != MIXED):
        raise FormatError(f"repeats={repeats!r:.100} and min_count={least!r:.100} are no record of counts. {REMEDY}")
    return record


def repeats_of(record: Record) -> int | str:
    """Return how often a line was counted at most: a number, ``"all"``, or ``"mixed"`` for a sum of both."""
    kept: int | str = record["repeats"]["kept"] if "repeats" in record else "all"
    return kept


def joined_record(records: Sequence[Record], weights: Sequence[float], *, shared: bool) -> dict[str, Any]:
    """Return the record of Σ weight · counts, and say what is odd about the sum.

    Where some counts left out repeated lines and others did not, the sum is not that of any text: it is refused where
    one is subtracted, and warned of where all are added. Counts in which no line had to be left out agree with all.

    Args:
        records: Those of the counts.
        weights: Of the counts.
        shared: They share a vocabulary.
    """
    odd = [record for record in records if record.get("repeats", {}).get("units_left_out") != 0]
    kinds = list(dict.fromkeys(map(repeats_of, odd or records[:1])))
    if len(kinds) > 1:
        _say_mixed(kinds, subtracted=min(weights) < 0)
    result: dict[str, Any] = {}
    if len(kinds) > 1 or kinds == [MIXED]:
        result["repeats"] = {"kept": MIXED}
    elif kinds != ["all"]:
        own = [record["repeats"] for record in records]
        sums = {n: max(0, sum(w * one[n] for w, one in zip(weights, own, strict=True))) for n in _FACTS}
        result["repeats"] = {"kept": kinds[0], **sums}
    least = {record["min_count"] for record in records if "min_count" in record}
    if len(least) == 1 and (shared or all("min_count" in record for record in records)):
        result["min_count"] = least.pop()
    return result


def _say_mixed(kinds: Sequence[int | str], *, subtracted: bool) -> None:
    shown = " and ".join(map(repr, kinds))
    if subtracted and MIXED not in kinds:
        raise CountsError(
            f"these counts were made with different repeats ({shown}), so that lines which one of them counts are left "
            f"out of the other. Count the text to subtract with repeats={kinds[0]!r} (--repeats {kinds[0]})."
        )
    _log.warning(
        "The counts were made with different repeats (%s): lines that repeat are left out of some of them only. %s",
        shown,
        "This is exact only if what is subtracted was added before."
        if subtracted
        else "Count all of them with the same --repeats to treat them alike.",
    )


def said_of_repeats(repeats: Mapping[str, Any] | str | None) -> str:
    """Return a record of repeats as a sentence for a person."""
    if repeats is None or isinstance(repeats, str):
        return "all lines are counted, however often they repeat"
    if repeats["kept"] == MIXED:
        return "left out of some of the counts that were added, counted in others"
    kept, units, lines, tokens = (repeats[name] for name in ("kept", *_FACTS))
    often = "once" if kept == 1 else f"{kept:,} times at most"
    if not lines:
        return f"each line is counted {often}; none had to be left out"
    return f"each line is counted {often}: {lines:,} of {units:,} lines are left out, {tokens:,} tokens"


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
