"""The compiled loop from text to ids: tokens, boundaries, the hash table. The rules are in :mod:`.tokenizer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from textlds.compiled import kernel
from textlds.corpus.settings import BOUNDARY
from textlds.corpus.tokens.characters import (
    APOSTROPHE,
    CLOSER,
    COMMA,
    IDEOGRAPH,
    IGNORED,
    JOINER,
    LOWER,
    MARK,
    NEWLINE,
    PERIOD,
    QUOTE,
    SPACE,
    SYMBOL,
    TERMINAL,
    UPPER,
    WIDE_TERMINAL,
)
from textlds.corpus.tokens.memory import PADDING, address, byte, first_set, word
from textlds.corpus.tokens.scanning import (
    class_at,
    clitic_end,
    is_listed,
    needs_normalising,
    normalised,
    symbol_end,
    word_end,
)
from textlds.corpus.tokens.type_kernels import FULL, add, find, key_of

Array = Any  # arrays inside kernels: numba infers dtype and layout

# Words of 8 equal bytes, for arithmetic on 8 characters at once.
_CASE, _SEVEN, _HIGH = np.uint64(0x2020202020202020), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
_FROM_A, _AFTER_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
_FROM_0, _AFTER_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_FROM_VISIBLE, _FROM_DELETE = np.uint64(0x5F5F5F5F5F5F5F5F), np.uint64(0x0101010101010101)

WORDS, WHITESPACE, SEPARATED = 0, 1, 2  # how tokens are found
LINE, SENTENCE, DOCUMENT, NONE = 0, 1, 2, 3  # where boundaries are
LOOK_UP, LEARN = 0, 1  # leave the table as it is (it may be shared by threads), or add and count types
DONE, TABLE_FULL, SCRATCH_FULL = 0, 1, 2  # why the loop returned
ABSENT = -3  # in looked-up ids: a type that is not in the table
SEPARATOR = 0x1F  # between the tokens of SEPARATED text

# The state that survives a return: byte position, ids written, tokens on this line, end of the last token, whether
# that was a word, and how near a sentence end is (0 no; 1 after its mark; 2 and what follows may begin a sentence).
POSITION, WRITTEN, ON_LINE, LAST_END, LAST_IS_WORD, ENDING = range(6)
STATE_SIZE = 6


@kernel
def spaced_end(text: int, start: int, mode: int, chars: int) -> int:
    """Return the end of a token that runs to the next white space, or to the next separator."""
    i = start
    while True:
        if mode == SEPARATED:
            if byte(text, i) == SEPARATOR or byte(text, i) == ord("\n"):
                return i
            i += 1
        else:
            found = class_at(text, i, chars)
            if found & 255 == SPACE or found & 255 == NEWLINE:
                return i
            i += found >> 8


@kernel
def is_uniform(text: int, start: int, end: int, kind: int, chars: int) -> bool:
    """Tell whether all characters of the token have the same class."""
    i = start
    while i < end:
        found = class_at(text, i, chars)
        if found & 255 != kind:
            return False
        i += found >> 8
    return True


@kernel
def closes_sentence(text: int, start: int, end: int, kind: int, glued: bool) -> bool:
    """Tell whether a mark after a sentence's end still belongs to it."""
    if kind in (CLOSER, PERIOD, TERMINAL, WIDE_TERMINAL):
        return True
    if kind == APOSTROPHE and end - start == 2 and byte(text, start + 1) == ord("'"):
        return True  # '' closes a quotation in treebanks
    return glued and (kind in (QUOTE, APOSTROPHE))


@kernel
def letters_end(text: int, i: int) -> int:
    """Return the end of the run of ASCII letters at byte i, 8 bytes at a time.

    Adding 0x1F to a 7-bit lower-case letter, and to what is above, carries into bit 7; adding 0x05 only to the latter.
    """
    while True:
        found = word(text, i) | _CASE
        low = found & _SEVEN
        letters = (low + _FROM_A) & ~(low + _AFTER_Z) & ~found
        others = ~letters & _HIGH
        if others != np.uint64(0):
            return i + first_set(others)
        i += 8


@kernel
def plain_end(text: int, i: int) -> int:
    """Return the first byte from i on that is not visible ASCII, or is a digit, 8 bytes at a time."""
    while True:
        found = word(text, i)
        low = found & _SEVEN
        visible = (low + _FROM_VISIBLE) & ~(low + _FROM_DELETE)
        digits = (low + _FROM_0) & ~(low + _AFTER_9)
        others = (~visible | digits | found) & _HIGH
        if others != np.uint64(0):
            return i + first_set(others)
        i += 8


@kernel
def ascii_end(text: int, start: int, kind: int, chars: int) -> int:
    """Return the end of an ASCII word or mark that needs no rule to find it, or 0: nine tokens in ten end here."""
    if kind in (LOWER, UPPER):
        end = letters_end(text, start)
        after = byte(chars, byte(text, end))
        if after in (SPACE, COMMA, NEWLINE, SYMBOL) or TERMINAL <= after <= QUOTE:
            return end
        if after == PERIOD and end - start > 1:
            after = byte(chars, byte(text, end + 1))
            if after in (SPACE, NEWLINE, QUOTE) and not is_listed(text, start, end):
                return end
        return 0
    if kind in (COMMA, SYMBOL, PERIOD) or TERMINAL <= kind <= QUOTE:
        after = byte(text, start + 1)
        if after < 0x80 and after != byte(text, start):  # neither a mark nor a run
            return start + 1
    return 0


