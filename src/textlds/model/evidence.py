"""How much each word of a text counts when its vectors are made.

The fitted gains k(w) are optimal for a Gaussian. Words are not Gaussian: their gains differ tenfold in length for no
reason that a user of vectors would share (a rare word's is short because little is known of it, a name's is long), and
neighbours repeat each other, so that the context is believed too much. ``evidence="equal"`` corrects both at inference,
without another fit:

    g(w) = k(w) + λ_w k(c(w))         a rare word leans on the class that it would be in, were it unknown
    k'(w) = g(w) / |g(w)| − mean      every word speaks equally loud
    φ' = ρ φ                          the context counts less

λ_w = λ / (μ_w V + λ): a word as rare as the average type leans by λ / (1 + λ).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError
from textlds.lds.canonical import CanonicalSystem
from textlds.lds.second_moments import PosteriorMoments, second_moments
from textlds.linalg.types import Matrix, Vector
from textlds.model.embedding import on_sphere

Evidence = Literal["model", "equal"]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)

# Chosen on the development sets of two treebanks; nothing depends on them sharply.
LEANING = 2.5  # λ
MEMORY = 0.7  # ρ


def check_evidence(evidence: str, method: str = "smooth") -> None:
    """Validate the ``evidence`` argument of embedding."""
    if evidence not in EVIDENCE:
        raise ArgumentError(f"evidence={evidence!r} is not one of {', '.join(map(repr, EVIDENCE))}.")
    if evidence != "model" and method == "exact":
        raise ArgumentError(
            f"evidence={evidence!r} has no exact gains: they belong to the fitted model. Use method='smooth'."
        )


def equal_gains(gains: Matrix, frequencies: Vector, vocabulary: Vocabulary) -> Matrix:
    """Return k'(w) of every word, (V, h)."""
    classes = vocabulary.class_rows()
    leaning = gains.copy()
    weights = LEANING / (frequencies[: len(classes)] * len(frequencies) + LEANING)
    leaning[: len(classes)] += weights[:, None] * gains[classes]
    equal = on_sphere(leaning)
    return equal - frequencies @ equal  # as K m = 0: the average word says nothing


def equal_evidence(
    system: CanonicalSystem, gains: Matrix, C: Matrix, frequencies: Vector, vocabulary: Vocabulary
) -> tuple[CanonicalSystem, Matrix, PosteriorMoments]:
    """Return the system, the gains and the second moments in which every word counts the same.

    Args:
        system: The fitted one.
        gains: k(w), (V, h).
        C: Output matrix in the coordinates of the system, (V, h).
        frequencies: μ, (V,).
        vocabulary: The words.
    """
    equal = equal_gains(gains, frequencies, vocabulary)
    forgetful = replace(system, shrink=MEMORY * system.shrink)
    gain_C = (np.sqrt(frequencies)[:, None] * equal).T @ C
    gain_gain = (frequencies[:, None] * equal).T @ equal
    return forgetful, equal, second_moments(forgetful, gain_C, gain_gain)
