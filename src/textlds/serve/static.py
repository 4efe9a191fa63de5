"""The page without a server: a folder of its files with a packed model, which any web server can hand out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from textlds.errors import ArgumentError
from textlds.serve.files import page_sources
from textlds.serve.packed import FACTS, pack_model
from textlds.serve.service import Service
from textlds.storage.folders import new_folder, write_config

_MAP_STEPS = 10_000  # per unit of the map, whose points lie within ±1.05; stored from -2 on, in half of float32
_META = '<meta name="textlds-model" content="">'


def write_page(
    service: Service, output: str | os.PathLike[str], *, vocab_size: int | None = None, force: bool = False
) -> dict[str, int]:
    """Write the page and a packed model into a folder, whole or not at all; return the bytes of each.

    Args:
        service: The model, and texts for examples.
        output: The folder to be made.
        vocab_size: As for :func:`textlds.serve.packed.pack_model`.
        force: Overwrite a page that is there.
    """
    packed = pack_model(service.model, service.reader, vocab_size=vocab_size)
    n = packed.facts["n_types"]
    drawn = service.map
    shown = min(n, len(drawn["words"]))
    arrays = packed.arrays | {
        "map.at": np.rint(_MAP_STEPS * (np.array(drawn["at"]).reshape(-1, 2)[:shown] + 2)).astype(np.uint16),
        "map.group": np.array(drawn["group"], np.uint8)[:shown],
    }
    pairs = service.transitions("")
    found = service.found_transitions
    if found is not None:
        arrays["transitions.source"] = found.source
        arrays["transitions.target"] = found.target
    facts: dict[str, Any] = packed.facts | {
        "about": {**service.about(), "vocabulary_size": n, "tags": False, "search": False},
        "learning": service.learning,
        "transitions": pairs,
    }
    with new_folder(output, force=force) as folder:
        size = _write_files(folder)
        type(packed)(arrays, facts).write(folder)
        model = sum(file.stat().st_size for file in folder.glob("model.*"))
        write_config(folder, kind="page", content={})
    return {"page": size, "model": model}


def _write_files(folder: Path) -> int:
    size = 0
    for name, content in page_sources().items():
        if name.startswith("docs."):
            continue
        if name == "index.html":
            text = content.decode()
            if _META not in text:
                raise ArgumentError("the page of this installation is damaged: index.html names no model. Reinstall.")
            content = text.replace(_META, _META.replace('content=""', f'content="{FACTS}"')).encode()
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        size += len(content)
    return size
