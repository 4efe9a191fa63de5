"""New text as rows of a vocabulary, for a model to read: the same tokens and boundaries that were counted."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.corpus.settings import BOUNDARY
from textlds.corpus.tokens import token_kernel
from textlds.corpus.tokens.characters import IGNORED
from textlds.corpus.tokens.memory import PADDING, address
from textlds.corpus.tokens.scanning import flat_characters, needs_normalising, normalised
from textlds.corpus.tokens.token_kernel import ABSENT
from textlds.corpus.tokens.tokenizer import (
    DIGITS,
    MODES,
    CustomTokenizer,
    Workspace,
    apply_tokenizer,
    as_callable,
    check_tokenizer,
)
from textlds.corpus.unknown import class_of_bytes
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError

Array = Any  # arrays inside kernels: numba infers dtype and layout
Ints = NDArray[np.int64]
Text = str | Sequence[str]

_BATCH_BYTES = 1 << 17  # texts are tokenised together up to here; all that goes with them stays in the cache
_THREAD = threading.local()


class TokenSequence(Sequence[str]):
    """Tokens as they occur in a text, made into strings when they are asked for. Equal to a list of the same."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: Ints) -> None:
        self._text, self._spans = text, spans

    @property
    def data(self) -> bytes:
        """The text in UTF-8, or that of all texts that were encoded together."""
        return self._text

    @property
    def spans(self) -> Ints:
        """Where tokens begin and end, (n, 2), in the bytes of a text that :meth:`Encoder.encode` was given alone."""
        return self._spans

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(TokenSequence(self._text, self._spans[index]))
        start, end = self._spans[index].tolist()
        return self._text[start:end].decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        text = self._text
        for start, end in self._spans.tolist():
            yield text[start:end].decode("utf-8")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | TokenSequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # like a list

    def __repr__(self) -> str:
        return repr(list(self))


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedText:
    """A text as a model reads it.

    Attributes:
        tokens: The n tokens as they occur in the text.
        ids: Rows of the vocabulary, ``(m,)`` int32: the tokens, and the boundary token after each line, sentence or
            document and at the end, if the settings have one.
        positions: ``(n,)`` int64: token i is ``ids[positions[i]]``.
        starts: Where sequences begin in ``ids``, int64: 0, and, without a boundary token, after each boundary.
            Empty if the text has no token.
    """

    tokens: Sequence[str]
    ids: NDArray[np.int32]
    positions: Ints
    starts: Ints


class Encoder:
    """Turns text into rows of a vocabulary. Safe to use from several threads.

    Args:
        vocabulary: With the settings its text was read with.
        tokenizer: The callable, if those settings say ``tokenizer="custom"`` and strings are to be encoded.
    """

    def __init__(self, vocabulary: Vocabulary, *, tokenizer: CustomTokenizer | None = None) -> None:
        if tokenizer is not None:
            check_tokenizer(vocabulary.settings, tokenizer)
        self.vocabulary, self.tokenizer = vocabulary, tokenizer
        self._tokenizer = as_callable(tokenizer)
        boundary = vocabulary.boundary_row
        self._boundary_row = -1 if boundary is None else boundary

    def encode(self, text: Text) -> EncodedText:
        """Encode one text: a string is tokenised, a list of strings is taken as it is, one sequence of tokens."""
        return self._strings([text])[0] if isinstance(text, str) else self._list(text)

    def encode_many(self, texts: Iterable[Text]) -> list[EncodedText]:
        """Encode many texts, several million tokens a second for strings; the result is that of :meth:`encode`."""
        results: list[EncodedText] = []
        batch: list[str] = []
        size = 0
        for text in texts:
            if isinstance(text, str):
                batch.append(text)
                size += len(text)
                if size < _BATCH_BYTES:
                    continue
            results += self._strings(batch)
            batch, size = [], 0
            if not isinstance(text, str):
                results.append(self._list(text))
        return results + self._strings(batch)

    def _list(self, tokens: Sequence[str]) -> EncodedText:
        if not isinstance(tokens, Iterable):
            raise ArgumentError(f"a text is a string or a list of strings, not {tokens!r:.100}.")
        for token in tokens:
            if not isinstance(token, str):
                raise ArgumentError(f"a text is a string or a list of strings, but {token!r:.100} is among its tokens.")
        ids = self.vocabulary.ids(tokens)
        positions = np.arange(ids.size)
        if ids.size and self._boundary_row >= 0:
            ids = np.append(ids, np.int32(self._boundary_row))
        return EncodedText(list(tokens), ids, positions, np.zeros(min(ids.size, 1), np.int64))

    def _strings(self, texts: list[str]) -> list[EncodedText]:
        if not texts:
            return []
        settings = self.vocabulary.settings
        if settings.tokenizer == "custom":
            if self._tokenizer is None:
                raise ArgumentError(
                    "this model was trained with a custom tokenizer, which is not stored with it. "
                    "Pass tokenizer=... to textlds.load, or give lists of tokens instead of strings."
                )
            mode = token_kernel.SEPARATED
            parts = [apply_tokenizer(self._tokenizer, text) + b"\n" for text in texts]
        else:
            mode = MODES[settings.tokenizer]
            parts = [text.encode("utf-8", "replace") + b"\n" for text in texts]
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
        workspace = _workspace()
        found, spans = workspace.run(data, mode, settings, self.vocabulary.table, learn=False, spans=True)
        return self._assemble(data, ends, mode, found, spans, workspace)

    def _assemble(
        self, data: bytes, ends: Ints, mode: int, found: NDArray[np.int32], spans: Ints, workspace: Workspace
    ) -> list[EncodedText]:
        room = found.size + ends.size
        rows, numbers = np.empty(room, np.int32), np.empty((2, room), np.int64)
        token_spans = np.empty((found.size, 2), np.int64)
        counts = np.zeros((ends.size + 1, 3), np.int64)
        longest = int((spans[1::2] - spans[::2])[found == ABSENT].max(initial=0))
        workspace.need_scratch(3 * longest + PADDING)
        vocabulary = self.vocabulary
        assemble(
            workspace.buffer, ends, found, spans, DIGITS[vocabulary.settings.digits],
            IGNORED if mode == token_kernel.WORDS else -1, vocabulary.n_types, len(vocabulary) - vocabulary.n_types,
            self._boundary_row, flat_characters(), workspace.scratch, rows, numbers, token_spans, counts,
        )  # fmt: skip
        positions, starts = numbers
        bounds = counts.tolist()
        return [
            EncodedText(
                TokenSequence(data, token_spans[a[1] : b[1]]),
                rows[a[0] : b[0]],
                positions[a[1] : b[1]],
                starts[a[2] : b[2]],
            )
            for a, b in itertools.pairwise(bounds)
        ]


