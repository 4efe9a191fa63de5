"""Vectors in a file of faiss, one byte a number.

Few vectors are searched one by one; many are put into cells around √n centres (an inverted file), of which the nearest
are searched. Of the libraries that `benchmarks/search.py` compares this is the quickest to build and the smallest on
disk at a like recall, it is mapped into memory instead of read, and it gives rows back, so that the occurrences of one
word, which lie together, can be compared exactly.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.errors import REMEDY, FormatError, MissingExtraError, check_finite
from textlds.progress import Task

Vectors = NDArray[np.float32]

_FLAT = 250_000  # vectors up to which all are searched, which takes 0.02 s at h = 200, and no centres need be found
_TRAINED_ON = 40  # vectors a centre
_RANGES_FROM = 50_000  # vectors that the range of each number is taken from
_SEARCHED = 32  # one in so many cells is searched
_LEAST_SEARCHED = 16  # cells
_BATCH = 1 << 14

_may_use_threads = True  # not so in a process that was forked


def require_faiss() -> Any:
    """Return the module, or say which extra brings it."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("search in context", "search") from error
    _survive_forks(faiss)
    return faiss


@functools.cache
def _survive_forks(faiss: Any) -> None:
    """Let forked processes use one thread: the pool of OpenMP is not forked, and the first to need it would hang."""

    def one_thread() -> None:
        global _may_use_threads
        _may_use_threads = False
        faiss.omp_set_num_threads(1)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=one_thread)


def write_vectors(path: Path, vectors: NDArray[Any], *, seed: int, threads: int, task: Task) -> dict[str, Any]:
    """Build the index of vectors, (n, d), and write it; O(n √n d). Holds a byte a number in memory.

    Returns:
        What was built, for the record.
    """
    faiss = require_faiss()
    n, d = vectors.shape
    cells = 0 if n <= _FLAT else 1 << round(np.log2(n) / 2)
    index = faiss.index_factory(d, f"IVF{cells},SQ8" if cells else "SQ8", faiss.METRIC_INNER_PRODUCT)
    with _threads(faiss, threads):
        size = min(n, _TRAINED_ON * cells or _RANGES_FROM)
        sample = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
        index.train(np.ascontiguousarray(vectors[sample], np.float32))
        for start in range(0, n, _BATCH):
            index.add(np.ascontiguousarray(vectors[start : start + _BATCH], np.float32))
            task.advance(min(_BATCH, n - start))
        if cells:
            index.make_direct_map()  # from rows to their cells, to give rows back
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:  # of the C++ that writes it
        raise OSError(errno.EIO, f"faiss could not write the vectors ({error})", str(path)) from error
    return {"library": "faiss", "version": faiss.__version__, "cells": cells}


class VectorIndex:
    """Vectors in a file, mapped into memory.

    Args:
        path: The file.
        n: How many vectors it must hold.
        dimensions: Of each.
    """

    def __init__(self, path: Path, n: int, dimensions: int) -> None:
        faiss = require_faiss()
        try:
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
        except (RuntimeError, MemoryError) as error:  # of the C++ that reads it
            raise FormatError(f"{path} cannot be read by faiss {faiss.__version__}: {error}. {REMEDY}") from error
        wrong = _what_is_wrong(faiss, self._index, n, dimensions)
        if wrong:
            raise FormatError(f"{path} does not hold the vectors of this index: {wrong}. {REMEDY}")
        if hasattr(self._index, "nprobe"):
            self._index.nprobe = max(_LEAST_SEARCHED, self._index.nlist // _SEARCHED)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._index.d)

    def rows(self, start: int, stop: int) -> Vectors:
        """Return some vectors that lie one after the other."""
        found: Vectors = self._index.reconstruct_n(start, stop - start)
        check_finite(found, "vectors in the index")
        return found

    def nearest(self, vector: Vectors, n: int) -> tuple[NDArray[np.int64], Vectors]:
        """Return the rows with the largest products with a vector, and the products; nearly always all of them."""
        products, rows = self._index.search(vector[None, :], min(n, len(self)))
        found = rows[0] >= 0
        check_finite(products[0][found], "scores of the index")
        return rows[0][found], products[0][found]


def _what_is_wrong(faiss: Any, index: Any, n: int, d: int) -> str | None:
    """Return why an index is not one of ours, or None: faiss itself checks nothing that it reads. O(n)."""
    cells = isinstance(index, faiss.IndexIVFScalarQuantizer)
    if not cells and not isinstance(index, faiss.IndexScalarQuantizer):
        return f"it is a {type(index).__name__}"
    if (index.ntotal, index.d) != (n, d):
        return f"it has {index.ntotal:,} vectors of {index.d} numbers instead of {n:,} of {d}"
    quantizer = index.sq
    same = (quantizer.d, quantizer.code_size, quantizer.qtype, index.metric_type, index.is_trained)
    if same != (d, d, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT, True):
        return "its quantizer is another one"
    ranges = faiss.vector_to_array(quantizer.trained)
    if ranges.shape != (2 * d,) or not np.isfinite(ranges).all():
        return "the ranges of its numbers are not finite"
    if not cells:
        return None if index.codes.size() == n * d else f"it has {index.codes.size():,} bytes of vectors"
    centres = faiss.downcast_index(index.quantizer)
    if not isinstance(centres, faiss.IndexFlat) or (centres.ntotal, centres.d) != (index.nlist, d):
        return "its cells have no centres"
    lists, direct = index.invlists, faiss.vector_to_array(index.direct_map.array)
    if (lists.nlist, lists.code_size, index.code_size, direct.shape) != (index.nlist, d, d, (n,)):
        return "its cells do not fit its vectors"
    # a row's entry in the map is its cell and its place in it; together they must be the lists
    for cell in range(index.nlist):
        size = lists.list_size(cell)
        ids = faiss.rev_swig_ptr(lists.get_ids(cell), size).copy() if size else np.empty(0, np.int64)
        if ((ids < 0) | (ids >= n)).any() or (direct[ids] != (cell << 32) + np.arange(size)).any():
            return f"cell {cell} holds rows that are not its own"
    return None if sum(lists.list_size(cell) for cell in range(index.nlist)) == n else "its cells do not hold every row"


@contextlib.contextmanager
def _threads(faiss: Any, threads: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads if _may_use_threads else 1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
