"""Counting on a Dask cluster: the same kernels, the same bytes, many machines.

    piece of text ──▶ ids + table of types, which stay on the worker that read the text
                         │ tables                        │ ids
                         ▼ summed in shares by hash      │
                      vocabulary ──────────────────────▶ ▼ counted where they lie
                                                      partial counts, cut into blocks of rows
                                                         │ block by block
                                                         ▼ summed in a tree each ──▶ written as a shard each

No machine holds all counts: a worker sums a block of rows at a time and writes it (:mod:`textlds.counts.shards`).

Input is cut into byte ranges (of plain text) or groups of whole files, which the workers read themselves: they need to
see the same paths. A window that reaches back over the start of a piece needs the last R rows before it; those few
numbers are all that pieces tell each other. What a worker that dies had done is done again by others, from its pieces
of the text; nothing else is.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from textlds.corpus.reading.files import TextSource, compression, split
from textlds.corpus.reading.opening import Source, Sources, open_sources
from textlds.corpus.reading.records import IterableSource
from textlds.corpus.settings import BOUNDARY, END, CountSettings, TextSettings
from textlds.corpus.tokens.types import TypeTable
from textlds.corpus.unknown import unknown_classes
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts import kernels
from textlds.counts.arrays import I32
from textlds.counts.blocks import count_block
from textlds.counts.counting import Request, make_request
from textlds.counts.lagcounts import LagCounts, write_shards
from textlds.counts.pieces import Piece, PieceText, boundary_row_of, tokenize, vocabulary_of, writable
from textlds.counts.plan import parse_memory
from textlds.counts.shards import Place, Shard
from textlds.counts.sinks import MemorySink
from textlds.errors import ArgumentError, CorpusError, OutputExistsError
from textlds.integrations.cluster import Cluster
from textlds.integrations.dask_repeats import leave_out_on_cluster
from textlds.integrations.dask_rows import BLOCK_BYTES, Partial, collect, sum_rows, write_blocks
from textlds.integrations.dask_types import frequent_types
from textlds.progress import ProgressOption, resolve
from textlds.storage.folders import CONFIG, new_folder

PIECE_BYTES = 1 << 26  # about 12 M tokens: 48 MB of ids, a second or two of work


@dataclasses.dataclass(frozen=True)
class Summary:
    """What planning has to know of a piece.

    Attributes:
        items: Number of ids and markers.
        tokens: Number of tokens.
        boundaries: Runs of markers that follow a token within the piece.
        begins_with_marker: The first item is a marker.
        ends_with_token: The last item is a token.
    """

    items: int
    tokens: int
    boundaries: int
    begins_with_marker: bool
    ends_with_token: bool


def count_on_cluster(
    client: Any,
    sources: Sources,
    *,
    text: TextSettings | None = None,
    settings: CountSettings | None = None,
    piece_bytes: int = PIECE_BYTES,
    block_bytes: int = BLOCK_BYTES,
    progress: ProgressOption = False,
) -> LagCounts:
    """Count a corpus on a cluster; the result is the same as that of one thread.

    Args:
        client: A ``distributed.Client``.
        sources: Paths, patterns, folders or URLs that every worker can read.
        text: How text becomes tokens; a custom tokeniser is sent to the workers.
        settings: As for :func:`textlds.counts.count_corpus`. Memory is what one task may take; pieces are made smaller
            if it is little.
        piece_bytes: Text per piece.
        block_bytes: Of the counts that one worker sums.
        progress: Whether or where to show progress.
    """
    cluster = _cluster(client, progress)
    words, max_lag, partials, facts = _counted(cluster, sources, text, settings, piece_bytes)
    sink = MemorySink(len(words), max_lag)
    unigrams, _, blocks = sum_rows(cluster, partials, len(words), block_bytes)
    collect(cluster, blocks, sink)
    return LagCounts(words, unigrams, sink.lags(), facts)


def count_on_cluster_to_folder(
    client: Any,
    sources: Sources,
    output: str | os.PathLike[str],
    *,
    text: TextSettings | None = None,
    settings: CountSettings | None = None,
    piece_bytes: int = PIECE_BYTES,
    block_bytes: int = BLOCK_BYTES,
    force: bool = False,
    progress: ProgressOption = False,
) -> None:
    """Count a corpus on a cluster into a folder of row shards, which the workers write: no machine holds all counts.

    Args:
        client: As for :func:`count_on_cluster`.
        sources: As there.
        output: The counts folder to write: one that all machines share, or a URL.
        text: As there.
        settings: As there.
        piece_bytes: As there.
        block_bytes: Of a shard.
        force: Overwrite the output.
        progress: As there.
    """
    cluster = _cluster(client, progress)

    def write(place: Place) -> list[Shard]:
        words, _, partials, facts = _counted(cluster, sources, text, settings, piece_bytes)
        unigrams, bounds, blocks = sum_rows(cluster, partials, len(words), block_bytes)
        shards = write_blocks(cluster, blocks, place)
        write_shards(place, words, unigrams, bounds, shards, facts)
        return shards

    place = Place.at(output)
    if place.local is not None:
        with new_folder(output, force=force) as folder:
            write(Place.at(folder))
        return
    check_url(place, force=force)
    kept = {shard.name for shard in write(place)}
    for name in place.names():  # of what was there before, or of a run that was interrupted
        if name.startswith("rows-") and name not in kept:
            place.remove(name)


def _cluster(client: Any, progress: ProgressOption) -> Cluster:
    return Cluster(
        client,
        resolve(progress),
        again="The same command counts all of the text again: on a cluster, nothing is kept of unfinished counts.",
        smaller="Or make the pieces smaller (--memory).",
    )


def check_url(place: Place, *, force: bool) -> None:
    """Refuse a URL at which there is something, before any work is done for it."""
    names = [name for name in place.names() if not name.startswith("rows-")]
    if names and (CONFIG not in names or not force):
        raise OutputExistsError(
            f"{place.path} exists already. Choose another output"
            + (", or overwrite it with force (--force)." if CONFIG in names else "; textlds did not write it.")
        )


def _counted(
    cluster: Cluster, sources: Sources, text: TextSettings | None, settings: CountSettings | None, piece_bytes: int
) -> tuple[Vocabulary, int, list[Any], dict[str, Any]]:
    """Return the vocabulary, the number of lags, the counts of every piece, on the workers, and what is on record."""
    request = make_request(text, settings)
    max_lag = request.settings.max_lag
    opened = open_sources(sources, request.settings)
    texts = cut(opened, max(1, min(piece_bytes, parse_memory(request.settings.memory) // 16)))
    pieces = cluster.submit("piece", _tokenize, [(piece, request.text) for piece in texts])
    facts: dict[str, Any] = {}
    if isinstance(request.settings.repeats, int):
        pieces, found = leave_out_on_cluster(cluster, pieces, request.settings.repeats)
        facts["repeats"] = found.to_json()
    summaries: list[Summary] = cluster.gather("tokenise", "summary", _summarise, [(piece,) for piece in pieces])
    words = _find_vocabulary(cluster, pieces, summaries, request, facts)
    # Part of the graph instead of scattered: whoever loses it can make it again.
    shared = cluster.submit("vocabulary", _itself, [(words,)])[0]
    tails = cluster.gather("edges", "tail", _tail, [(piece, shared, max_lag) for piece in pieces])
    beginnings = _beginnings(tails, words, max_lag)
    jobs = [(piece, shared, begin, max_lag) for piece, begin in zip(pieces, beginnings, strict=True)]
    partials = cluster.submit("count", _count, jobs)
    del pieces, jobs  # a worker frees a piece when it is counted
    cluster.watch("count", partials)
    return words, max_lag, partials, facts


def cut(sources: Sequence[Source], piece_bytes: int) -> list[list[Source]]:
    """Cut sources into pieces of about equal size: ranges of plain text, or groups of whole files."""
    pieces: list[list[Source]] = []
    size = piece_bytes
    for source in sources:
        if isinstance(source, IterableSource) or source.name == "-":
            raise ArgumentError(f"a cluster reads files; {source.name} cannot be sent to it. Count it on one machine.")
        known = source.size or 0
        parts: Sequence[Source] = [source]
        if isinstance(source, TextSource) and known > piece_bytes and not compression(source.name):
            parts = split(source.name, -(-known // piece_bytes), options=source.options)
        for part in parts:
            if size + (part.size or piece_bytes) > piece_bytes:
                pieces.append([])
                size = 0
            pieces[-1].append(part)
            size += part.size or piece_bytes
    return pieces


def _find_vocabulary(
    cluster: Cluster, pieces: Sequence[Any], summaries: Sequence[Summary], request: Request, facts: dict[str, Any]
) -> Vocabulary:
    """Return the vocabulary, learnt or given, and put on record what it leaves out."""
    tokens = sum(summary.tokens for summary in summaries)
    if not tokens:
        read = "1 piece" if len(pieces) == 1 else f"{len(pieces)} pieces"
        raise CorpusError(f"the text ({read}) has no token. Check the paths and the text column.")
    if request.vocabulary is not None:
        facts |= request.record
        return request.vocabulary
    vocab_size, min_count = request.settings.vocab_size, request.settings.least_count(tokens)
    if min_count > 1:
        facts["min_count"] = min_count
    settings, boundaries = dataclasses.replace(request.text, custom=None), _boundaries(summaries)
    token = settings.boundary_token
    total = frequent_types(
        cluster,
        cluster.submit("table", _table, [(piece,) for piece in pieces]),
        number=vocab_size + len(unknown_classes(settings.unknown)),  # whose names are not kept
        min_count=min_count,
        always=[token] if token is not None and boundaries else [],
    )
    return vocabulary_of(total, boundaries, vocab_size=vocab_size, min_count=min_count, settings=settings)


def _boundaries(summaries: Iterable[Summary]) -> int:
    """Number of runs of markers that follow a token, those across pieces included."""
    total, after_token = 0, False
    for summary in summaries:
        if summary.items:
            total += summary.boundaries + (after_token and summary.begins_with_marker)
            after_token = summary.ends_with_token
    return total


def _beginnings(tails: Sequence[I32], vocabulary: Vocabulary, max_lag: int) -> list[tuple[I32, int]]:
    """For each piece, the last ``max_lag`` rows before it and the state of the stream there."""
    boundary_row = boundary_row_of(vocabulary)
    same = np.arange(len(vocabulary), dtype=np.int32)
    before = np.empty(0, np.int32)  # markers and rows; a few more than are needed
    beginnings = []
    for tail in tails:
        rows = np.empty(2 * len(before) + 1, np.int32)
        n, state = kernels.to_rows(before, same, boundary_row, kernels.AFTER_STOP, rows)
        beginnings.append((rows[max(0, n - max_lag) : n].copy(), int(state)))
        before = _last_items(np.concatenate([before, tail]), max_lag)
    return beginnings


def _last_items(items: I32, max_lag: int) -> I32:
    """Return the last items, runs of markers as one; enough of them to know ``max_lag`` rows and the state."""
    if not len(items):
        return items
    marker = items < 0
    begins = np.concatenate([[True], ~(marker[1:] & marker[:-1])])  # tokens and runs of markers
    has_end = np.logical_or.reduceat(items == END, np.flatnonzero(begins))
    return np.where(has_end, np.int32(END), items[begins])[-(max_lag + 2) :]


# What runs on the workers


def _tokenize(sources: list[Source], settings: TextSettings) -> Piece:
    chunks = [chunk for source in sources for chunk in source.chunks()]
    return tokenize(PieceText(0, chunks), settings)


def _summarise(piece: Piece) -> Summary:
    ids = writable(piece.ids)
    boundaries, ends_with_token = kernels.count_boundaries(ids, False)
    begins_with_marker = bool(len(ids)) and int(ids[0]) in (BOUNDARY, END)
    return Summary(len(ids), piece.tokens, int(boundaries), begins_with_marker, bool(ends_with_token))


def _itself(vocabulary: Vocabulary) -> Vocabulary:
    return vocabulary


def _table(piece: Piece) -> TypeTable:
    return piece.table


def _tail(piece: Piece, vocabulary: Vocabulary, max_lag: int) -> I32:
    rows_of = vocabulary.remap(piece.table)
    for n in itertools.accumulate(itertools.repeat(1 << 10), lambda a, _: a * 16):  # runs of markers may be long
        ids = np.array(piece.ids[-n:])
        ids[ids >= 0] = rows_of[ids[ids >= 0]]
        items = _last_items(ids, max_lag)
        if len(items) == max_lag + 2 or n >= len(piece.ids):
            return items
    raise AssertionError("unreachable")


def _count(piece: Piece, vocabulary: Vocabulary, beginning: tuple[I32, int], max_lag: int) -> Partial:
    context, state = beginning
    rows = np.empty(len(context) + 2 * len(piece.ids) + 1, np.int32)
    rows[: len(context)] = context
    n, _ = kernels.to_rows(
        writable(piece.ids), vocabulary.remap(piece.table), boundary_row_of(vocabulary), state, rows[len(context) :]
    )
    sink = MemorySink(len(vocabulary), max_lag)
    unigrams = count_block(
        rows[: len(context) + n],
        first=len(context),
        n_rows=len(vocabulary),
        max_lag=max_lag,
        threads=1,
        sink=sink,
    )
    return Partial(unigrams, sink.lags())
