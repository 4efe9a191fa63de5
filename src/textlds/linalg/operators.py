"""Matrices that are too large to write down, known by what they do to a panel of vectors.

An operator has a shape, ``matmat``, ``rmatmat`` (its transpose) and ``to_dense``, which is its definition: tests
compare the first two with the third, and check the adjoint identity ⟨M x, y⟩ = ⟨x, Mᵀ y⟩.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from textlds.linalg.types import Matrix, Vector


class Operator(Protocol):
    """A linear map given by its products with panels."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def matmat(self, X: Matrix) -> Matrix:
        """Return M X."""

    def rmatmat(self, X: Matrix) -> Matrix:
        """Return Mᵀ X."""

    def to_dense(self) -> Matrix:
        """Return M as an array; for small sizes only."""


@dataclass(frozen=True)
class DenseOperator:
    """A matrix that is written down."""

    matrix: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.matrix.shape
        return rows, columns

    def matmat(self, X: Matrix) -> Matrix:
        """Return M X."""
        return self.matrix @ X

    def rmatmat(self, X: Matrix) -> Matrix:
        """Return Mᵀ X."""
        return self.matrix.T @ X

    def to_dense(self) -> Matrix:
        """Return M."""
        return self.matrix


@dataclass(frozen=True)
class ScaledOperator:
    """diag(left) M diag(right)."""

    inner: Operator
    left: Vector
    right: Vector

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.inner.shape

    def matmat(self, X: Matrix) -> Matrix:
        """Return diag(left) M diag(right) X."""
        return self.left[:, None] * self.inner.matmat(self.right[:, None] * X)

    def rmatmat(self, X: Matrix) -> Matrix:
        """Return diag(right) Mᵀ diag(left) X."""
        return self.right[:, None] * self.inner.rmatmat(self.left[:, None] * X)

    def to_dense(self) -> Matrix:
        """Return the product as an array."""
        return self.left[:, None] * self.inner.to_dense() * self.right[None, :]


@dataclass(frozen=True)
class HankelOperator:
    """The block matrix H[i, j] = M_{r+i−j}, i, j = 0..r−1, of 2r − 1 square operators M_1..M_{2r−1}.

    Each M_k meets several blocks of the panel; they are laid side by side, so that one product with H reads each
    M_k once: 2r − 1 passes over sparse data instead of r².
    """

    lags: Sequence[Operator]  # M_1 .. M_{2r−1}

    def __post_init__(self) -> None:
        if len(self.lags) % 2 == 0:
            raise ValueError(f"a Hankel matrix of r x r blocks needs 2r - 1 lags, an odd number, not {len(self.lags)}")

    @property
    def horizon(self) -> int:
        """The number of blocks, r."""
        return (len(self.lags) + 1) // 2

    @property
    def block(self) -> int:
        """The size of a block."""
        return self.lags[0].shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        size = self.horizon * self.block
        return size, size

    def matmat(self, X: Matrix) -> Matrix:
        """Return H X: block i is Σ_j M_{r+i−j} X_j."""
        return self._product(X, transposed=False)

    def rmatmat(self, X: Matrix) -> Matrix:
        """Return Hᵀ X: block j is Σ_i M_{r+i−j}ᵀ X_i."""
        return self._product(X, transposed=True)

    def to_dense(self) -> Matrix:
        """Return H as an array."""
        r = self.horizon
        dense = [m.to_dense() for m in self.lags]
        return np.block([[dense[r + i - j - 1] for j in range(r)] for i in range(r)])

    def _product(self, X: Matrix, *, transposed: bool) -> Matrix:
        r, width = self.horizon, X.shape[1]
        blocks = X.reshape(r, self.block, width)
        out = np.zeros_like(blocks)
        for k, lag in enumerate(self.lags, start=1):
            # all (i, j) with r + i − j = k
            pairs = [(i, r + i - k) for i in range(r) if 0 <= r + i - k < r]
            sources = [i if transposed else j for i, j in pairs]
            panel = np.concatenate([blocks[s] for s in sources], axis=1)
            product = lag.rmatmat(panel) if transposed else lag.matmat(panel)
            for n, (i, j) in enumerate(pairs):
                out[j if transposed else i] += product[:, n * width : (n + 1) * width]
        return out.reshape(X.shape)
