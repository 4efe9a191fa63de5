"""The rows of every matrix in this package: the kept types, then the unknown classes."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.settings import Boundaries, TextSettings
from textlds.corpus.tokens.characters import normalise_digits
from textlds.corpus.tokens.lookup import rows_of
from textlds.corpus.tokens.tokenizer import DIGITS
from textlds.corpus.tokens.types import Ints, TypeTable, pack
from textlds.corpus.unknown import unknown_classes
from textlds.errors import ArgumentError, CorpusNotFoundError, EncodingError, FormatError


@dataclasses.dataclass(frozen=True, repr=False)
class Vocabulary:
    """Words and their rows. Two vocabularies are equal if their words and settings are.

    Attributes:
        words: All rows: the known types, most frequent first, the boundary token among them if the settings have
            one, then every unknown class in its fixed order.
        n_types: How many of the rows are known types.
        settings: How text becomes tokens.
    """

    words: tuple[str, ...]
    n_types: int
    settings: TextSettings

    @classmethod
    def learn(
        cls,
        types: TypeTable | Iterable[TypeTable] | Sequence[str],
        counts: Sequence[int] | Ints | None = None,
        *,
        vocab_size: int,
        min_count: int = 1,
        settings: TextSettings,
    ) -> Vocabulary:
        """Keep the most frequent types, ordered by falling count and, where equal, by their UTF-8 bytes.

        Args:
            types: A table of types, several to be summed, or words with their ``counts``.
            counts: Only with words.
            vocab_size: How many types to keep at most, the boundary token included, the unknown classes not.
            min_count: Types that occur less often are not kept.
            settings: How the text became tokens.

        Cost: O(types), and sorting those at least as frequent as the last one kept.
        """
        for name, value in (("vocab_size", vocab_size), ("min_count", min_count)):
            if value < 1:
                raise ArgumentError(f"{name}={value} must be at least 1.")
        table = _as_table(types, counts)
        classes = _classes(settings)
        kept = _most_frequent(table, vocab_size + len(classes), min_count)
        known = [word for word in kept if word not in classes][:vocab_size]
        token = settings.boundary_token
        if token is not None and token not in known:  # too rare to be kept, yet every boundary needs its row
            known[vocab_size - 1 :] = [token]
        return cls((*known, *classes), len(known), settings)

    @classmethod
    def from_words(cls, words: Iterable[str], settings: TextSettings) -> Vocabulary:
        """Make a vocabulary of given words, in their order.

        Digits are normalised as in text (words that become equal are one row), names of unknown classes are left out
        because every vocabulary has them, and the boundary token is added at the end if it is missing.
        """
        classes = _classes(settings)
        given: set[str] = set()
        known: dict[str, None] = {}
        for word in words:
            if not isinstance(word, str) or not word:
                raise ArgumentError(f"a vocabulary holds words, not {word!r}.")
            if word in given:
                raise ArgumentError(f"the vocabulary has the word {word!r} twice. Remove one of them.")
            given.add(word)
            known[normalise_digits(word, settings.digits)] = None
        for name in classes:
            known.pop(name, None)
        if settings.boundary_token is not None:
            known.setdefault(settings.boundary_token, None)
        return cls((*known, *classes), len(known), settings)

    @classmethod
    def read(cls, path: str | os.PathLike[str], settings: TextSettings) -> Vocabulary:
        """Read a plain UTF-8 file with one word per line; blank lines are skipped."""
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except FileNotFoundError as error:
            raise CorpusNotFoundError(f"there is no vocabulary file {path}. Check the path.") from error
        except UnicodeDecodeError as error:
            raise EncodingError(
                f"{path} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}. "
                f"Convert it, for example with iconv."
            ) from error
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        return cls.from_words((line for line in lines if line), settings)

    def to_json(self) -> dict[str, Any]:
        """Return the words as a JSON object; the settings are stored by the caller."""
        return {"n_types": self.n_types, "words": list(self.words)}

    @classmethod
    def from_json(cls, content: Any, settings: TextSettings) -> Vocabulary:
        """Read what :meth:`to_json` returned; anything else is a FormatError."""
        words = content.get("words") if isinstance(content, dict) else None
        if not isinstance(words, list) or not set(map(type, words)) <= {str}:
            raise FormatError("the vocabulary is not a JSON object with a list of words. Restore it from a copy.")
        n_types, classes = content.get("n_types"), unknown_classes(settings.unknown)
        if n_types != len(words) - len(classes) or tuple(words[n_types:]) != classes:
            raise FormatError(
                f"the vocabulary of {len(words)} words says it has {n_types!r} known types; after them must come "
                f"the {len(classes)} unknown classes of unknown={settings.unknown!r}. Restore it from a copy."
            )
        if len(set(words)) != len(words):
            raise FormatError("the vocabulary has a word twice. Restore it from a copy.")
        if settings.boundary_token is not None and settings.boundary_token not in words:
            raise FormatError(f"the vocabulary lacks the boundary token {settings.boundary_token!r}.")
        return cls(tuple(words), n_types, settings)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({self.n_types:,} types + {len(self) - self.n_types} unknown classes)"

    def __contains__(self, word: object) -> bool:
        """Tell whether a word is a known type, after its digits are normalised."""
        return isinstance(word, str) and normalise_digits(word, self.settings.digits) in self._rows

    def id(self, word: str) -> int:
        """Return the row of a word: its own, or that of its unknown class."""
        row = self._rows.get(normalise_digits(word, self.settings.digits))
        return int(self.ids([word])[0]) if row is None else row

    def row_in_any_case(self, word: str) -> int | None:
        """Return the row of a known type or else of the first, the most frequent, that differs from it in case only."""
        plain = normalise_digits(word, self.settings.digits)
        row = self._rows.get(plain)
        return self._folded.get(plain.casefold()) if row is None else row

    def ids(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows of tokens, ``(n,)``; about 0.4 µs each."""
        buffer, bounds = pack(tokens)
        return rows_of(buffer, bounds, self.table, self._n_classes, digits=DIGITS[self.settings.digits])

    def remap(self, table: TypeTable) -> NDArray[np.int32]:
        """Return the row of each provisional id of ``table``, ``(len(table),)``; about 0.1 µs each."""
        return rows_of(*table.word_bytes(), self.table, self._n_classes)

    def with_boundaries(self, boundaries: Boundaries) -> Vocabulary:
        """Return the same words for text that is cut otherwise; the table of types is shared."""
        settings = dataclasses.replace(self.settings, boundaries=boundaries)
        if settings == self.settings:
            return self
        other = Vocabulary(self.words, self.n_types, settings)
        vars(other)["table"] = self.table
        return other

    @property
    def boundary_row(self) -> int | None:
        """The row of the boundary token, or None without one."""
        token = self.settings.boundary_token
        return None if token is None else self.id(token)

    def class_rows(self) -> NDArray[np.int32]:
        """Return the row of the unknown class that each known type would be in, were it not known, ``(n_types,)``."""
        classes = rows_of(*self.table.word_bytes(), TypeTable.from_words([]), self._n_classes)
        return (classes + self.n_types).astype(np.int32)

    @functools.cached_property
    def table(self) -> TypeTable:
        """The known types as a table whose ids are rows, for compiled lookups. Do not add to it."""
        return TypeTable.from_words(self.words[: self.n_types])

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words[: self.n_types])}

    @functools.cached_property
    def _folded(self) -> dict[str, int]:
        return {self.words[row].casefold(): row for row in range(self.n_types - 1, -1, -1)}

    @property
    def _n_classes(self) -> int:
        return len(self.words) - self.n_types


