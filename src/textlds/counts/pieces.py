"""Pieces: stretches of the corpus, tokenised, each with its own table of types.

The pieces of a corpus, one after the other, are the whole stream of provisional ids; END marks where sources
end. A piece's ids refer to its own table, so that pieces can be made by any thread, process or machine. They wait for
the vocabulary in memory, or on disk where memory is short or work has to survive a kill.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textlds.corpus.reading.opening import Chunk
from textlds.corpus.settings import END, TextSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer
from textlds.corpus.tokens.types import TypeTable, check_words, pack
from textlds.corpus.unknown import unknown_classes
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts import kernels
from textlds.counts.arrays import I32, I64, Flags, Values
from textlds.errors import CorpusError, FormatError
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.parts import Parts

DURABLE_AFTER = 10.0
_STEP = 1 << 20  # ids read from disk at once


@dataclasses.dataclass(frozen=True)
class PieceText:
    """The text of a piece, not yet tokenised.

    Attributes:
        source: Number of the source in which it begins.
        chunks: Consecutive chunks, perhaps of several sources.
    """

    source: int
    chunks: list[Chunk]

    @property
    def origin(self) -> tuple[int, int, int]:
        """Source and offset of its beginning, and how much of the sources' sizes was read for it."""
        return self.source, self.chunks[0].offset, sum(chunk.size for chunk in self.chunks)


@dataclasses.dataclass(frozen=True)
class Piece:
    """A tokenised stretch of text.

    Attributes:
        ids: Provisional ids and markers (n,), int32.
        table: The types the ids refer to, with their occurrences.
        origin: Where the text begins and how much it is (see :class:`PieceText`).
    """

    ids: I32
    table: TypeTable
    origin: tuple[int, int, int]

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.table.counts.sum())

    @property
    def nbytes(self) -> int:
        """Memory it holds."""
        return self.ids.nbytes + self.table.nbytes

    def save(self, path: Path) -> None:
        """Write a file that :meth:`load` reads."""
        data, offsets = self.table.word_bytes()
        arrays: dict[str, Values] = {"ids": self.ids, "types": data, "offsets": offsets, "counts": self.table.counts}
        arrays["origin"] = np.array(self.origin, np.int64)
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> Piece:
        """Read a file that :meth:`save` wrote; ids are mapped and read where they are used.

        Raises:
            FormatError: Its numbers are not those of a piece; compiled code takes them as indices.
        """
        arrays = read_arrays(path)
        table = TypeTable()
        try:
            # Copies, because the compiled table takes arrays it may write to.
            types, offsets, counts, origin = (np.array(arrays[n]) for n in ("types", "offsets", "counts", "origin"))
            ids = arrays["ids"]
            sound = (
                [a.dtype for a in (ids, types, offsets, counts)] == [np.int32, np.uint8, np.int64, np.int64]
                and len(offsets) == len(counts) + 1
                and offsets[0] == 0
                and offsets[-1] == len(types)
                and bool((np.diff(offsets) >= 0).all() and (counts > 0).all())
            )
            if sound and len(counts):
                check_words(types, offsets)
                table.add_bytes(types, offsets, counts)
            if not sound or len(table) != len(counts) or (len(ids) and not END <= ids.min() <= ids.max() < len(table)):
                raise ValueError("ids or types out of range")
            source, offset, size = origin.tolist()
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FormatError(f"{path} is not a piece of text ({error}). Start again with --force.") from error
        return cls(ids, table, (source, offset, size))


def tokenize(text: PieceText, settings: TextSettings) -> Piece:
    """Tokenise the chunks of a piece with a table of its own."""
    worker = ChunkTokenizer(settings, tokenizer=settings.custom)
    parts = [worker.ids(chunk.data, end=chunk.end, separated=chunk.separated) for chunk in text.chunks]
    ids = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Piece(ids, worker.table, text.origin)


class PieceStore:
    """The pieces of a corpus in order: in memory up to a limit, beyond it in a folder.

    Args:
        parts: Where pieces go that memory has no room for. If it is durable, all pieces go there once the work has
            taken :data:`DURABLE_AFTER` seconds, so that it can be resumed; less than that is sooner done again than
            written every time.
        memory: Bytes that pieces may take in memory.

    Attributes:
        facts: What was done to the pieces, for the record.
    """

    def __init__(self, parts: Parts, memory: int) -> None:
        self._parts, self._room = parts, memory
        self._held: list[Piece | None] = []
        self.tokens = 0
        self.table_bytes = 0
        self.boundaries = 0
        self._after_token = False
        self._begin = time.monotonic()
        self._unwritten: list[int] = []
        self.facts: dict[str, Any] = {}
        self._left_out: Callable[[int, Piece], Piece] = lambda _, piece: piece

    def __len__(self) -> int:
        return len(self._held)

    def load(self, index: int) -> Piece | None:
        """Return piece number ``index`` if it was written, by this run or an earlier one, and is whole."""
        return self._parts.read(_name(index), Piece.load)

    def write(self, index: int, piece: Piece) -> None:
        """Store piece ``index`` durably if that is asked for. May be called by any thread, in any order."""
        if self._worth_keeping():
            self._parts.keep(_name(index), piece.save)

    def add(self, piece: Piece) -> None:
        """Take the next piece in order, and note what the vocabulary and the planning need to know of it."""
        index = len(self._held)
        runs, self._after_token = kernels.count_boundaries(writable(piece.ids), self._after_token)
        self.boundaries += runs
        self.tokens += piece.tokens
        self.table_bytes += piece.table.nbytes
        room = piece.nbytes <= self._room
        self._room -= piece.nbytes if room else 0
        self._held.append(piece)
        self._unwritten.append(index)
        if self._worth_keeping() or not room:
            self._write_pending()
        if not room:
            self._held[index] = None

    def _worth_keeping(self) -> bool:
        return self._parts.durable and time.monotonic() - self._begin >= DURABLE_AFTER

    def _write_pending(self) -> None:
        for index in self._unwritten:
            piece = self._held[index]
            if piece is not None and self._parts.find(_name(index)) is None:
                self._parts.keep(_name(index), piece.save)
        self._unwritten.clear()

    def __iter__(self) -> Iterator[Piece]:
        for index in range(len(self)):
            yield self._left_out(index, self._held[index] or self._loaded(index))

    def leave_out(self, units: Sequence[Flags], without: Callable[[Piece, Flags], Piece]) -> None:
        """Leave some units out of the pieces from here on: mark them, piece by piece, and say how it is done."""
        self._left_out = lambda index, piece: without(piece, units[index])
        self.tokens = self.table_bytes = self.boundaries = 0
        after_token = False
        for piece in self:
            runs, after_token = kernels.count_boundaries(writable(piece.ids), after_token)
            self.boundaries += runs
            self.tokens += piece.tokens
            self.table_bytes += piece.table.nbytes

    def drain(self) -> Iterator[Piece]:
        """Iterate for the last time, freeing memory on the way."""
        for index in range(len(self)):
            piece, self._held[index] = self._held[index], None
            yield self._left_out(index, piece or self._loaded(index))

    def _loaded(self, index: int) -> Piece:
        piece = self.load(index)
        if piece is None:
            raise FormatError(f"piece {index} of the text was removed while it was being counted. Start again.")
        return piece


