"""Counting a corpus: one pass over the text, bounded memory, the same bytes however the work was divided.

    sources ─ reader ─▶ pieces of text ─ threads ─▶ ids + tables of types ─▶ vocabulary
                                                        │ (memory or disk)       │
                                                        └────▶ blocks of rows ◀──┘ ─ threads ─▶ finished rows ─▶ sink

The text is read once. Ids wait until the vocabulary is known, at 4 bytes a token; then they are counted in blocks as
large as memory allows. One block is the rule: its rows leave in order, straight into the result. Otherwise each
block becomes a sorted run on disk, and the runs are summed row by row.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from textlds._version import __version__
from textlds.corpus.reading.opening import EncodingErrors, Source, Sources, open_sources
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.tokenizer import CustomTokenizer, check_tokenizer
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.lagcounts import LagCounts, write_folder
from textlds.counts.pieces import PieceStore, learn_vocabulary
from textlds.counts.plan import Plan, make_plan
from textlds.counts.sinks import FolderSink, MemorySink
from textlds.counts.stages import count_store, tokenize_sources
from textlds.counts.work import Work
from textlds.errors import ArgumentError, CorpusError
from textlds.progress import Progress, ProgressOption, resolve
from textlds.storage.folders import check_output, new_folder


@dataclasses.dataclass(frozen=True)
class Request:
    """What is to be counted: everything that decides the result, apart from the text.

    Attributes:
        vocab_size: Number of types to keep, the most frequent ones.
        max_lag: R.
        settings: How text becomes tokens.
        vocabulary: A given vocabulary, or None to learn one.
        min_count: Types with fewer occurrences are not kept.
        tokenizer: The callable for ``settings.tokenizer == "custom"``.
    """

    vocab_size: int
    max_lag: int
    settings: TextSettings
    vocabulary: Vocabulary | None
    min_count: int
    tokenizer: CustomTokenizer | None

    def __post_init__(self) -> None:
        for name in ("vocab_size", "max_lag", "min_count"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ArgumentError(f"{name}={value!r} must be an integer of at least 1.")
        check_tokenizer(self.settings, self.tokenizer)

    def to_json(self) -> dict[str, Any]:
        """Return what identifies the request."""
        words = None if self.vocabulary is None else json.dumps(self.vocabulary.to_json())
        return {
            "textlds_version": __version__,
            "vocab_size": self.vocab_size,
            "max_lag": self.max_lag,
            "settings": self.settings.to_json(),
            "vocabulary": words and hashlib.sha256(words.encode()).hexdigest(),
            "min_count": self.min_count,
            "tokenizer": self.tokenizer and getattr(self.tokenizer, "__qualname__", type(self.tokenizer).__qualname__),
        }


def make_request(
    *,
    vocab_size: int,
    max_lag: int,
    settings: TextSettings | None,
    vocabulary: Vocabulary | None,
    min_count: int,
    tokenizer: CustomTokenizer | None,
) -> Request:
    """Check and complete the options: a given vocabulary brings its settings and its size."""
    if vocabulary is not None:
        if settings is not None and settings != vocabulary.settings:
            raise ArgumentError(f"the vocabulary was made for {vocabulary.settings}, not for {settings}.")
        settings, vocab_size = vocabulary.settings, max(1, vocabulary.n_types)
    if settings is None:
        settings = TextSettings(tokenizer="words" if tokenizer is None else "custom")
    return Request(vocab_size, max_lag, settings, vocabulary, min_count, tokenizer)


def count_corpus(
    sources: Sources,
    *,
    vocab_size: int = 100_000,
    max_lag: int = 7,
    settings: TextSettings | None = None,
    vocabulary: Vocabulary | None = None,
    min_count: int = 1,
    tokenizer: CustomTokenizer | None = None,
    workers: int | None = None,
    memory: str | int = "4GB",
    text_column: str = "text",
    encoding_errors: EncodingErrors = "strict",
    progress: ProgressOption = False,
) -> LagCounts:
    """Count how often words stand 1..max_lag positions apart, in one pass over the text.

    Args:
        sources: Paths, globs, folders, URLs, ``"-"``, or an iterable of strings or token lists.
        vocab_size: Number of types to keep, the most frequent ones; all others fall into unknown classes.
        max_lag: R.
        settings: How text becomes tokens; by default the built-in tokeniser with its defaults.
        vocabulary: Count against this vocabulary instead of learning one; it brings its settings.
        min_count: Keep no type with fewer occurrences.
        tokenizer: A callable from a line to its tokens, for ``TextSettings(tokenizer="custom")``.
        workers: Threads; by default one a core.
        memory: Budget on top of what the process holds, such as ``"4GB"``; the counts themselves come on top of it
            (:func:`count_to_folder` does not hold them).
        text_column: Column of JSON lines and Parquet files that holds the text.
        encoding_errors: ``"strict"``, or ``"replace"`` for bytes that are not UTF-8.
        progress: Whether or where to show progress.

    Returns:
        The counts: the same for any ``workers``, ``memory`` and order of sources.
    """
    request = make_request(
        vocab_size=vocab_size, max_lag=max_lag, settings=settings,
        vocabulary=vocabulary, min_count=min_count, tokenizer=tokenizer,
    )  # fmt: skip
    opened = open_sources(sources, text_column=text_column, encoding_errors=encoding_errors)
    plan = plan_for(opened, request, workers=workers, memory=memory)
    shown = resolve(progress)
    with tempfile.TemporaryDirectory(prefix="textlds-") as folder:
        store = PieceStore(Path(folder), plan.held_bytes)
        found = read_vocabulary(opened, store, request, plan, shown)
        sink = MemorySink(len(found), max_lag)
        unigrams = count_store(store, found, plan, max_lag=max_lag, folder=Path(folder), sink=sink, progress=shown)
    return LagCounts(found, unigrams, sink.lags())


def count_to_folder(
    sources: Sources,
    output: str | os.PathLike[str],
    *,
    vocab_size: int = 100_000,
    max_lag: int = 7,
    settings: TextSettings | None = None,
    vocabulary: Vocabulary | None = None,
    min_count: int = 1,
    tokenizer: CustomTokenizer | None = None,
    workers: int | None = None,
    memory: str | int = "4GB",
    text_column: str = "text",
    encoding_errors: EncodingErrors = "strict",
    resume: bool = False,
    force: bool = False,
    progress: ProgressOption = False,
) -> None:
    """Count straight into a counts folder, within the memory budget whatever the corpus; see :func:`count_corpus`.

    The folder holds the same bytes as ``count_corpus(...).save(output)``. Work in progress is kept in a folder beside
    it, ``<output>.partial-work``: after an interruption, ``resume=True`` goes on from there.

    Args:
        sources: As for :func:`count_corpus`.
        output: The folder to write.
        vocab_size: As for :func:`count_corpus`, and so are the others.
        max_lag: R.
        settings: How text becomes tokens.
        vocabulary: A given vocabulary.
        min_count: Smallest number of occurrences of a type to keep.
        tokenizer: A custom tokeniser.
        workers: Threads.
        memory: The budget.
        text_column: Column of the text.
        encoding_errors: ``"strict"`` or ``"replace"``.
        resume: Go on with the work of an interrupted count of the same text with the same options.
        force: Replace the output, and throw away unfinished work unless it is resumed.
        progress: Whether or where to show progress.
    """
    target = Path(output)
    request = make_request(
        vocab_size=vocab_size, max_lag=max_lag, settings=settings,
        vocabulary=vocabulary, min_count=min_count, tokenizer=tokenizer,
    )  # fmt: skip
    check_output(target, force=force or resume)
    opened = open_sources(sources, text_column=text_column, encoding_errors=encoding_errors)
    plan = plan_for(opened, request, workers=workers, memory=memory)
    identities = source_identities(opened)
    if identities is None and resume:
        raise ArgumentError("only files can be counted with resume; this text cannot be read a second time.")
    sizes = {"piece_bytes": plan.piece_bytes, "block_tokens": plan.block_tokens}
    job = {**request.to_json(), "text_column": text_column, "encoding_errors": encoding_errors, "sources": identities}
    work = Work(target, job, sizes, resume=resume, force=force)
    if work.finished:
        work.clear()
        return
    plan = dataclasses.replace(plan, **work.sizes)
    shown = resolve(progress)
    store = PieceStore(work.folder, plan.held_bytes, durable=identities is not None)
    with work.kept_if_interrupted():
        found = read_vocabulary(opened, store, request, plan, shown)
        with new_folder(work.folder / "result", force=True) as folder:
            with FolderSink(folder, len(found), max_lag) as sink:
                unigrams = count_store(
                    store, found, plan, max_lag=max_lag, folder=work.folder, sink=sink, progress=shown
                )
                sink.finish()
            write_folder(folder, found, unigrams, sink.pointers)
    work.publish(work.folder / "result")


def plan_for(opened: list[Source], request: Request, *, workers: int | None, memory: str | int) -> Plan:
    """Divide the memory budget for these sources."""
    known = [source.size for source in opened if source.size is not None]
    text_bytes = sum(known) if len(known) == len(opened) else None
    return make_plan(
        memory, workers=workers, vocab_size=request.vocab_size, max_lag=request.max_lag, text_bytes=text_bytes
    )


def source_identities(opened: list[Source]) -> list[Any] | None:
    """Return what tells whether sources are still the same; None if one of them cannot be read again."""
    identities = [source.identity() for source in opened]
    return None if None in identities else identities


def read_vocabulary(
    opened: list[Source], store: PieceStore, request: Request, plan: Plan, progress: Progress
) -> Vocabulary:
    """Tokenise all sources into ``store`` and return the vocabulary, learnt or given."""
    tokenize_sources(opened, store, request.settings, request.tokenizer, plan, progress)
    if not store.tokens:
        raise CorpusError(f"the text ({len(opened)} sources) has no token. Check the paths and the text column.")
    if request.vocabulary is not None:
        return request.vocabulary
    return learn_vocabulary(
        store,
        vocab_size=request.vocab_size,
        min_count=request.min_count,
        settings=request.settings,
        limit=plan.types_bytes,
    )
