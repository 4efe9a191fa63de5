"""How far two models are apart in what can be seen of them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def eigenvalue_error(A, B):
    """Return the largest distance between eigenvalues of two matrices, paired as well as possible."""
    distances = np.abs(np.linalg.eigvals(A)[:, None] - np.linalg.eigvals(B)[None, :])
    return float(distances[linear_sum_assignment(distances**2)].max())


def relative_error(found, expected):
    """Return ‖found − expected‖ / ‖expected‖."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
