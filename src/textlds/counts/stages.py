"""The two stages of counting: text to pieces, and pieces to finished rows."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from textlds.corpus.reading.files import TextSource, compression, is_remote
from textlds.corpus.reading.opening import CHUNK_BYTES, Chunk, Source
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.arrays import I32, I64
from textlds.counts.blocks import Sink, count_block, in_order, merge
from textlds.counts.pieces import Piece, PieceStore, PieceText, row_blocks, tokenize
from textlds.counts.plan import Plan
from textlds.counts.sinks import FolderSink, FolderSource
from textlds.errors import FormatError
from textlds.progress import Progress, Rate
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.parts import Parts

_RUNS_AT_ONCE = 32  # runs merged in one go; each costs 16 V bytes of row lengths
_RUN = "run.safetensors"

Begun = Callable[[Source, Chunk], None]


def tokenize_sources(
    sources: Sequence[Source],
    store: PieceStore,
    settings: TextSettings,
    plan: Plan,
    progress: Progress,
    *,
    on_begin: Begun | None = None,
) -> None:
    """Read the text once, and put its pieces, in order, into ``store``; pieces that are there already are kept."""

    def make(item: tuple[int, PieceText]) -> Piece:
        index, text = item
        piece = store.load(index)
        if piece is None:
            piece = tokenize(text, settings)
            store.write(index, piece)
        return piece

    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    rate = Rate()
    with progress.task("Tokenise", total, "bytes") as task, ThreadPoolExecutor(plan.threads) as pool:
        # the last piece without a gap says where in the text to begin: everything before it need not be read again
        last: Piece | None = None
        while (piece := store.load(len(store) + (last is not None))) is not None:
            if last is not None:
                store.add(last)
                task.advance(last.origin[2])
            last = piece
        begin = last.origin[:2] if last is not None else (0, 0)
        texts = enumerate(cut_pieces(sources, plan.piece_bytes, begin=begin, on_begin=on_begin), start=len(store))
        for _, piece in in_order(pool, plan.threads, make, texts):
            store.add(piece)
            task.advance(piece.origin[2], rate.note(piece.tokens))


def cut_pieces(
    sources: Sequence[Source], piece_bytes: int, *, begin: tuple[int, int] = (0, 0), on_begin: Begun | None = None
) -> Iterator[PieceText]:
    """Group the chunks of all sources into pieces; where they are cut follows from the text and the size alone.

    Args:
        sources: In order.
        piece_bytes: A piece is complete with the chunk that takes it to this size.
        begin: Source and offset at which a piece begins: continue from there.
        on_begin: Called with every source whose beginning is read, and its first chunk.
    """
    piece: list[Chunk] = []
    first = size = 0
    for number in range(begin[0], len(sources)):
        for chunk in _chunks_from(sources[number], begin[1] if number == begin[0] else 0, piece_bytes):
            if on_begin is not None and chunk.offset == 0:
                on_begin(sources[number], chunk)
            first = first if piece else number
            piece.append(chunk)
            size += len(chunk.data)
            if size >= piece_bytes:
                yield PieceText(first, piece)
                piece, size = [], 0
    if piece:
        yield PieceText(first, piece)


def _chunks_from(source: Source, offset: int, piece_bytes: int) -> Iterator[Chunk]:
    """Read a source from the chunk at ``offset`` on, without reading what comes before it where that is possible."""
    if offset and isinstance(source, TextSource) and not is_remote(source.name) and not compression(source.name):
        source = TextSource(source.file, source.options, start=offset, stop=source.stop)
    for chunk in source.chunks(min(piece_bytes, CHUNK_BYTES)):
        if chunk.offset >= offset:
            yield chunk


def count_store(
    store: PieceStore,
    vocabulary: Vocabulary,
    plan: Plan,
    *,
    max_lag: int,
    parts: Parts,
    sink: Sink,
    progress: Progress,
) -> I64:
    """Count all pieces and hand the finished rows to ``sink``; the store's memory is freed on the way.

    A corpus larger than a block goes through sorted runs among ``parts``; runs that are there already are kept.

    Returns:
        Occurrences of each row (V,).
    """
    items = store.tokens + 2 * store.boundaries  # a run of markers becomes at most a boundary token and a STOP
    n_rows = len(vocabulary)
    give_back_memory()
    blocks = row_blocks(store.drain(), vocabulary, block_tokens=min(plan.block_tokens, items), max_lag=max_lag)
    rate = Rate()

    def count(rows: I32, first: int, into: Sink) -> I64:
        return count_block(
            rows, first=first, n_rows=n_rows, max_lag=max_lag, threads=plan.threads, sink=into,
            entries=plan.entries, advance=lambda n: task.advance(n, rate.note(n)),
        )  # fmt: skip

    with progress.task("Count", store.tokens, "tokens") as task:
        if items <= plan.block_tokens:
            return sum((count(rows, first, sink) for rows, first in blocks), np.zeros(n_rows, np.int64))
        runs = [
            _run(parts, f"run-{number:05d}", n_rows, max_lag, functools.partial(count, *block))
            for number, block in enumerate(blocks)
        ]
    with progress.task("Merge", None) as task:
        return _merge_runs(runs, n_rows, plan, max_lag=max_lag, parts=parts, sink=sink)


def _run(parts: Parts, name: str, n_rows: int, max_lag: int, fill: Callable[[Sink], I64]) -> Path:
    """Return a sorted run, a folder; ``fill`` writes its rows if it is not there."""

    def write(folder: Path) -> None:
        folder.mkdir()
        with FolderSink(folder, n_rows, max_lag) as sink:
            unigrams = fill(sink)
            sink.finish()
        write_arrays(folder / _RUN, {"unigrams": unigrams, "pointers": sink.pointers})

    return parts.read(name, functools.partial(_checked_run, n_rows=n_rows, max_lag=max_lag)) or parts.keep(name, write)


def _checked_run(run: Path, *, n_rows: int, max_lag: int) -> Path:
    """Return a run of an earlier process if it may be one; columns are checked where they are read."""
    arrays = read_arrays(run / _RUN)
    facts = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    int64 = np.dtype(np.int64)
    if facts != {"unigrams": (int64, (n_rows,)), "pointers": (int64, (max_lag, n_rows + 1))}:
        raise FormatError(f"{run / _RUN} is not of {max_lag} lags and {n_rows} rows")
    if (arrays["unigrams"] < 0).any():
        raise FormatError(f"{run / _RUN} holds numbers of occurrences below 0")
    source = FolderSource(run, n_rows, functools.partial(_pointers, run))
    for lag in range(1, max_lag + 1):
        source.row_lengths(lag)
    return run


def _pointers(run: Path, lag: int) -> I64:
    return np.array(read_arrays(run / _RUN)["pointers"][lag - 1])


def _merge_runs(runs: list[Path], n_rows: int, plan: Plan, *, max_lag: int, parts: Parts, sink: Sink) -> I64:
    def add(group: list[Path], into: Sink) -> I64:
        sources = [FolderSource(path, n_rows, functools.partial(_pointers, path)) for path in group]
        merge(sources, [1] * len(group), max_lag=max_lag, threads=plan.threads, sink=into, entries=plan.entries)
        return sum((np.array(read_arrays(path / _RUN)["unigrams"]) for path in group), np.zeros(n_rows, np.int64))

    level = 0
    while len(runs) > _RUNS_AT_ONCE:
        groups = [runs[i : i + _RUNS_AT_ONCE] for i in range(0, len(runs), _RUNS_AT_ONCE)]
        runs = [
            _run(parts, f"merged-{level}-{i:05d}", n_rows, max_lag, functools.partial(add, group))
            for i, group in enumerate(groups)
        ]
        level += 1
    return add(runs, sink)


def give_back_memory() -> None:
    """Return to the system what threads have freed, which glibc keeps for them otherwise, apart for each."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
