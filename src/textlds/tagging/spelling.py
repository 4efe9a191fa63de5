"""Hashes of what a token looks like, by compiled code on its bytes.

A token becomes a row of 64-bit numbers, its *base*: the word as it is, in lower case, its first and last one to four
characters, and its shape. Digits are read as 0. Lexical features are made of these (:mod:`textlds.tagging.features`).

Of a token with more than 32 characters and 128 bytes after them, the first and the last 32 characters count.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.corpus.tokens.characters import DIGIT, IDEOGRAPH, IGNORED, LETTER, LOWER, MARK, UPPER
from textlds.corpus.tokens.memory import address, byte
from textlds.corpus.tokens.scanning import class_at, flat_characters

Array = Any  # arrays inside kernels: numba infers dtype and layout
Base = NDArray[np.uint64]

COLUMNS: Final = (
    "bytes", "form", "lower",
    "prefix1", "prefix2", "prefix3", "prefix4",
    "suffix1", "suffix2", "suffix3", "suffix4",
    "shape", "outline",
)  # fmt: skip
"""bytes: the token as it is, digits too; form: digits as 0; shape: Xxx-00, runs cut to two; outline: runs to one."""

HALF: Final = 32  # characters at either end of a long token
_AFFIXES = 4
_BYTES, _FORM, _LOWER, _PREFIX, _SUFFIX, _SHAPE, _OUTLINE = 0, 1, 2, 3, 7, 11, 12
_ZERO, _UPPER, _LETTER = ord("0"), ord("X"), ord("x")


def _lower_table() -> NDArray[np.int64]:
    """Return the lower case of code points of Latin, Greek, Cyrillic and Armenian; scripts beyond have hardly any."""
    codes = range(0x590)
    return np.array([ord(chr(c).lower()) if len(chr(c).lower()) == 1 else c for c in codes], np.int64)


LOWER_CASE: Final = _lower_table()


def token_bases(buffer: NDArray[np.uint8], spans: NDArray[np.int64]) -> Base:
    """Return the base of every token, (n, len(COLUMNS)); about 0.1 µs each.

    Args:
        buffer: UTF-8, padded as :mod:`textlds.corpus.tokens.memory` says.
        spans: Where each token begins and ends, (n, 2).
    """
    out = np.empty((len(spans), len(COLUMNS)), np.uint64)
    fill_bases(buffer, spans, flat_characters(), LOWER_CASE, out)
    return out


@kernel
def step(value: Any, code: int) -> Any:
    """Return an FNV-1a hash with one more number in it."""
    return (value ^ np.uint64(code)) * np.uint64(0x100000001B3)


@kernel
def fill_bases(buffer: Array, spans: Array, characters: Array, lower_case: Array, out: Array) -> None:
    """Write the base of every token; see :func:`token_bases`."""
    text, chars = address(buffer), address(characters)
    codes, kinds = np.empty(2 * HALF + 1, np.int64), np.empty(2 * HALF + 1, np.int64)
    offset = np.uint64(0xCBF29CE484222325)
    for k in range(len(spans)):
        start, end = spans[k, 0], spans[k, 1]
        raw = offset
        for i in range(start, end):
            raw = step(raw, byte(text, i))
        out[k, _BYTES] = raw
        n = 0
        i = start
        jumped = False
        while i < end and n < 2 * HALF:
            found = class_at(text, i, chars)
            kind, length = found & 255, found >> 8
            if kind != IGNORED:
                codes[n], kinds[n] = _code(text, i, length), kind
                n += 1
            i += length
            if n == HALF and not jumped and end - i > 4 * HALF:
                i = _back(text, end)
                jumped = True
        _hash_token(codes, kinds, n, lower_case, out[k])


@kernel
def _code(text: int, i: int, length: int) -> int:
    if length == 1:
        return byte(text, i)
    if length == 2:
        return (byte(text, i) & 0x1F) << 6 | byte(text, i + 1) & 0x3F
    if length == 3:
        return (byte(text, i) & 0x0F) << 12 | (byte(text, i + 1) & 0x3F) << 6 | byte(text, i + 2) & 0x3F
    high = (byte(text, i) & 0x07) << 18 | (byte(text, i + 1) & 0x3F) << 12
    return high | (byte(text, i + 2) & 0x3F) << 6 | byte(text, i + 3) & 0x3F


@kernel
def _back(text: int, end: int) -> int:
    """Return where the last HALF characters before ``end`` begin."""
    i = end
    for _ in range(HALF):
        i -= 1
        while byte(text, i) & 0xC0 == 0x80:
            i -= 1
    return i


@kernel
def _hash_token(codes: Array, kinds: Array, n: int, lower_case: Array, out: Array) -> None:
    """Fill a base from the characters of a token; ``codes`` becomes their lower case."""
    offset = np.uint64(0xCBF29CE484222325)
    form = lower = shape = outline = offset
    for column in range(_PREFIX, _SHAPE):
        out[column] = 0  # the token is shorter
    before, run = -1, 0
    for i in range(n):
        code, kind = codes[i], kinds[i]
        if kind == DIGIT:
            code = mark = _ZERO
        elif kind == UPPER:
            mark = _UPPER
        elif kind in (LOWER, LETTER, MARK, IDEOGRAPH):
            mark = _LETTER
        else:
            mark = code
        form = step(form, code)
        if code < len(lower_case):
            code = lower_case[code]
        codes[i] = code
        lower = step(lower, code)
        if i < _AFFIXES:
            out[_PREFIX + i] = lower
        run = run + 1 if mark == before else 1
        before = mark
        if run == 1:
            outline = step(outline, mark)
        if run <= 2:
            shape = step(shape, mark)
    end = offset
    for i in range(min(n, _AFFIXES)):
        end = step(end, codes[n - 1 - i])
        out[_SUFFIX + i] = end
    out[_FORM], out[_LOWER], out[_SHAPE], out[_OUTLINE] = form, lower, shape, outline
