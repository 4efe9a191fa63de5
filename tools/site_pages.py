"""A hook of mkdocs: pages that docs/ does not hold, and pages that the menu need not name one by one.

The changelog and the contributor's guide lie at the root, where code hosts look for them, and so do the figures of the
README. The pages in docs/results are written by benchmarks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
AT_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
FIGURES = "figures.md"


def on_config(config: Any) -> Any:
    """Put every page of results into the menu, under its own title."""
    folder = Path(config["docs_dir"])
    pages = [page.relative_to(folder).as_posix() for page in sorted((folder / "results").rglob("*.md"))]
    next(section for section in config["nav"] if "Results" in section)["Results"] = [FIGURES, *pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie at the root."""
    texts = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in AT_ROOT.items()}
    texts[FIGURES] = section((ROOT / "README.md").read_text(encoding="utf-8"), "Figures")
    for page, text in texts.items():
        files.append(File.generated(config, page, content=for_site(text)))
    return files


def section(text: str, title: str) -> str:
    """Return a section of a text as a page of its own."""
    content = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return f"# {title}\n{content}"


def for_site(text: str) -> str:
    """Return the text of a file at the root with its links as seen from docs/."""
    text = text.replace("](docs/", "](")
    return re.sub(r"\]\((\w+\.md)", lambda match: f"]({AT_ROOT.get(match[1], match[1])}", text)
