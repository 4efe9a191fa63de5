"""Filtering and smoothing in the filter's eigenbasis: elementwise scans, and one large matrix product per part.

In the coordinates of :mod:`textlds.lds.canonical` filter and smoother share one matrix, F = diag(φ) A:

    x̂_t = F x̂_{t−1} + k(w_t)                x̄_t = Fᵀ x̄_{t+1} + (I − Fᵀ A) x̂_t

Let S solve S = Fᵀ S F + I − Fᵀ A, and x̄_t = S x̂_t + u_t. Then u_t = Fᵀ (u_{t+1} + S k(w_{t+1})): the words to the
right come in by themselves, as those to the left do. With F = B Λ B⁻¹ (Λ real: complex pairs are rotations),

    a_t = Λ (a_{t−1} + B⁻¹ k(w_{t−1}))      x̂_t = k(w_t) + B a_t            a_1 = 0
    y_t = Λᵀ (y_{t+1} + Bᵀ S k(w_{t+1}))    u_t = B⁻ᵀ y_t                   u_n = (I − S) x̂_n

Whatever a vector is made of is then (a_t, y_t) times a 2h x h matrix, plus a term of the word alone. Tokens need not
advance in lock step; a long sequence is entered anywhere after a warm-up that costs no matrix product. Terms of words
are computed once per distinct word of a window.

The word's own share does not pass through the basis, and what does is multiplied by its eigenvalue. So directions that
are nearly parallel do no harm where they are quickly forgotten, as they are in fitted models. How much of a rounding
error remains is measured (``amplification``); a system with too much is left to the lock-step engine.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.inference.scans import cut, finish, number_words, scan_backward, scan_forward
from textlds.lds.canonical import CanonicalSystem
from textlds.linalg.equations import solve_stein
from textlds.linalg.products import add_product, product
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Array, Matrix, Vector

Index = NDArray[np.int64]

_PIECE = 512  # tokens done at once: a few arrays of this many rows stay in the cache of a core
_ROWS = 1024  # distinct words done at once
_FORGOTTEN = 1e-7  # relative error at which a warm-up is long enough
_LARGEST = 300.0  # amplification of rounding errors that is accepted


@dataclass(frozen=True, eq=False)
class Reading:
    """How one part of a vector is read off the scans.

    Attributes:
        own: From the word's gain, (h, d).
        context: From a_t and y_t, (2h, d); (h, d) if the words to the right do not count.
        end: From x̂ at the end of a sequence, what u adds there, (h, d); None if it does not count.
        nothing_at_end: Whether the vector is zero there.
    """

    own: Array
    context: Array
    end: Array | None
    nothing_at_end: bool = False


class CommonWords:
    """The most frequent words, of which all texts have many: what is derived from their gains is kept.

    Args:
        gains: k(w) of the first words, (n, h).
    """

    def __init__(self, gains: Array) -> None:
        self.gains = gains
        self._lock = threading.Lock()
        self._tables: dict[int, tuple[Array, Array]] = {}

    def table(self, matrix: Array) -> Array:
        """Return gains · matrix, computed once."""
        with self._lock:
            if id(matrix) not in self._tables:  # kept with the matrix, so that no other gets its id
                self._tables[id(matrix)] = matrix, product(self.gains, matrix)
            return self._tables[id(matrix)][1]


class DiagonalEngine:
    """A steady-state filter and smoother in the eigenbasis of its filter.

    Args:
        system: In the coordinates of inference.
        dtype: Of the computation.
    """

    def __init__(self, system: CanonicalSystem, dtype: type[np.floating[Any]] = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        self._system = system
        A, shrink = system.A, system.shrink
        identity, F = np.eye(len(A)), shrink[:, None] * A
        basis, self._eigenvalues, self._imaginary = _real_eigenbasis(F)
        self._B = basis
        self._S = solve_stein(F.T, F, identity - F.T @ A)
        self.amplification = np.inf
        if np.linalg.cond(basis) < 1 / np.finfo(np.float64).eps:
            self._inverse = np.linalg.inv(basis)
            sizes = np.abs(self._eigenvalues)
            sizes[: 2 * len(self._imaginary)] = np.tile(
                np.hypot(self._eigenvalues[: len(self._imaginary)], self._imaginary), 2
            )
            self.amplification = float(np.linalg.norm((np.abs(basis) * sizes) @ np.abs(self._inverse), 2))
        if self.usable:
            self._real = self._eigenvalues.astype(self.dtype)
            self._rotation = self._imaginary.astype(self.dtype)
            self._enter = self._typed(np.hstack([self._inverse.T, self._S.T @ basis]))
            self._enter_left = np.ascontiguousarray(self._enter[:, : len(self._real)])
            self._filtered = self._typed(basis.T)
            self._ending = self._typed((identity - self._S).T @ basis)

    @cached_property
    def overlap(self) -> int:
        """How many tokens of warm-up a part of a long sequence needs."""
        return self._system.memory(_FORGOTTEN)

    @property
    def usable(self) -> bool:
        """Whether rounding errors stay small in this basis."""
        return self.amplification <= _LARGEST

    def reading(self, part: str, whitener: Matrix, *, smooth: bool = True) -> Reading:
        """Return how to read off a part that depends on the context, multiplied by a matrix, (h, d)."""
        basis, S, identity = self._B, self._S, np.eye(len(self._S))
        if part == "left_context":  # p_t = diag(1/φ) F x̂_{t−1}
            inverse = np.divide(1, self._system.shrink, out=np.zeros(len(S)), where=self._system.shrink > 0)
            return self._reading(np.zeros_like(whitener), basis.T @ (inverse[:, None] * whitener), None)
        if part == "state" and not smooth:
            return self._reading(whitener, basis.T @ whitener, None)
        own = (S if part == "state" else S - identity).T @ whitener
        context = np.vstack([basis.T @ own, self._inverse @ whitener])
        return self._reading(own, context, (identity - S).T @ whitener, nothing_at_end=part == "right_context")

    def run(
        self, numbers: NDArray[np.int32], gains: Array, starts: Index, readings: Sequence[tuple[Reading, int]],
        out: Array, *, threads: int, common: CommonWords | None = None, words: NDArray[np.int32] | None = None,
    ) -> None:  # fmt: skip
        """Write the vectors of sequences, each part of length one, into ``out``.

        Args:
            numbers: The word of every token, of all sequences one after the other: a row of ``gains``, (n,).
            gains: k(w) of the distinct words, (m, h).
            starts: Where each sequence begins, with n at the end.
            readings: The parts, and the column at which each begins.
            out: (n, columns).
            threads: How many; the result is the same.
            common: Words for which tables are kept.
            words: Which words ``gains`` is of, (m,); needed if tables are kept.
        """
        if len(numbers) == 0:
            return
        both = any(reading.end is not None for reading, _ in readings)
        fresh = np.zeros(len(numbers) + 1, np.bool_)
        fresh[starts] = True
        maps = [self._enter if both else self._enter_left, *(reading.own for reading, _ in readings)]
        tables = [np.zeros((len(gains), matrix.shape[1]), self.dtype) for matrix in maps]
        bounds = np.empty((len(starts) + 2 * (len(numbers) // _PIECE + 1), 4), np.int64)
        overlap = self.overlap if np.diff(starts).max() > _PIECE else 0  # takes a while to find out
        piece = max(_PIECE, overlap)
        kept = None if common is None or words is None else words < len(common.gains)
        rest = gains if kept is None else gains[~kept]

        def derive(begin: int) -> None:
            part = rest[begin : begin + _ROWS]
            for table, matrix in zip(tables, maps, strict=True):
                if kept is None:
                    add_product(part, matrix, table[begin : begin + _ROWS])
                else:
                    table[places[begin : begin + _ROWS]] = product(part, matrix)

        def work(bound: Index) -> None:
            low, begin, end, high = bound.tolist()
            scans = _buffer("scans", high - low, 2 * len(self._real), self.dtype)
            scan_forward(numbers, fresh, tables[0], self._real, self._rotation, low, high, scans)
            if both:
                last = np.flatnonzero(fresh[low + 1 : high + 1])
                filtered = product(scans[last], self._filtered)
                filtered += gains[numbers[low + last]]
                ends = product(filtered, self._ending)
                scan_backward(
                    numbers, fresh, tables[0], self._real, self._rotation, low, high, ends, scans
                )  # fmt: skip
                last, filtered = _within(last, filtered, begin - low, end - low)
            for (reading, column), own in zip(readings, tables[1:], strict=True):
                context = _buffer("context", end - begin, own.shape[1], self.dtype)
                context[:] = 0
                add_product(scans[begin - low : end - low], reading.context, context)
                if reading.end is not None:
                    context[last] += product(filtered, reading.end)
                finish(context, own, numbers, begin, end, out, column)
                if reading.nothing_at_end:
                    out[begin + last, column : column + own.shape[1]] = 0

        if kept is not None and common is not None and words is not None:
            places = np.flatnonzero(~kept)
            for table, matrix in zip(tables, maps, strict=True):
                table[kept] = common.table(matrix)[words[kept]]
        parallel_map(derive, range(0, len(rest), _ROWS), threads=threads)
        parallel_map(work, bounds[: cut(starts, piece, overlap, bounds)], threads=threads)

    def _typed(self, matrix: Matrix) -> Array:
        return np.ascontiguousarray(matrix, self.dtype)

    def _reading(self, own: Matrix, context: Matrix, end: Matrix | None, *, nothing_at_end: bool = False) -> Reading:
        own, context = self._typed(own), self._typed(context)
        return Reading(own, context, None if end is None else self._typed(end), nothing_at_end)


def _real_eigenbasis(F: Matrix) -> tuple[Matrix, Vector, Vector]:
    """Return B, the real parts of the eigenvalues in its order, (h,), and the imaginary parts of the c pairs, (c,).

    F (b_i, b_{c+i}) = (b_i, b_{c+i}) (α β; −β α) for a pair α ± iβ.
    """
    values, vectors = np.linalg.eig(F)
    pairs, reals = values.imag > 0, values.imag == 0
    complex_vectors = vectors[:, pairs]
    # of all real and imaginary parts that span the plane of a pair, those that are orthogonal
    complex_vectors = complex_vectors * np.exp(-0.5j * np.angle(np.sum(complex_vectors**2, axis=0)))
    basis = np.hstack([complex_vectors.real, complex_vectors.imag, vectors[:, reals].real])
    alpha, beta = values[pairs].real, values[pairs].imag
    return basis, np.concatenate([alpha, alpha, values[reals].real]), beta


def distinct_words(ids: NDArray[np.int32], size: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the number of each token's word, and the word of each number, in the order in which they occur.

    Args:
        ids: Words, (n,).
        size: One more than the largest id there may be.
    """
    seen: NDArray[np.int32] | None = getattr(_THREAD, "seen", None)
    if seen is None or len(seen) < size:
        seen = _THREAD.seen = np.full(size, -1, np.int32)
    numbers, distinct = np.empty_like(ids), np.empty_like(ids)
    return numbers, distinct[: number_words(ids, numbers, seen, distinct)]


_THREAD = threading.local()


def _buffer(name: str, rows: int, columns: int, dtype: np.dtype[Any]) -> Array:
    """Return an array of this thread, used again at the next call: new memory costs more than filling it."""
    held: Array | None = getattr(_THREAD, name, None)
    if held is None or held.shape[1] != columns or len(held) < rows or held.dtype != dtype:
        held = np.empty((max(rows, _PIECE + _PIECE // 2), columns), dtype)
        setattr(_THREAD, name, held)
    return held[:rows]


def _within(places: Index, rows: Array, begin: int, end: int) -> tuple[Index, Array]:
    """Return the places in begin..end, counted from there, and their rows."""
    inside = (places >= begin) & (places < end)
    return places[inside] - begin, rows[inside]
