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
DEMO = "<!-- live demo -->"
IFRAME = (
    "Try it: a model of English reads in your browser, and nothing leaves it.\n\n"
    '<iframe src="explore/index.html" title="A model to try" loading="lazy" class="live"></iframe>'
)


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


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put the live demo where a page has room for it, if the English model is installed."""
    return markdown.replace(DEMO, IFRAME if has_english() else "")


def on_post_build(config: Any) -> None:
    """Write the page with the English model beside the site; nothing without the model."""
    if has_english():
        from textlds.serve.service import Service
        from textlds.serve.static import write_page

        write_page(Service.load("en"), Path(config["site_dir"]) / "explore", force=True)


def has_english() -> bool:
    """Tell whether the English model is installed."""
    from textlds.model.installed import installed_models

    return any(model.name == "en" for model in installed_models())
