"""Compiled scanning of UTF-8: the class of a character, where a word ends, its normalised form.

All functions take the address of a text that is padded with zero bytes, so looking ahead needs no bounds check, and
of ``chars``: the character table flattened to ``first_byte | index | blocks`` (see :mod:`.memory`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.corpus.tokens.characters import (
    APOSTROPHE,
    CODE_POINTS,
    COMMA,
    DIGIT,
    HYPHEN,
    IGNORED,
    INNER,
    JOINER,
    LETTER,
    LOWER,
    MARK,
    MODIFIER,
    NON_ASCII,
    PERIOD,
    REGIONAL,
    SYMBOL,
    UPPER,
    character_table,
)
from textlds.corpus.tokens.memory import PADDING, byte

Array = Any  # arrays inside kernels: numba infers dtype and layout

KEEP, ZERO, NUM = 0, 1, 2  # the digits setting inside kernels
_INDEX = 256
_BLOCKS = _INDEX + (CODE_POINTS >> 7)

# Words whose period belongs to them. Left out on purpose: words that end sentences as often (No, Sun, Art, is).
ABBREVIATIONS = (
    "Mr", "Mrs", "Ms", "Messrs", "Mme", "Dr", "Prof", "Rev", "Hon", "Fr", "Sr", "Jr", "St", "Ste", "Mt",
    "Ft", "Gen", "Col", "Lt", "Capt", "Sgt", "Cpl", "Maj", "Cmdr", "Adm", "Gov", "Sen", "Rep", "Pres",
    "Supt", "Esq", "Inc", "Corp", "Co", "Cos", "Ltd", "Bros", "Assn", "Dept", "Univ", "Ave", "Blvd", "Rd",
    "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec", "vs", "etc",
    "cf", "ca", "al", "approx", "est", "ed", "eds", "vol", "vols", "pp", "viz", "Vol", "Op", "op", "c",
    "p", "v",
)  # fmt: skip


def _packed(word: str) -> int:
    return int.from_bytes(word.encode("ascii"), "big")


_LISTED = np.array(sorted(_packed(word) for word in ABBREVIATIONS), np.uint64)  # at most 8 letters each


@functools.cache
def flat_characters() -> NDArray[np.uint8]:
    """Return the character table as the one array that kernels take."""
    table = character_table()
    padding = np.zeros(PADDING, np.uint8)
    return np.concatenate([table.first_byte, table.block_of, table.blocks, padding])


@kernel
def class_at(text: int, i: int, chars: int) -> int:
    """Return ``length << 8 | class`` of the character at byte i; a byte that begins none is a symbol."""
    lead = byte(text, i)
    kind = byte(chars, lead)
    if kind != NON_ASCII:
        return 1 << 8 | kind
    if lead < 0xC0:
        return 1 << 8 | SYMBOL
    if lead < 0xE0:
        code, length = (lead & 0x1F) << 6 | byte(text, i + 1) & 0x3F, 2
    elif lead < 0xF0:
        code, length = (lead & 0x0F) << 12 | (byte(text, i + 1) & 0x3F) << 6 | byte(text, i + 2) & 0x3F, 3
    else:
        code = (lead & 0x07) << 18 | (byte(text, i + 1) & 0x3F) << 12
        code |= (byte(text, i + 2) & 0x3F) << 6 | byte(text, i + 3) & 0x3F
        length = 4
    if code >= CODE_POINTS:
        return 1 << 8 | SYMBOL
    block = byte(chars, _INDEX + (code >> 7))
    return length << 8 | byte(chars, _BLOCKS + (block << 7) + (code & 127))


@kernel
def begins_word(kind: int) -> bool:
    """Tell whether a class begins a word (and may follow a hyphen or apostrophe inside one)."""
    return LOWER <= kind <= DIGIT


@kernel
def continues(text: int, i: int, chars: int) -> bool:
    """Tell whether a word continues at byte i, where a clitic must end."""
    found = class_at(text, i, chars)
    kind = found & 255
    if kind == HYPHEN:
        return begins_word(class_at(text, i + (found >> 8), chars) & 255)
    return LOWER <= kind <= IGNORED


@kernel
def clitic_end(text: int, i: int, chars: int) -> int:
    """Return the end of the clitic 's 're 've 'll 'd 'm that begins at byte i with an apostrophe, or 0."""
    found = class_at(text, i, chars)
    if found & 255 != APOSTROPHE:
        return 0
    i += found >> 8
    first, second = byte(text, i) | 0x20, byte(text, i + 1) | 0x20  # lower case; only letters land on letters
    if ((first == ord("r") or first == ord("v")) and second == ord("e")) or (first == ord("l") and second == ord("l")):
        i += 2
    elif first == ord("s") or first == ord("d") or first == ord("m"):
        i += 1
    else:
        return 0
    return 0 if continues(text, i, chars) else i


@kernel
def is_listed(text: int, start: int, end: int) -> bool:
    """Tell whether bytes ``start:end`` is one of the listed abbreviations."""
    if end - start > 6:
        return False
    packed = np.uint64(0)
    for k in range(start, end):
        packed = packed << np.uint64(8) | np.uint64(byte(text, k))
    low, high = 0, _LISTED.size
    while low < high:
        middle = (low + high) >> 1
        if _LISTED[middle] < packed:
            low = middle + 1
        else:
            high = middle
    return low < _LISTED.size and _LISTED[low] == packed


@kernel
def joins_letters(text: int, i: int, before: int, after: int, chars: int) -> bool:
    """Tell whether the period at byte i, between letters, is inside a word: not in ``end.The``."""
    length = after >> 8
    return not (before == LOWER and after & 255 == UPPER and class_at(text, i + 1 + length, chars) & 255 == LOWER)


@kernel
def word_end(text: int, start: int, chars: int) -> int:
    """Return the end of the word that begins at byte ``start``.

    A word is made of parts joined by hyphens; ``part`` is where the present one began. ``last`` is the class of the
    last letter or digit, ``before`` that of the last character, marks included.
    """
    i = part = start
    last = before = -1
    letters = periods = 0  # letters since the last period, periods in this part
    dotted = True  # the part is letters and periods only, at most two letters at a time: U.S, Ph.D
    while True:
        found = class_at(text, i, chars)
        kind, length = found & 255, found >> 8
        if LOWER <= kind <= IGNORED:
            if kind <= DIGIT:
                last = kind
                letters += 1
                if kind == DIGIT or letters > 2:
                    dotted = False
            elif i == start:
                dotted = False
            before = kind
            i += length
            continue
        after = class_at(text, i + length, chars)
        next_kind = after & 255
        if kind == PERIOD:
            if LOWER <= last <= LETTER and LOWER <= next_kind <= LETTER:
                if joins_letters(text, i, before, after, chars):
                    periods += 1
                    letters = 0
                    before = PERIOD
                    i += 1
                    continue
            elif last == DIGIT and next_kind == DIGIT:
                dotted = False
                i += 1
                continue
            if next_kind == PERIOD:
                return i
            initial = dotted and periods == 0 and letters == 1 and last == UPPER
            if not ((dotted and periods > 0) or initial or is_listed(text, part, i)):
                return i
            i += 1
            found = after
            kind, length = found & 255, found >> 8
            if kind != HYPHEN:
                return i
            next_kind = class_at(text, i + length, chars) & 255
        if kind == HYPHEN and begins_word(next_kind):
            i += length
            part = i
            letters = periods = 0
            dotted = True
            continue
        if kind == APOSTROPHE and begins_word(next_kind):
            if clitic_end(text, i, chars) > 0:
                return i
            if (
                i - 1 > part
                and byte(text, i - 1) | 0x20 == ord("n")
                and byte(text, i + length) | 0x20 == ord("t")
                and not continues(text, i + length + 1, chars)
            ):
                return i - 1
        elif not (
            (kind == COMMA and last == DIGIT and next_kind == DIGIT)
            or (kind == INNER and LOWER <= last <= LETTER and LOWER <= next_kind <= LETTER)
        ):
            return i
        dotted = False
        before = kind
        i += length


@kernel
def symbol_end(text: int, start: int, chars: int) -> int:
    """Return the end of a token that is not a word: one character, or a run of the same . - ' or `.

    Marks, skin tones and what a zero-width joiner glues on belong to it; two regional indicators are one flag.
    """
    found = class_at(text, start, chars)
    kind = found & 255
    i = start + (found >> 8)
    lead = byte(text, start)
    if lead == ord(".") or lead == ord("-") or lead == ord("'") or lead == ord("`"):
        while byte(text, i) == lead:
            i += 1
    found = class_at(text, i, chars)
    if kind == REGIONAL and found & 255 == REGIONAL:
        i += found >> 8
        found = class_at(text, i, chars)
    before = kind
    while True:
        kind = found & 255
        if not (MARK <= kind <= IGNORED or kind == MODIFIER or (before == JOINER and kind == SYMBOL)):
            return i
        before = kind
        i += found >> 8
        found = class_at(text, i, chars)


@kernel
def needs_normalising(text: int, start: int, end: int, digits: int, ignored: int, chars: int) -> bool:
    """Tell whether ``normalised`` would change the token."""
    i = start
    while i < end:
        found = class_at(text, i, chars)
        kind = found & 255
        if (kind == DIGIT and digits != KEEP) or kind == ignored:
            return True
        i += found >> 8
    return False


@kernel
def normalised(text: int, start: int, end: int, digits: int, ignored: int, chars: int, scratch: Array) -> int:
    """Write the token with its digits normalised and class ``ignored`` left out; return its length.

    ``scratch`` must hold ``3 * (end - start)`` bytes: a lone digit becomes NUM.
    """
    n = 0
    in_number = False
    i = start
    while i < end:
        found = class_at(text, i, chars)
        kind = found & 255
        following = i + (found >> 8)
        if kind == DIGIT and digits == NUM:
            if not in_number:
                scratch[n], scratch[n + 1], scratch[n + 2] = ord("N"), ord("U"), ord("M")
                n += 3
        elif kind == DIGIT and digits == ZERO:
            scratch[n] = ord("0")
            n += 1
        elif kind != ignored:
            for k in range(i, following):
                scratch[n] = byte(text, k)
                n += 1
        if kind != ignored:
            in_number = kind == DIGIT
        i = following
    return n
