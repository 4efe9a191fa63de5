"""Texts as sentences of tokens: where each token's bytes are, its row in the vocabulary, where sentences begin.

A text is a string, which is cut into sentences and tokens as the model's corpus was; a list of tokens, which is one
sentence; or a list of such lists, the sentences of a document.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import EncodedText, Encoder, TokenSequence
from textlds.corpus.tokens.memory import PADDING
from textlds.corpus.tokens.types import pack
from textlds.errors import ArgumentError
from textlds.model.textlds import TextLDS

Text = str | Sequence[str] | Sequence[Sequence[str]]
Ints = NDArray[np.int64]

_WINDOW = 1 << 15  # tokens, about, that are tagged at a time

# How treebanks write what raw text spells otherwise.
_ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"',
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Batch:
    """Some texts, cut into sentences.

    Attributes:
        encoded: As a model reads them; tokens as they are, treebank escapes undone.
        tokens: The tokens as they were given, text by text.
        texts: The strings that they are in; None for tokens.
        starts: Where sentences begin, with n at the end.
        documents: Where documents begin, in sentences, with their number at the end: the texts.
    """

    encoded: list[EncodedText]
    tokens: list[Sequence[str]]
    texts: list[str | None]
    starts: Ints
    documents: Ints

    @cached_property
    def offsets(self) -> Ints:
        """Where texts begin, in tokens."""
        return self.starts[self.documents]

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The row of every token in the vocabulary, (n,)."""
        found = [
            text.ids if len(text.ids) == len(text.positions) else text.ids[text.positions] for text in self.encoded
        ]
        return np.concatenate([np.empty(0, np.int32), *found])

    def bytes(self) -> tuple[NDArray[np.uint8], Ints]:
        """Return the bytes of the texts, padded, and where each token begins and ends, (n, 2)."""
        pieces: list[bytes] = []
        spans: list[Ints] = [np.empty((0, 2), np.int64)]
        size, before = 0, None
        for text in self.encoded:
            if isinstance(text.tokens, TokenSequence):
                if text.tokens.data is not before:  # texts that were encoded together share their bytes
                    before = text.tokens.data
                    pieces.append(before)
                    size += len(before)
                spans.append(text.tokens.spans + (size - len(before)))
            else:
                buffer, bounds = pack(text.tokens)
                pieces.append(buffer[:-PADDING].tobytes())
                spans.append(np.stack([bounds[:-1], bounds[1:]], axis=1) + size)
                size += len(pieces[-1])
        pieces.append(bytes(PADDING))
        return np.frombuffer(bytearray(b"".join(pieces)), np.uint8), np.concatenate(spans)


class SentenceReader:
    """Cuts texts into sentences, with the model's tokeniser and vocabulary."""

    def __init__(self, model: TextLDS) -> None:
        self.model = model
        self.encoder = Encoder(model.vocabulary.with_boundaries("sentence"), tokenizer=model.encoder.tokenizer)

    def batches(self, texts: Iterable[Text]) -> Iterator[Batch]:
        """Read texts some at a time; at most about 32,000 tokens, but whole texts."""
        if isinstance(texts, str):
            raise ArgumentError("texts is a single string; give a list of texts, such as [text].")
        some: list[Text] = []
        size = 0
        for text in texts:
            some.append(text)
            size += _size(text)
            if size >= _WINDOW:
                yield self.read(some)
                some, size = [], 0
        if some:
            yield self.read(some)

    def read(self, texts: Sequence[Text]) -> Batch:
        """Read texts."""
        flat: list[Any] = []  # strings and lists of tokens, as the encoder takes them
        sentences: list[list[int] | None] = []  # lengths, where they were given
        for text in texts:
            lists = _sentences(text)
            sentences.append(None if lists is None else [len(tokens) for tokens in lists])
            flat.append(text if lists is None else [token for tokens in lists for token in tokens])
        encoded = self.encoder.encode_many(plain_texts(flat, self.encoder.vocabulary))
        begins: list[Ints] = [np.zeros(0, np.int64)]
        counts = np.zeros(len(texts) + 1, np.int64)
        total = 0
        for number, (found, lengths) in enumerate(zip(encoded, sentences, strict=True)):
            begin = _begins(found) if lengths is None else (np.cumsum([0, *lengths])[:-1])[np.array(lengths, int) > 0]
            if lengths is not None:
                encoded[number] = self._cut(found, begin)
            elif self.encoder.vocabulary.settings.boundary_token is not None:
                encoded[number] = dataclasses.replace(found, starts=found.positions[begin])
            begins.append(begin + total)
            counts[number + 1] = counts[number] + len(begin)
            total += len(found.positions)
        starts = np.concatenate([*begins, [total]]).astype(np.int64)
        tokens = [
            text.tokens if lists is None else given for text, lists, given in zip(encoded, sentences, flat, strict=True)
        ]
        return Batch(encoded, tokens, [text if isinstance(text, str) else None for text in texts], starts, counts)

    def _cut(self, text: EncodedText, begin: Ints) -> EncodedText:
        """Cut a document of given sentences where they begin, each with a boundary token after it if there is one."""
        token = self.encoder.vocabulary.settings.boundary_token
        if token is None:
            return dataclasses.replace(text, starts=begin)
        n = len(text.positions)
        inserted = np.searchsorted(begin, np.arange(n), side="right") - 1  # boundary tokens before each token
        positions = np.arange(n) + inserted
        ids = np.full(n + len(begin), self.encoder.vocabulary.id(token), np.int32)
        ids[positions] = text.ids[text.positions]
        return dataclasses.replace(text, ids=ids, positions=positions, starts=positions[begin])


def _begins(text: EncodedText) -> Ints:
    """Return the tokens at which the sentences of a text begin."""
    if len(text.ids) == len(text.positions):
        return text.starts
    after = np.flatnonzero(np.diff(text.positions) > 1) + 1  # a boundary token is between
    return np.concatenate([[0], after]).astype(np.int64)[: len(text.positions)]


def _size(text: Text) -> int:
    if isinstance(text, str):
        return len(text) // 5 + 1  # a word of running text takes five or six characters
    if not isinstance(text, Sequence) or not all(isinstance(part, Sequence) for part in text):
        raise ArgumentError(f"a text is a string, a list of tokens or a list of such lists, not {text!r:.100}.")
    return sum(1 if isinstance(part, str) else len(part) for part in text) + 1


def _sentences(text: Text) -> list[Sequence[str]] | None:
    """Return the sentences that were given as such, or None for a string."""
    if isinstance(text, str):
        return None
    if all(isinstance(part, str) for part in text):
        return [cast(Sequence[str], text)]
    if any(isinstance(part, str) for part in text):
        raise ArgumentError(f"a text mixes tokens and sentences: {text!r:.100}. Give one kind.")
    return list(text)


def plain_texts(texts: Iterable[Any], vocabulary: Container[str]) -> Iterator[Any]:
    """Yield texts; a treebank's escapes (-LRB-, ``, \\/) among tokens are undone where the vocabulary lacks them."""
    for text in texts:
        yield text if isinstance(text, str) else [_plain(token, vocabulary) for token in text]


def _plain(token: str, vocabulary: Container[str]) -> str:
    if token.isalnum() if isinstance(token, str) else True:
        return token  # the encoder refuses what is no string
    return token if token in vocabulary else _ESCAPES.get(token, token.replace("\\/", "/").replace("\\*", "*"))
