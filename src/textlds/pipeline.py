"""The public functions that go from text to counts and from text to a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from textlds.corpus.records import is_of_datasets
from textlds.corpus.settings import Boundaries, Digits, TextSettings, Unknown
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.counting import count_corpus
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.fitting import fit
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
