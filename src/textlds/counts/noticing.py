"""Text that is no running text: tables, records, markup, lists of words. It is counted, but said so before."""

from __future__ import annotations

from collections.abc import Callable

from textlds.corpus.tokens.types import TypeTable

_LEAST = 200  # tokens: less is too little to tell

# what is noticed: what the share of some tokens must reach, and what to do about it
_KINDS: tuple[tuple[str, Callable[[Callable[[str], float]], bool], str], ...] = (
    ("markup (HTML or XML)", lambda share: share("<>") > 0.1, "Take the text out of it first."),
    (
        "JSON records",
        lambda share: share("{}") > 0.01 and share(":\"'") > 0.25,
        "Name the files .jsonl and the field with --text-column.",
    ),
    (
        "a table (CSV or similar)",
        lambda share: share(",;|\t") > 0.3,
        "Take the column with the text out of it first, or convert it to JSON lines or Parquet.",
    ),
)


def not_running_text(table: TypeTable, units: int) -> str | None:
    """Return what text looks like that is not running text, and what to do about it; None if it looks like text.

    Args:
        table: The types of a stretch of it, with their occurrences.
        units: The lines (or sentences) it has.
    """
    total = int(table.counts.sum())
    if total < _LEAST:
        return None
    marks = {word: int(n) for word, n in zip(table.words(), table.counts, strict=True) if not word.isalnum()}

    def share(characters: str) -> float:
        return sum(n for word, n in marks.items() if set(word) <= set(characters)) / total

    for kind, is_it, remedy in _KINDS:
        if is_it(share):
            return f"looks like {kind}, not like running text. {remedy}"
    if units and total < 1.5 * units:
        return (
            "has about one word on each line. Contexts end with the line: if it is running text, count with "
            "boundaries='document'."
        )
    return None
