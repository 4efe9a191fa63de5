"""From counts or text to a model folder, with unfinished work kept beside it: one way for Python and the commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from textlds.corpus.reading.opening import Sources
from textlds.corpus.settings import CountSettings, TextSettings
from textlds.counts.counting import Corpus, Request, check_left_out, count_into, open_corpus
from textlds.counts.lagcounts import LagCounts, with_record
from textlds.errors import FormatError
from textlds.learn.run import Callback, Fitted, fit_counts
from textlds.learn.settings import FitSettings
from textlds.lexicon.streamed import load_within
from textlds.model.textlds import TextLDS
from textlds.progress import ProgressOption, resolve
from textlds.storage.folders import check_output, remove
from textlds.storage.work import BUDGET, Work, check_same

PathLike = str | os.PathLike[str]


def model_of(fitted: Fitted) -> TextLDS:
    """Return the model that a fit found."""
    return TextLDS(
        fitted.params, fitted.vocabulary, fitted.frequencies, fitted.moments,
        lexicon=fitted.lexicon, history=fitted.history,
    )  # fmt: skip


def fit_to_folder(
    counts: LagCounts | PathLike,
    output: PathLike,
    settings: FitSettings,
    *,
    callback: Callback[TextLDS] | None = None,
    memory: str | int | None = None,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> TextLDS:
    """Fit counts and write the model. Unfinished work is kept in ``<output>.work``.

    Args:
        counts: The counts, or their folder.
        output: The model folder to write.
        settings: How to fit.
        callback: Called after every iteration; True stops.
        memory: A limit: counts of a folder that take more than half of it are read as they are used.
        resume: Continue interrupted work.
        force: Replace the output, and throw away unfinished work unless it is resumed.
        threads: How many; all cores by default.
        progress: Whether or where to show progress.
    """
    with Work(output, {"task": "fit"}, resume=resume, force=force) as work:
        if work.finished:
            return _finished(Path(output), settings)
        loaded = counts if isinstance(counts, LagCounts) else _load(counts, memory, threads)
        return _fit(loaded, settings, work, callback, threads=threads, progress=progress)


def train_to_folder(
    sources: Sources,
    output: PathLike,
    settings: FitSettings,
    *,
    text: TextSettings | None = None,
    counting: CountSettings | None = None,
    counts_output: PathLike | None = None,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
    budget: dict[str, Any] | None = None,
) -> TextLDS:
    """Count text, fit the counts and write the model. Unfinished work, counts included, is kept in ``<output>.work``.

    Args:
        sources: What to count.
        output: The model folder to write.
        settings: How to fit.
        text: How text becomes tokens.
        counting: How it is counted.
        counts_output: Where to keep the counts; by default they are removed with the unfinished work.
        resume: Continue interrupted work: counting, or fitting if the counts are finished.
        force: Replace the output, and throw away unfinished work unless it is resumed.
        threads: How many; all cores by default.
        progress: Whether or where to show progress.
        budget: What the settings were chosen by, kept with unfinished work.
    """
    corpus = open_corpus(sources, text, (counting or CountSettings()).for_training(text), threads)
    settings.check_counts(corpus.request.most_rows, corpus.request.settings.max_lag)
    identities = corpus.identities()
    place = None if counts_output is None else os.path.abspath(counts_output)
    job = {"task": "train", **corpus.request.to_json(), "sources": identities, "counts_output": place}
    if budget is not None:
        job[BUDGET] = budget
    with Work(output, job, sizes=corpus.sizes, resume=resume, force=force, again=identities is not None) as work:
        if work.finished:
            return _finished(Path(output), settings, corpus.request)
        _make_counts(work, corpus, target := Path(place or work.folder / "counts"), force=force, progress=progress)
        counts = _load(target, corpus.request.settings.memory, threads)
        work.retry = True  # with other settings of the fit, the counts can be used again
        return _fit(
            counts, settings, work, None, tokenizer=corpus.request.text.custom, threads=threads, progress=progress
        )


def _make_counts(work: Work, corpus: Corpus, target: Path, *, force: bool, progress: ProgressOption) -> None:
    """Count, unless the counts of unfinished work are there; those that are damaged or missing are made again."""
    if work.published(target):
        try:
            LagCounts.load(target)
        except FormatError:
            remove(target)
        else:
            return
    if target.parent != work.folder:
        check_output(target, force=force)
    count_into(work, target, corpus, resolve(progress))


def _load(path: PathLike, memory: str | int | None, threads: int | None) -> LagCounts:
    """Load counts within a limit, with what is on record of them."""
    return with_record(load_within(path, memory, threads=threads), path)


def _fit(
    counts: LagCounts,
    settings: FitSettings,
    work: Work,
    callback: Callback[TextLDS] | None,
    *,
    tokenizer: Any = None,
    threads: int | None,
    progress: ProgressOption,
) -> TextLDS:
    model = fit_counts(
        counts, settings, model_of, callback=callback, work=work, threads=threads, progress=progress
    ).with_tokenizer(tokenizer)
    with work.publishing(work.output) as folder:
        model.save(folder, force=True)
    return model


def _finished(output: Path, settings: FitSettings, request: Request | None = None) -> TextLDS:
    """Return the model that is there, if it was made with these settings; of counts as asked for, if it was trained."""
    model = TextLDS.load(output, tokenizer=None if request is None else request.text.custom)
    then = model.history.settings
    given = {name: value for name, value in settings.to_json().items() if value != "auto"}
    check_same(output, then, {**given, "em_horizon": settings.horizon(then.get("max_lag", settings.em_horizon))})
    if request is not None and "repeats" in then:  # an older version put neither on record
        check_same(output, then, {"max_lag": request.settings.max_lag, "text": request.text.to_json()})
        record = {name: then[name] for name in ("repeats", "min_count") if then[name] not in ("all", 1)}
        check_left_out(output, record, request, tokens=then["tokens"])
    return model
