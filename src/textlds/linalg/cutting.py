"""Cutting and joining sparse matrices that are worked on in blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.sparse import SparseMatrix


def matrix_of(
    pointers: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], columns: int, *, threads: int = 1
) -> SparseMatrix:
    """Return the matrix with these row starts, columns and values."""
    return SparseMatrix(np.asarray(pointers, np.int64), np.asarray(indices), np.asarray(data), columns, threads)


def rows_of(matrix: SparseMatrix, low: int, high: int) -> SparseMatrix:
    """Return some rows; nothing is copied."""
    begin, end = int(matrix.indptr[low]), int(matrix.indptr[high])
    pointers = np.asarray(matrix.indptr[low : high + 1]) - begin
    return matrix_of(pointers, matrix.indices[begin:end], matrix.data[begin:end], matrix.columns)


def columns_of(matrix: SparseMatrix, n_rows: int, low: int, high: int) -> SparseMatrix:
    """Return some columns of the first rows, transposed."""
    end = int(matrix.indptr[n_rows])
    indices, data = np.asarray(matrix.indices[:end]), np.asarray(matrix.data[:end])
    kept = (indices >= low) & (indices < high)
    pointers = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr[: n_rows + 1]]
    return matrix_of(pointers, indices[kept] - np.int32(low), data[kept], high - low).transpose()


def side_by_side(pieces: Sequence[SparseMatrix]) -> SparseMatrix:
    """Join matrices with the same rows; columns are numbered on."""
    lengths = np.stack([np.diff(piece.indptr) for piece in pieces])  # (pieces, rows)
    pointers = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
    starts = pointers[:-1] + np.cumsum(lengths, axis=0) - lengths  # where a row of a piece goes
    offsets = np.cumsum([0, *(piece.columns for piece in pieces)])
    indices = np.empty(pointers[-1], np.int32)
    data = np.empty(pointers[-1], np.result_type(*(piece.data.dtype for piece in pieces)))
    for piece, start, length, offset in zip(pieces, starts, lengths, offsets[:-1], strict=True):
        places = np.repeat(start - piece.indptr[:-1], length) + np.arange(len(piece.indices))
        indices[places] = piece.indices + np.int32(offset)
        data[places] = piece.data
    return matrix_of(pointers, indices, data, int(offsets[-1]))
