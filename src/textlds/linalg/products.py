"""Products of rows with a matrix, in which a row's result does not depend on the other rows.

BLAS chooses its kernels, and with them the order of a sum, by the shape of the whole product and by the processor: a
text's vectors would differ in the last digits with the texts beside it. Here every sum runs over k = 0, 1, … in this
order, each step one multiplication and addition.

A tile is some rows by some columns of the result, which stay in registers while k runs. Numba has no vectors of fixed
length, so that tiles are written in the language of its compiler. For the matrices of inference they are as fast as
OpenBLAS, or faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from textlds.compiled import kernel_fma
from textlds.linalg.types import Array

_config: Any = numba.config  # numba publishes no types
JIT = not _config.DISABLE_JIT
_FEATURES = _config.CPU_FEATURES if _config.CPU_NAME else binding.get_host_cpu_features().flatten()
# Numbers of a vector: 12 sums, 3 parts of a row and a factor are 16 registers of AVX2, half of those of AVX-512.
LENGTH = 16 if "+avx512f" in (_FEATURES or "") else 8
_WIDTH, _LONG = 3 * LENGTH, 8 * LENGTH  # columns of a tile of four rows, and of one row
_HEIGHT = 12  # rows of a tile of few columns
_BLOCK = 16 * _HEIGHT  # rows that stay in the cache while all columns are computed


def product(rows: Array, matrix: Array) -> Array:
    """Return rows · matrix, (n, k) x (k, m); columns of rows beyond k are not looked at."""
    dtype = np.result_type(rows, matrix)
    out = np.zeros((len(rows), matrix.shape[1]), dtype)
    add_product(np.ascontiguousarray(rows, dtype), np.ascontiguousarray(matrix, dtype), out)
    return out


def _tile(height: int, vectors: int, length: int) -> Callable[..., None]:
    """Return what adds to a tile of so many rows and ``vectors`` times ``length`` columns, from row i and column c on.

    tile(rows, i, matrix, c, out):  out[i:, c:] += rows[i:] · matrix[:, c:]     in the tile, for contiguous arrays
    """

    @intrinsic
    def tile(context, rows, i, matrix, c, out):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            _write_tile(context, builder, signature.args, arguments, height, vectors, length)
            return context.get_dummy_value()

        assert {array.layout for array in (rows, matrix, out)} == {"C"}
        return types.void(rows, types.intp, matrix, types.intp, out), generate

    found: Callable[..., None] = tile
    return found


def _write_tile(context: Any, builder: Any, kinds: Any, arguments: Any, height: int, vectors: int, length: int) -> None:
    """Write the code of a tile: load the sums, add a product to each for every k, store the sums."""
    from numba.core import cgutils as untyped
    from numba.np import arrayobj

    cgutils: Any = untyped
    make: Any = arrayobj.make_array
    x, w, y = (make(kinds[n])(context, builder, arguments[n]) for n in (0, 2, 4))
    row, column = arguments[1], arguments[3]
    number, size = context.get_value_type(kinds[2].dtype), kinds[2].dtype.bitwidth // 8
    vector, index, small = ir.VectorType(number, length), row.type, ir.IntType(32)

    def at(array: Any, i: Any, j: Any, kind: Any) -> Any:
        """Return a pointer to element (i, j)."""
        width = builder.sdiv(cgutils.unpack_tuple(builder, array.strides, 2)[0], index(size))
        place = builder.gep(array.data, [builder.add(builder.mul(i, width), j)])
        return builder.bitcast(place, kind.as_pointer())

    columns = [builder.add(column, index(v * length)) for v in range(vectors)]
    rows = [builder.add(row, index(r)) for r in range(height)]
    sums = [[cgutils.alloca_once(builder, vector) for _ in columns] for _ in rows]  # become registers
    cells = [(at(y, i, j, vector), own[v]) for i, own in zip(rows, sums, strict=True) for v, j in enumerate(columns)]
    for place, total in cells:
        builder.store(builder.load(place, align=size), total)
    step = ir.FunctionType(vector, [vector] * 3)
    fused = cgutils.get_or_insert_function(builder.module, step, f"llvm.fmuladd.v{length}f{8 * size}")
    nothing = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(small, length), [0] * length)
    with cgutils.for_range(builder, cgutils.unpack_tuple(builder, w.shape, 2)[0], intp=index) as loop:
        parts = [builder.load(at(w, loop.index, j, vector), align=size) for j in columns]
        for i, own in zip(rows, sums, strict=True):
            one = builder.load(at(x, i, loop.index, number))
            factor = builder.shuffle_vector(builder.insert_element(nothing, one, small(0)), nothing, zeros)
            for part, total in zip(parts, own, strict=True):
                builder.store(builder.call(fused, [factor, part, builder.load(total)]), total)
    for place, total in cells:
        builder.store(builder.load(total), place, align=size)


_four_wide, _four, _four_half, _four_one = (_tile(4, v, n) for v, n in ((3, LENGTH), (1, LENGTH), (1, 4), (1, 1)))
_tall, _tall_half, _tall_one = (_tile(_HEIGHT, 1, n) for n in (LENGTH, 4, 1))  # as many sums where columns are few
_one_wide, _one, _one_half, _one_one = (_tile(1, v, n) for v, n in ((8, LENGTH), (1, LENGTH), (1, 4), (1, 1)))


@kernel_fma
def add_product(rows, matrix, out):  # type: ignore[no-untyped-def]
    """Add rows · matrix to ``out``, (n, k) x (k, m); columns of ``rows`` beyond k are not looked at."""
    for begin in range(0, len(out), _BLOCK):
        _add_block(rows, begin, min(begin + _BLOCK, len(out)), matrix, out)


@kernel_fma
def _add_block(rows, begin, end, matrix, out):  # type: ignore[no-untyped-def]
    """Do what :func:`add_product` does for some rows."""
    m = out.shape[1]
    fours, tall = begin + (end - begin) // 4 * 4, begin + (end - begin) // _HEIGHT * _HEIGHT
    c = 0
    while c < m and begin < fours:
        if c + _WIDTH <= m:
            for i in range(begin, fours, 4):
                _four_wide(rows, i, matrix, c, out)
            c += _WIDTH
        elif c + LENGTH <= m:
            for i in range(begin, tall, _HEIGHT):
                _tall(rows, i, matrix, c, out)
            for i in range(tall, fours, 4):
                _four(rows, i, matrix, c, out)
            c += LENGTH
        elif c + 4 <= m:
            for i in range(begin, tall, _HEIGHT):
                _tall_half(rows, i, matrix, c, out)
            for i in range(tall, fours, 4):
                _four_half(rows, i, matrix, c, out)
            c += 4
        else:
            for i in range(begin, tall, _HEIGHT):
                _tall_one(rows, i, matrix, c, out)
            for i in range(tall, fours, 4):
                _four_one(rows, i, matrix, c, out)
            c += 1
    for i in range(fours, end):
        _add_row(rows, i, matrix, out)


@kernel_fma
def _add_row(rows, i, matrix, out):  # type: ignore[no-untyped-def]
    """Do what :func:`add_product` does for one row."""
    m = out.shape[1]
    c = 0
    while c < m:
        if c + _LONG <= m:
            _one_wide(rows, i, matrix, c, out)
            c += _LONG
        elif c + LENGTH <= m:
            _one(rows, i, matrix, c, out)
            c += LENGTH
        elif c + 4 <= m:
            _one_half(rows, i, matrix, c, out)
            c += 4
        else:
            _one_one(rows, i, matrix, c, out)
            c += 1


if not JIT:  # nothing is compiled, and so is no tile

    def add_product(rows: Array, matrix: Array, out: Array) -> None:
        """Do the same by the definition."""
        for k in range(len(matrix)):
            out += rows[:, k, None] * matrix[k]
