"""The public functions: from text to counts, from counts to a model, and both at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from textlds.corpus.encoding import Text
from textlds.corpus.reading.records import is_of_datasets
from textlds.corpus.settings import CountSettings, TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.counting import count_corpus, count_to_folder
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.learn.moments import Pseudocount
from textlds.learn.run import Callback, fit_counts
from textlds.learn.select import Selection, select_settings
from textlds.learn.settings import FitSettings, Observations
from textlds.model.loading import load as load
from textlds.model.textlds import TextLDS
from textlds.model.training import fit_to_folder, model_of, train_to_folder
from textlds.progress import ProgressOption
from textlds.settings import names_checked

PathLike = str | os.PathLike[str]


@names_checked(settings={"counting": CountSettings, "text": TextSettings})
def count(
    paths: PathLike | Iterable[PathLike] | None = None,
    *,
    texts: Iterable[str] | Iterable[Sequence[str]] | None = None,
    vocab_size: int | None = None,
    max_lag: int | None = None,
    vocabulary: Vocabulary | PathLike | None = None,
    text: TextSettings | None = None,
    counting: CountSettings | None = None,
    output: PathLike | None = None,
    resume: bool = False,
    threads: int | None = None,
    client: Any = None,
    progress: ProgressOption = False,
) -> LagCounts:
    """Count how often words occur 1..max_lag positions apart, in one pass over the text.

    Args:
        paths: Files (plain, .gz, .bz2, .xz, .zst, .jsonl, .parquet), globs, folders, URLs, ``"-"``, or a Hugging Face
            data set.
        texts: Instead of paths, an iterable of strings, of token lists or of mappings; each is one document.
        vocab_size: How many of the most frequent types are kept (100,000); the others fall into unknown classes.
        max_lag: R, the largest distance counted (7).
        vocabulary: Count these words instead of learning them: a vocabulary, a counts folder, or a file with one word
            a line. The first two bring their text settings.
        text: How text becomes tokens, such as ``TextSettings(tokenizer="whitespace")``.
        counting: Other settings of counting, such as ``CountSettings(memory="8GB", text_column="body")``.
        output: Write the counts to this folder, without holding them in memory; they are then read from it.
        resume: Continue the interrupted work for ``output``.
        threads: How many; all cores by default. The counts are the same for any number.
        client: A ``dask.distributed.Client``: count on its cluster.
        progress: True for a progress bar, or an object that shows it.
    """
    settings = CountSettings.joined(counting, "counting", vocab_size=vocab_size, max_lag=max_lag, vocabulary=vocabulary)
    sources = one_source(paths, texts)
    _check_output(output, resume=resume)
    if client is not None:
        from textlds.integrations.dask import count_on_cluster

        if output is not None:
            raise ArgumentError("counts from a cluster are not written as they are made: leave output out, and save().")
        return count_on_cluster(client, sources, text=text, settings=settings, progress=progress)
    if output is None:
        return count_corpus(sources, text=text, settings=settings, threads=threads, progress=progress)
    count_to_folder(sources, output, text=text, settings=settings, resume=resume, threads=threads, progress=progress)
    return LagCounts.load(output)


@names_checked(settings={"settings": FitSettings})
def fit(
    counts: LagCounts,
    *,
    state_size: int | Literal["auto"] | None = None,
    iterations: int | Literal["auto"] | None = None,
    seed: int | None = None,
    pseudocount: Pseudocount | None = None,
    observations: Observations | None = None,
    settings: FitSettings | None = None,
    callback: Callback[TextLDS] | None = None,
    output: PathLike | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> TextLDS:
    """Fit a model to counts. No corpus is needed, and an iteration costs the same whatever its size.

    Args:
        counts: From :func:`textlds.count`.
        state_size: h, the length of the state and of a token's vector (auto): 200, fewer for little text.
        iterations: EM iterations at most (auto): 20, or 50 where one-hot words are observed.
        seed: The same seed gives the same bits, for any number of threads (0).
        pseudocount: κ per type (auto): 0, or ``"paper"``, 0.2 T / V, where one-hot words are observed.
        observations: What the model observes, ``"profiles"`` of words (the default) or the one-hot ``"words"`` of the
            paper.
        settings: Other settings of the fit, such as ``FitSettings(noise="diagonal", em_horizon=5)``.
        callback: Called with a :class:`FitStep` after every iteration; return True to stop.
        output: Write the model to this folder. Until it is written, unfinished work is kept in ``<output>.work``.
        resume: Continue the interrupted work for ``output``. The model is the same as if it had not been interrupted.
        threads: How many; all cores by default.
        progress: True for a progress bar, or an object that shows it.
    """
    chosen = FitSettings.joined(
        settings, "settings",
        state_size=state_size, iterations=iterations, seed=seed, pseudocount=pseudocount, observations=observations,
    )  # fmt: skip
    _check_output(output, resume=resume)
    if output is None:
        return fit_counts(counts, chosen, model_of, callback=callback, threads=threads, progress=progress)
    return fit_to_folder(counts, output, chosen, callback=callback, resume=resume, threads=threads, progress=progress)


@names_checked(settings={"settings": FitSettings, "text": TextSettings, "counting": CountSettings})
def train(
    paths: PathLike | Iterable[PathLike] | None = None,
    *,
    texts: Iterable[str] | Iterable[Sequence[str]] | None = None,
    state_size: int | Literal["auto"] | None = None,
    iterations: int | Literal["auto"] | None = None,
    vocab_size: int | None = None,
    text: TextSettings | None = None,
    counting: CountSettings | None = None,
    settings: FitSettings | None = None,
    output: PathLike | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> TextLDS:
    """Count and fit in one go.

    Args:
        paths: As for :func:`count`.
        texts: As for :func:`count`.
        state_size: As for :func:`textlds.fit`.
        iterations: As for :func:`textlds.fit`.
        vocab_size: As for :func:`count`.
        text: As for :func:`count`.
        counting: As for :func:`count`.
        settings: As for :func:`textlds.fit`.
        output: Write the model to this folder. Until it is written, unfinished work, counts included, is kept in
            ``<output>.work``.
        resume: Continue the interrupted work for ``output``.
        threads: How many; all cores by default.
        progress: True for a progress bar, or an object that shows it.
    """
    chosen = FitSettings.joined(settings, "settings", state_size=state_size, iterations=iterations)
    count_settings = CountSettings.joined(counting, "counting", vocab_size=vocab_size)
    sources = one_source(paths, texts)
    _check_output(output, resume=resume)
    if output is not None:
        return train_to_folder(
            sources, output, chosen,
            text=text, counting=count_settings, resume=resume, threads=threads, progress=progress,
        )  # fmt: skip
    own = count_settings.for_training(text)
    counts = count_corpus(sources, text=text, settings=own, threads=threads, progress=progress)
    model = fit_counts(counts, chosen, model_of, threads=threads, progress=progress)
    return model.with_tokenizer(None if text is None else text.custom)


@names_checked(settings={"settings": FitSettings})
def select(
    counts: LagCounts,
    grid: Mapping[str, Sequence[Any]],
    *,
    held_out: Iterable[Text] | None = None,
    score: Callable[[TextLDS], float] | None = None,
    settings: FitSettings | None = None,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> Selection[TextLDS]:
    """Fit the counts with every combination of a grid of settings and return the best model.

    Args:
        counts: From :func:`textlds.count`.
        grid: Names of :class:`FitSettings` with the values to try, such as
            ``{"state_size": [50, 100, 200], "pseudocount": [100, "paper"], "iterations": [10, 20, 50]}``.
        held_out: Texts that were not counted; their likelihood is reported for every trial.
        score: Any other measure of a model, larger is better, such as tagging accuracy on a development set. Trials
            are ranked by it, or else by the held-out likelihood, or else by the likelihood of the counts.
        settings: The settings that are the same for all, the seed among them.
        threads: As for :func:`textlds.fit`.
        progress: As for :func:`textlds.fit`.
    """
    return select_settings(
        counts, grid, model_of,
        held_out=held_out, score=score, settings=settings, threads=threads, progress=progress,
    )  # fmt: skip


def _check_output(output: PathLike | None, *, resume: bool) -> None:
    if resume and output is None:
        raise ArgumentError("resume=True needs output, the folder whose unfinished work is to be continued.")


def one_source(paths: Any, texts: Any) -> Any:
    """Return paths or texts, whichever was given, as the reader tells them apart: lists are paths, iterators texts."""
    if (paths is None) == (texts is None):
        raise ArgumentError("give either paths (files, globs, folders, URLs) or texts (strings or token lists).")
    if is_of_datasets(given := texts if paths is None else paths):
        return given
    if texts is None:
        return list(paths) if isinstance(paths, Iterable) and not isinstance(paths, str) else paths
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise ArgumentError(f"texts must be an iterable of texts, such as [text], not a single {type(texts).__name__}.")
    return iter(texts)
