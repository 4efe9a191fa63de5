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


def scaled_twin(indptr, indices, data, X, left, right, u, v):
    """Return diag(left) M diag(right) X − u vᵀ diag(right) X, entry by entry."""
    scaled = [[float(right[j]) * float(x) for x in X[j]] for j in range(len(X))]
    product = gather_twin(indptr, indices, data, X * right[:, None])
    inner = [sum(float(v[j]) * scaled[j][c] for j in range(len(X))) for c in range(X.shape[1])]
    return [
        [float(left[i]) * product[i][c] - float(u[i]) * inner[c] for c in range(X.shape[1])]
        for i in range(len(product))
    ]


def transpose_twin(indptr, indices, data, columns):
    """Return the rows of the transpose, each a list of (column, value) in order."""
    rows = [[] for _ in range(columns)]
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            rows[indices[p]].append((i, data[p]))
    return rows
