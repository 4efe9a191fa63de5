"""From sentences to what the network sees: parts of vectors, and buckets of features."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from textlds.errors import ArgumentError, FormatError
from textlds.inference.windows import visible
from textlds.linalg.types import Array
from textlds.model.textlds import TextLDS
from textlds.tagging.cases import OtherCases
from textlds.tagging.features import CASE, ELSEWHERE, LEXICAL, Template, cluster_columns, gazetteer_column, hashed
from textlds.tagging.gazetteers import gazetteer_marks
from textlds.tagging.memory import add_up, neighbours_elsewhere, occurrence_means
from textlds.tagging.network import Floats, Inputs, Ints, Part
from textlds.tagging.spelling import COLUMNS, Base, token_bases
from textlds.tagging.texts import Batch, SentenceReader
from textlds.vectors.of_words import OF_WORDS, SHIFTS, leading_numbers
from textlds.vectors.recipes import Recipe

_MEMORIES = 3  # parts of what a document has elsewhere
_OF_TYPES = {*OF_WORDS, "word_meaning"}  # parts that are the same wherever a word occurs


@dataclass(frozen=True, eq=False)
class Design:
    """What a network sees of a token.

    Attributes:
        recipe: Of the vectors; None for none.
        templates: Of the hashed features; empty for none.
        memory: Whether it sees the vectors of the same word elsewhere in the document, and what the document is about.
        clusters: Those of every word of the vocabulary at some granularities, (V, columns), −1 for none; or (V, 0).
        gazetteers: Names, in lower case, by the name of their list.
        cases: Whether it sees the vector of the word in the other case, and how much more frequent that is.
    """

    recipe: Recipe | None
    templates: tuple[Template, ...] = LEXICAL
    memory: bool = False
    clusters: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 0), np.int32))
    gazetteers: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    cases: bool = False

    def __post_init__(self) -> None:
        if self.recipe is None and not self.templates:
            raise ArgumentError("a tagger needs a recipe, hashed features, or both; it was given neither.")
        if self.cases and self.recipe is None:
            raise FormatError("the other case of words needs vectors, and the tagger has no recipe.")
        unknown = {column for template in self.templates for column, _ in template} - set(self.columns)
        if unknown:
            raise FormatError(f"a feature uses {min(unknown)!r}, which is not one of {', '.join(self.columns)}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what features are made of."""
        gazetteers = [gazetteer_column(name) for name in self.gazetteers]
        elsewhere = ELSEWHERE if self.elsewhere else ()
        cases = (CASE,) if self.cases else ()
        return (*COLUMNS, *elsewhere, *cluster_columns(self.clusters.shape[1]), *gazetteers, *cases)

    @property
    def repeated(self) -> tuple[int, ...]:
        """The features that are made of what is beside the same word elsewhere in the document."""
        return tuple(number for number, template in enumerate(self.templates) if template[0][0] in ELSEWHERE)

    @property
    def elsewhere(self) -> bool:
        """Whether there are such features."""
        return bool(self.repeated)


