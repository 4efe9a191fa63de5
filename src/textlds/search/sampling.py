"""Which words are indexed, and which of their occurrences.

A word is all its spellings that differ by case: Bank at the beginning of a sentence is bank. An occurrence has a key:
keys count the occurrences of the first word, then those of the second, each in the order of the corpus. The keys that
are kept are drawn before any vector is computed, and the number of a key among them is the row of the occurrence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.characters import normalise_digits
from textlds.corpus.tokens.types import TypeTable
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError

Ints = NDArray[np.int64]
Words = Literal["all", "content"] | Iterable[str]

_FUNCTION_WORDS = 100  # of the most frequent in the model's vocabulary, which content words are not
NONE = -1


def word_key(word: str, settings: TextSettings) -> str:
    """Return what all spellings of a word have in common: digits as in the corpus, no capitals."""
    return normalise_digits(word, settings.digits).casefold()


@dataclass(frozen=True)
class Plan:
    """What is to be indexed.

    Attributes:
        words: Which words; see :meth:`OccurrenceIndex.build`.
        min_count: Words that occur less often are left out.
        per_word: How many occurrences of a word are kept; None for all.
        seed: Of the draw of these.
        recipe: Of the vectors, spelled out.
    """

    words: Words
    min_count: int
    per_word: int | None
    seed: int
    recipe: str = "meaning"

    def __post_init__(self) -> None:
        for name, value in (("min_count", self.min_count), ("per_word", self.per_word)):
            if value is not None and value < 1:
                raise ArgumentError(f"{name}={value} must be at least 1.")

    def to_json(self) -> dict[str, Any]:
        """Return the plan for the record; a list of words as its length."""
        words = self.words if isinstance(self.words, str) else len(list(self.words))
        return {**asdict(self), "words": words}


@dataclass(frozen=True)
class Selection:
    """The occurrences that are kept.

    Attributes:
        words: The w words, sorted.
        starts: Row at which the occurrences of each word begin, with the total at the end, (w + 1,).
        keys: The keys that are kept, rising, (n,).
        first_keys: Key of the first occurrence of each word, (w,).
        word_of_type: Number of the word that a token type is a spelling of, or NONE, (types,).
    """

    words: list[str]
    starts: Ints
    keys: Ints
    first_keys: Ints
    word_of_type: Ints

    def __len__(self) -> int:
        return len(self.keys)

    def counter(self) -> Counter:
        """Return what goes through the corpus and finds the kept occurrences."""
        return Counter(self)


class Counter:
    """Goes through the tokens of a corpus and finds those that are kept."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._next = selection.first_keys.copy()  # key of the next occurrence of each word

    def rows(self, types: NDArray[np.int32]) -> Ints:
        """Return the row of each token, or NONE, (n,). O(n log n)."""
        words = self._selection.word_of_type[types]
        order = np.argsort(words, kind="stable")
        ordered = words[order]
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))[: len(ordered)]
        lengths = np.diff(np.append(begins, len(ordered)))
        earlier = np.arange(len(ordered)) - np.repeat(begins, lengths)  # how often the word came before, in these
        keys = self._next[ordered] + earlier
        some = ordered[begins] != NONE
        self._next[ordered[begins[some]]] += lengths[some]
        kept = self._selection.keys
        places = np.minimum(np.searchsorted(kept, keys), max(len(kept) - 1, 0))
        hits = (ordered != NONE) & (kept[places] == keys) if len(kept) else np.zeros(len(ordered), bool)
        rows = np.full(len(types), NONE, np.int64)
        rows[order[hits]] = places[hits]
        return rows


def select(table: TypeTable, vocabulary: Vocabulary, plan: Plan) -> Selection:
    """Choose words and draw their occurrences.

    Args:
        table: The token types of the corpus with their counts.
        vocabulary: Of the model.
        plan: What is to be indexed.
    """
    settings = vocabulary.settings
    types = table.words()
    keys = [word_key(word, settings) for word in types]
    wanted = _wanted(types, vocabulary, plan.words)
    totals: dict[str, int] = {}
    for key, count in zip(keys, table.counts.tolist(), strict=True):
        if key in wanted:
            totals[key] = totals.get(key, 0) + count
    names = sorted(key for key, count in totals.items() if count >= plan.min_count)
    numbers = {name: number for number, name in enumerate(names)}
    counts = np.array([totals[name] for name in names], np.int64)
    first_keys = np.concatenate([[0], np.cumsum(counts)])
    kept = counts if plan.per_word is None else np.minimum(counts, plan.per_word)
    drawn = _draw(counts, kept, first_keys, plan.seed)
    return Selection(
        words=names,
        starts=np.concatenate([[0], np.cumsum(kept)]).astype(np.int64),
        keys=drawn,
        first_keys=first_keys[:-1].astype(np.int64),
        word_of_type=np.array([numbers.get(key, NONE) for key in keys], np.int64),
    )


def _draw(counts: Ints, kept: Ints, first_keys: Ints, seed: int) -> Ints:
    """Draw ``kept`` of the ``counts`` occurrences of each word, without replacement; return their keys, rising."""
    rng = np.random.default_rng(seed)
    parts = [
        first + (np.arange(count) if count == n else np.sort(rng.choice(count, n, replace=False)))
        for count, n, first in zip(counts.tolist(), kept.tolist(), first_keys[:-1].tolist(), strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _wanted(types: Sequence[str], vocabulary: Vocabulary, words: Words) -> set[str]:
    settings = vocabulary.settings
    if isinstance(words, str):
        if words not in ("all", "content"):
            raise ArgumentError(f"words={words!r} is neither 'all' nor 'content' nor a list of words.")
        number = "NUM" if settings.digits == "num" else ""  # a number has no letter but these
        lettered = (word for word in types if any(character.isalpha() for character in word.replace(number, "")))
        some = {word_key(word, settings) for word in lettered}
        if words == "content":
            known = vocabulary.words[: min(_FUNCTION_WORDS, vocabulary.n_types // 10)]
            some -= {word_key(word, settings) for word in known}
        return some
    given = list(words)
    for word in given:
        if not isinstance(word, str) or not word:
            raise ArgumentError(f"words holds {word!r:.60}; give words.")
    if not given:
        raise ArgumentError("words is empty; name at least one word, or give 'all' or 'content'.")
    return {word_key(word, settings) for word in given}
