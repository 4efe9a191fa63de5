"""The report, made from the stored figures alone: a module per study, with ``section(content, folder)``."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.paper.report import default
from benchmarks.paper.report.blocks import Block, Section, Table, Text, to_html, to_markdown
from benchmarks.recorded import shown
from textlds.storage.folders import new_file

TITLE = "The paper's tables and figures"
ORDER = ("dynamics", "pos", "ner", "likelihood", "ablations", "similarity")
INTRO = (
    "Made by `python -m benchmarks.paper` from the JSON files in `paper/`, which hold all figures, settings, seeds, "
    "versions and checksums; no measured figure is typed by hand. The paper is Belanger & Kakade, “A Linear Dynamical "
    "System Model for Text”, ICML 2015. Its figures are shown next to ours where it has any; it learnt from a billion "
    "tokens of newswire and from the whole Penn Treebank, so compare differences between columns rather than "
    "the columns themselves. ± is the standard deviation over seeds. Settings were chosen on development sets; the "
    "constants of equal weighting and the parts of the best vectors in some forty trials on those of the two "
    "treebanks, universal tags, one seed each, so that figures on development sets are slightly optimistic. "
    "Nothing was chosen on test sets. *state and three words* are the state, the previous word, the word and the next "
    "word, with equal weighting. *features* is the recipe of that name: the state, the word, the leading numbers of "
    "its neighbours, its spelling and its meaning."
)


def write_report(results: Path) -> tuple[Path, Path]:
    """Write the report from RESULTS/paper/*.json.

    Returns:
        RESULTS/paper.md and, with the pictures inside, RESULTS/paper/paper.html.
    """
    folder = results / "paper"
    contents = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in ORDER
        if (path := folder / f"{name}.json").exists()
    }
    sections = []
    for name, content in contents.items():
        if content["complete"]:
            blocks = importlib.import_module(f"benchmarks.paper.report.{name}").section(content, folder)
            sections.append(Section(content["title"], [*blocks, *_costs(content)]))
        else:
            done = Text(f"Not finished: {len(content['cells'])} cells so far. The same command resumes it.")
            sections.append(Section(content["title"], [done]))
    if judged := default.section(results):
        sections.append(Section(default.TITLE, judged))
    sections.append(Section("Data and versions", _provenance(contents)))
    page, whole = results / "paper.md", folder / "paper.html"  # the site makes a page paper.html of paper.md
    for path, text in (
        (page, to_markdown(TITLE, INTRO, sections, results)),
        (whole, to_html(TITLE, INTRO, sections)),
    ):
        with new_file(path, force=True, text=True) as file:
            file.write(shown(text))
    return page, whole


def _costs(content: Mapping[str, Any]) -> list[Block]:
    seconds = sum(cell["cpu_seconds"] for cell in content["cells"].values())
    return [Text(f"{len(content['cells'])} cells, {seconds / 60:.0f} minutes of processor time.")]


def _provenance(contents: Mapping[str, Mapping[str, Any]]) -> list[Block]:
    files: dict[str, str] = {}
    versions: dict[str, set[str]] = {}
    for content in contents.values():
        files |= content["data"]
        for cell in content["cells"].values():
            for name, version in cell["versions"].items():
                versions.setdefault(name, set()).add(version)
    return [
        Table(("file", "SHA-256"), [(name, f"`{total[:16]}…`") for name, total in sorted(files.items())]),
        Table(("library", "version"), [(name, ", ".join(sorted(some))) for name, some in versions.items()]),
    ]