def _name(index: int) -> str:
    return f"piece-{index:06d}"


def writable(ids: I32) -> I32:
    """Return ids as kernels take them: one compiled signature, for arrays that may be written to."""
    return ids if ids.flags.writeable and type(ids) is np.ndarray else np.array(ids)


def learn_vocabulary(
    store: PieceStore, *, vocab_size: int, min_count: int, settings: TextSettings, limit: int
) -> Vocabulary:
    """Sum the tables of types by their bytes and keep the most frequent types.

    Where the sum might take more than ``limit`` bytes, it is made share by share, and only types that can be among the
    ``vocab_size`` most frequent are kept of each share.
    """
    shares = -(-store.table_bytes // max(limit, 1))
    if shares <= 1:
        total = TypeTable.merged(piece.table for piece in store)
    else:
        total, classes = TypeTable(), unknown_classes(settings.unknown)
        for share in range(shares):
            part = TypeTable()
            for piece in store:
                _add(part, piece.table, _share_of(piece.table, share, shares))
            _add(total, part, _frequent(part.counts, vocab_size + len(classes)))  # names of classes are not kept
    return vocabulary_of(total, store.boundaries, vocab_size=vocab_size, min_count=min_count, settings=settings)


def vocabulary_of(
    total: TypeTable, boundaries: int, *, vocab_size: int, min_count: int, settings: TextSettings
) -> Vocabulary:
    """Learn the vocabulary from the types of the whole corpus and the number of its boundaries."""
    if len(total) < 2:
        raise CorpusError(f"the text has a single type of token, {total.words()[0]!r}; pairs need two or more.")
    if settings.boundary_token is not None and boundaries:
        total.add_bytes(*pack([settings.boundary_token]), np.array([boundaries], np.int64))
    return Vocabulary.learn(total, vocab_size=vocab_size, min_count=min_count, settings=settings)


def _share_of(table: TypeTable, share: int, shares: int) -> Flags:
    chosen = np.zeros(len(table), np.bool_)
    kernels.in_share(*table.word_bytes(), share, shares, chosen)
    return chosen


def _frequent(counts: I64, number: int) -> Flags:
    """Mark the ``number`` largest counts and all that are equal to the smallest of them."""
    if len(counts) <= number:
        return np.ones(len(counts), np.bool_)
    least = np.partition(counts, len(counts) - number)[len(counts) - number]
    return np.asarray(counts >= least)


def _add(total: TypeTable, table: TypeTable, chosen: Flags) -> None:
    if not chosen.any():
        return
    types, offsets = table.word_bytes()
    lengths = np.diff(offsets)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[chosen])])
    total.add_bytes(types[np.repeat(chosen, lengths)], bounds, table.counts[chosen])


def boundary_row_of(vocabulary: Vocabulary) -> int:
    """Return the row of the boundary token, or -1 if boundaries have none."""
    token = vocabulary.settings.boundary_token
    return -1 if token is None else vocabulary.id(token)


def row_blocks(
    pieces: Iterable[Piece], vocabulary: Vocabulary, *, block_tokens: int, max_lag: int
) -> Iterator[tuple[I32, int]]:
    """Turn pieces into blocks of rows, each with the last ``max_lag`` items before it as context.

    Yields:
        ``(rows, first)``: positions before ``first`` are context. The array is overwritten by the next block.
    """
    boundary_row = boundary_row_of(vocabulary)
    # An id becomes at most two items: with two to spare, a corpus of block_tokens items is one block.
    block = np.empty(max_lag + block_tokens + 2, np.int32)
    first = size = 0
    state = kernels.AFTER_STOP
    for piece in pieces:
        rows_of = vocabulary.remap(piece.table)
        done = 0
        while done < len(piece.ids):
            ids = writable(piece.ids[done : done + min(_STEP, (len(block) - size) // 2)])
            n, state = kernels.to_rows(ids, rows_of, boundary_row, state, block[size:])
            size, done = size + n, done + len(ids)
            if len(block) - size < 2:
                yield block[:size], first
                block[:max_lag] = block[size - max_lag : size].copy()
                first = size = max_lag
    if size > first:
        yield block[:size], first
