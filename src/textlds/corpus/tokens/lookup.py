"""From words to the rows of a vocabulary, compiled: a known type's row, or that of its unknown class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.compiled import kernel
from textlds.corpus.tokens.memory import PADDING, address
from textlds.corpus.tokens.scanning import KEEP, flat_characters, needs_normalising, normalised
from textlds.corpus.tokens.type_kernels import find, key_of
from textlds.corpus.tokens.types import Bytes, Ints, TypeTable, padded
from textlds.corpus.unknown import class_of_bytes

Array = Any  # arrays inside kernels: numba infers dtype and layout


def rows_of(buffer: Bytes, bounds: Ints, table: TypeTable, n_classes: int, *, digits: int = KEEP) -> NDArray[np.int32]:
    """Return the row of each string ``buffer[bounds[k]:bounds[k + 1]]``.

    Args:
        buffer: UTF-8.
        bounds: ``(n + 1,)``.
        table: The known types; their ids are the first rows, the unknown classes follow.
        n_classes: How many unknown classes there are.
        digits: KEEP if the strings are normalised already.

    Cost: about 0.1 µs a string.
    """
    rows = np.empty(bounds.size - 1, np.int32)
    longest = int(np.diff(bounds).max(initial=0))
    scratch = np.empty(3 * longest + PADDING, np.uint8)
    slots, data, offsets, _, size = table.arrays()
    buffer = padded(buffer, int(bounds[-1]))
    find_rows(buffer, bounds, digits, slots, data, offsets, size[0], n_classes, flat_characters(), scratch, rows)
    return rows


@kernel
def find_rows(
    buffer: Array,
    bounds: Array,
    digits: int,
    slots: Array,
    data: Array,
    offsets: Array,
    n_types: int,
    n_classes: int,
    characters: Array,
    scratch: Array,
    rows: Array,
) -> None:
    """Write the row of every string of ``buffer``; see :func:`rows_of`."""
    buffer_text, spare, chars = address(buffer), address(scratch), address(characters)
    table_slots, mask, table_data, table_offsets = address(slots), slots.size // 2 - 1, address(data), address(offsets)
    for k in range(bounds.size - 1):
        text, start, end = buffer_text, bounds[k], bounds[k + 1]
        if needs_normalising(text, start, end, digits, -1, chars):
            text, start, end = spare, 0, normalised(text, start, end, digits, -1, chars, scratch)
        key = key_of(text, start, end)
        row = find(text, start, end, key, table_slots, mask, table_data, table_offsets)
        rows[k] = row if row >= 0 else n_types + class_of_bytes(text, start, end, n_classes, chars)
