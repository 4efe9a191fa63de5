"""What words are like by themselves: profiles of the known ones, and how to tell those of others by their spelling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.counts.lagcounts import LagCounts
from textlds.lexicon.profiles import PRODUCTS, word_profiles
from textlds.lexicon.spelling import STEPS, fit_spelling
from textlds.linalg.sparse import SparseMatrix
from textlds.linalg.tall import Tall
from textlds.progress import Progress


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Vectors of words apart from any text.

    Attributes:
        profiles: l₀, (V, h): what occurs beside each word of the vocabulary, rows of length one.
        spelling: G, (B, h): the same for any word, from the features of its spelling.
    """

    profiles: Tall
    spelling: Tall


def make_lexicon(
    counts: LagCounts, neighbours: SparseMatrix, size: int, *, seed: int, threads: int, progress: Progress
) -> Lexicon:
    """Make the lexicon from counts, with a bar that shows how far it is.

    Args:
        counts: The words, and how often they occur.
        neighbours: N_1.
        size: h.
        seed: For the profiles.
        threads: How many; the result is the same.
        progress: Where to show it.
    """
    with progress.task("Words", PRODUCTS + STEPS, "steps") as task:
        rng = np.random.default_rng([seed, 4])
        profiles = word_profiles(neighbours, size, rng=rng, threads=threads, on_product=task.advance)
        known = counts.vocabulary.n_types
        spelling = fit_spelling(
            counts.vocabulary.words[:known], counts.unigrams[:known], profiles, threads=threads, on_step=task.advance
        )
    return Lexicon(profiles, spelling)