def _workspace() -> Workspace:
    workspace: Workspace | None = getattr(_THREAD, "workspace", None)
    if workspace is None:
        workspace = _THREAD.workspace = Workspace()
    return workspace


@kernel
def assemble(
    buffer: Array,
    ends: Array,
    found: Array,
    spans: Array,
    digits: int,
    ignored: int,
    n_types: int,
    n_classes: int,
    boundary_row: int,
    characters: Array,
    scratch: Array,
    rows: Array,
    numbers: Array,
    token_spans: Array,
    counts: Array,
) -> None:
    """Cut the ids of texts that were tokenised together into theirs, with unknown classes and boundary tokens.

    Args:
        ends: The byte after each text's last.
        found: Ids, BOUNDARY and ABSENT, as the tokeniser wrote them, with their ``spans``.
        rows: Receives rows of the vocabulary.
        numbers: Receives positions in row 0 and starts in row 1, counted from the beginning of each text.
        token_spans: Receives the span of each token.
        counts: ``counts[t + 1]`` receives the total of rows, tokens and starts up to text t.
    """
    buffer_text, spare, chars = address(buffer), address(scratch), address(characters)
    n_rows = n_tokens = n_starts = first_row = k = 0
    for text in range(ends.size):
        fresh = True  # a sequence begins with the next token
        pending = False  # a boundary is between the last token and the next
        while k < found.size and spans[2 * k] < ends[text]:
            row, start, end = found[k], spans[2 * k], spans[2 * k + 1]
            k += 1
            if row == BOUNDARY:
                pending = not fresh
                continue
            if pending and boundary_row >= 0:
                rows[n_rows] = boundary_row
                n_rows += 1
            if fresh or (pending and boundary_row < 0):
                numbers[1, n_starts] = n_rows - first_row
                n_starts += 1
            fresh = pending = False
            token_spans[n_tokens, 0], token_spans[n_tokens, 1] = start, end
            if row == ABSENT:
                source = buffer_text
                if needs_normalising(source, start, end, digits, ignored, chars):
                    source, start, end = spare, 0, normalised(source, start, end, digits, ignored, chars, scratch)
                row = n_types + class_of_bytes(source, start, end, n_classes, chars)
            rows[n_rows] = row
            numbers[0, n_tokens] = n_rows - first_row
            n_tokens += 1
            n_rows += 1
        if not fresh and boundary_row >= 0:
            rows[n_rows] = boundary_row
            n_rows += 1
        counts[text + 1, 0], counts[text + 1, 1], counts[text + 1, 2] = n_rows, n_tokens, n_starts
        first_row = n_rows
