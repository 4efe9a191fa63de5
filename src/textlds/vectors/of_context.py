"""Parts of a vector that depend on the context: the means they are made of, and what whitens them."""

from __future__ import annotations

import numpy as np

from textlds.errors import check_finite
from textlds.inference.engine import Posterior
from textlds.lds.canonical import CanonicalSystem
from textlds.lds.second_moments import PosteriorMoments
from textlds.linalg.psd import sqrt_and_inverse
from textlds.linalg.types import Array, Matrix
from textlds.vectors.recipes import Part, Recipe


def second_moments_of(system: CanonicalSystem, moments: PosteriorMoments) -> dict[str, Matrix]:
    """Return E[y yᵀ] of every part that depends on the context, and of the filtered state."""
    filt, cross, smooth = moments.filt_filt, moments.smooth_filt, moments.smooth_smooth
    return {
        "state": smooth,
        "filter": filt,
        "left_context": system.A @ filt @ system.A.T,
        "right_context": smooth - cross - cross.T + filt,
    }


def inverse_root(second_moment: Matrix, part: str) -> Matrix:
    """Return E[y yᵀ]^-½ of a part."""
    # Σ_filt = I here, so a variance of 1e-30 is none; with it the root stays finite for a model with C = 0
    _, inverse = sqrt_and_inverse(second_moment + 1e-30 * np.eye(len(second_moment)), floor=1e-8)
    check_finite(inverse, f"second moments of the part {part!r}")
    return inverse


def moment_of(part: Part, recipe: Recipe) -> str:
    """Return the name of the second moment that whitens a part."""
    return "filter" if part == "state" and recipe.method == "filter" else part


def part_means(posterior: Posterior, part: Part) -> Array:
    """Return the posterior mean that a part is made of."""
    if part == "left_context":
        return posterior.pred
    if posterior.smooth is None or posterior.right is None:
        return posterior.filt
    return posterior.smooth if part == "state" else posterior.right