@kernel
def token_end(text: int, start: int, kind: int, after_word: bool, chars: int) -> tuple[int, bool]:
    """Return the end of the token at byte ``start`` and whether it is a word, by all the rules."""
    if LOWER <= kind <= MARK:
        return word_end(text, start, chars), True
    if kind == APOSTROPHE:
        end = clitic_end(text, start, chars)
        if end > 0 and (after_word or class_at(text, end, chars) & 255 != APOSTROPHE):
            return end, True
    return symbol_end(text, start, chars), kind == IDEOGRAPH


@kernel
def tokenize(
    buffer: Array,
    n: int,
    mode: int,
    digits: int,
    boundaries: int,
    learn: int,
    characters: Array,
    scratch: Array,
    slots: Array,
    data: Array,
    offsets: Array,
    counts: Array,
    size: Array,
    state: Array,
    ids: Array,
    spans: Array,
) -> int:
    """Write the ids of the tokens in ``buffer[:n]``, which ends with a newline, and BOUNDARY where there is one.

    Args:
        spans: Room for ``2 * ids.size`` byte positions, start and end of every token (of a boundary its place only);
            or empty if nobody needs them.
        state: where to continue; zeros at first.

    Returns:
        DONE, or which of the table and ``scratch`` has to grow before the loop can resume from ``state``.
    """
    text, chars, spare = address(buffer), address(characters), address(scratch)
    table_slots, mask, table_data, table_offsets = address(slots), slots.size // 2 - 1, address(data), address(offsets)
    i, written, on_line = state[POSITION], state[WRITTEN], state[ON_LINE]
    last_end, last_is_word, ending = state[LAST_END], state[LAST_IS_WORD] != 0, state[ENDING]
    ignored = IGNORED if mode == WORDS else -1
    want_spans = spans.size > 0
    # Two tokens in three are known words of ASCII letters before a space; they come in rows, through a short loop.
    in_a_row = mode == WORDS and learn == LEARN and not want_spans
    status = DONE
    while i < n:
        lead = byte(text, i)
        kind = byte(chars, lead)
        if kind == SPACE and (mode != SEPARATED or lead == SEPARATOR):
            i += 1
            continue
        if kind == NEWLINE:
            if (on_line > 0 and boundaries <= SENTENCE) or (on_line == 0 and boundaries == DOCUMENT):
                ids[written] = BOUNDARY
                if want_spans:
                    spans[2 * written] = i
                written += 1
            on_line = 0
            ending = 0
            i += 1
            continue

        is_word = kind in (LOWER, UPPER)
        changes = False
        if is_word and in_a_row and ending == 0:
            begin = written
            while True:
                end = letters_end(text, i)
                if end == i or byte(text, end) != ord(" "):
                    break
                key = key_of(text, i, end)
                identifier = find(text, i, end, key, table_slots, mask, table_data, table_offsets)
                if identifier < 0:
                    break
                counts[identifier] += 1
                ids[written] = identifier
                written += 1
                i = end + 1
            if written > begin:
                on_line += written - begin
                last_end, last_is_word = i - 1, True
                continue
        if mode == WORDS:
            end = ascii_end(text, i, kind, chars)
        else:
            end = plain_end(text, i)
            if end == i or byte(chars, byte(text, end)) not in (SPACE, NEWLINE) or mode == SEPARATED:
                end = 0
            elif not is_word and boundaries == SENTENCE:
                is_word = not is_uniform(text, i, end, kind, chars)
        if end == 0:
            found = class_at(text, i, chars)
            kind = found & 255
            if (kind == SPACE and mode != SEPARATED) or (mode == WORDS and (kind in (IGNORED, JOINER))):
                i += found >> 8
                continue
            if mode == WORDS:
                end, is_word = token_end(text, i, kind, last_is_word and last_end == i, chars)
            else:
                end = spaced_end(text, i, mode, chars)
                is_word = LOWER <= kind <= IDEOGRAPH or not is_uniform(text, i, end, kind, chars)
            changes = needs_normalising(text, i, end, digits, ignored, chars)

        source, start, stop = text, i, end
        if changes:
            if 3 * (end - i) + PADDING > scratch.size:
                status = SCRATCH_FULL
                break
            source, start, stop = spare, 0, normalised(text, i, end, digits, ignored, chars, scratch)
        key = key_of(source, start, stop)
        identifier = find(source, start, stop, key, table_slots, mask, table_data, table_offsets)
        if learn == LEARN:
            if identifier < 0:
                identifier = add(source, start, stop, key, ~identifier, slots, data, offsets, size)
                if identifier == FULL:
                    status = TABLE_FULL
                    break
            counts[identifier] += 1
        elif identifier < 0:
            identifier = ABSENT

        if boundaries == SENTENCE:
            glued = last_end == i
            if ending == 1 and not glued:
                ending = 2
            if ending > 0 and (is_word or not closes_sentence(text, i, end, kind, glued)):
                if ending == 2 and kind != LOWER:
                    ids[written] = BOUNDARY
                    if want_spans:
                        spans[2 * written] = i
                    written += 1
                ending = 0
            if not is_word:
                if kind == WIDE_TERMINAL:
                    ending = 2
                elif kind in (PERIOD, TERMINAL):
                    ending = max(ending, 1)

        ids[written] = identifier
        if want_spans:
            spans[2 * written], spans[2 * written + 1] = i, end
        written += 1
        on_line += 1
        last_end, last_is_word = end, is_word
        i = end

    state[POSITION], state[WRITTEN], state[ON_LINE] = i, written, on_line
    state[LAST_END], state[LAST_IS_WORD], state[ENDING] = last_end, last_is_word, ending
    return status
