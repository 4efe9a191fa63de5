"""From text to provisional token ids.

The built-in tokeniser, ``"words"``, follows the habits of the Penn Treebank in any alphabet that separates words.
It reads left to right, a line at a time, and knows nothing but the characters (:mod:`.characters`):

- A **word** is a run of letters, digits and combining marks. It may contain a hyphen or an apostrophe before a
  letter or digit (``well-known``, ``O'Brien``), a period or middle dot between letters (``e.g``, ``example.com``;
  but not in ``end.The``, a lower-case letter before and a capitalised word after), and ``. , : /`` between digits
  (``3,000.50``, ``9:30``, ``1/2``). Slashes between letters split.
- **Clitics** are tokens of their own: ``'s 're 've 'll 'd 'm`` and ``n't``, straight or curly, in any case:
  ``ca n't``, ``I 'd 've``, ``dogs '``.
- A **period stays** with an initial (``J.``), with letters and periods in ones and twos (``U.S.``, ``Ph.D.``) and
  with a short list of abbreviations (``Mr.``, ``etc.``, ``Sept.``); a hyphen may continue from there (``U.S.-based``).
- Every other punctuation mark or symbol is a token. Runs of the same ``.``, ``-``, ``'`` or ````` stay together
  (``...``, ``--``, and the quotes of treebanks). Emoji keep their modifiers; a flag is one token.
- An **ideograph** is a token: Chinese and Japanese do not separate words.
- **Digits** of every script follow the ``digits`` setting. Soft hyphens, direction marks and other format characters
  are left out of words; control characters and the zero-width space separate them.
- A **sentence** ends at the end of its line, and after ``. ! ? …`` or their like in other scripts with the closing
  quotes and brackets that follow, if white space comes next (not needed after 。！？ and danda) and the next token is
  not lower case. The period of an abbreviation or initial ends none.

``"whitespace"`` splits at white space, control characters and zero-width spaces; ``"custom"`` asks a callable, a line
at a time. Lines end with a newline character; all rules stay within a line, so the ids of a text do not depend on
how it was cut into chunks of whole lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.settings import END, TextSettings
from textlds.corpus.tokens import token_kernel
from textlds.corpus.tokens.memory import PADDING
from textlds.corpus.tokens.scanning import KEEP, NUM, ZERO, flat_characters
from textlds.corpus.tokens.types import TypeTable
from textlds.errors import ArgumentError, MissingExtraError

Ids = NDArray[np.int32]
Spans = NDArray[np.int64]
BytesLike = bytes | bytearray | memoryview


class HuggingFaceTokenizer(Protocol):
    """What is used of a ``tokenizers.Tokenizer``."""

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Any:
        """Return an object with the ``tokens`` of a text."""


CustomTokenizer = Callable[[str], Sequence[str]] | HuggingFaceTokenizer | str

MODES: Final = {"words": token_kernel.WORDS, "whitespace": token_kernel.WHITESPACE}
DIGITS: Final = {"keep": KEEP, "zero": ZERO, "num": NUM}
BOUNDARIES: Final = {
    "line": token_kernel.LINE,
    "sentence": token_kernel.SENTENCE,
    "document": token_kernel.DOCUMENT,
    "none": token_kernel.NONE,
}
SEPARATOR: Final = chr(token_kernel.SEPARATOR)
_NEWLINE = ord("\n")
_NO_SPANS = np.empty(0, np.int64)


class Workspace:
    """Room in which the compiled loop runs, kept from call to call; one per thread."""

    def __init__(self) -> None:
        self.buffer = np.empty(0, np.uint8)
        self.scratch = np.empty(1 << 10, np.uint8)
        self._ids: Ids = np.empty(0, np.int32)

    def run(
        self,
        data: BytesLike,
        mode: int,
        settings: TextSettings,
        table: TypeTable,
        *,
        learn: bool,
        spans: bool = False,
    ) -> tuple[Ids, Spans]:
        """Tokenise ``data`` (UTF-8, whole lines) in one of the kernel's modes.

        Returns:
            The ids, ``(n,)``, valid until the next call, and their byte spans, ``(2 n,)``, if asked for.
        """
        n = self._fill(data)
        # A boundary comes with a newline, or with white space or a 3-byte mark after a token: at most one id a byte.
        positions = np.empty(2 * (n + 1), np.int64) if spans else _NO_SPANS
        state = np.zeros(token_kernel.STATE_SIZE, np.int64)
        digits, boundaries = DIGITS[settings.digits], BOUNDARIES[settings.boundaries]
        how = token_kernel.LEARN if learn else token_kernel.LOOK_UP
        while True:
            options = (mode, digits, boundaries, how, flat_characters(), self.scratch)
            status = token_kernel.tokenize(self.buffer, n, *options, *table.arrays(), state, self._ids, positions)
            if status == token_kernel.DONE:
                written = int(state[token_kernel.WRITTEN])
                return self._ids[:written], positions[: 2 * written]
            if status == token_kernel.TABLE_FULL:
                table.grow()
            else:
                self.need_scratch(2 * self.scratch.size)

    def need_scratch(self, size: int) -> None:
        """Make room for at least ``size`` bytes of normalised token."""
        if self.scratch.size < size:
            self.scratch = np.empty(size, np.uint8)

    def _fill(self, data: BytesLike) -> int:
        """Copy ``data`` into the buffer with a final newline and zeros to look ahead into; return its length."""
        source = np.frombuffer(data, np.uint8) if len(data) else np.empty(0, np.uint8)
        n = source.size
        if self.buffer.size < n + 1 + PADDING:
            self.buffer = np.empty(n + n // 8 + 1 + PADDING, np.uint8)
            self._ids = np.empty(self.buffer.size, np.int32)
        self.buffer[:n] = source
        if n and source[-1] != _NEWLINE:
            self.buffer[n] = _NEWLINE
            n += 1
        self.buffer[n : n + PADDING] = 0
        return n


class ChunkTokenizer:
    """Turns the chunks of a corpus into provisional ids, learning the token types on the way.

    Args:
        settings: How text becomes tokens.
        tokenizer: For ``settings.tokenizer == "custom"``: a callable from a line of text to its tokens, or a Hugging
            Face tokeniser or its file (see :func:`as_callable`).

    Attributes:
        settings: As given.
        table: The token types so far; ids index it.

    Not safe to use from two threads at once; give each thread its own.
    """

    def __init__(self, settings: TextSettings, *, tokenizer: CustomTokenizer | None = None) -> None:
        check_tokenizer(settings, tokenizer)
        self.settings = settings
        self.table = TypeTable()
        self._tokenizer = as_callable(tokenizer)
        self._workspace = Workspace()

    def ids(self, data: BytesLike, *, end: bool, separated: bool = False) -> Ids:
        """Return the provisional ids of a chunk's tokens.

        Args:
            data: Whole lines of valid UTF-8; a missing last newline is supplied.
            end: The source ends with this chunk: END is the last id.
            separated: The chunk holds tokens already, separated by the character U+001F, whatever the settings say.

        Returns:
            ``(n,)`` int32: ids of ``table``, with BOUNDARY (-1) after each non-empty line, after each sentence or at
            each blank line, as ``settings.boundaries`` says, and END (-2) at the end of a source.
        """
        if separated:
            mode = token_kernel.SEPARATED
        elif self._tokenizer is not None:
            mode, data = token_kernel.SEPARATED, apply_tokenizer(self._tokenizer, bytes(data).decode("utf-8"))
        else:
            mode = MODES[self.settings.tokenizer]
        found, _ = self._workspace.run(data, mode, self.settings, self.table, learn=True)
        result = np.empty(found.size + end, np.int32)
        result[: found.size] = found
        if end:
            result[-1] = END
        return result


def as_callable(tokenizer: CustomTokenizer | None) -> Callable[[str], Sequence[str]] | None:
    """Return a custom tokeniser as a function from a line to its tokens.

    A Hugging Face ``tokenizers.Tokenizer`` gives the strings of its tokens, special ones left out; the path of its
    ``tokenizer.json`` will do.
    """
    if isinstance(tokenizer, str):
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtraError(f"reading the tokenizer {tokenizer}", "tokenizers") from error
        if not os.path.isfile(tokenizer):
            raise ArgumentError(f"there is no tokenizer file {tokenizer}. Give the path of a tokenizer.json.")
        tokenizer = Tokenizer.from_file(tokenizer)
    if tokenizer is None or callable(tokenizer):
        return tokenizer
    encode: Any = tokenizer.encode
    return lambda line: cast(Sequence[str], encode(line, add_special_tokens=False).tokens)


def check_tokenizer(settings: TextSettings, tokenizer: CustomTokenizer | None) -> None:
    """Refuse a custom tokeniser that is missing, that the settings would not use, or that is none."""
    if not (tokenizer is None or callable(tokenizer) or isinstance(tokenizer, str) or hasattr(tokenizer, "encode")):
        raise ArgumentError(f"tokenizer={tokenizer!r:.100} is neither a callable nor a Hugging Face tokenizer.")
    if settings.tokenizer == "custom" and tokenizer is None:
        raise ArgumentError(
            "tokenizer='custom' needs the callable: TextSettings(tokenizer=<function from str to tokens>)."
        )
    if settings.tokenizer != "custom" and tokenizer is not None:
        raise ArgumentError(
            f"a tokenizer was given, but the text settings say tokenizer={settings.tokenizer!r}; "
            f"use TextSettings(tokenizer='custom')."
        )


def apply_tokenizer(tokenizer: Callable[[str], Sequence[str]], text: str) -> bytes:
    """Run a custom tokeniser on every line that is not blank; return the tokens as separated lines."""
    return separated(tokenizer(line) if line.strip() else () for line in _lines(text))


def separated(token_lists: Iterable[Sequence[str]]) -> bytes:
    """Serialise token lists: U+001F between the tokens of a list, a newline after each list."""
    lines = []
    for tokens in token_lists:
        line = SEPARATOR.join(tokens)
        if "\n" in line or line.count(SEPARATOR) > max(len(tokens) - 1, 0):
            raise ArgumentError(f"a token may hold neither a newline nor U+001F, but one does in {tokens!r:.200}.")
        lines.append(line)
    lines.append("")
    return "\n".join(lines).encode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    lines = text.split("\n")  # not splitlines: U+2028 and the like end no line here
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
