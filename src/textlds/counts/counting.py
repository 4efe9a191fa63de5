"""Counting a corpus: one pass over the text, bounded memory, the same bytes however the work was divided.

    sources ─ reader ─▶ pieces of text ─ threads ─▶ ids + tables of types ─▶ vocabulary
                                                        │ (memory or disk)       │
                                                        └────▶ blocks of rows ◀──┘ ─ threads ─▶ finished rows ─▶ sink

The text is read once. Ids wait until the vocabulary is known, at 4 bytes per token; then they are counted in blocks as
large as memory allows. One block is the rule: its rows leave in order, straight into the result. Otherwise each
block becomes a sorted run on disk, and the runs are summed row by row.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from textlds.corpus.reading.opening import Source, Sources, open_sources
from textlds.corpus.settings import CountSettings, TextSettings, contradiction
from textlds.corpus.tokens.tokenizer import check_tokenizer
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.lagcounts import KIND, LagCounts, stored_vocabulary, write_folder
from textlds.counts.noticing import Noticer
from textlds.counts.pieces import PieceStore, learn_vocabulary
from textlds.counts.plan import Plan, make_plan
from textlds.counts.record import Record, read_record, repeats_of
from textlds.counts.repeats import leave_out_repeats
from textlds.counts.sinks import FolderSink, MemorySink
from textlds.counts.stages import count_store, tokenize_sources
from textlds.errors import ArgumentError, CorpusError
from textlds.progress import Progress, ProgressOption, resolve
from textlds.storage.folders import read_config
from textlds.storage.parts import Parts
from textlds.storage.work import Work, check_same

_log = logging.getLogger("textlds")


@dataclasses.dataclass(frozen=True)
class Request:
    """What is to be counted: everything that decides the result, apart from the text.

    Attributes:
        text: How text becomes tokens.
        settings: How many words and lags.
        vocabulary: The words to count, or None to learn them.
        record: What is on record of a vocabulary that a counts folder gave.
    """

    text: TextSettings
    settings: CountSettings
    vocabulary: Vocabulary | None
    record: Record = dataclasses.field(default_factory=dict)

    @property
    def most_rows(self) -> int:
        """The largest number of rows that the counts can have."""
        if self.vocabulary is not None:
            return len(self.vocabulary)
        from textlds.corpus.unknown import unknown_classes

        return self.settings.vocab_size + len(unknown_classes(self.text.unknown))

    def to_json(self) -> dict[str, Any]:
        """Return what identifies the request."""
        words = None if self.vocabulary is None else json.dumps(self.vocabulary.to_json())
        custom = self.text.custom
        return {
            **{name: value for name, value in self.settings.to_json().items() if name != "memory"},
            "vocabulary": words and hashlib.sha256(words.encode()).hexdigest(),
            **self.text.to_json(),
            "custom": custom and getattr(custom, "__qualname__", type(custom).__qualname__),
        }


def make_request(text: TextSettings | None, settings: CountSettings | None) -> Request:
    """Check and complete the settings: a given vocabulary brings its text settings and its size."""
    given, settings = TextSettings.joined(text, "text"), settings or CountSettings()
    vocabulary, record = _given_vocabulary(settings.vocabulary, given)
    if vocabulary is not None:
        name = contradiction(given, vocabulary.settings)
        if name is not None:
            raise ArgumentError(
                f"the vocabulary was made for {name}={getattr(vocabulary.settings, name)!r}, not for "
                f"{name}={getattr(given, name)!r}. Leave {name} out, or count with other words."
            )
        given = dataclasses.replace(vocabulary.settings, custom=given.custom)
        settings = dataclasses.replace(settings, vocab_size=max(1, vocabulary.n_types))
    check_tokenizer(given, given.custom)
    if isinstance(settings.repeats, int) and given.boundaries not in ("line", "sentence"):
        raise ArgumentError(
            f"repeats={settings.repeats} leaves out lines, but boundaries={given.boundaries!r} lets contexts cross "
            f"them. Use repeats='all' (--repeats all), or boundaries='line' (--boundaries line)."
        )
    return Request(given, settings, vocabulary, record)


def _given_vocabulary(given: Any, text: TextSettings) -> tuple[Vocabulary | None, Record]:
    """Return a vocabulary that was given as such, as a counts folder or as a file with one word per line.

    With it comes what is on record of it: which words are rare enough to be left out was decided in that folder.
    """
    if given is None or isinstance(given, Vocabulary):
        return given, {}
    if not isinstance(given, str | os.PathLike):
        raise ArgumentError(f"vocabulary={given!r:.100} is neither a Vocabulary nor the path of one.")
    if Path(given).is_dir():
        record = read_record(read_config(given, kind=KIND, check="sizes"))
        return stored_vocabulary(given), {name: value for name, value in record.items() if name == "min_count"}
    return Vocabulary.read(given, dataclasses.replace(text, custom=None)), {}


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Text that is about to be counted.

    Attributes:
        sources: In order.
        request: What is to be counted.
        plan: How the memory is divided.
    """

    sources: list[Source]
    request: Request
    plan: Plan

    def identities(self) -> list[Any] | None:
        """Return what tells whether the sources are still the same; None if one of them cannot be read again."""
        found = [source.identity() for source in self.sources]
        return None if None in found else found

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes that decide how the work is divided."""
        return {"piece_bytes": self.plan.piece_bytes, "block_tokens": self.plan.block_tokens}


def open_corpus(
    sources: Sources, text: TextSettings | None, settings: CountSettings | None, threads: int | None
) -> Corpus:
    """Open the sources and divide the memory budget for them."""
    request = make_request(text, settings)
    opened = open_sources(sources, request.settings)
    known = [source.size for source in opened if source.size is not None]
    plan = make_plan(
        request.settings.memory, threads=threads, vocab_size=request.settings.vocab_size,
        max_lag=request.settings.max_lag, text_bytes=sum(known) if len(known) == len(opened) else None,
    )  # fmt: skip
    return Corpus(opened, request, plan)


def count_corpus(
    sources: Sources,
    *,
    text: TextSettings | None = None,
    settings: CountSettings | None = None,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> LagCounts:
    """Count how often words occur 1..max_lag positions apart, in one pass over the text.

    Args:
        sources: Paths, globs, folders, URLs, ``"-"``, or an iterable of strings or token lists.
        text: How text becomes tokens; by default the built-in tokeniser with its defaults.
        settings: How many words and lags, and how files are read. Memory is the budget on top of what the process
            holds; the counts themselves come on top of it (:func:`count_to_folder` does not hold them).
        threads: How many; by default one per core.
        progress: Whether or where to show progress.

    Returns:
        The counts: the same for any number of threads, any memory and any order of sources.
    """
    corpus, shown = open_corpus(sources, text, settings, threads), resolve(progress)
    max_lag = corpus.request.settings.max_lag
    with tempfile.TemporaryDirectory(prefix="textlds-") as folder:
        parts = Parts(Path(folder))
        store = PieceStore(parts, corpus.plan.held_bytes)
        found = read_vocabulary(corpus, store, shown)
        sink = MemorySink(len(found), max_lag)
        unigrams = count_store(store, found, corpus.plan, max_lag=max_lag, parts=parts, sink=sink, progress=shown)
    return LagCounts(found, unigrams, sink.lags(), store.facts)


def count_to_folder(
    sources: Sources,
    output: str | os.PathLike[str],
    *,
    text: TextSettings | None = None,
    settings: CountSettings | None = None,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> None:
    """Count straight into a counts folder, within the memory budget whatever the corpus; see :func:`count_corpus`.

    The folder holds the same bytes as ``count_corpus(...).save(output)``. Unfinished work is kept in a folder beside
    it, ``<output>.work``: after an interruption, ``resume=True`` continues from there.

    Args:
        sources: As for :func:`count_corpus`.
        output: The folder to write.
        text: As for :func:`count_corpus`.
        settings: As for :func:`count_corpus`.
        resume: Continue the interrupted work of the same text with the same settings.
        force: Replace the output, and throw away unfinished work unless it is resumed.
        threads: How many.
        progress: Whether or where to show progress.
    """
    corpus, target = open_corpus(sources, text, settings, threads), Path(output)
    identities = corpus.identities()
    job = {"task": "count", **corpus.request.to_json(), "sources": identities}
    with Work(target, job, sizes=corpus.sizes, resume=resume, force=force, again=identities is not None) as work:
        if work.finished:
            _check_finished(target, corpus.request)
        else:
            count_into(work, target, corpus, resolve(progress))


def count_into(work: Work, target: Path, corpus: Corpus, progress: Progress) -> None:
    """Count into a folder, with the parts of unfinished work."""
    plan, max_lag = dataclasses.replace(corpus.plan, **work.sizes), corpus.request.settings.max_lag
    store = PieceStore(work.parts, plan.held_bytes)
    found = read_vocabulary(dataclasses.replace(corpus, plan=plan), store, progress)
    with work.publishing(target) as folder:
        with FolderSink(folder, len(found), max_lag) as sink:
            unigrams = count_store(store, found, plan, max_lag=max_lag, parts=work.parts, sink=sink, progress=progress)
            sink.finish()
        write_folder(folder, found, unigrams, sink.pointers, store.facts)


def _check_finished(target: Path, request: Request) -> None:
    """Refuse a counts folder that was made with other settings, as far as it tells."""
    config = read_config(target, kind=KIND, check="sizes")
    then = {**config["settings"], "max_lag": config["max_lag"]}
    now = {**request.text.to_json(), "max_lag": request.settings.max_lag}
    check_same(target, then, now)
    check_left_out(target, read_record(config), request, tokens=config["tokens"])
    if request.vocabulary is not None and stored_vocabulary(target) != request.vocabulary:
        check_same(target, {"vocabulary": "other words"}, {"vocabulary": "those given"})
    if request.settings.vocab_size < config["types"]:
        check_same(target, {"vocab_size": config["types"]}, {"vocab_size": request.settings.vocab_size})


def check_left_out(target: Path, record: Record, request: Request, *, tokens: float) -> None:
    """Refuse what was made of counts from which other lines or words were left out."""
    kept, least = request.settings.repeats, request.settings.min_count
    check_same(target, {"repeats": repeats_of(record)}, {"repeats": "all" if kept == "auto" else kept})
    if request.vocabulary is None and least == "auto":
        # without a record it may be an older version's; and a boundary token is counted, but no token of the text
        known = "min_count" in record and request.text.boundary_token is None
        least = request.settings.least_count(int(tokens)) if known else least
    if request.vocabulary is None and least != "auto":
        check_same(target, {"min_count": record.get("min_count", 1)}, {"min_count": least})


def read_vocabulary(corpus: Corpus, store: PieceStore, progress: Progress) -> Vocabulary:
    """Tokenise all sources into ``store`` and return the vocabulary, learnt or given."""
    request = corpus.request
    noticer = Noticer(request.text.boundaries)
    tokenize_sources(corpus.sources, store, request.text, corpus.plan, progress, on_begin=noticer.look)
    if not store.tokens:
        n = len(corpus.sources)
        raise CorpusError(
            f"the text ({n} source{'' if n == 1 else 's'}) has no token. Check the paths and the text column."
        )
    noticer.report()
    if isinstance(request.settings.repeats, int):
        found = leave_out_repeats(store, request.settings.repeats, corpus.plan.types_bytes)
        store.facts["repeats"] = found.to_json()
        if found.units_left_out:
            _log.info(
                "%s of %s lines repeat others and are left out, %s tokens; repeats='all' (--repeats all) counts them.",
                *(f"{n:,}" for n in (found.units_left_out, found.units, found.tokens_left_out)),
            )
    if request.vocabulary is not None:
        store.facts |= request.record
        return request.vocabulary
    least = request.settings.least_count(store.tokens)
    if least > 1:
        store.facts["min_count"] = least
    if least > 1 and request.settings.min_count == "auto":
        _log.info("Words that occur fewer than %d times are unknown (min_count=1, --min-count 1, keeps them).", least)
    return learn_vocabulary(
        store,
        vocab_size=request.settings.vocab_size,
        min_count=least,
        settings=dataclasses.replace(request.text, custom=None),
        limit=corpus.plan.types_bytes,
    )
