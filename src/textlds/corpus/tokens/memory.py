"""Plain memory reads for kernels that look at every byte.

An array that is handed from one compiled function to another is reference-counted with atomic operations, a hundred
times the cost of reading a byte from it. Helpers on the path of every character therefore take an address and read
through these. Whoever passes an address sees to it that the memory stays alive and is padded with PADDING bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from textlds.compiled import kernel

PADDING = 8  # bytes that may be read after the end of a text: the tail of a word() and looking ahead

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
Array = Any  # arrays inside kernels: numba infers dtype and layout


def _byte(typing_context: Any, address: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        return builder.zext(builder.load(builder.gep(pointer, [arguments[1]])), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def _word(typing_context: Any, address: Any, offset: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(builder.add(arguments[0], arguments[1]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(types.int64, types.int64), generate


def _first_set(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.uint64), generate


byte = cast(Callable[[Any, Any], int], intrinsic(_byte))
"""``byte(address, i)`` is the byte at ``address + i`` as an int64."""

word = cast(Callable[[Any, Any], Any], intrinsic(_word))
"""``word(address, i)`` is the 8 bytes at ``address + i``, aligned or not, as an uint64."""

first_set = cast(Callable[[Any], int], intrinsic(_first_set))
"""``first_set(w)`` is the place (0..7) of the first byte of a word in memory that is not 0; w must not be 0."""


@kernel
def first_bytes(text: int, start: int, n: int) -> Any:
    """Return n <= 8 bytes as a word, with zeros after them."""
    if n == 0:
        return np.uint64(0)
    return word(text, start) & (_ALL >> np.uint64(64 - 8 * n))


@kernel
def address(array: Array) -> Any:
    """Return the address of an array's first byte."""
    return np.int64(array.ctypes.data)
