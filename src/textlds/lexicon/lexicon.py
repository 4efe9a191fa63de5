"""What words are like by themselves: how the known ones are used, what they are about, and the same of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from textlds.lexicon.meaning import Meaning, make_meaning, steps
from textlds.lexicon.profiles import PRODUCTS, word_profiles
from textlds.lexicon.spelling import STEPS, fit_spelling
from textlds.linalg.sparse import CountMatrix
from textlds.linalg.tall import Tall
from textlds.progress import Progress

if TYPE_CHECKING:
    from textlds.counts.lagcounts import LagCounts


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Vectors of words apart from any text.

    Attributes:
        profiles: l₀, (V, h): what occurs beside each word of the vocabulary, rows of length one.
        spelling: G, (B, h): the same for any word, from the features of its spelling.
        meaning: What words are about, in d numbers each; None for a lexicon that was made before there was any.
    """

    profiles: Tall
    spelling: Tall
    meaning: Meaning | None = field(default=None, kw_only=True)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        meaning = {} if self.meaning is None else vars(self.meaning)
        own = {name: array for name, array in vars(self).items() if name != "meaning"}
        return own | {f"meaning.{name}": array for name, array in meaning.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make a lexicon of what :meth:`arrays` returned; other arrays are passed over."""
        own = {name.removeprefix("meaning."): array for name, array in arrays.items() if name.startswith("meaning.")}
        others = {f.name: arrays[f.name] for f in fields(cls) if f.name != "meaning"}
        return cls(**others, meaning=Meaning(**own) if own else None)


def make_lexicon(
    counts: LagCounts,
    neighbours: CountMatrix,
    size: int,
    *,
    meaning_size: int,
    window: str = "near",
    seed: int,
    threads: int,
    progress: Progress,
) -> Lexicon:
    """Make the lexicon from counts, with bars that show how far it is.

    Args:
        counts: The words, and how often they occur.
        neighbours: N_1.
        size: h.
        meaning_size: d.
        window: What lags count for meaning.
        seed: Of the panels to start from.
        threads: How many; the result is the same.
        progress: Where to show it.
    """
    with progress.task("Profiles", PRODUCTS + STEPS, "steps") as task:
        rng = np.random.default_rng([seed, 4])
        profiles = word_profiles(neighbours, size, rng=rng, threads=threads, on_product=task.advance)
        known = counts.vocabulary.n_types
        spelling = fit_spelling(
            counts.vocabulary.words[:known], counts.unigrams[:known], profiles, threads=threads, on_step=task.advance
        )
    with progress.task("Meaning", steps(meaning_size), "steps") as task:
        rng = np.random.default_rng([seed, 5])
        meaning = make_meaning(
            counts.lags, counts.unigrams, counts.vocabulary, meaning_size,
            window=window, rng=rng, threads=threads, on_step=task.advance,
        )  # fmt: skip
    return Lexicon(profiles, spelling, meaning=meaning)