class InputMaker:
    """Makes inputs of a design with a model."""

    def __init__(self, model: TextLDS, design: Design, *, threads: int = 1) -> None:
        self.reader, self.design, self.threads = SentenceReader(model), design, threads
        self._model = model
        self._cases = OtherCases(model.vocabulary, model.frequencies)
        clusters = design.clusters
        if clusters.shape[1] and (len(clusters) != len(model.vocabulary) or clusters.min(initial=0) < -1):
            raise FormatError(
                f"the tagger has clusters of {len(clusters):,} words, and its model {len(model.vocabulary):,} words. "
                f"Train it again."
            )

    @property
    def width(self) -> int:
        """How many numbers the vectors of a token have, d."""
        recipe, size = self.design.recipe, self._model.dimensions
        if recipe is None:
            return 0
        first = next((part for part in recipe.parts if part not in _OF_TYPES), "state")
        memories = 2 * size(first) + self._model.state_size if self.design.memory else 0
        return sum(map(size, recipe.parts)) + memories + self._model.state_size * self.design.cases

    def inputs(self, batch: Batch) -> Inputs:
        """Return what the network sees of some texts."""
        design = self.design
        buffer, spans = batch.bytes()
        base = token_bases(buffer, spans)
        types = _Types.of(batch, base, self._cases if design.cases else None)
        parts = self._parts(batch, base, types) if design.recipe is not None else []
        memories = range(len(parts) - _MEMORIES, len(parts)) if design.memory else ()
        return Inputs(parts, self._buckets(batch, base, types), batch.starts, (tuple(memories), design.repeated))

    def _buckets(self, batch: Batch, base: Base, types: _Types) -> NDArray[np.int32]:
        design = self.design
        if not design.templates:
            return np.empty((len(base), 0), np.int32)
        lower = base[:, COLUMNS.index("lower")]
        extra = [neighbours_elsewhere(lower, batch.offsets)] if design.elsewhere else []
        if design.clusters.shape[1]:
            extra.append((design.clusters[batch.rows] + 1).astype(np.uint64))
        if design.gazetteers:
            tokens = [token for text in batch.encoded for token in text.tokens]
            marks = [gazetteer_marks(tokens, batch.starts, names) for names in design.gazetteers.values()]
            extra.append(np.stack(marks, axis=1))
        if design.cases:
            extra.append(types.levels[types.numbers, None])
        full = np.concatenate([base, *extra], axis=1) if extra else base
        buckets = hashed(full, batch.starts, design.templates, design.columns)
        if design.elsewhere:  # a word that occurs once has no such feature
            nowhere = extra[0] == 0
            for column in design.repeated:
                buckets[nowhere[:, ELSEWHERE.index(design.templates[column][0][0])], column] = -1
        return buckets

    def _parts(self, batch: Batch, base: Base, types: _Types) -> list[Part]:
        recipe = cast(Recipe, self.design.recipe)
        every = np.arange(len(base))
        found: dict[str, list[Part]] = {}
        context = [part for part in recipe.parts if part not in _OF_TYPES]
        if context or self.design.memory:
            wanted = context or ["state"]
            vectors = self._embedded(batch, Recipe(wanted, recipe.weighting, recipe.method))
            found = {name: [Part(table, every)] for name, table in self._split(wanted, vectors)}
        if len(context) < len(recipe.parts) or self.design.memory:
            found |= self._of_types(batch, types, recipe)
        parts = [part for name in recipe.parts for part in found[name]]
        if self.design.cases:
            space = self._model.spaces.space("float32", recipe.weighting)
            known, rows = np.unique(types.others, return_inverse=True)
            if len(known) and known[0] < 0:  # the zeros of words without one come last, as -1
                known, rows = np.roll(known, -1), rows - 1
            parts.append(Part(cast(Floats, space.words_at(known)), rows[types.numbers]))
        return [*parts, *self._memories(batch, base, found, every)] if self.design.memory else parts

    def _embedded(self, batch: Batch, recipe: Recipe) -> Floats:
        """Return the vectors of all tokens, (n, d)."""
        space = self._model.spaces.space("float32", recipe.weighting)
        vectors, offsets = space.embed(batch.encoded, recipe, threads=self.threads)
        if len(vectors) == len(batch.rows):
            return cast(Floats, vectors)
        own = [visible(vectors, text, offset) for text, offset in zip(batch.encoded, offsets, strict=True)]
        return np.concatenate([vectors[:0], *own])

    def _of_types(self, batch: Batch, types: _Types, recipe: Recipe) -> dict[str, list[Part]]:
        """Return the parts that are of words alone, by tables with a row per word type and a row of zeros."""
        space = self._model.spaces.space("float32", recipe.weighting)
        wanted = ["word", *(part for part in ("spelling", "word_meaning") if part in recipe.parts)]
        table = np.zeros((len(types.words) + 1, sum(map(self._model.dimensions, wanted))), np.float32)
        if types.words:
            encoded = self._model.encoder.encode(types.words)
            vectors, _ = space.embed([encoded], Recipe(wanted, recipe.weighting), threads=self.threads)
            table[:-1] = visible(vectors, encoded, 0)
        tables = {name: np.ascontiguousarray(one) for name, one in self._split(wanted, table)}
        rows = {by: _shifted(types.numbers, batch.starts, by) for by in (-1, 0, 1)}
        found = {name: [Part(one, rows[0])] for name, one in tables.items()}
        found |= {name: [Part(tables["word"], rows[by])] for name, by in SHIFTS.items()}
        if "neighbours" in recipe.parts:
            short = leading_numbers(space, tables["word"])
            found["neighbours"] = [Part(short, rows[by]) for by in (-1, 1)]
        return found

    def _split(self, names: Sequence[str], vectors: Floats) -> Iterator[tuple[str, Floats]]:
        """Yield the columns of some parts that stand side by side."""
        ends = itertools.accumulate(map(self._model.dimensions, names), initial=0)
        for name, (start, end) in zip(names, itertools.pairwise(ends), strict=True):
            yield name, vectors[:, start:end]

    def _memories(self, batch: Batch, base: Base, found: dict[str, list[Part]], every: Ints) -> list[Part]:
        """Return the means of the word elsewhere in the document, before and after, and the mean of the document."""
        documents = batch.offsets
        lower = base[:, COLUMNS.index("lower")]
        state = np.ascontiguousarray(next(iter(found.values()))[0].table)
        means = [occurrence_means(lower, state, documents, backwards=late) for late in (False, True)]
        word = found["word"][0]
        numbers = np.repeat(np.arange(len(documents) - 1), np.diff(documents))
        about = np.zeros((len(documents), word.table.shape[1]), np.float32)
        add_up(word.table, word.rows, documents, about)
        about[:-1] /= np.maximum(np.diff(documents), 1)[:, None].astype(np.float32)
        about /= np.maximum(np.linalg.norm(about, axis=1, keepdims=True), np.float32(1e-12))
        return [*(Part(mean, every) for mean in means), Part(about, numbers)]


