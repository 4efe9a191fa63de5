"""Embedding or tagging a corpus of any size on a Dask cluster: one Parquet file per piece, and no piece twice.

A piece is a range of a plain text, some files, or some row groups of a Parquet file. Whoever gets it reads it, embeds
or tags it (:class:`textlds.Embedder`, :class:`textlds.integrations.tags.BatchTagger`) and writes
``part-000012.parquet`` under a temporary name that becomes the final one when the file is whole. Every part carries
what it was made of. Running the same job again makes the parts that are missing.

    texts      columns "text" and "vector" (or "tokens" and "vectors"); vectors are lists of fixed size
    Parquet    the columns of the input, and these
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import posixpath
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from textlds.corpus.reading.files import File, is_remote, remote
from textlds.corpus.reading.opening import Source, Sources, open_sources
from textlds.corpus.reading.records import ParquetSource
from textlds.corpus.reading.texts import read_texts
from textlds.corpus.settings import ReadSettings
from textlds.errors import ArgumentError, CorpusError, FormatError, MissingExtraError, OutputExistsError
from textlds.integrations.cluster import Cluster
from textlds.integrations.dask import cut
from textlds.integrations.embedder import Embedder
from textlds.integrations.tags import BatchTagger
from textlds.model.installed import find_model
from textlds.progress import ProgressOption, resolve
from textlds.storage.folders import CONFIG, read_config

PIECE_BYTES = 1 << 24  # about 3M tokens: ten seconds of a core, and 2.5 GB of token vectors with 200 numbers
MANIFEST = "_textlds.json"
_ROWS = 1 << 12  # texts embedded at a time
_KEY = b"textlds"


@dataclasses.dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]


Piece = list[Source] | RowGroups


def embed_on_cluster(
    client: Any,
    embedder: Embedder | BatchTagger,
    sources: Sources,
    output: str | os.PathLike[str],
    *,
    settings: ReadSettings | None = None,
    piece_bytes: int = PIECE_BYTES,
    progress: ProgressOption = False,
) -> dict[str, int]:
    """Embed or tag a corpus into a folder of Parquet files; parts that are there already are kept.

    Args:
        client: A ``distributed.Client``.
        embedder: Its model, or tagger, must be readable by every worker.
        sources: Paths, patterns, folders or URLs that every worker can read; text, or Parquet files only.
        output: A folder that every worker can write, or a URL.
        settings: How sources are read.
        piece_bytes: Input per piece, about.
        progress: Whether or where to show progress.

    Returns:
        How many parts there are, how many were made now, and how many texts these hold.
    """
    _pyarrow()
    read_config(find_model(embedder.model), kind=embedder.kind, check="sizes")
    if isinstance(embedder, Embedder):
        embedder.check()
    reading = dataclasses.replace(settings or ReadSettings(), text_column=embedder.column)
    pieces = _pieces(open_sources(sources, reading), piece_bytes)
    folder = _Folder(os.fspath(output))
    job = _job(embedder, pieces)
    digest = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()
    folder.claim(job, digest)
    missing = [n for n in range(len(pieces)) if not folder.has(_part(n), f"{digest}:{n}")]
    cluster = Cluster(
        client,
        resolve(progress),
        again="The same command makes the parts that are missing, and no others.",
        smaller="Or cut the text into more files, or pieces (piece_bytes).",
    )
    jobs = [(embedder, pieces[n], folder, _part(n), f"{digest}:{n}") for n in missing]
    futures = cluster.submit("embed", _embed, jobs)
    cluster.watch("Embed", futures, unit="parts")
    # a worker that dies now takes its answers with it, and its parts are made again: only then is anything left over
    texts = sum(client.gather(futures))
    client.cancel(futures, force=True)
    folder.clear()
    return {"parts": len(pieces), "made": len(missing), "texts": texts}


def _part(number: int) -> str:
    return f"part-{number:06}.parquet"


def _pieces(sources: Sequence[Source], piece_bytes: int) -> list[Piece]:
    tables = [source for source in sources if isinstance(source, ParquetSource)]
    if not tables:
        return list(cut(sources, piece_bytes))
    if len(tables) < len(sources):
        other = next(source.name for source in sources if not isinstance(source, ParquetSource))
        raise ArgumentError(
            f"{other} is not Parquet, but {tables[0].name} is, and their parts have different columns. Embed them "
            f"into two folders."
        )
    return [RowGroups(source.name, groups) for source in tables for groups in _row_groups(source.name, piece_bytes)]


def _row_groups(path: str, piece_bytes: int) -> Iterator[tuple[int, ...]]:
    """Yield the row groups of each piece of a file; only its end is read."""
    groups: list[int] = []
    size = 0
    with _opened(path) as file:
        metadata = file.metadata
        for group in range(metadata.num_row_groups):
            groups.append(group)
            size += metadata.row_group(group).total_byte_size
            if size >= piece_bytes:
                yield tuple(groups)
                groups, size = [], 0
    if groups:
        yield tuple(groups)


def _job(embedder: Embedder | BatchTagger, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Return what decides the bytes of every part."""
    # config.json has the sums of all files of the model
    model = hashlib.sha256((find_model(embedder.model) / CONFIG).read_bytes()).hexdigest()
    described = [
        [piece.path, list(piece.groups)] if isinstance(piece, RowGroups) else [_described(source) for source in piece]
        for piece in pieces
    ]
    return {"embedder": repr(embedder), "model": model, "pieces": described}


