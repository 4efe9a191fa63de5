"""A model in few bytes: what vectors need, in int8, with fewer words and dimensions if asked.

    config.json          as of any model, and "packed": what was done
    packed.safetensors   the tables, mapped when the model is read
    vocabulary.json      the words that were kept
    history.json         of the model it was packed from

A packed model embeds, streams and finds similar words as any model does, with ``weighting="equal"``, and knows the
transitions of the model it was packed from. :meth:`PackedModel.with_language_model` gives it probabilities of words in
few bytes. It has no parameters: for likelihoods and the paper's recipe, load the model it was packed from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from textlds._version import __version__
from textlds.corpus.encoding import Encoder, Text
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.tokenizer import CustomTokenizer
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, FormatError
from textlds.inference.engine import Engine
from textlds.language.calibrating import Fitted, calibrate
from textlds.language.compact import CompactReadout
from textlds.language.language import LanguageModel, Link
from textlds.language.predictor import Predictor, corpus_counts, make_predictor
from textlds.language.readout import Readout
from textlds.lds.params import LDSParams
from textlds.learn.history import History
from textlds.learn.settings import Observations
from textlds.lexicon.spelling import fit_spelling
from textlds.linalg.quantized import PRECISIONS, Precision, RowTable
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Array, Vector
from textlds.model.directions import WORDS, Directions, transition_directions
from textlds.model.exploring import Transition
from textlds.model.files import check_listed
from textlds.model.packed_checks import check_arrays, observed
from textlds.model.packed_parts import PackedLanguage, stored_parts, take_parts
from textlds.model.textlds import TextLDS
from textlds.progress import ProgressOption, resolve
from textlds.storage.arrays import read_arrays, width, write_arrays
from textlds.storage.folders import new_folder, read_config, read_json, write_config, write_json
from textlds.vectors.recipes import (
    MEANING_PARTS,
    RECIPES,
    Part,
    Recipe,
    RecipeLike,
    Weighting,
    own_recipes,
    resolve_recipe,
)
from textlds.vectors.spaces import check_dtype
from textlds.vectors.stored import CARRY, CONTEXTS, SMALL, StoredSpace, StoredTables, reduced

if TYPE_CHECKING:
    from textlds.counts.lagcounts import LagCounts

ARRAYS, VOCABULARY, HISTORY = "packed.safetensors", "vocabulary.json", "history.json"
_TABLES = ("words", "gains", "spelling", "meaning", "meaning_spelling")
_ABSENT = (
    "a packed model holds what vectors with equal weighting need, and no parameters. Load the model it was packed from "
    "for this."
)
_SILENT = "this packed model gives no probabilities of words. Calibrate it with textlds calibrate."


class PackedSpaces:
    """The one weighting of a packed model, by floating-point type."""

    def __init__(self, tables: StoredTables, vocabulary: Vocabulary, frequencies: Vector) -> None:
        self._tables, self._vocabulary, self._frequencies = tables, vocabulary, frequencies
        self._spaces: dict[str, StoredSpace] = {}

    def space(self, dtype: str, weighting: Weighting = "equal") -> StoredSpace:
        """Return what turns text into vectors."""
        if weighting != "equal":
            raise ArgumentError(f"weighting={weighting!r}: {_ABSENT}")
        if dtype not in self._spaces:
            check_dtype(dtype)
            self._spaces[dtype] = self._tables.space(self._vocabulary, self._frequencies, dtype)
        return self._spaces[dtype]

    def engine(self, dtype: str, weighting: Weighting = "fitted") -> Engine:
        """Return the filter and smoother of equal weighting, without a table of gains."""
        if weighting != "equal":
            raise ArgumentError(_ABSENT[0].upper() + _ABSENT[1:])
        return self.space(dtype).engine


class PackedModel(TextLDS):
    """A model in few bytes; see :mod:`textlds.model.packed`.

    Args:
        tables: What inference needs.
        vocabulary: The words that were kept.
        frequencies: Of these, (V,).
        facts: What was done: precision, words and dimensions.
        history: Of the model it was packed from.
        tokenizer: As for :meth:`TextLDS.load`.
        recipes: The model's own.
        directions: The transitions of the model it was packed from; None for one that was packed without them.
        language: For probabilities of words, or None.
    """

    def __init__(
        self,
        tables: StoredTables,
        vocabulary: Vocabulary,
        frequencies: Vector,
        facts: Mapping[str, Any],
        *,
        history: History | None = None,
        tokenizer: CustomTokenizer | None = None,
        recipes: Mapping[str, Recipe] | None = None,
        directions: Directions | None = None,
        language: PackedLanguage | None = None,
    ) -> None:
        self.tables, self.vocabulary, self.frequencies, self.facts = tables, vocabulary, frequencies, dict(facts)
        self.history = history or History()
        self.lexicon = None
        self.directions, self.stored_language = directions, language
        self.encoder = Encoder(vocabulary, tokenizer=tokenizer)
        self.spaces = PackedSpaces(tables, vocabulary, frequencies)  # type: ignore[assignment]  # offers what is used of the other
        self._own_recipes = dict(recipes or {})

    def __repr__(self) -> str:
        return (
            f"PackedModel(state_size={self.state_size}, vocabulary={len(self.vocabulary):,}, {self.facts['precision']})"
        )

    @property
    def state_size(self) -> int:
        """How many numbers a part of a vector has, d."""
        return self.tables.words.shape[1]

    @property
    def observations(self) -> Observations:
        """What the model it was packed from observes."""
        return observed(self.tables.small, lexicon=self.tables.spelling is not None)

    def recipe(self, recipe: RecipeLike) -> Recipe:
        """Return the recipe that a name or a spelled-out recipe means, of equal weighting."""
        chosen = resolve_recipe(recipe, self.recipes)
        if chosen.weighting != "equal":
            raise ArgumentError(f"recipe={str(recipe)!r} has weighting={chosen.weighting!r}: {_ABSENT}")
        return super().recipe(recipe)

    def _serves(self, part: Part, weighting: Weighting) -> bool:
        if part == "spelling":
            return self.tables.spelling is not None
        return part not in MEANING_PARTS or self.tables.meaning is not None

    @property
    def params(self) -> LDSParams:
        """A packed model has none."""
        raise ArgumentError(_ABSENT[0].upper() + _ABSENT[1:])

    @cached_property
    def language(self) -> LanguageModel | None:  # type: ignore[override]  # made when it is first needed
        """The calibrated language model, or None."""
        stored = self.stored_language
        if stored is None:
            return None
        counts = corpus_counts(self.frequencies, self.history.settings)[0]
        return LanguageModel(counts, stored.mixture, stored.readout.readout(self.word_features), (), stored.facts)

    @cached_property
    def word_features(self) -> Array:
        """How each word is used and what it is about, (V, d) or (V, d + m): what the readout's weights follow from."""
        meaning = self.tables.meaning
        parts = [self.tables.words.all(), *([] if meaning is None else [meaning.all()])]
        return np.hstack(parts)

    @property
    def predicts(self) -> bool:
        """Whether the model was calibrated."""
        return self.stored_language is not None

    def language_filter(self) -> tuple[Engine, Predictor]:
        """Return the filter whose states say what comes next, and what makes probabilities of them."""
        if self.stored_language is None:
            raise ArgumentError(_SILENT[0].upper() + _SILENT[1:])
        engine = self._filter
        if self._predictor is None:
            self._predictor = make_predictor(
                self.language, engine, engine.gains, self.frequencies, self.history.settings
            )
        return engine, self._predictor

    @cached_property
    def _filter(self) -> Engine:
        space = self.spaces.space("float32", "equal")
        return Engine(space.system, space.all_gains, np.float32)

    def with_language_model(
        self,
        texts: Iterable[Text],
        *,
        held_out: Iterable[Text] | None = None,
        counts: LagCounts | None = None,
        link: Link = "log-linear",
        tokens: int = 1_000_000,
        threads: int | None = None,
        progress: ProgressOption = False,
    ) -> Self:
        """Return the same model with a readout in few bytes; see :meth:`TextLDS.with_language_model`.

        ``counts`` and ``link="clipped"`` are refused: a packed model has no room for bigrams and no parameters.
        """
        if counts is not None or link != "log-linear":
            raise ArgumentError(
                "a packed model takes a log-linear readout only, without bigrams of counts. Leave counts and link out, "
                "or calibrate the model it was packed from."
            )
        engine, words = self._filter, self.word_features
        kept: list[CompactReadout] = []

        def rounded(readout: Readout, unigram: Vector) -> Readout:
            kept.append(CompactReadout.of(readout, words, unigram))
            return kept[-1].readout(words)

        fitted = Fitted(engine, self.encoder, engine.gains, self.frequencies, self.history.settings)
        language = calibrate(
            fitted, texts, held_out, None, link=link, limit=tokens, threads=check_threads(threads),
            progress=resolve(progress), rounded=rounded,
        )  # fmt: skip
        return self._with(language=PackedLanguage(kept[-1], language.mixture, language.facts))

    def dynamics(self, n: int = 6, *, words: int = 9, min_count: int | None = None) -> list[Transition]:
        """Return the n strongest transitions that were packed; see :meth:`TextLDS.dynamics`."""
        if self.directions is None or n > len(self.directions.pairs) or words > WORDS or min_count is not None:
            held = 0 if self.directions is None else len(self.directions.pairs)
            raise ArgumentError(
                f"this packed model holds {held} transitions of {WORDS} words, chosen when it was packed. Load the "
                f"model it was packed from for others."
            )
        if n < 1 or words < 1:
            raise ArgumentError(f"n={n} and words={words} must be at least 1.")
        return [Transition(p.strength, p.source[:words], p.target[:words]) for p in self.directions.pairs[:n]]

    def quantized(
        self,
        precision: Precision = "int8",
        *,
        vocab_size: int | None = None,
        dimensions: int | None = None,
        buckets: int | None = None,
    ) -> TextLDS:
        """Refuse: what was rounded once is not rounded again."""
        raise ArgumentError("the model is packed already. Pack the model it was made from.")

    def arrays(self) -> dict[str, Array]:
        """Return the tables that give vectors, as they are stored."""
        arrays: dict[str, Array] = {**self.tables.small, "frequencies": self.frequencies.astype(np.float32)}
        for name in _TABLES:
            table: RowTable | None = getattr(self.tables, name)
            arrays |= {} if table is None else table.arrays(name)
        return arrays

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to a folder, whole or not at all."""
        more, facts = stored_parts(self.directions, self.stored_language)
        recipes = {name: str(recipe) for name, recipe in self._own_recipes.items()}
        with new_folder(path, force=force) as folder:
            write_arrays(folder / ARRAYS, self.arrays() | more)
            write_json(folder / VOCABULARY, self.vocabulary.to_json(), indent=None)
            write_json(folder / HISTORY, self.history.to_json(), indent=None)
            content = {
                "textlds_version": __version__,
                "state_size": self.state_size,
                "vocabulary_size": len(self.vocabulary),
                "noise": "none",  # is stored; that of the fit is in the history
                "observations": self.observations,
                "lexicon": self.tables.spelling is not None,
                "text": self.vocabulary.settings.to_json(),
                "packed": self.facts | facts,
                **({"recipes": recipes} if recipes else {}),
            }
            write_config(folder, kind="model", content=content)

    def _with(self, **changes: Any) -> Self:
        options = {
            "history": self.history, "tokenizer": self.encoder.tokenizer, "recipes": self._own_recipes,
            "directions": self.directions, "language": self.stored_language,
        }  # fmt: skip
        return type(self)(self.tables, self.vocabulary, self.frequencies, self.facts, **{**options, **changes})


def pack(
    model: TextLDS,
    precision: Precision = "int8",
    *,
    vocab_size: int | None = None,
    dimensions: int | None = None,
    buckets: int | None = None,
) -> PackedModel:
    """Pack a model; see :meth:`TextLDS.quantized`."""
    if precision not in PRECISIONS:
        raise ArgumentError(f"precision={precision!r} is not one of {', '.join(map(repr, PRECISIONS))}.")
    if vocab_size is not None and vocab_size < 1:
        raise ArgumentError(f"vocab_size={vocab_size} must be at least 1.")
    if dimensions is not None and not 1 <= dimensions <= model.state_size:
        raise ArgumentError(
            f"dimensions={dimensions} must be between 1 and {model.state_size}, the state size of the model."
        )
    if buckets is not None and (buckets < 1024 or buckets & (buckets - 1)):
        raise ArgumentError(f"buckets={buckets} must be a power of two of at least 1024, such as 16384.")
    space = model.spaces.space("float64", "equal")
    rows = _kept(model.vocabulary, vocab_size)
    meaning = None if model.lexicon is None else model.lexicon.meaning
    if dimensions is not None and dimensions < model.state_size:
        space = reduced(space, model.frequencies, dimensions)
    if dimensions is not None and meaning is not None:
        meaning = meaning.truncated(dimensions)
    spelling = None
    if buckets is not None and space.speller is not None:
        known = model.vocabulary.words[: model.vocabulary.n_types]
        seen = model.frequencies[: len(known)] * model.history.settings.get("tokens", 1e6)
        spelling = fit_spelling(known, seen, np.asarray(space.words, np.float32), threads=1, buckets=buckets)
        if meaning is not None:
            spelt = fit_spelling(known, seen, np.asarray(meaning.vectors, np.float32), threads=1, buckets=buckets)
            meaning = replace(meaning, spelling=spelt)
    tables = StoredTables.of(space, meaning, rows, precision=precision, spelling=spelling)
    words = tuple(model.vocabulary.words[row] for row in rows.tolist())
    n_types = len(rows) - (len(model.vocabulary) - model.vocabulary.n_types)
    frequencies = model.frequencies[rows] / model.frequencies[rows].sum()
    facts = {"precision": precision, "vocabulary_size_before": len(model.vocabulary), "state_size": len(space.system.A)}
    return PackedModel(
        tables, Vocabulary(words, n_types, model.vocabulary.settings), frequencies, facts,
        history=model.history, tokenizer=model.encoder.tokenizer,
        recipes={name: recipe for name, recipe in model.recipes.items() if RECIPES.get(name) != recipe},
        directions=transition_directions(model),
    )  # fmt: skip


def _kept(vocabulary: Vocabulary, vocab_size: int | None) -> Any:
    """Return the rows of the most frequent words, the boundary token, and the unknown classes."""
    n = vocabulary.n_types if vocab_size is None else min(vocab_size, vocabulary.n_types)
    known = np.arange(n)
    token = vocabulary.settings.boundary_token
    if token is not None and vocabulary.id(token) >= n:
        known[-1] = vocabulary.id(token)
    return np.concatenate([known, np.arange(vocabulary.n_types, len(vocabulary))])


def read_packed(
    path: str | os.PathLike[str], *, tokenizer: Callable[[str], Sequence[str]] | None = None
) -> PackedModel:
    """Read a packed model; its tables are mapped. Anything missing, altered or inconsistent is a FormatError."""
    folder = Path(path)
    config = read_config(folder, kind="model")
    check_listed(folder, config, (ARRAYS, VOCABULARY, HISTORY))
    try:
        settings = TextSettings.from_json(config["text"])
        vocabulary = Vocabulary.from_json(read_json(folder / VOCABULARY), settings)
        facts = dict(config["packed"])
        precision, lexicon, d, h = (
            facts["precision"],
            bool(config["lexicon"]),
            config["state_size"],
            facts["state_size"],
        )
        if type(d) is not int:
            raise TypeError(f"state_size={d!r} is not a whole number")
        recipes = own_recipes(config.get("recipes", {}), RECIPES, stored=True)
    except FormatError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{folder / 'config.json'} is not that of a packed model: {error}") from error
    arrays = dict(read_arrays(folder / ARRAYS))
    told = d + (width(arrays["meaning"]) if "meaning" in arrays else 0)
    directions, language = take_parts(arrays, facts, size=len(vocabulary), width=told, state_size=h)
    check_arrays(folder / ARRAYS, arrays, precision, lexicon, (len(vocabulary), d, h))
    tables = {name: RowTable(arrays[name], arrays.get(f"{name}.scale")) if name in arrays else None for name in _TABLES}
    own = (*SMALL, *(CARRY if lexicon else ()), CONTEXTS)
    small = {name: np.array(arrays[name]) for name in own if name in arrays}
    return PackedModel(
        StoredTables(small, **tables),  # type: ignore[arg-type]  # words are always there: _check
        vocabulary, np.array(arrays["frequencies"], np.float64), facts,
        history=History.from_json(read_json(folder / HISTORY)), tokenizer=tokenizer, recipes=recipes,
        directions=directions, language=language,
    )  # fmt: skip
