"""The files of the page, read once: no request touches the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page.

    Attributes:
        content: Its bytes.
        kind: Its media type.
        tag: Of this content, for caches.
    """

    content: bytes
    kind: str
    tag: str


def page_sources() -> dict[str, bytes]:
    """Return the files of the page by their paths in its folder."""
    return dict(_files(resources.files(__package__).joinpath("page"), ""))


def page_files() -> dict[str, PageFile]:
    """Return the files of the page by the paths of requests."""
    found = {}
    for name, content in page_sources().items():
        kind = _KINDS["." + name.rpartition(".")[2]]
        file = PageFile(content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
        found[f"/{name}"] = file
        if name in ("index.html", "docs.html"):
            found["/" if name == "index.html" else "/docs"] = file
    return found


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _files(item, f"{prefix}{item.name}/")
        elif "." + item.name.rpartition(".")[2] in _KINDS:
            yield prefix + item.name, item.read_bytes()