def _classes(settings: TextSettings) -> tuple[str, ...]:
    classes = unknown_classes(settings.unknown)
    if settings.boundary_token in classes:
        raise ArgumentError(
            f"boundary_token={settings.boundary_token!r} is the name of an unknown class. "
            f"Choose another, such as '</s>'."
        )
    return classes


def _as_table(types: TypeTable | Iterable[TypeTable] | Sequence[str], counts: Sequence[int] | Ints | None) -> TypeTable:
    if isinstance(types, TypeTable):
        return types
    items = list(types)
    if counts is not None:
        return TypeTable.from_words([str(word) for word in items], counts)
    tables = [item for item in items if isinstance(item, TypeTable)]
    if len(tables) != len(items):
        raise ArgumentError("a vocabulary is learnt from tables of types, or from words with their counts.")
    return TypeTable.merged(tables)


def _most_frequent(table: TypeTable, n: int, min_count: int) -> list[str]:
    """Return the ``n`` most frequent types, in order."""
    counts = table.counts
    threshold = min_count
    if len(table) > n:
        threshold = max(threshold, int(np.partition(counts, len(table) - n)[len(table) - n]))
    chosen = np.flatnonzero(counts >= threshold)
    data, offsets = table.word_bytes()
    raw = data.tobytes()
    words = [raw[start:end] for start, end in zip(offsets[chosen].tolist(), offsets[chosen + 1].tolist(), strict=True)]
    order = sorted(zip((-counts[chosen]).tolist(), words, strict=True))
    return [word.decode("utf-8") for _, word in order[:n]]
