"""A hook of mkdocs: pages that docs/ does not hold, and pages that the menu need not name one by one.

The changelog and the contributor's guide lie at the root, where code hosts look for them. The pages in docs/results are
written by benchmarks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
AT_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def on_config(config: Any) -> Any:
    """Put every page of results into the menu, under its own title."""
    folder = Path(config["docs_dir"])
    pages = [str(page.relative_to(folder)) for page in sorted((folder / "results").glob("*.md"))]
    next(section for section in config["nav"] if "Results" in section)["Results"] = pages
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie at the root."""
    for source, page in AT_ROOT.items():
        files.append(File.generated(config, page, content=for_site((ROOT / source).read_text(encoding="utf-8"))))
    return files


def for_site(text: str) -> str:
    """Return the text of a file at the root with its links as seen from docs/."""
    text = text.replace("](docs/", "](")
    return re.sub(r"\]\((\w+\.md)", lambda match: f"]({AT_ROOT.get(match[1], match[1])}", text)
