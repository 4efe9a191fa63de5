"""Results as JSON: a file a study, a cell a measurement, written whole after every cell.

A cell that is there already, under the same settings and from the same data, is not computed again.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textlds.errors import ArgumentError
from textlds.storage.folders import new_file

Figures = dict[str, Any]
PACKAGES = ("textlds", "numpy", "scipy", "numba", "scikit-learn", "python-crfsuite", "seqeval", "gensim", "torch")


@dataclass(frozen=True)
class Cell:
    """One measurement of a study.

    Attributes:
        key: Its name, such as ``"test / Lex + Brown / seed 0"``.
        settings: All that decides its outcome besides the data; a function if that is known only when its turn comes,
            because earlier cells decide it.
        compute: Makes its figures, which must be JSON.
    """

    key: str
    settings: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    compute: Callable[[], Figures]


class Store:
    """The cells of one study on disk.

    Args:
        path: Of the JSON file.
        title: Of the study.
        data: SHA-256 sums of the data by file name; cells from other data are dropped.
        again: Forget what is there.
    """

    def __init__(self, path: Path, *, title: str, data: Mapping[str, str], again: bool = False) -> None:
        self.path = path
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not again else {}
        same = content.get("data") == dict(data)
        self._cells: dict[str, dict[str, Any]] = content.get("cells", {}) if same else {}
        self._head: dict[str, Any] = {"title": title, "complete": False, "data": dict(data)}

    def figures(self, key: str) -> Figures:
        """Return the figures of a cell that has been computed."""
        if key not in self._cells:
            raise ArgumentError(f"{self.path} has no cell {key!r}; it has {', '.join(self._cells) or 'none'}.")
        figures: Figures = self._cells[key]["figures"]
        return figures

    def knows(self, column: str) -> bool:
        """Tell whether there is a cell of a column, whose name stands between others in its key."""
        return any(column in key.split(" / ") for key in self._cells)

    def has(self, cell: Cell) -> bool:
        """Tell whether a cell is there under the same settings."""
        found = self._cells.get(cell.key)
        return found is not None and found["settings"] == _plain(_settings(cell))

    def run(self, cell: Cell) -> bool:
        """Compute a cell unless it is there; tell whether it was computed."""
        settings = _plain(_settings(cell))
        found = self._cells.get(cell.key)
        if found is not None and found["settings"] == settings:
            return False
        began = time.perf_counter(), time.process_time()
        figures = _plain(cell.compute())
        self._cells[cell.key] = {
            "settings": settings,
            "figures": figures,
            "seconds": round(time.perf_counter() - began[0], 2),
            "cpu_seconds": round(time.process_time() - began[1], 2),
            "versions": versions(),
        }
        self._write()
        return True

    def keep(self, keys: Iterable[str]) -> None:
        """Drop all other cells, put these in order, and call the study complete."""
        self._cells = {key: self._cells[key] for key in keys}
        self._head["complete"] = True
        self._write()

    def _write(self) -> None:
        with new_file(self.path, force=True, text=True) as file:
            json.dump({**self._head, "cells": self._cells}, file, indent=1, ensure_ascii=False, allow_nan=False)
            file.write("\n")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that a study may use."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _settings(cell: Cell) -> Mapping[str, Any]:
    return cell.settings() if callable(cell.settings) else cell.settings


def _plain(content: Any) -> Any:
    """Return content as JSON would give it back, so that settings in memory and on disk compare equal; NaN is null."""
    return json.loads(json.dumps(content, ensure_ascii=False, default=_number), parse_constant=lambda _: None)


def _number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()  # NumPy's numbers and arrays
    if isinstance(value, Path):
        return value.name
    raise TypeError(f"{value!r} cannot be stored as JSON")
