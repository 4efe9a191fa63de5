"""Folders on disk that are written whole or not at all, and refused if anything in them was altered.

A textlds folder (counts or a model) holds ``config.json`` and the files it lists with their sizes and SHA-256
sums: arrays as safetensors, everything else as JSON. Nothing in it can execute. This module knows how to write and
check such folders; what is in them is the business of :mod:`textlds.counts` and :mod:`textlds.model`.

Writing goes to a hidden sibling folder first, is flushed to disk, and takes its final name by a single rename.
A full disk, Ctrl-C or a kill leaves either the old folder or the new one, never half of one. (Overwriting exchanges the
two in one step where the system can, as Linux does. Elsewhere it takes two renames, and a kill in the instant between
them leaves the old folder beside its place, as ``.name.*.old/name``.)

A temporary folder or file is locked while its process lives. What a killed process left is not locked, and the next one
that writes the same output removes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Literal

from textlds.errors import NO_ROOM, REMEDY, ArgumentError, FormatError, OutputExistsError
from textlds.linalg.threads import parallel_map, threads_for_bytes

CONFIG = "config.json"
FORMAT_VERSION = 1
_SUM = "config_sha256"
_SUFFIX, _UNLOCKED, _MINUTE = ".partial", ".new", 60
_NAMES = {"counts": "counts", "model": "a model", "index": "an index", "tagger": "a tagger"}
_NAMES |= {"spacy-vectors": "word vectors for spaCy"}
_DEEPEST = 50  # levels of JSON


def check_output(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Refuse an output path that exists, before any work is done for it."""
    path = Path(path)
    refuse_url(path)
    if path.exists() and not force:
        raise OutputExistsError(f"{path} exists already. Choose another output, or overwrite it with force (--force).")
    if path.is_dir() and any(path.iterdir()) and not _is_ours(path):
        raise OutputExistsError(f"{path} is a folder that textlds did not write; choose another output.")
    return path


def refuse_url(path: Path) -> None:
    """Refuse an output that is a URL: as a path it has lost a slash, and a folder ``s3:`` would be made here."""
    if path.parts and path.parts[0].endswith(":") and len(path.parts[0]) > 2:  # C: is a drive
        raise ArgumentError(f"{path} is a URL, but the output is written on this machine. Give a path, and copy it.")


def _is_ours(folder: Path) -> bool:
    """Tell whether textlds wrote a folder: other libraries have a config.json too."""
    with contextlib.suppress(OSError, FormatError):
        config = read_json(folder / CONFIG)
        return isinstance(config, dict) and str(config.get("format", "")).startswith("textlds-")
    return False


@contextlib.contextmanager
def new_folder(
    path: str | os.PathLike[str], *, force: bool = False, before: Callable[[Path], None] | None = None
) -> Iterator[Path]:
    """Yield an empty temporary folder that becomes ``path`` if and only if the block ends without an error.

    Args:
        path: The folder to write.
        force: Replace what is there.
        before: Called with the finished folder just before it takes its place.
    """
    target = check_output(path, force=force)
    if target.is_file():
        raise OutputExistsError(f"{target} is a file, and a folder is to be written. Choose another output.")
    with _temporary(target, tempfile.mkdtemp) as temporary:
        os.chmod(temporary, 0o777 & ~_umask())  # mkdtemp makes it private; a model is an ordinary folder
        with _named(target):
            yield temporary
            flush_tree(temporary)
        if before is not None:
            before(temporary)
        _take_place(temporary, target, force=force)
        flush(target.parent)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], *, force: bool = False, text: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file that becomes ``path`` if and only if the block ends without an error."""
    target = check_output(path, force=force)
    if target.is_dir():
        raise OutputExistsError(f"{target} is a folder, and a file is to be written. Choose another output.")
    with _temporary(target, _new_empty_file) as temporary:
        with _named(target), temporary.open("w" if text else "wb", encoding="utf-8" if text else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, check_output(target, force=force))
        flush(target.parent)


def _new_empty_file(**place: Any) -> str:
    handle, name = tempfile.mkstemp(**place)
    os.close(handle)
    return str(name)


@contextlib.contextmanager
def _temporary(target: Path, make: Callable[..., str]) -> Iterator[Path]:
    """Make a temporary sibling of an output, lock it, and remove it in the end; remove those of dead processes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_dead(target)
    unlocked = Path(make(prefix=f".{target.name}.", suffix=_UNLOCKED, dir=target.parent))
    temporary, held = unlocked.with_suffix(_SUFFIX), None
    try:
        held = lock(unlocked)
        os.rename(unlocked, temporary)  # only now: nobody may take it for one of a dead process
        yield temporary
    finally:
        remove(unlocked)
        remove(temporary)
        unlock(held)


