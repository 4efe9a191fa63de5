"""Slow, obviously right twins of the kernels in textlds.linalg.sparse."""

from __future__ import annotations


def gather_twin(indptr, indices, data, X):
    """Return M X as nested lists, entry by entry, in Python floats."""
    out = []
    for i in range(len(indptr) - 1):
        row = [0.0] * X.shape[1]
        for p in range(indptr[i], indptr[i + 1]):
            for c in range(X.shape[1]):
                row[c] += float(data[p]) * float(X[indices[p], c])
        out.append(row)
    return out


def scaled_twin(indptr, indices, data, X, left, right, U, V):
    """Return (diag(left) M − U Vᵀ) diag(right) X, entry by entry."""
    scaled = X * right[:, None]
    product = gather_twin(indptr, indices, data, scaled)
    for i, row in enumerate(product):
        for c in range(len(row)):
            row[c] *= float(left[i])
            for j in range(len(X)):
                low_rank = sum(float(u) * float(v) for u, v in zip(U[i], V[j], strict=True))
                row[c] -= low_rank * float(scaled[j, c])
    return product


def transpose_twin(indptr, indices, data, columns):
    """Return the rows of the transpose, each a list of (column, value) in order."""
    rows = [[] for _ in range(columns)]
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            rows[indices[p]].append((i, data[p]))
    return rows
