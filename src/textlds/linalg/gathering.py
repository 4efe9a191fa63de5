"""The inner loop of sparse products: rows of a dense panel, weighted and added up.

    out[i, :] = left[i] Σ_p data[p] X[indices[p], :] − U[i] R        p: the entries of row i

Entries are added in their order, one multiplication and addition each, to sums that stay in registers for up to eight
vectors of columns. Such loops are written in the language of numba's compiler, as those of
:mod:`textlds.linalg.products` are: left to itself it would load and store the sums for every entry, and check each time
that they do not overlap the panel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from textlds.compiled import kernel_fma
from textlds.linalg.products import JIT, LENGTH
from textlds.linalg.types import Array

STRETCH_BYTES = 1 << 19  # of the panel that rows are gathered from at a time: half of a second-level cache
CRUMBS = 16  # entries per stretch, below which a row is done at once


def _strip(vectors: int, length: int) -> Callable[..., None]:
    """Return what adds entries to ``vectors`` times ``length`` columns of a row, from column c of the panel on.

    strip(indices, data, begin, end, X, c, out, i, to):  out[i, to:] += Σ_p data[p] X[indices[p], c:]
    """

    @intrinsic
    def strip(context, indices, data, begin, end, X, c, out, i, to):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            _write_strip(context, builder, signature.args, arguments, vectors, length)
            return context.get_dummy_value()

        assert {array.layout for array in (indices, data, X, out)} == {"C"}
        return types.void(indices, data, types.intp, types.intp, X, types.intp, out, types.intp, types.intp), generate

    found: Callable[..., None] = strip
    return found


def _write_strip(context: Any, builder: Any, kinds: Any, arguments: Any, vectors: int, length: int) -> None:
    """Write the code of a strip: load the sums, add every entry, store the sums."""
    from numba.core import cgutils as untyped
    from numba.np import arrayobj

    cgutils: Any = untyped
    make: Any = arrayobj.make_array
    indices, data, x, out = (make(kinds[n])(context, builder, arguments[n]) for n in (0, 1, 4, 6))
    begin, end, column, row, to = (arguments[n] for n in (2, 3, 5, 7, 8))
    number, size = context.get_value_type(kinds[4].dtype), kinds[4].dtype.bitwidth // 8
    vector, index, small = ir.VectorType(number, length), column.type, ir.IntType(32)

    def at(array: Any, i: Any, j: Any) -> Any:
        """Return a pointer to the vector that begins at element (i, j)."""
        width = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        return builder.bitcast(builder.gep(array.data, [builder.add(builder.mul(i, width), j)]), vector.as_pointer())

    sums = [cgutils.alloca_once(builder, vector) for _ in range(vectors)]  # become registers
    cells = [at(out, row, builder.add(to, index(v * length))) for v in range(vectors)]
    for cell, total in zip(cells, sums, strict=True):
        builder.store(builder.load(cell, align=size), total)
    fused = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{length}f{8 * size}"
    )
    nothing = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(small, length), [0] * length)
    with cgutils.for_range_slice(builder, begin, end, index(1), intp=index) as (p, _):
        value = context.cast(builder, builder.load(builder.gep(data.data, [p])), kinds[1].dtype, kinds[4].dtype)
        factor = builder.shuffle_vector(builder.insert_element(nothing, value, small(0)), nothing, zeros)
        place = context.cast(builder, builder.load(builder.gep(indices.data, [p])), kinds[0].dtype, types.intp)
        for v, total in enumerate(sums):
            part = builder.load(at(x, place, builder.add(column, index(v * length))), align=size)
            builder.store(builder.call(fused, [factor, part, builder.load(total)]), total)
    for cell, total in zip(cells, sums, strict=True):
        builder.store(builder.load(total), cell, align=size)


_HALF = LENGTH // 2
_eight, _four, _two, _one = (_strip(vectors, LENGTH) for vectors in (8, 4, 2, 1))
_half, _quarter, _single = (_strip(1, length) for length in (_HALF, 4, 1))


@kernel_fma
def _add_entries(indices, data, begin, end, X, out, i, to):  # type: ignore[no-untyped-def]
    """Add entries begin..end to a row of ``out``, from a column on."""
    width = X.shape[1]
    c = 0
    while c < width:
        left = width - c
        if left >= 8 * LENGTH:
            _eight(indices, data, begin, end, X, c, out, i, to + c)
            c += 8 * LENGTH
        elif left >= 4 * LENGTH:
            _four(indices, data, begin, end, X, c, out, i, to + c)
            c += 4 * LENGTH
        elif left >= 2 * LENGTH:
            _two(indices, data, begin, end, X, c, out, i, to + c)
            c += 2 * LENGTH
        elif left >= LENGTH:
            _one(indices, data, begin, end, X, c, out, i, to + c)
            c += LENGTH
        elif left >= _HALF:
            _half(indices, data, begin, end, X, c, out, i, to + c)
            c += _HALF
        elif left >= 4:
            _quarter(indices, data, begin, end, X, c, out, i, to + c)
            c += 4
        else:
            _single(indices, data, begin, end, X, c, out, i, to + c)
            c += 1


def _add_by_definition(
    indices: Array, data: Array, begin: int, end: int, X: Array, out: Array, i: int, to: int
) -> None:
    for p in range(begin, end):
        out[i, to : to + X.shape[1]] += X.dtype.type(data[p]) * X[indices[p]]


if not JIT:  # nothing is compiled, and so is no strip
    _add_entries = _add_by_definition


@kernel_fma
def gather(indptr, indices, data, X, left, U, R, out, column, rows):  # type: ignore[no-untyped-def]
    """Set out[i, column:], as wide as X, for a range of rows.

    All rows are done for one stretch of the panel before the next, so that what is gathered is in the second-level
    cache; rows of few entries, which would be cut into crumbs, are done at once.
    """
    width = X.shape[1]
    height = max(1, STRETCH_BYTES // (X.itemsize * max(width, 1)))
    stretches = (len(X) + height - 1) // height
    places = indptr[rows[0] : rows[1]].astype(np.int64)
    for i in range(rows[0], rows[1]):
        out[i][column : column + width] = 0
    for stretch in range(stretches):
        stop = (stretch + 1) * height
        for i in range(rows[0], rows[1]):
            begin, end = places[i - rows[0]], np.int64(indptr[i + 1])
            if stretch + 1 < stretches and end - indptr[i] > CRUMBS * stretches:
                last, end = end, begin
                while end < last and indices[end] < stop:
                    end += 1
            if begin < end:
                _add_entries(indices, data, begin, end, X, out, i, column)
                places[i - rows[0]] = end
    for i in range(rows[0], rows[1]):
        row = out[i][column : column + width]
        for c in range(width):
            row[c] *= left[i]
        for k in range(len(R)):
            for c in range(width):
                row[c] -= U[i, k] * R[k, c]