def clear_dead(target: Path) -> None:
    """Remove the temporary siblings of an output that no living process holds, and those of such siblings."""
    nested = re.compile(rf"\.\.{re.escape(target.name)}\.\w+\{_SUFFIX}\.")  # a model saved where an output is made
    for path in target.parent.iterdir() if target.parent.is_dir() else ():
        ours = path.name.startswith(f".{target.name}.") or nested.match(path.name)
        if ours and path.suffix in (_SUFFIX, _UNLOCKED):
            with contextlib.suppress(OSError):  # held by a living process, or not ours to remove
                if path.suffix == _SUFFIX or time.time() - path.stat().st_mtime > _MINUTE:
                    held = lock(path)
                    if held is not None:
                        remove(path)
                        unlock(held)


def lock(path: Path) -> int | None:
    """Lock a folder or file until :func:`unlock` or the end of the process; None where the system cannot.

    Raises:
        BlockingIOError: Another process holds it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe in its place has nobody to wait for
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # some network file systems
        os.close(handle)
        return None
    return handle


def unlock(held: int | None) -> None:
    """Give up a lock."""
    if held is not None:
        os.close(held)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(target: Path) -> Iterator[None]:
    """Let an error of a full disk, which knows no file, name the output."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM and error.filename is None:
            error.filename = str(target)
        raise


def write_config(folder: Path, *, kind: str, content: Mapping[str, Any]) -> None:
    """Write ``config.json``, the last file of a folder: its content and the sum of every other file.

    A folder inside it, such as the model of an index, has sums of its own.
    """
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    sizes = [path.stat().st_size for path in paths]
    sums = parallel_map(_sha256, paths, threads=threads_for_bytes(sum(sizes)))
    files = {p.name: {"bytes": n, "sha256": s} for p, n, s in zip(paths, sizes, sums, strict=True)}
    write_json(folder / CONFIG, make_config(kind, content, files))


