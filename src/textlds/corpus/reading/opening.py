"""What a user names as corpus, as a list of sources in a fixed order.

A corpus is a path, or a list of paths: files (plain text; ``.gz .bz2 .xz .zst``; ``.jsonl .ndjson .parquet``), folders
(all files in them, sorted), patterns (``*.txt``, ``data/**/*.gz``), ``-`` for standard input, URLs; or any other
iterable of strings, of token lists or of mappings with a text column, such as a generator or a Hugging Face data set.
A list of strings is a list of paths; ``iter(texts)`` makes texts of it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from textlds.corpus.reading.files import File, TextSource, compression, is_remote, remote, split
from textlds.corpus.reading.records import DatasetSource, IterableSource, JsonLinesSource, ParquetSource, is_of_datasets
from textlds.corpus.reading.sources import CHUNK_BYTES, Chunk, Source
from textlds.corpus.settings import ReadSettings
from textlds.errors import ArgumentError, CorpusNotFoundError

__all__ = ["CHUNK_BYTES", "Chunk", "Source", "Sources", "open_sources", "split"]

Sources = str | os.PathLike[str] | Iterable[Any]
_TEXTS = " If these are texts and not paths, pass texts=[...] (or iter([...]) where there is no such argument)."


def open_sources(sources: Sources, options: ReadSettings | None = None) -> list[Source]:
    """Return the sources that a corpus is made of; nothing of their text is read yet.

    Args:
        sources: A path, a list of paths (or of :class:`Source`), an iterable of strings or token lists, or a Hugging
            Face data set.
        options: How they are read.

    Raises:
        CorpusNotFoundError: Nothing was named, a file is missing, a pattern matches nothing, a folder has no files.
    """
    options = options or ReadSettings()
    if is_of_datasets(sources):
        return [DatasetSource(sources, options)]
    if isinstance(sources, str | os.PathLike | Source):
        sources = [sources]
    if not isinstance(sources, list | tuple):
        if not isinstance(sources, Iterable):
            raise ArgumentError(f"a corpus is a path, a list of paths or an iterable of texts, not {sources!r:.100}.")
        return [IterableSource(sources, options)]
    if not sources:
        raise CorpusNotFoundError("no corpus: the list of paths is empty. Name at least one file, folder or pattern.")
    if all(isinstance(item, list | tuple) for item in sources):
        return [IterableSource(sources, options, name="the list")]
    found: list[Source] = []
    for item in sources:
        if isinstance(item, Source):
            found.append(item)
        elif isinstance(item, str | os.PathLike):
            found += [_source(path, options) for path in _expand(os.fspath(item))]
        else:
            raise ArgumentError(f"a list of paths holds {item!r:.100}.{_TEXTS}")
    return found


def _source(path: str, options: ReadSettings) -> Source:
    name = path[: len(path) - len(compression(path))].lower()
    if name.endswith((".jsonl", ".ndjson")):
        return JsonLinesSource(File(path), options)
    if name.endswith((".parquet", ".pq")):
        return ParquetSource(File(path), options)
    return TextSource(File(path), options)


def _expand(path: str) -> list[str]:
    """Return the files that a path, folder, pattern or URL names, sorted."""
    if path == "-":
        return [path]
    if is_remote(path):
        return _expand_remote(path)
    if os.path.isdir(path):
        files = sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and not _hidden(file, path))
        if not files:
            raise CorpusNotFoundError(f"the folder {path} has no files in it. Check the path.")
        return files
    if glob.has_magic(path) and not os.path.exists(path):
        files = sorted(match for match in glob.glob(path, recursive=True) if os.path.isfile(match))
        if not files:
            raise CorpusNotFoundError(f"no file matches the pattern {path}. Check it, and quote it in a shell.")
        return files
    if not os.path.exists(path):
        hint = _TEXTS if any(c.isspace() for c in path) else ""
        raise CorpusNotFoundError(f"there is no file or folder {path!r:.200}. Check the path.{hint}")
    return [path]


def _hidden(file: Path, folder: str) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _expand_remote(url: str) -> list[str]:
    filesystem, path = remote(url)
    try:
        if glob.has_magic(path):
            files = [name for name in filesystem.glob(path) if not filesystem.isdir(name)]
        elif url.startswith("http") or not filesystem.isdir(path):
            return [url]  # a web server has no folders; a missing file is noticed when it is opened
        else:
            files = filesystem.find(path)
    except OSError as error:
        raise CorpusNotFoundError(f"cannot list {url}: {error}. Check the address.") from error
    if not files:
        raise CorpusNotFoundError(f"nothing matches {url}. Check the address.")
    return sorted(str(filesystem.unstrip_protocol(name)) for name in files)
