"""How much each word of a text counts when its vectors are made.

The fitted gains k(w) are optimal for a Gaussian. Words are not Gaussian: their gains differ tenfold in length for no
reason that a user of vectors would share (a rare word's is short because little is known of it, a name's is long), and
neighbours repeat each other, so that the context is believed too much. ``evidence="equal"`` corrects both at inference,
without another fit:

    e(w) = k(w) + λ_w k(c(w)), scaled to length one       a rare word leans on the class that it would be in, if unknown
    k'(w) = e(w) − mean                                   every word speaks equally loud
    φ' = ρ φ                                              the context counts less

λ_w = λ / (μ_w V + λ): a word as rare as the average type leans by λ / (1 + λ).

A model that holds profiles of its words (:mod:`textlds.learn.profiles`) lets these speak: l(w), the profiles leaning in
the same way, replace what the gains say, in the state's own coordinates, to which they are carried by least squares,

    M = argmin Σ_w μ_w^½ |(l(w) − mean) M − (e(w) − mean)|²
    k'(w) = (l(w) − mean) M, scaled to length one, − mean

and the parts that are a word alone are l(w) itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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


@dataclass(frozen=True, eq=False)
class Prepared:
    """What inference needs, in its own coordinates.

    Attributes:
        system: The steady-state filter and smoother.
        gains: k(w), (V, h).
        moments: Second moments of what they give.
        words: The vector of a word alone, (V, h); None for its whitened gain.
    """

    system: CanonicalSystem
    gains: Matrix
    moments: PosteriorMoments
    words: Matrix | None = None


def leaning(table: Matrix, frequencies: Vector, vocabulary: Vocabulary) -> Matrix:
    """Return the vector of every word with a share of its class's, scaled to length one, (V, h)."""
    classes = vocabulary.class_rows()
    weights = LEANING / (frequencies[: len(classes)] * len(frequencies) + LEANING)
    result = table.copy()
    result[: len(classes)] += weights[:, None] * table[classes]
    return on_sphere(result)


def equal_evidence(
    system: CanonicalSystem,
    gains: Matrix,
    C: Matrix,
    frequencies: Vector,
    vocabulary: Vocabulary,
    profiles: Matrix | None = None,
) -> Prepared:
    """Return what inference needs for every word to count the same.

    Args:
        system: The fitted one.
        gains: k(w), (V, h).
        C: Output matrix in the coordinates of the system, (V, h).
        frequencies: μ, (V,).
        vocabulary: The words.
        profiles: Of the words, (V, h).
    """
    equal = _centred(leaning(gains, frequencies, vocabulary), frequencies)
    words = None if profiles is None else leaning(profiles, frequencies, vocabulary)
    if words is not None:
        equal = _carried(_centred(words, frequencies), equal, frequencies)
    forgetful = replace(system, shrink=MEMORY * system.shrink)
    gain_C = (np.sqrt(frequencies)[:, None] * equal).T @ C
    gain_gain = (frequencies[:, None] * equal).T @ equal
    return Prepared(forgetful, equal, second_moments(forgetful, gain_C, gain_gain), words)


def _centred(vectors: Matrix, frequencies: Vector) -> Matrix:
    """Return the vectors minus their mean over the text: as K m = 0, the average word says nothing."""
    return vectors - frequencies @ vectors


def _carried(words: Matrix, goals: Matrix, frequencies: Vector) -> Matrix:
    """Return the words' vectors carried to the goals by least squares, equal in length again."""
    weighted = np.sqrt(frequencies)[:, None] * words
    # normal equations; a vocabulary smaller than h leaves columns empty, which the least norm passes over
    M = np.linalg.lstsq(weighted.T @ words, weighted.T @ goals, rcond=1e-12)[0]
    return _centred(on_sphere(words @ M), frequencies)
