"""A report as a list of blocks, written as Markdown or as one HTML file with its pictures inside."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` and **bold** are the only marks."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        head: Names of the columns.
        rows: Cells; the first is the row's name.
        caption: What it shows.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture: a PNG file beside the page."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, whether it holds here, and the figures that say so.

    Attributes:
        claim: In the paper's sense.
        holds: None where the figures cannot tell.
        figures: A sentence.
    """

    claim: str
    holds: bool | None
    figures: str


Block = Text | Table | Figure


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    title: str
    blocks: Sequence[Block]


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return claims as a table."""
    words = {True: "**yes**", False: "**no**", None: "cannot be told"}
    return Table(
        ("what is claimed", "holds here", "figures"),
        [(claim.claim, words[claim.holds], claim.figures) for claim in claims],
    )


def to_markdown(title: str, intro: str, sections: Sequence[Section], folder: Path) -> str:
    """Return the page as Markdown; pictures are named relative to ``folder``."""
    parts = [f"# {title}", intro]
    for section in sections:
        parts.append(f"## {section.title}")
        parts += [_markdown(block, folder) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def to_html(title: str, intro: str, sections: Sequence[Section]) -> str:
    """Return the page as one HTML file that needs nothing else."""
    parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{_inline(intro)}</p>", _contents(sections)]
    for number, section in enumerate(sections):
        parts.append(f'<h2 id="s{number}">{html.escape(section.title)}</h2>')
        parts += [_html(block) for block in section.blocks]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{html.escape(title)}</title>\n'
        f"<style>\n{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown(block: Block, folder: Path) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Figure):
        return f"![{block.caption}]({block.path.relative_to(folder).as_posix()})"
    rows = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in (block.head, *block.rows)]
    rows.insert(1, "|" + "---|" * len(block.head))
    return "\n".join([*([block.caption, ""] if block.caption else []), *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _html(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Figure):
        data = base64.b64encode(block.path.read_bytes()).decode()
        caption = html.escape(block.caption)
        image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in block.head)
    rows = "\n".join(
        "<tr>" + "".join(f"<td{_align(cell)}>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in block.rows
    )
    caption = f"<caption>{_inline(block.caption)}</caption>" if block.caption else ""
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


def _contents(sections: Sequence[Section]) -> str:
    items = "".join(f'<li><a href="#s{i}">{html.escape(s.title)}</a></li>' for i, s in enumerate(sections))
    return f"<ul>{items}</ul>"


def _align(cell: str) -> str:
    return ' class="n"' if re.fullmatch(r"[*+−–\-]*[\d.,]+.{0,12}", cell) else ""


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)


_STYLE = """body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; }
body { padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .7rem; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.5rem 0; } img { max-width: 100%; } figcaption { color: #555; font-size: 14px; }
code { background: #f3f3f3; padding: 0 .2em; border-radius: 3px; }
"""
