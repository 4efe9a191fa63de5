"""Texts on their way to the filter: encoded a window at a time, laid one after the other, and told apart again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import EncodedText, Encoder, Text
from textlds.errors import ArgumentError
from textlds.inference.engine import sequence_starts
from textlds.linalg.types import Array

_WINDOW = 1 << 16  # tokens, about, that are held at a time
_NUMBERS = 1 << 22  # of vectors that are made at a time: memory of this size is used again, of a larger one never


def check_texts(texts: Iterable[Text]) -> None:
    """Refuse a single string where texts are wanted: its characters would be taken for texts."""
    if isinstance(texts, str):
        raise ArgumentError("texts is a single string; give a list of texts, such as [text].")


def windows(encoder: Encoder, texts: Iterable[Text], *, width: int = 1) -> Iterator[list[EncodedText]]:
    """Encode texts in windows of bounded size: less for tokens with vectors of so many numbers, if they are long."""
    tokens = min(_WINDOW, max(_NUMBERS // width, 1))
    window: list[Text] = []
    size = 0
    for text in texts:
        if not isinstance(text, str | list | tuple | Sequence):
            raise ArgumentError(f"a text is a string or a list of strings, not {type(text).__name__}.")
        window.append(text)
        # a word of running text takes five or six characters; a text without tokens counts too, or would never end one
        size += (len(text) // 5 if isinstance(text, str) else len(text)) + 1
        if size >= tokens:
            yield encoder.encode_many(window)
            window, size = [], 0
    if window:
        yield encoder.encode_many(window)


def flatten(window: Sequence[EncodedText]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return all ids, where each sequence starts (with the total at the end), and where each text starts."""
    offsets = sequence_starts([len(text.ids) for text in window])
    ids = np.concatenate([text.ids for text in window])
    starts = [text.starts + offset for text, offset in zip(window, offsets[:-1], strict=True)]
    return ids, np.concatenate([*starts, offsets[-1:]]), offsets[:-1]


def visible(rows: Array, text: EncodedText, offset: int) -> Array:
    """Return the rows of a text's own tokens, without boundary tokens."""
    if len(text.positions) == len(text.ids):
        return rows[offset : offset + len(text.ids)]
    own: Array = rows[offset + text.positions]
    return own
