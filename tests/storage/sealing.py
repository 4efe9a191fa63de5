"""Folders that were altered by someone who puts the sums right."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import CONFIG, config_sum, read_json, write_json
from textlds.storage.work import LOG, PARTS


def edit_config(folder: Path, **changes: Any) -> None:
    """Change what ``config.json`` says, and its sum; a value of None removes a field."""
    config = {**read_json(folder / CONFIG), **changes}
    config = {name: value for name, value in config.items() if value is not None and name != "config_sha256"}
    write_json(folder / CONFIG, {**config, "config_sha256": config_sum(config)})


def seal(folder: Path, **changes: Any) -> None:
    """Put the sums of the files in a folder right, and that of its ``config.json`` after some changes to it."""
    files = [file for file in folder.iterdir() if file.is_file() and file.name != CONFIG]
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    listed = {file.name: {"bytes": file.stat().st_size, "sha256": sums[file.name]} for file in sorted(files)}
    edit_config(folder, **{"files": listed, **changes})


def reseal_work(folder: Path) -> None:
    """Put the sums of all parts of unfinished work right."""
    lines = []
    for line in (folder / LOG).read_bytes().splitlines():
        record = json.loads(line.partition(b" ")[2])
        part = folder / PARTS / f"{record.get('part')}.{record.get('number')}"
        if part.exists():
            files = sorted(file for file in part.rglob("*") if file.is_file()) if part.is_dir() else [part]
            sums = {str(file.relative_to(part)): file.read_bytes() for file in files}
            record["files"] = {name: [len(data), zlib.crc32(data)] for name, data in sums.items()}
        lines.append(logged(record))
    (folder / LOG).write_bytes(b"".join(lines))


def logged(record: dict[str, Any]) -> bytes:
    """Return a line of the log of finished parts."""
    text = json.dumps(record)
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def part(folder: Path, name: str) -> Path:
    """Return the place of a part of unfinished work."""
    return next(path for path in (folder / PARTS).iterdir() if path.name.partition(".")[0] == name)


def alter_arrays(file: Path, **changes: Any) -> None:
    """Write a file of arrays anew, some of them others, or without them where the change is None."""
    arrays = {name: np.array(array) for name, array in read_arrays(file).items()}
    for name, change in changes.items():
        arrays[name] = None if change is None else change(arrays[name])
    write_arrays(file, {name: array for name, array in arrays.items() if array is not None})
