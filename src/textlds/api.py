"""The public functions: from text to counts, from counts to a model, and both at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from textlds.corpus.encoding import Text
from textlds.corpus.reading.records import is_of_datasets
from textlds.corpus.settings import Boundaries, Digits, TextSettings, Unknown
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.counting import count_corpus
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.lds.noise import NoiseKind
from textlds.learn.moments import Pseudocount
from textlds.learn.run import Callback, Fitted, fit_counts
from textlds.learn.select import Selection, select_settings
from textlds.learn.settings import Acceleration, Compression, FitSettings, Start
from textlds.model.textlds import TextLDS
from textlds.progress import ProgressOption

PathLike = str | os.PathLike[str]
Tokenizer = str | Callable[[str], Sequence[str]]


def count(
    paths: PathLike | Iterable[PathLike] | None = None,
    *,
    texts: Iterable[str] | Iterable[Sequence[str]] | None = None,
    vocab_size: int = 100_000,
    max_lag: int = 7,
    tokenizer: Tokenizer = "words",
    digits: Digits = "num",
    unknown: Unknown = "shape",
    boundaries: Boundaries = "line",
    boundary_token: str | None = None,
    vocabulary: Vocabulary | PathLike | None = None,
    min_count: int = 1,
    workers: int | None = None,
    memory: str | int = "4GB",
    text_column: str = "text",
    encoding_errors: str = "strict",
    client: Any = None,
    progress: ProgressOption = False,
) -> LagCounts:
    """Count how often words stand 1..max_lag positions apart, in one pass over the text.

    Args:
        paths: Files (plain, .gz, .bz2, .xz, .zst, .jsonl, .parquet), globs, folders, URLs, ``"-"``, or a Hugging Face
            data set.
        texts: Instead of paths, an iterable of strings, of token lists or of mappings; each is one document.
        vocab_size: How many of the most frequent types are kept; the others fall into unknown classes.
        max_lag: R, the largest distance counted.
        tokenizer: ``"words"`` for raw text, ``"whitespace"`` for text that is tokenised already, or a callable that
            turns a line into tokens (a Hugging Face ``tokenizers.Tokenizer`` will do).
        digits: ``"num"``: runs of digits become NUM; ``"zero"``: each digit becomes 0; ``"keep"``.
        unknown: ``"shape"``: unknown words fall into classes by capitalisation, digits and suffix; ``"single"``.
        boundaries: What a window never crosses: the end of a ``"line"``, a ``"sentence"``, a ``"document"`` (blank
            line), or ``"none"`` of them.
        boundary_token: Put this token at boundaries and let windows run across it instead.
        vocabulary: Count against this one, or the words of this file, instead of learning one.
        min_count: Keep no type that occurs less often.
        workers: Threads; one a core by default. The counts are the same for any number.
        memory: Budget for the work, such as ``"4GB"``; the counts themselves come on top of it.
        text_column: What holds the text in JSON lines, Parquet files, data sets and mappings.
        encoding_errors: ``"strict"``, or ``"replace"`` for bytes that are not UTF-8.
        client: A ``dask.distributed.Client``: count on its cluster.
        progress: True for a progress bar, or an object that shows it.
    """
    settings, custom = text_settings(tokenizer, digits, unknown, boundaries, boundary_token)
    options: dict[str, Any] = {
        "vocab_size": vocab_size, "max_lag": max_lag, "settings": settings, "min_count": min_count,
        "vocabulary": given_vocabulary(vocabulary, settings), "tokenizer": custom, "memory": memory,
        "text_column": text_column, "encoding_errors": encoding_errors, "progress": progress,
    }  # fmt: skip
    sources = one_source(paths, texts)
    if client is not None:
        from textlds.integrations.dask import count_on_cluster

        return count_on_cluster(client, sources, **options)
    return count_corpus(sources, workers=workers, **options)


def fit(
    counts: LagCounts,
    *,
    state_size: int = 200,
    iterations: int = 50,
    seed: int = 0,
    pseudocount: Pseudocount = "paper",
    noise: NoiseKind = "full",
    start: Start = "subspace",
    ssid_horizon: int = 4,
    em_horizon: int = 7,
    ssid_output: Literal["first", "regression"] = "first",
    ssid_covariance: Literal["matched", "paper"] = "matched",
    ssid_whitened: bool = True,
    compression: Compression = "auto",
    polish: int = 0,
    acceleration: Acceleration = "none",
    tolerance: float = 0.0,
    callback: Callback[TextLDS] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> TextLDS:
    """Fit a model to counts. No corpus is needed, and an iteration costs the same whatever its size.

    Args:
        counts: From :func:`textlds.count`.
        state_size: h, the length of the state and of a token's vector.
        iterations: EM iterations at most.
        seed: The same seed gives the same bits, for any number of threads.
        pseudocount: κ a type, or ``"paper"``: 0.2 T / V, the paper's 1000 at a billion tokens and 200,000 types.
        noise: Covariance of the observation noise: ``"full"`` (diagonal minus low rank), ``"diagonal"``,
            ``"spherical"`` or ``"bohning"``; the last three are there to be compared.
        start: EM starts from ``"subspace"`` identification or from ``"random"`` parameters.
        ssid_horizon: r of subspace identification, which needs lags up to 2 r − 1.
        em_horizon: r of EM's approximate statistics.
        ssid_output: C from the ``"first"`` block or by ``"regression"`` on all of them.
        ssid_covariance: Scale of the state ``"matched"`` to the moments, or by the ``"paper"``'s rule.
        ssid_whitened: Whether subspace identification sees whitened moments.
        compression: Learn on a sketch of the moments with this many dimensions; ``"auto"`` chooses, ``"none"`` learns
            in the full space.
        polish: EM iterations in the full space after those on the sketch.
        acceleration: ``"overrelaxed"`` takes longer steps: the same likelihood in half the iterations. The paper stops
            early, so that more likelihood is not always better vectors.
        tolerance: Stop when an iteration gains less than this, nats a token.
        callback: Called with a :class:`FitStep` after every iteration; return True to stop.
        checkpoint: A folder for the state of the work, which an interrupted fit can go on from. It stays until you
            delete it, which is safe when the model is saved.
        resume: Go on from the checkpoint.
        threads: How many; all cores by default.
        progress: True for a progress bar, or an object that shows it.

    Returns:
        The model.
    """
    settings = FitSettings(
        state_size=state_size, iterations=iterations, seed=seed, pseudocount=pseudocount, noise=noise, start=start,
        ssid_horizon=ssid_horizon, em_horizon=em_horizon, ssid_output=ssid_output, ssid_covariance=ssid_covariance,
        ssid_whitened=ssid_whitened, compression=compression, polish=polish, acceleration=acceleration,
        tolerance=tolerance,
    )  # fmt: skip
    return fit_counts(
        counts, settings, _model,
        callback=callback, checkpoint=checkpoint, resume=resume, threads=threads, progress=progress,
    )  # fmt: skip


def train(
    paths: PathLike | Iterable[PathLike] | None = None,
    *,
    texts: Iterable[str] | Iterable[Sequence[str]] | None = None,
    state_size: int = 200,
    iterations: int = 50,
    seed: int = 0,
    vocab_size: int = 100_000,
    max_lag: int = 7,
    tokenizer: Tokenizer = "words",
    text_column: str = "text",
    threads: int | None = None,
    progress: ProgressOption = False,
    count_options: dict[str, Any] | None = None,
    fit_options: dict[str, Any] | None = None,
) -> TextLDS:
    """Count and fit in one go.

    Args:
        paths: As for :func:`count`.
        texts: As for :func:`count`.
        state_size: As for :func:`textlds.fit`.
        iterations: As for :func:`textlds.fit`.
        seed: As for :func:`textlds.fit`.
        vocab_size: As for :func:`count`.
        max_lag: As for :func:`count`.
        tokenizer: As for :func:`count`.
        text_column: As for :func:`count`.
        threads: For counting and fitting.
        progress: True for a progress bar, or an object that shows it.
        count_options: Any other arguments of :func:`count`.
        fit_options: Any other arguments of :func:`textlds.fit`.
    """
    counts = count(
        paths, texts=texts, vocab_size=vocab_size, max_lag=max_lag, tokenizer=tokenizer,
        workers=threads, progress=progress, **{"text_column": text_column, **(count_options or {})},
    )  # fmt: skip
    model = fit(
        counts, state_size=state_size, iterations=iterations, seed=seed,
        threads=threads, progress=progress, **(fit_options or {}),
    )  # fmt: skip
    return model.with_tokenizer(None if isinstance(tokenizer, str) else tokenizer)


def select(
    counts: LagCounts,
    grid: Mapping[str, Sequence[Any]],
    *,
    held_out: Iterable[Text] | None = None,
    score: Callable[[TextLDS], float] | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> Selection[TextLDS]:
    """Fit the counts with every combination of a grid of settings and return the best model.

    Args:
        counts: From :func:`textlds.count`.
        grid: Names of arguments of :func:`textlds.fit` with the values to try, such as
            ``{"state_size": [50, 100, 200], "pseudocount": [100, "paper"], "iterations": [10, 20, 50]}``.
        held_out: Texts that were not counted; their likelihood is reported for every trial.
        score: Any other measure of a model, larger is better, such as tagging accuracy on a development set. Trials
            are ranked by it, or else by the held-out likelihood, or else by the likelihood of the counts.
        settings: Arguments of :func:`textlds.fit` that are the same for all.
        seed: As for :func:`textlds.fit`.
        threads: As for :func:`textlds.fit`.
        progress: As for :func:`textlds.fit`.
    """
    return select_settings(
        counts, grid, _model,
        held_out=held_out, score=score, settings=settings, seed=seed, threads=threads, progress=progress,
    )  # fmt: skip


def _model(fitted: Fitted) -> TextLDS:
    return TextLDS(
        fitted.params, fitted.vocabulary, fitted.frequencies, fitted.moments,
        lexicon=fitted.lexicon, history=fitted.history,
    )  # fmt: skip


def load(path: PathLike, *, tokenizer: Callable[[str], Sequence[str]] | None = None) -> TextLDS:
    """Read a model from a folder.

    Args:
        path: A folder that ``model.save`` or ``textlds fit`` wrote.
        tokenizer: The callable the corpus was tokenised with, if it was not a built-in one.
    """
    return TextLDS.load(path, tokenizer=tokenizer)


def text_settings(
    tokenizer: Tokenizer, digits: Digits, unknown: Unknown, boundaries: Boundaries, boundary_token: str | None
) -> tuple[TextSettings, Callable[[str], Sequence[str]] | None]:
    """Return the settings, and the custom tokeniser if there is one."""
    name = tokenizer if isinstance(tokenizer, str) else "custom"
    if tokenizer == "custom":
        raise ArgumentError("tokenizer='custom': give the callable itself as tokenizer.")
    settings = TextSettings(name, digits, unknown, boundaries, boundary_token)  # type: ignore[arg-type]  # checked there
    return settings, None if isinstance(tokenizer, str) else tokenizer


def given_vocabulary(vocabulary: Vocabulary | PathLike | None, settings: TextSettings) -> Vocabulary | None:
    """Return a vocabulary that was given as such or as a file with one word a line."""
    if vocabulary is None or isinstance(vocabulary, Vocabulary):
        return vocabulary
    return Vocabulary.read(vocabulary, settings)


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