def _described(source: Source) -> list[Any]:
    return [source.name, source.size, getattr(source, "start", 0)]


class _Folder:
    """A folder on any file system, in which files appear whole."""

    def __init__(self, path: str) -> None:
        self.path = path if is_remote(path) else os.path.abspath(path)

    def _system(self) -> tuple[Any, str]:
        if is_remote(self.path):
            return remote(self.path)
        from fsspec.implementations.local import LocalFileSystem

        return LocalFileSystem(), self.path

    def claim(self, job: dict[str, Any], digest: str) -> None:
        """Write what is being made; a folder with the parts of another job is refused. A claim alone is replaced."""
        system, path = self._system()
        name = posixpath.join(path, MANIFEST)
        if system.exists(name):
            try:
                found = json.loads(system.cat_file(name))
                before, other = found["digest"], found["job"]
            except (ValueError, KeyError, TypeError) as error:
                raise FormatError(f"{name} is not a manifest of textlds ({error}). Choose another output.") from error
            if before == digest:
                return
            if any(posixpath.basename(part).startswith("part-") for part in system.ls(path, detail=False)):
                names = [key for key in job if other.get(key) != job[key]] if isinstance(other, dict) else list(job)
                differ = "differs" if names in (["model"], ["embedder"]) else "differ"
                raise OutputExistsError(
                    f"{self.path} holds the parts of another run: {' and '.join(names)} {differ}. Choose another "
                    f"output, or remove the folder."
                )
        elif system.exists(path) and system.ls(path):
            raise OutputExistsError(f"{self.path} is not empty and was not written by textlds. Choose another output.")
        system.makedirs(path, exist_ok=True)
        with self.new(MANIFEST) as file:
            file.write(json.dumps({"digest": digest, "job": job}, indent=1).encode())

    def has(self, name: str, digest: str) -> bool:
        """Tell whether a whole part of this job is there."""
        _, parquet = _pyarrow()
        system, path = self._system()
        place = posixpath.join(path, name)
        if not system.exists(place):
            return False
        try:
            with system.open(place, "rb") as file:
                metadata = parquet.read_schema(file).metadata or {}
        except (OSError, ValueError):  # pyarrow's errors are ValueErrors
            return False
        return bool(metadata.get(_KEY) == digest.encode())

    def clear(self) -> None:
        """Remove what workers that died left behind; all parts are there."""
        system, path = self._system()
        for name in system.ls(path, detail=False):
            if posixpath.basename(name).startswith(".part-"):
                with contextlib.suppress(OSError):
                    system.rm(name)

    @contextlib.contextmanager
    def new(self, name: str) -> Iterator[Any]:
        """Open a file that takes its name if and only if the block ends without an error."""
        system, path = self._system()
        target, temporary = posixpath.join(path, name), posixpath.join(path, f".{name}.{uuid.uuid4().hex[:8]}")
        try:
            with system.open(temporary, "wb") as file:
                yield file
            system.mv(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                system.rm(temporary)
            raise


# What runs on the workers


def _embed(embedder: Embedder | BatchTagger, piece: Piece, folder: _Folder, name: str, digest: str) -> int:
    """Embed one piece into one part; returns the number of texts."""
    pa, parquet = _pyarrow()
    texts, writer = 0, None
    with folder.new(name) as file, contextlib.ExitStack() as stack:
        for batch in _batches(pa, piece, embedder.column):
            table = embedder(batch)
            if writer is None:
                schema = table.schema.with_metadata({**(table.schema.metadata or {}), _KEY: digest.encode()})
                writer = stack.enter_context(parquet.ParquetWriter(file, schema, use_dictionary=False))
            writer.write_table(table.cast(writer.schema))
            texts += table.num_rows
    return texts


def _batches(pa: Any, piece: Piece, column: str) -> Iterator[Any]:
    """Yield the rows of a piece as tables; at least one, so that a part has a schema."""
    if isinstance(piece, RowGroups):
        with _opened(piece.path) as file:
            none = True
            for batch in file.iter_batches(batch_size=_ROWS, row_groups=list(piece.groups)):
                none = False
                yield pa.Table.from_batches([batch])
            if none:
                yield file.schema_arrow.empty_table()
        return
    texts: list[Any] = []
    kind = None
    for text in read_texts(piece):
        texts.append(text.content)
        kind = kind or (pa.string() if isinstance(text.content, str) else pa.list_(pa.string()))
        if len(texts) >= _ROWS:
            yield pa.table({column: pa.array(texts, kind)})
            texts = []
    if texts or kind is None:
        yield pa.table({column: pa.array(texts, kind or pa.string())})


@contextlib.contextmanager
def _opened(path: str) -> Iterator[Any]:
    pa, parquet = _pyarrow()
    with File(path).open() as file:
        try:
            yield parquet.ParquetFile(file)
        except pa.ArrowException as error:
            raise CorpusError(f"{path} is not a whole Parquet file: {error}. Fetch or write it again.") from error


def _pyarrow() -> tuple[Any, Any]:
    try:
        import fsspec  # noqa: F401
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("writing Parquet on a cluster", "parquet,remote") from error
    return pyarrow, pyarrow.parquet
