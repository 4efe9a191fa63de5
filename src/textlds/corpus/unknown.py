"""The class of a word outside the vocabulary.

``"single"`` has one class, the paper's OOV. ``"shape"`` has those of :data:`SHAPES`: what a word's characters say
about its part of speech. The class depends on the (normalised) word alone, so counts can be folded into it at any
time. A word that is literally the name of a class belongs to that class.

For ``"shape"``, the first rule that fits decides:

1. a digit, or NUM apart from other capitals: ``<unk:digit>``;
2. no letter: ``<unk:symbol>``; only letters without case (Arabic, Hindi): ``<unk>``;
3. a period: ``<unk:dotted>``;
4. all lower case: ``<unk:hyphen>`` with a hyphen, else by the longest suffix that leaves two characters or more,
   ``<unk:-ing>`` to ``<unk:-s>``, else ``<unk:lower>``;
5. all upper case, two letters or more: ``<unk:ALLCAPS>``;
6. a capital and then lower case: ``<unk:Capital-an>`` (-an, -ese, -ish: Cuban, Maltese, Turkish),
   ``<unk:Capital-s>``, or ``<unk:Capital>``; a capital first and a hyphen: ``<unk:Capital-hyphen>``;
7. ``<unk:Mixed>``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.corpus.settings import Unknown
from textlds.corpus.tokens.characters import DIGIT, HYPHEN, IDEOGRAPH, LETTER, LOWER, PERIOD, UPPER
from textlds.corpus.tokens.memory import byte
from textlds.corpus.tokens.scanning import class_at

Array = Any  # arrays inside kernels: numba infers dtype and layout

# Suffixes by the class they put a lower-case word in; what several share says the same about the part of speech.
SUFFIXES: Final[dict[str, tuple[str, ...]]] = {
    "-ing": ("ing",), "-ed": ("ed",), "-ly": ("ly",), "-er": ("er", "or"), "-est": ("est",), "-ion": ("ion",),
    "-ity": ("ity", "ety"), "-ness": ("ness",), "-ment": ("ment",), "-able": ("able", "ible"), "-al": ("al",),
    "-ous": ("ous",), "-ive": ("ive",), "-ic": ("ic",), "-ism": ("ism",), "-ist": ("ist",), "-ful": ("ful",),
    "-less": ("less",), "-ize": ("ize", "ise", "ify"), "-ate": ("ate",), "-ance": ("ance", "ence", "ancy", "ency"),
    "-ant": ("ant", "ent"), "-ship": ("ship", "hood"), "-age": ("age",), "-ish": ("ish",), "-y": ("y",), "-s": ("s",),
    "lower": ("ss", "us", "is"),  # glass, status, basis: an s that is no plural
}  # fmt: skip
CAPITAL_SUFFIXES: Final[dict[str, tuple[str, ...]]] = {
    "Capital-an": ("an", "ese", "ish"),
    "Capital-s": ("s",),
    "Capital": ("ss", "us", "is"),
}
_OTHERS = (
    "digit", "symbol", "dotted", "ALLCAPS", "Capital", "Capital-s", "Capital-an", "Capital-hyphen", "Mixed", "hyphen",
    "lower",
)  # fmt: skip

SINGLE: Final = ("<unk>",)
SHAPES: Final = (
    "<unk>",
    *(f"<unk:{name}>" for name in _OTHERS),
    *(f"<unk:{name}>" for name in SUFFIXES if name not in _OTHERS),
)


def unknown_classes(unknown: Unknown) -> tuple[str, ...]:
    """Return the names of all classes of a policy, in the order of their rows."""
    return SINGLE if unknown == "single" else SHAPES


_UNCASED = 0
_DIGIT, _SYMBOL, _DOTTED, _ALLCAPS, _CAPITAL, _, _, _CAPITAL_HYPHEN, _MIXED, _HYPHEN, _LOWER = range(1, 12)


def _suffix_table(suffixes: dict[str, tuple[str, ...]]) -> NDArray[np.int64]:
    """Rows ``(bytes as a number, length, class)``, longest suffix first."""
    rows = [
        (int.from_bytes(suffix.encode(), "big"), len(suffix), SHAPES.index(f"<unk:{name}>"))
        for name, group in suffixes.items()
        for suffix in group
    ]
    return np.array(sorted(rows, key=lambda row: -row[1]), np.int64)


_LOWER_SUFFIXES = _suffix_table(SUFFIXES)
_CAPITAL_SUFFIXES = _suffix_table(CAPITAL_SUFFIXES)
_NAMES = tuple(name.encode() for name in SHAPES)
_NAME_BYTES = np.frombuffer(b"".join(_NAMES), np.uint8)
_NAME_BOUNDS = np.cumsum([0, *map(len, _NAMES)])


@kernel
def literal_class(text: int, start: int, end: int, n_classes: int) -> int:
    """Return the class whose name the word is, or -1."""
    if byte(text, start) != ord("<") or byte(text, end - 1) != ord(">"):
        return -1
    for name in range(n_classes):
        low = _NAME_BOUNDS[name]
        if _NAME_BOUNDS[name + 1] - low == end - start:
            k = 0
            while k < end - start and byte(text, start + k) == _NAME_BYTES[low + k]:
                k += 1
            if k == end - start:
                return name
    return -1


@kernel
def by_suffix(text: int, start: int, end: int, characters: int, suffixes: Array, otherwise: int) -> int:
    """Return the class of the longest suffix that leaves at least two characters."""
    tail = 0
    length = min(end - start, 4)
    for k in range(end - length, end):
        tail = tail << 8 | byte(text, k)
    for row in range(suffixes.shape[0]):
        n = suffixes[row, 1]
        if n + 2 <= characters and tail & ((1 << 8 * n) - 1) == suffixes[row, 0]:
            return suffixes[row, 2]  # type: ignore[no-any-return]  # a number inside kernels
    return otherwise


@kernel
def is_num(text: int, i: int) -> bool:
    """Tell whether the three bytes at i spell NUM."""
    return byte(text, i) == ord("N") and byte(text, i + 1) == ord("U") and byte(text, i + 2) == ord("M")


@kernel
def shape_class(text: int, start: int, end: int, chars: int) -> int:
    """Return the index in SHAPES of the class of bytes ``start:end``."""
    lower = upper = uncased = characters = upper_run = 0
    first = -1
    hyphen = period = number = False
    i = start
    while i < end:
        found = class_at(text, i, chars)
        kind = found & 255
        if kind == UPPER:
            upper += 1
            upper_run += 1
        else:
            number |= upper_run == 3 and is_num(text, i - 3)
            upper_run = 0
        lower += kind == LOWER
        uncased += kind in (LETTER, IDEOGRAPH)
        hyphen |= kind == HYPHEN
        period |= kind == PERIOD
        number |= kind == DIGIT
        if first < 0 and LOWER <= kind <= LETTER:
            first = kind
        characters += 1
        i += found >> 8
    if number or (upper_run == 3 and is_num(text, end - 3)):
        return _DIGIT
    if lower + upper == 0:
        return _SYMBOL if uncased == 0 else _UNCASED
    if period:
        return _DOTTED
    if upper == 0:
        return _HYPHEN if hyphen else by_suffix(text, start, end, characters, _LOWER_SUFFIXES, _LOWER)
    if lower == 0 and upper > 1:
        return _ALLCAPS
    if first == UPPER and hyphen:
        return _CAPITAL_HYPHEN
    if first == UPPER and upper == 1:
        return by_suffix(text, start, end, characters, _CAPITAL_SUFFIXES, _CAPITAL)
    return _MIXED


@kernel
def class_of_bytes(text: int, start: int, end: int, n_classes: int, chars: int) -> int:
    """Return the class of a word among the first ``n_classes``: 1 for "single", all for "shape"."""
    if end > start:
        literal = literal_class(text, start, end, n_classes)
        if literal >= 0:
            return literal
    return 0 if n_classes == 1 else shape_class(text, start, end, chars)
