"""From texts to contexts: what a language model predicts, and from what.

Where the text is read with a boundary token, every text begins after one, and the tokens to be predicted are those of
the text and the boundary token that ends it. Without one, only the words are predicted, and the first of a sequence
from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Encoder, Text
from textlds.inference.engine import Engine, Index
from textlds.inference.windows import flatten, visible, windows
from textlds.language.contexts import LAGS, Contexts, Rows, contexts_of, last_context
from textlds.language.predictor import Predictor
from textlds.language.results import TokenSurprisals


def surprisals(
    predictor: Predictor, engine: Engine, encoder: Encoder, texts: Iterable[Text], *, threads: int
) -> Iterator[TokenSurprisals]:
    """Yield the surprisals of each text, a window at a time."""
    n_types = encoder.vocabulary.n_types
    for window in windows(encoder, texts):
        ids, starts, offsets = flatten(window)
        contexts = predicted_contexts(engine, ids, starts, encoder.vocabulary.boundary_row, threads=threads)
        bits = -np.log2(predictor.of(contexts, ids, threads=threads))
        for text, offset in zip(window, offsets.tolist(), strict=True):
            own = bits[offset : offset + len(text.ids)]
            others = np.delete(own, text.positions)
            unknown = text.ids[text.positions] >= n_types
            yield TokenSurprisals(list(text.tokens), np.array(visible(bits, text, offset)), others, unknown)


def sample(
    engine: Engine, encoder: Encoder, texts: Iterable[Text], *, limit: int, threads: int
) -> tuple[Contexts, Rows]:
    """Return the contexts and words of the first tokens of some texts, ``limit`` of them at most."""
    words: list[Rows] = [np.empty(0, np.int32)]
    parts: list[Contexts] = []
    size = 0
    for window in windows(encoder, texts):
        ids, starts, _ = flatten(window)
        parts.append(predicted_contexts(engine, ids, starts, encoder.vocabulary.boundary_row, threads=threads))
        words.append(ids)
        size += len(ids)
        if size >= limit:
            break
    return _joined(parts, size, len(engine.A))[slice(limit)], np.concatenate(words)[:limit]


def _joined(parts: list[Contexts], size: int, h: int) -> Contexts:
    """Put contexts one after the other; each part is let go as it is copied, so that memory holds them once."""
    joined = Contexts(np.empty((size, len(LAGS)), np.int32), np.empty((size, h), np.float32))
    end = size
    while parts:
        part = parts.pop()
        joined.words[end - len(part) : end] = part.words
        joined.before[end - len(part) : end] = part.before
        end -= len(part)
    return joined


def next_context(engine: Engine, encoder: Encoder, text: Text) -> Contexts:
    """Return the context of the word that would follow a text, which is not taken to be over.

    It is over if it is a string that ends with a boundary: a newline, or a blank line where only documents end.
    """
    encoded = encoder.encode(text)
    row = encoder.vocabulary.boundary_row
    closed = isinstance(text, str) and _is_closed(text, encoder.vocabulary.settings.boundaries)
    ids = encoded.ids
    if row is not None:
        ids = np.concatenate([np.array([row], np.int32), ids if closed else ids[:-1]])
    elif closed or not len(ids):
        ids = ids[:0]
    else:
        ids = ids[encoded.starts[-1] :]
    return last_context(engine, ids)


def predicted_contexts(engine: Engine, ids: Rows, starts: Index, boundary: int | None, *, threads: int) -> Contexts:
    """Return the context of every token of some sequences, which begin after a boundary token if there is one."""
    if boundary is None:
        return contexts_of(engine, ids, starts, threads=threads)
    first = starts[:-1]
    extended = np.insert(ids, first, boundary)
    begins: NDArray[np.int64] = starts + np.arange(len(starts))
    predicted = np.ones(len(extended), np.bool_)
    predicted[begins[:-1]] = False
    return contexts_of(engine, extended, begins, threads=threads)[np.flatnonzero(predicted)]


def _is_closed(text: str, boundaries: str) -> bool:
    if boundaries == "none":
        return False
    ended = text.replace("\r\n", "\n").rstrip(" \t")
    return ended.endswith("\n\n" if boundaries == "document" else "\n")