def make_config(kind: str, content: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of a ``config.json``."""
    config = {"format": f"textlds-{kind}", "format_version": FORMAT_VERSION, **content, "files": files}
    return {**config, _SUM: config_sum(config)}


def config_sum(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a ``config.json`` says, whatever the order and the layout."""
    text = json.dumps(json.loads(json.dumps(config)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_config(
    path: str | os.PathLike[str], *, kind: str | None = None, check: Literal["sums", "sizes"] = "sums"
) -> dict[str, Any]:
    """Read ``config.json`` and check the format, its version, and every file against its recorded sum.

    Args:
        path: The folder.
        kind: ``"counts"`` or ``"model"``, or None to accept either.
        check: ``"sizes"`` leaves the sums out: 2 s a gigabyte, too long for a folder that is opened for one question.
    """
    folder = Path(path)
    if not folder.exists():
        raise FormatError(f"{folder} does not exist. Give the path of a folder that textlds wrote.")
    if not folder.is_dir():
        raise FormatError(
            f"{folder} is a file, but {_NAMES.get(kind or '', 'a folder that textlds wrote')} {_hint(kind)}"
        )
    if not (folder / CONFIG).is_file():
        raise FormatError(f"{folder} is not a textlds folder: it has no {CONFIG}.")
    config = check_config(read_json(folder / CONFIG), str(folder), kind=kind)
    check_files(folder, config, check=check)
    return config


def check_config(config: Any, where: str, *, kind: str | None = None) -> dict[str, Any]:
    """Check the format, its version and the list of files of a ``config.json``."""
    if not isinstance(config, dict) or not str(config.get("format", "")).startswith("textlds-"):
        raise FormatError(f"{where}/{CONFIG} was not written by textlds.")
    found = config["format"].removeprefix("textlds-")
    if kind is not None and found != kind:
        what = _NAMES.get(found, found)
        raise FormatError(f"{where} is {what}, but {_NAMES.get(kind, kind)} {_hint(kind)}")
    version = config.get("format_version")
    if version != FORMAT_VERSION:
        raise FormatError(
            f"{where} has format version {version}; this textlds reads version {FORMAT_VERSION}. "
            f"It was written by textlds {config.get('textlds_version', 'of unknown version')}: "
            f"install that one, or write it again."
        )
    if (stated := config.pop(_SUM, None)) is not None and stated != config_sum(config):  # older ones have none
        raise FormatError(f"{where}/{CONFIG} was altered: its SHA-256 is not the one it states. {REMEDY}")
    if not isinstance(config.get("files"), dict):
        raise FormatError(f"{where}/{CONFIG} does not list the folder's files. {REMEDY}")
    return config


def check_files(folder: Path, config: Mapping[str, Any], *, check: Literal["sums", "sizes"]) -> None:
    """Check every file that a config lists against its recorded size, and its sum if that is wanted."""
    files, sizes = config["files"], [f.get("bytes") for f in config["files"].values() if isinstance(f, dict)]
    threads = threads_for_bytes(sum(n for n in sizes if isinstance(n, int)) if check == "sums" else 0)
    parallel_map(lambda item: _check_file(folder, *item, check=check), files.items(), threads=threads)


def _hint(kind: str | None) -> str:
    if kind == "counts":
        return "are needed here, as `textlds count` writes them. To learn from text in one step: `textlds train`."
    first = " The model is the first argument, the text comes after it." if kind == "model" else ""
    return f"is needed here.{first}"


def write_json(path: Path, content: Any, *, indent: int | None = 1) -> None:
    """Write JSON that is the same bytes for the same content; without ``indent``, large content is written quickly."""
    path.write_bytes(json_bytes(content, indent=indent))


def json_bytes(content: Any, *, indent: int | None = 1) -> bytes:
    """Return JSON as it is written."""
    return (json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False) + "\n").encode("utf-8")


def read_json(path: Path) -> Any:
    """Read JSON of a folder, which may be a stranger's; whatever this library would not write is a FormatError."""
    try:
        if not path.is_file():  # also what has no end: a pipe, a device
            raise FileNotFoundError(path)
        return parse_json(path.read_bytes(), str(path))
    except FileNotFoundError as error:
        raise FormatError(f"{path} is missing. {REMEDY}") from error


def parse_json(data: bytes, where: str) -> Any:
    """Return what JSON says; errors name where it is from."""
    try:
        text = data.decode("utf-8")
        content = json.loads(text, parse_constant=_no_constant)
        _check_depth(content)
        if "\\u" in text:  # a lone surrogate cannot be written again
            json.dumps(content, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:  # also integers of more digits than Python converts
        raise FormatError(f"{where} is not valid JSON ({error}). {REMEDY}") from error
    return content


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _check_depth(content: Any) -> None:
    level = [content]
    for _ in range(_DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if type(inner) in (dict, list)  # no other types come of JSON; this is asked of every word
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {_DEEPEST} deep")


def _check_file(folder: Path, name: str, facts: Any, *, check: str) -> None:
    path = folder / name
    if os.path.basename(name) != name:
        raise FormatError(f"{folder / CONFIG} names a file outside its folder: {name!r}.")
    if not path.is_file():
        raise FormatError(f"{folder} is incomplete: {name} is missing. {REMEDY}")
    if not isinstance(facts, dict) or not isinstance(facts.get("bytes"), int):
        raise FormatError(f"{folder / CONFIG} does not give the size and sum of {name}. {REMEDY}")
    size = path.stat().st_size
    if size != facts["bytes"]:
        raise FormatError(f"{path} is truncated or altered: {size:,} bytes instead of {facts['bytes']:,}. {REMEDY}")
    if check == "sums" and _sha256(path) != facts.get("sha256"):
        raise FormatError(f"{path} was altered: its SHA-256 is not the one in {CONFIG}. {REMEDY}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _take_place(temporary: Path, target: Path, *, force: bool) -> None:
    """Rename a finished folder to its final name; what was there is removed only after that."""
    if not check_output(target, force=force).exists():
        try:
            os.replace(temporary, target)
            return
        except OSError:
            if not target.exists():
                raise
            check_output(target, force=force)  # another process was quicker
    if _exchange(temporary, target):
        return  # what was there has the temporary name now, and goes the way of all temporary folders
    retired = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    old = retired / target.name
    try:
        os.replace(target, old)
        os.replace(temporary, target)
    finally:
        if not target.exists() and old.exists():  # stopped between the two, by Ctrl-C for one
            os.replace(old, target)
        shutil.rmtree(retired, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system or file system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    return bool(rename(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0)  # AT_FDCWD, RENAME_EXCHANGE


def flush_tree(path: Path) -> None:
    """Have a file, or a folder and all that is in it, written to the disk."""
    for inner in (*path.rglob("*"), path) if path.is_dir() else (path,):
        flush(inner)


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
