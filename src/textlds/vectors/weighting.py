"""How much each word of a text counts when its vectors are made.

The fitted gains k(w) are optimal for a Gaussian. Words are not Gaussian: their gains differ tenfold in length for no
reason that a user of vectors would share (a rare word's is short because little is known of it, a name's is long), and
neighbours repeat each other, so that the context has too much weight. ``weighting="equal"`` corrects both at inference,
without another fit:

    e(w) = k(w) + λ_w k(c(w)), scaled to length one       a rare word is shrunk towards its class of unknown words
    k'(w) = e(w) − mean                                   every word has the same weight
    φ' = ρ φ                                              the context has less weight

λ_w = λ / (μ_w V + λ): for a word as rare as the average type it is λ / (1 + λ).

A model with a lexicon (:mod:`textlds.lexicon.lexicon`) uses the profiles of its words instead of the gains. A rare
word's profile is shrunk towards the one predicted from its spelling, and an unknown word has that alone; l(w) is what
results. It is carried to the coordinates of the state by least squares,

    Ξ = argmin Σ_w μ_w^½ |(l(w) − mean) Ξ − (e(w) − mean)|²
    k'(w) = (l(w) − mean) Ξ, scaled to length one, − mean

and the parts that are a word alone are l(w) itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from textlds.corpus.vocabulary import Vocabulary
from textlds.lds.canonical import CanonicalSystem
from textlds.lds.second_moments import PosteriorMoments, second_moments
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.unknown import Speller, shrunk, spelt
from textlds.linalg.sphere import on_sphere
from textlds.linalg.tall import Tall, weighted_gram
from textlds.linalg.types import Matrix, Vector

MEMORY = 0.7  # ρ; chosen on the development sets of two treebanks, nothing depends on it sharply


@dataclass(frozen=True, eq=False)
class Prepared:
    """What inference needs, in its own coordinates.

    Attributes:
        system: The steady-state filter and smoother.
        gains: k(w), (V, h).
        moments: Second moments of what they give.
        words: The vector of a word alone, (V, h); None for its whitened gain.
        speller: Gives vectors to unknown words by their spelling; None where they have the vector of their class.
    """

    system: CanonicalSystem
    gains: Matrix
    moments: PosteriorMoments
    words: Tall | None = None
    speller: Speller | None = None


def equal_weighting(
    system: CanonicalSystem,
    gains: Matrix,
    C: Matrix,
    frequencies: Vector,
    vocabulary: Vocabulary,
    lexicon: Lexicon | None = None,
) -> Prepared:
    """Return what inference needs for every word to count the same.

    Args:
        system: The fitted one.
        gains: k(w), (V, h).
        C: Output matrix in the coordinates of the system, (V, h).
        frequencies: μ, (V,).
        vocabulary: The words.
        lexicon: What words are like by themselves.
    """
    equal = shrunk(gains, gains[vocabulary.class_rows()], frequencies)
    equal -= frequencies @ equal  # as K m = 0: the average word says nothing
    words = speller = None
    if lexicon is not None:
        words, speller, equal = _by_lexicon(lexicon, equal, frequencies, vocabulary)
    forgetful = replace(system, shrink=MEMORY * system.shrink)
    gain_C = weighted_gram(equal, np.sqrt(frequencies), C)
    gain_gain = weighted_gram(equal, frequencies, equal)
    return Prepared(forgetful, equal, second_moments(forgetful, gain_C, gain_gain), words, speller)


def _by_lexicon(
    lexicon: Lexicon, goals: Matrix, frequencies: Vector, vocabulary: Vocabulary
) -> tuple[Tall, Speller, Matrix]:
    """Return l(w), how to spell, and the gains that l(w) gives; the goals are overwritten."""
    predicted = spelt(vocabulary.words[: vocabulary.n_types], lexicon.spelling, vocabulary)
    words = shrunk(lexicon.profiles, predicted, frequencies)
    centre = frequencies @ words
    centred, root = words - centre, np.sqrt(frequencies)
    # normal equations; a vocabulary smaller than h leaves columns empty, which the least norm passes over
    left, right = weighted_gram(centred, root, centred), weighted_gram(centred, root, goals)
    carry = np.linalg.lstsq(left, right, rcond=1e-12)[0]
    gains = np.matmul(centred, carry, out=goals)
    on_sphere(gains, out=gains)
    shift = frequencies @ gains
    gains -= shift
    return words.astype(np.float32), Speller(vocabulary, lexicon.spelling, carry, centre, shift), gains
