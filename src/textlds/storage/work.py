"""Unfinished work: what makes it possible to resume after an interruption.

While the output ``X`` is being made, the folder ``X.work`` beside it holds

    manifest.json   what is being made, of what, with which settings
    parts.log       one line per finished part or note, each with its checksum, in the order in which they were done
    parts/          the parts: files or folders
    lock            held by the process at work; the system releases it when that process ends, however it ends

Parts that are missing or damaged are made again, with the same bits (:mod:`textlds.storage.parts`). Only a damaged
manifest is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from textlds._version import __version__
from textlds.errors import ArgumentError, FormatError, OutputExistsError, TextLDSError
from textlds.storage.folders import (
    CONFIG,
    check_output,
    clear_dead,
    lock,
    new_file,
    new_folder,
    read_json,
    refuse_url,
    remove,
    unlock,
)
from textlds.storage.parts import Parts

MANIFEST, LOG, PARTS, LOCK, _COUNTS = "manifest.json", "parts.log", "parts", "lock", "counts"
BUDGET = "budget"  # of a job: what its settings were chosen by
STAGE = "stage"  # the note that holds the job of the last stage
_FORMAT, _VERSION = "textlds-work", 1
_OURS = (MANIFEST, LOG, PARTS, LOCK, _COUNTS)
_OLD = {".checkpoint": ("train.json", "job"), ".partial-work": (MANIFEST,)}  # of versions before this format

_log = logging.getLogger("textlds")


class Work:
    """The unfinished work for one output. Use as a context manager.

    Where the block ends without an error, the work is done and its folder removed. An interruption leaves it to be
    resumed. An error of textlds removes what this run began: it would only meet the same error again.

    Args:
        output: The folder to be made.
        job: All that decides the result, as JSON.
        sizes: Sizes that decide how the work is divided.
        resume: Take up the work that is there; an output that is there without any is finished.
        force: Replace an output that is there, and throw away work that is there unless it is resumed.
        again: Whether the sources can be read again. If not, nothing is kept for later.

    Attributes:
        folder: ``<output>.work``.
        parts: The finished parts.
        sizes: Those given, or those of the work that is resumed.
        finished: The output is there already; nothing is to be done.
        retry: What is done so far serves a last stage with other settings too: if this one is refused, another may be
            tried without asking.
    """

    def __init__(
        self,
        output: str | os.PathLike[str],
        job: dict[str, Any],
        *,
        sizes: dict[str, int] | None = None,
        resume: bool = False,
        force: bool = False,
        again: bool = True,
    ) -> None:
        self.output, self.folder = Path(output), work_folder(output)
        self.sizes, self.finished, self.retry = sizes or {}, False, False
        self._job, self._again, self._force = json.loads(json.dumps(job)), again, force
        if resume and not again:
            raise ArgumentError("this text cannot be read a second time, so there is nothing to resume.")
        refuse_url(self.output)
        _refuse_old(self.output, force=force)
        new = not self.folder.exists()
        self._held = _locked(self.folder, self.output)
        try:
            self._open(resume=resume, force=force)
        except BaseException:
            if new:
                self._clear()
            unlock(self._held)
            raise

    def _open(self, *, resume: bool, force: bool) -> None:
        clear_dead(self.output)
        found = self._manifest(force=force and not resume)
        parts = Parts(self.folder / PARTS, self.folder / LOG if self._again else None)
        if found is not None and not (resume or force):
            if not parts.noted("retry"):
                raise OutputExistsError(
                    f"{self.folder} holds unfinished work for {self.output}. Resume it with resume=True (--resume), "
                    f"or throw it away and start again with --force."
                )
            resume = found["job"] == self._job  # an attempt that was refused is in nobody's way
        self._fresh = found is None or not resume
        if found is not None and resume:
            check_same(self.folder, found["job"], self._job)
            check_same(self.folder, dict.fromkeys(found["sizes"]), dict.fromkeys(self.sizes))
            self.parts, self.sizes, self._force = parts, found["sizes"], force or found["replace"]
            parts.tidy()
            parts.forget("retry")
            self.finished = self.published(self.output)
        elif resume and not force and self.output.exists():
            self.finished = True
        if self.finished:
            _log.info("%s is finished already; there is nothing to resume.", self.output)
            self.parts = parts
            return
        check_output(self.output, force=self._force)
        if self._fresh:
            if resume:
                _log.info("There is no unfinished work for %s; starting from the beginning.", self.output)
            self._empty()
            self.parts = Parts(self.folder / PARTS, self.folder / LOG if self._again else None)
            self._begin()

    def _begin(self) -> None:
        content = {
            "format": _FORMAT, "format_version": _VERSION, "textlds_version": __version__, "job": self._job,
            "sizes": self.sizes, "replace": self._force, "again": self._again,
        }  # fmt: skip
        with new_file(self.folder / MANIFEST, force=True, text=True) as file:
            file.write(json.dumps({**content, "crc32": _crc(content)}, indent=1))

    def _manifest(self, *, force: bool) -> dict[str, Any] | None:
        """Return the manifest of work that can be resumed; an empty one if it does not matter."""
        strange = [path.name for path in self.folder.iterdir() if _strange(path)]
        if strange:
            raise OutputExistsError(f"{self.folder} holds {strange[0]}, which textlds did not put there; not using it.")
        if not (self.folder / MANIFEST).exists():  # killed before it began
            return None
        content = {} if force else _read_manifest(self.folder)
        return content if content.get("again", True) else None

    def begin(self, job: dict[str, Any]) -> bool:
        """Begin a last stage with a job of its own, or take it up if it is the same; tell whether it is new."""
        then, now = self.parts.noted(STAGE), json.loads(json.dumps(job))
        if then is None:
            self.parts.note(STAGE, now)
            return True
        check_same(self.folder, then, now)
        return False

    @contextlib.contextmanager
    def publishing(self, target: Path) -> Iterator[Path]:
        """Yield an empty folder that becomes ``target``, and recognise it later as the result of this work."""

        def remember(folder: Path) -> None:
            self.parts.note(f"published {target.name}", _config_sum(folder))

        with new_folder(target, force=self._force or target.parent == self.folder, before=remember) as folder:
            yield folder

    def published(self, target: Path) -> bool:
        """Tell whether a folder is the result of this work."""
        then = self.parts.noted(f"published {target.name}")
        return then is not None and (target / CONFIG).is_file() and then == _config_sum(target)

    def __enter__(self) -> Work:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            refused = isinstance(error, TextLDSError)
            if error is None or not self._again or (refused and self._fresh and not self.retry):
                self._clear()
            elif not refused:
                error.add_note(f"The work so far is in {self.folder}. Continue with resume=True (--resume).")
            elif self.retry and self.parts.noted(STAGE) is None:
                self.parts.note("retry", True)
        finally:
            unlock(self._held)

    def _empty(self) -> None:
        """Remove all but the manifest, which is replaced, and the lock."""
        for path in self.folder.iterdir():
            if path.name not in (MANIFEST, LOCK):
                remove(path)

    def _clear(self) -> None:
        """Remove the folder, the manifest first: without it, the rest is nothing to resume."""
        remove(self.folder / MANIFEST)
        self._empty()
        remove(self.folder / LOCK)
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def work_folder(output: str | os.PathLike[str]) -> Path:
    """Return where the unfinished work for an output is kept."""
    path = Path(output)
    if not path.name:
        raise ArgumentError(f"{os.fspath(output)!r} is not the name of a folder to write. Give one, such as 'model'.")
    return path.with_name(path.name + ".work")


def read_work(folder: Path) -> tuple[dict[str, Any], Parts]:
    """Return the job and the parts of unfinished work, without changing it."""
    return _read_manifest(folder)["job"], Parts(folder / PARTS, folder / LOG)


def _strange(path: Path) -> bool:
    """Tell whether something in a work folder is not ours: it has another name, leads elsewhere, or is a pipe, say."""
    if path.name not in _OURS:
        return path.name[0] != "."
    return path.is_symlink() or not (path.is_dir() if path.name in (PARTS, _COUNTS) else path.is_file())


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        content = read_json(folder / MANIFEST)
        crc = content.pop("crc32")
        if crc != _crc(content) or content["format"] != _FORMAT or content["format_version"] != _VERSION:
            raise ValueError("its sum or version is not the one expected")
        flags = content["replace"], content["again"]
        if not isinstance(content["job"], dict) or not all(isinstance(flag, bool) for flag in flags):
            raise TypeError("its fields are not those of unfinished work")
        if not all(isinstance(size, int) and size > 0 for size in content["sizes"].values()):
            raise ValueError(f"sizes {content['sizes']}")
    except (FormatError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{folder / MANIFEST} is damaged ({error}), so the work cannot be resumed. Start again with --force, or "
            f"delete {folder}."
        ) from error
    return dict(content)


def _locked(folder: Path, output: Path) -> int | None:
    """Make a folder and hold its lock; another process may be just removing it."""
    if folder.exists() and not folder.is_dir():
        raise OutputExistsError(f"{folder} is a file; unfinished work for {output} needs that name. Move it away.")
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            (folder / LOCK).touch()
            try:
                held = lock(folder / LOCK)
            except BlockingIOError as error:
                raise OutputExistsError(
                    f"another process is making {output} right now. Wait until it is done, or choose another output."
                ) from error
            if held is None or os.fstat(held).st_nlink:  # none: it was removed before it was locked
                return held
            unlock(held)


def _refuse_old(output: Path, *, force: bool) -> None:
    for suffix, names in _OLD.items():
        folder = output.with_name(output.name + suffix)
        if not force and any((folder / name).exists() for name in names):
            raise OutputExistsError(
                f"{folder} holds unfinished work of an older version of textlds, which cannot be resumed. "
                f"Delete it, or start again with --force, which leaves it alone."
            )


def check_same(folder: Path, then: Any, now: dict[str, Any]) -> None:
    """Refuse a folder, of unfinished work or of its result, that was made with other settings or of other input."""
    then = then if isinstance(then, dict) else {}  # a stranger's
    changed = [_difference(name, then.get(name), now[name]) for name in now if then.get(name) != now[name]]
    if changed:
        raise ArgumentError(
            f"{folder} belongs to another job ({'; '.join(changed)}). Give the same input and settings to resume it, "
            f"or start again with --force and without --resume."
        )


def _difference(name: str, then: Any, now: Any) -> str:
    if name != "sources" or not isinstance(then, list) or not isinstance(now, list):
        return f"{name}: {then!r:.200} then, {now!r:.200} now"
    changed = [source for source in now if source not in then] or [source for source in then if source not in now]
    which = changed[0].get("path") if changed and isinstance(changed[0], dict) else "their order"
    return f"sources: {len(then)} then, {len(now)} now; changed: {which}"


def _crc(content: Any) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _config_sum(folder: Path) -> str:
    return hashlib.sha256((folder / CONFIG).read_bytes()).hexdigest()
