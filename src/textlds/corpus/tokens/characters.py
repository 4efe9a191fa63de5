"""What kind of character each code point is, the same on every Python version.

``unicode_classes.bin`` is a two-level table over the whole code space, made by ``tools/make_unicode_table.py`` from
the Unicode version it names; the 1.1 million code points share a few hundred distinct blocks of 128. Kernels read the
two levels as arrays; Python code reads single characters with :func:`class_of`.
"""

from __future__ import annotations

import functools
import re
import zlib
from importlib import resources
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The order matters: LOWER..DIGIT begin a word, LOWER..IGNORED continue one.
SYMBOL: Final = 0  # every punctuation mark and symbol without a part of its own in the rules
SPACE: Final = 1  # white space, control characters, the zero-width space
LOWER: Final = 2
UPPER: Final = 3  # title case too
LETTER: Final = 4  # letters without case, number letters, fractions, superscripts
DIGIT: Final = 5  # decimal digits of any script
MARK: Final = 6  # combining marks
JOINER: Final = 7  # zero-width joiner and non-joiner: spelling in Persian or Hindi, glue in emoji
IGNORED: Final = 8  # other format characters (soft hyphen, direction marks): no part of any word
IDEOGRAPH: Final = 9  # a token of its own: Chinese and Japanese do not separate words
PERIOD: Final = 10
HYPHEN: Final = 11
APOSTROPHE: Final = 12
COMMA: Final = 13  # joins digits: , : / and the Arabic separators
INNER: Final = 14  # joins letters: the Catalan middle dot, Hebrew geresh and gershayim
TERMINAL: Final = 15  # ends a sentence if white space follows: ! ? … ؟
WIDE_TERMINAL: Final = 16  # ends a sentence whatever follows: 。！？ ।
CLOSER: Final = 17  # closing brackets and quotes
QUOTE: Final = 18  # quotes that open or close: straight ones, and opening ones that some languages close with
MODIFIER: Final = 19  # skin tones of emoji
REGIONAL: Final = 20  # two of them are a flag
NEWLINE: Final = 21

BLOCK_BITS: Final = 7
CODE_POINTS: Final = 0x110000


class CharacterTable(NamedTuple):
    """The class of code point c is ``blocks[block_of[c >> 7] << 7 | c & 127]``.

    Attributes:
        version: The Unicode version the table was made from.
        block_of: ``(8704,)`` uint8.
        blocks: ``(n_blocks * 128,)`` uint8.
        first_byte: ``(256,)`` uint8: the classes of ASCII, and NON_ASCII for the bytes of longer characters.
    """

    version: str
    block_of: NDArray[np.uint8]
    blocks: NDArray[np.uint8]
    first_byte: NDArray[np.uint8]


NON_ASCII: Final = 255


@functools.cache
def character_table() -> CharacterTable:
    """Read the table, once per process (about 1 ms)."""
    packed = resources.files(__package__).joinpath("unicode_classes.bin").read_bytes()
    version, _, body = packed.partition(b"\n")
    raw = np.frombuffer(zlib.decompress(body), np.uint8).copy()  # a copy is writeable: one array type for kernels
    n_index = CODE_POINTS >> BLOCK_BITS
    index, blocks = raw[:n_index].copy(), raw[n_index:].copy()
    first_byte = np.full(256, NON_ASCII, np.uint8)
    first_byte[:128] = blocks[int(index[0]) << BLOCK_BITS :][:128]
    return CharacterTable(version.decode("ascii"), index, blocks, first_byte)


def class_of(character: str) -> int:
    """Return the class of one character."""
    table = character_table()
    code = ord(character)
    block = int(table.block_of[code >> BLOCK_BITS])
    return int(table.blocks[block << BLOCK_BITS | code & ((1 << BLOCK_BITS) - 1)])


def ranges(*classes: int) -> str:
    """Return the characters of some classes as the inside of a regular expression's ``[...]``."""
    table = character_table()
    codes = np.flatnonzero(np.isin(table.blocks.reshape(-1, 128)[table.block_of].reshape(-1), classes))
    breaks = np.flatnonzero(np.diff(codes) > 1)
    firsts = codes[np.concatenate([[0], breaks + 1])]
    lasts = codes[np.concatenate([breaks, [codes.size - 1]])]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True))


@functools.cache
def _digits(repeat: str) -> re.Pattern[str]:
    return re.compile(f"[{ranges(DIGIT)}]{repeat}")


@functools.cache
def _ignored() -> re.Pattern[str]:
    return re.compile(f"[{ranges(IGNORED)}]+")


def without_ignored(word: str) -> str:
    """Return a word without the characters that are no part of any: soft hyphens, direction marks."""
    return word if word.isascii() else _ignored().sub("", word)


def normalise_digits(word: str, digits: str) -> str:
    """Apply the ``digits`` setting to one word: each run to NUM, each digit to 0, or nothing."""
    if digits == "keep":
        return word
    return _digits("+").sub("NUM", word) if digits == "num" else _digits("").sub("0", word)