@dataclass(frozen=True, eq=False)
class _Types:
    """The distinct words of some texts.

    Attributes:
        words: Each once.
        numbers: Which one every token is, (n,).
        others: Their rows in the other case, −1 for none; empty if it is not asked for.
        levels: How much more frequent that is.
    """

    words: list[str]
    numbers: Ints
    others: Ints
    levels: NDArray[np.uint64]

    @classmethod
    def of(cls, batch: Batch, base: Base, cases: OtherCases | None) -> _Types:
        _, first, numbers = np.unique(base[:, 0], return_index=True, return_inverse=True)
        offsets = batch.offsets.tolist()
        owners = np.searchsorted(batch.offsets, first, side="right") - 1
        pairs = zip(owners.tolist(), first.tolist(), strict=True)
        words = [batch.encoded[owner].tokens[place - offsets[owner]] for owner, place in pairs]
        return cls(
            words, numbers, *(cases.look_up(words) if cases else (np.empty(0, np.int64), np.empty(0, np.uint64)))
        )


def _shifted(rows: Ints, starts: Ints, by: int) -> Ints:
    """Return the row of the word ``by`` places on in the same sentence, −1 where there is none."""
    if by == 0:
        return rows
    out = np.full_like(rows, -1)
    if by < 0:
        out[1:] = rows[:-1]
        out[starts[:-1]] = -1
    else:
        out[:-1] = rows[1:]
        out[starts[1:] - 1] = -1
    return out


def words_of(model: TextLDS) -> Array:
    """Return the vectors of all words of the vocabulary, (V, h), for clustering."""
    space: Any = model.spaces.space("float32", "equal")
    return cast(Array, space.words)
