"""The work folder of a count in progress: what makes it possible to go on after a kill.

Beside the output ``C`` stands ``C.partial-work`` while it is being made: a manifest that says what is counted and how,
and finished parts, each written under another name and renamed. Parts that are there are whole. The result itself is
made in the work folder too and takes its name by a rename, so that a kill leaves nothing half-written elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textlds.errors import CountsError, OutputExistsError, TextLDSError
from textlds.storage.folders import new_file, read_json

MANIFEST = "manifest.json"


class Work:
    """The work folder of one output.

    Args:
        output: The counts folder to be made.
        job: Everything that decides the result: options and the sources' identity.
        sizes: Sizes that decide how the work is cut into parts.
        resume: Go on with the work that is there.
        force: Replace an output that is there; throw away work that is there unless it is resumed.

    Attributes:
        folder: Where the parts go.
        sizes: Those given, or the ones of the work that is being resumed.
        finished: The result stands already; only the clearing up was interrupted.
    """

    def __init__(self, output: Path, job: dict[str, Any], sizes: dict[str, int], *, resume: bool, force: bool) -> None:
        self.output, self.folder = output, work_folder(output)
        self.sizes, self.finished, self._job = sizes, False, job
        manifest = self.folder / MANIFEST
        if manifest.is_file() and read_json(manifest)["job"]["sources"] is None:
            self.clear()  # of text that could be read only once: nobody can go on with it
        self._fresh = not (manifest.is_file() and resume)
        if manifest.is_file() and not (resume or force):
            raise OutputExistsError(
                f"{self.folder} holds the unfinished work of an earlier count. Go on with it with resume (--resume), "
                "or throw it away with force (--force)."
            )
        if manifest.is_file() and resume:
            found = read_json(manifest)
            _check_same(self.folder, found.get("job", {}), job)
            self.sizes = {name: int(found["sizes"][name]) for name in sizes}
            self.finished = output.exists() and not found["replaces"]
        else:
            self.clear()
            self.folder.mkdir(parents=True)
            content = {"job": job, "sizes": sizes, "replaces": output.exists()}
            with new_file(manifest, text=True) as file:
                file.write(json.dumps(content, indent=1))
        if output.exists() and not force and not self.finished:
            raise OutputExistsError(f"{output} exists already; to replace it, give force (--force) with resume.")

    @contextlib.contextmanager
    def kept_if_interrupted(self) -> Iterator[None]:
        """Keep the work after an interruption, but not if it can come to nothing: bad text, bad arguments."""
        try:
            yield
        except BaseException as error:
            hopeless = isinstance(error, TextLDSError) and self._fresh
            if hopeless or self._job["sources"] is None:
                self.clear()
            raise

    def publish(self, result: Path) -> None:
        """Give the finished folder ``result`` (inside the work folder) its final name, and clear up."""
        if self.output.exists():
            os.replace(self.output, self.folder / "replaced")
        os.replace(result, self.output)
        self.clear()

    def clear(self) -> None:
        """Remove the work folder, the manifest last, so that an interruption can be told from a beginning."""
        if not self.folder.exists():
            return
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != MANIFEST:
                path.unlink()
        with contextlib.suppress(FileNotFoundError):
            (self.folder / MANIFEST).unlink()
        self.folder.rmdir()


def work_folder(output: Path) -> Path:
    """Return where the unfinished work for ``output`` is kept."""
    return output.with_name(output.name + ".partial-work")


def _check_same(folder: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    different = [name for name in now if then.get(name) != now[name]]
    if different:
        details = "; ".join(_difference(name, then.get(name), now[name]) for name in different)
        raise CountsError(
            f"the unfinished work in {folder} was begun differently: {details}. Give the same text and options to go "
            "on, or start again with force (--force) and without resume."
        )


def _difference(name: str, then: Any, now: Any) -> str:
    if name != "sources" or not isinstance(then, list):
        return f"{name} was {then!r} and is {now!r}"
    changed = [source for source in now if source not in then] or [source for source in then if source not in now]
    which = changed[0]["path"] if changed else "their order"
    return f"sources (there were {len(then)} and are {len(now)}; changed: {which})"
