"""Calibration: fit the readout on a sample of text, and the weights of the parts on text that was held out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from textlds._version import __version__
from textlds.corpus.encoding import Encoder, Text
from textlds.errors import ArgumentError, CorpusError, check_choice
from textlds.inference.engine import Engine
from textlds.inference.windows import check_texts
from textlds.language.classes import Classes, class_count, word_classes
from textlds.language.contexts import LAGS, Contexts, Rows
from textlds.language.language import LanguageModel, Link, smoothed_unigram
from textlds.language.mixture import Mixture, fit_mixture
from textlds.language.ngrams import kneser_ney
from textlds.language.predictor import corpus_counts, make_predictor
from textlds.language.reading import sample
from textlds.language.readout import Readout, fit_readout
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Matrix, Vector
from textlds.progress import Progress

if TYPE_CHECKING:
    from textlds.counts.lagcounts import LagCounts

_HELD_OUT = 10  # without held-out text, every tenth part of the sample, the last, is set aside
_LEAST_HELD_OUT = 200  # tokens with which weights can be chosen at all
_CLASS_SAMPLE = 1 << 16


@dataclass(frozen=True)
class Fitted:
    """What calibration needs of a model.

    Attributes:
        engine: The filter, float32.
        encoder: Turns text into rows.
        C: Output matrix in the coordinates of the parameters, (V, h).
        frequencies: μ, (V,).
        settings: Of the model's history.
    """

    engine: Engine
    encoder: Encoder
    C: Matrix
    frequencies: Vector
    settings: dict[str, Any]


def calibrate(
    model: Fitted,
    texts: Iterable[Text],
    held_out: Iterable[Text] | None,
    counts: LagCounts | None,
    *,
    link: Link,
    limit: int,
    threads: int,
    progress: Progress,
    rounded: Callable[[Readout, Vector], Readout] | None = None,
) -> LanguageModel:
    """Make a language model of a fitted one. See :meth:`textlds.TextLDS.with_language_model` for the arguments.

    ``rounded`` makes of a readout and the unigram what will be stored of it; weights are chosen for that.
    """
    _check(model, texts, held_out, counts, link, limit)
    (contexts, words), (held_contexts, held_words) = _samples(model, texts, held_out, limit, threads)
    if len(held_words) < _LEAST_HELD_OUT:
        raise CorpusError(
            f"the held-out text has {len(held_words)} tokens; at least {_LEAST_HELD_OUT} are needed to choose weights. "
            f"Give more text, or held_out text of its own."
        )
    occurrences = corpus_counts(model.frequencies, model.settings)[0]
    if counts is not None:
        occurrences = np.asarray(counts.unigrams, np.float64)
    unigram = smoothed_unigram(occurrences)
    readout = None
    with one_blas_thread():
        if link == "log-linear":
            classes = _classes(model, contexts, occurrences)
            readout = fit_readout(
                contexts, words, model.engine, classes, unigram, threads=threads, progress=progress
            )  # fmt: skip
            readout = readout if rounded is None else rounded(readout, unigram)
        lags = [lag for lag in LAGS if counts is not None and lag <= counts.max_lag]
        bigrams = tuple(kneser_ney(counts.lags[lag - 1], lag - 1, unigram) for lag in lags if counts is not None)
    even = Mixture(np.empty(0), np.full((1, 2 + len(bigrams)), 1 / (2 + len(bigrams))))
    draft = LanguageModel(occurrences, even, readout, bigrams)
    predictor = make_predictor(draft, model.engine, model.C, model.frequencies, model.settings)
    probabilities = predictor.parts_of(held_contexts, held_words, threads=threads)
    mixture = fit_mixture(probabilities, predictor.seen(held_contexts))
    mixed = np.einsum("nm,nm->n", mixture.rows(predictor.seen(held_contexts)), probabilities)
    names = ["unigram", link, *(f"bigram of lag {lag}" for lag in lags)]
    facts = {
        "link": link,
        "tokens": len(words),
        "held_out_tokens": len(held_words),
        "held_out_perplexity": _perplexity(mixed),
        "parts": {name: _perplexity(column) for name, column in zip(names, probabilities.T, strict=True)},
        "textlds_version": __version__,
    }
    return replace(draft, mixture=mixture, facts=facts)


def _check(
    model: Fitted,
    texts: Iterable[Text],
    held_out: Iterable[Text] | None,
    counts: LagCounts | None,
    link: str,
    limit: int,
) -> None:
    check_texts(texts)
    if held_out is not None:
        check_texts(held_out)
    check_choice("link", link, get_args(Link))
    if limit < 1000:
        raise ArgumentError(f"tokens={limit} must be at least 1000.")
    if counts is not None and counts.vocabulary != model.encoder.vocabulary:
        raise ArgumentError(
            f"the counts have another vocabulary ({counts.vocabulary!r}) than the model "
            f"({model.encoder.vocabulary!r}). Count with vocabulary=model.vocabulary."
        )


def _samples(
    model: Fitted, texts: Iterable[Text], held_out: Iterable[Text] | None, limit: int, threads: int
) -> tuple[tuple[Contexts, Rows], tuple[Contexts, Rows]]:
    contexts, words = sample(model.engine, model.encoder, texts, limit=limit, threads=threads)
    if not len(words):
        raise CorpusError("the texts to calibrate with hold no tokens.")
    if held_out is not None:
        return (contexts, words), sample(model.engine, model.encoder, held_out, limit=limit, threads=threads)
    cut = len(words) - len(words) // _HELD_OUT
    return (contexts[:cut], words[:cut]), (contexts[cut:], words[cut:])


def _classes(model: Fitted, contexts: Contexts, occurrences: Vector) -> Classes:
    """Cluster words by their output vectors, in coordinates in which the predicted state is white."""
    pred = contexts[:_CLASS_SAMPLE].pred(model.engine).astype(np.float64)
    values, vectors = np.linalg.eigh(pred.T @ pred / len(pred))
    root = vectors * np.sqrt(np.maximum(values, 0))
    output = model.engine.system.outputs(model.C) @ root
    return word_classes(output, occurrences, class_count(len(occurrences)))


def _perplexity(probabilities: Vector) -> float:
    # a part by itself may give a word no probability that float32 can hold; a mixture with the unigram never does
    return float(np.exp(-np.log(np.maximum(probabilities, 1e-300)).mean()))
