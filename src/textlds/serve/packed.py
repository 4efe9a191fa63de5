"""A model in few bytes, for inference outside Python: ``model.json`` and ``model.safetensors.gz``.

The tables with a row per word are int8 with one float32 scale per row (:mod:`textlds.linalg.quantized`); small matrices
are float32; gzip takes a sixth off. docs/server.md lists the arrays. ``page/engine`` reads them in JavaScript,
:func:`packed_reader` in Python: both see the same rounded numbers. It is :mod:`textlds.model.packed` with probabilities
of words besides.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds._version import __version__
from textlds.corpus.encoding import Encoder
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.characters import character_table
from textlds.corpus.tokens.scanning import ABBREVIATIONS
from textlds.corpus.unknown import CAPITAL_SUFFIXES, SUFFIXES
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import REMEDY, ArgumentError, FormatError
from textlds.inference.engine import Engine
from textlds.language.language import smoothed_unigram
from textlds.language.link import FLOOR, ClippedLink
from textlds.language.mixture import Mixture
from textlds.language.predictor import DEFAULT_MIXTURE, Part, Predictor, Unigram, corpus_counts
from textlds.language.readout import BoundReadout, Readout
from textlds.lds.canonical import CanonicalSystem
from textlds.lexicon.meaning import HALF, Meaning
from textlds.lexicon.unknown import Speller
from textlds.linalg.quantized import RowTable, quantized
from textlds.linalg.types import Array, Matrix, Vector
from textlds.model.packed import PackedModel
from textlds.model.textlds import TextLDS
from textlds.serve.reading import LanguageReader, Reader
from textlds.storage.arrays import arrays_of, packed_arrays
from textlds.storage.folders import read_json, write_json
from textlds.vectors.meaning import LEAK, MeaningSpace
from textlds.vectors.stored import CARRY

ARRAYS, FACTS = "model.safetensors.gz", "model.json"
FORMAT, FORMAT_VERSION = "textlds-packed", 2

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Packed:
    """What is written: arrays by name, and facts as JSON."""

    arrays: Arrays
    facts: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Write the two files into a folder."""
        content = gzip.compress(packed_arrays(self.arrays), mtime=0)  # the same model gives the same bytes
        (folder / ARRAYS).write_bytes(content)
        write_json(folder / FACTS, self.facts)


def pack_model(model: TextLDS, reader: Reader, *, vocab_size: int | None = None) -> Packed:
    """Pack what reading a text needs.

    Args:
        model: The model.
        reader: What reads its texts.
        vocab_size: Keep this many of the most frequent words; the others are read by their spelling or class.
    """
    vocabulary = model.vocabulary
    if vocabulary.settings.tokenizer == "custom":
        raise ArgumentError(
            "the model was trained with a tokenizer of your own, which a page cannot run. Use tokenizer='words'."
        )
    if vocab_size is not None and vocab_size < 1:
        raise ArgumentError(f"vocab_size={vocab_size} must be at least 1.")
    n = vocabulary.n_types if vocab_size is None else min(vocab_size, vocabulary.n_types)
    boundary = vocabulary.settings.boundary_token
    rows = np.concatenate([np.arange(n), np.arange(vocabulary.n_types, len(vocabulary))])
    if boundary is not None and vocabulary.id(boundary) >= n:
        rows[n - 1] = vocabulary.id(boundary)
    words = [vocabulary.words[row] for row in rows]
    table = character_table()
    arrays: Arrays = {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "characters.index": table.block_of,
        "characters.blocks": table.blocks,
        "whitener": reader.whitener.astype(np.float32),
        "common": reader.common[rows[:n]].astype(np.uint8),
        **_table("vectors", reader.words[rows]),
        **_system("context", reader.engine, None if reader.speller is not None else rows),
    }
    if reader.speller is not None:  # gains follow from the vectors of words, known and unknown ones alike
        arrays |= _table("spelling", reader.speller.spelling)
        small = {name: getattr(reader.speller, name) for name in CARRY}
        arrays |= {f"spelling.{name}": np.asarray(a, np.float32) for name, a in small.items() if a is not None}
    if reader.meaning is not None:
        arrays |= _table("meaning", reader.meaning.words[rows])
        arrays |= _table("meaning.spelling", reader.meaning.spelling)
        frequencies = _folded(model.frequencies, vocabulary, rows)
        arrays["frequencies"] = frequencies.astype(np.float32)
    shared = reader.language is not None and same_filter(reader.language.engine, reader.engine)
    if reader.language is not None:
        engine = reader.language.engine
        own = {} if shared else _system("language", engine, rows)
        arrays |= own | (_compact(model) if isinstance(model, PackedModel) else _language(model, engine, rows))
    facts = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "textlds_version": __version__,
        "state_size": model.state_size,
        "n_types": n,
        "text": vocabulary.settings.to_json(),
        "boundary_row": -1 if boundary is None else words.index(boundary),
        "abbreviations": list(ABBREVIATIONS),
        "suffixes": {name: list(group) for name, group in SUFFIXES.items()},
        "capital_suffixes": {name: list(group) for name, group in CAPITAL_SUFFIXES.items()},
        "language": None if reader.language is None else "context" if shared else "language",
        "floor": FLOOR,
        "leak": LEAK,
        "half": HALF,
    }
    return Packed(arrays, facts)


def same_filter(one: Engine, other: Engine) -> bool:
    """Tell whether two filters give the same states of known words."""
    tables = ((one.A, other.A), (one.shrink, other.shrink), (one.gains, other.gains))
    return all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in tables)


def _table(name: str, table: Array | RowTable) -> Arrays:
    return quantized(table.all() if isinstance(table, RowTable) else table, "int8").arrays(name)


def _system(name: str, engine: Engine, rows: NDArray[np.int64] | None) -> Arrays:
    small: Arrays = {
        f"{name}.A": engine.system.A.astype(np.float32),
        f"{name}.shrink": engine.shrink.astype(np.float32),
    }
    return small if rows is None else small | _table(f"{name}.gains", engine.gains[rows])


def _language(model: TextLDS, engine: Engine, rows: NDArray[np.int64]) -> Arrays:
    """Return the unigram, the readout (or the clipped link) and their weights; bigrams are left out: they are many."""
    language = model.language
    estimated, share = corpus_counts(model.frequencies, model.history.settings)
    counts = _folded(estimated if language is None else language.counts, model.vocabulary, rows)
    mixture = DEFAULT_MIXTURE if language is None else language.mixture
    weights = mixture.weights[:, :2] / mixture.weights[:, :2].sum(axis=1, keepdims=True)
    arrays: Arrays = {
        "counts": counts.astype(np.float32),
        "mixture.edges": mixture.edges.astype(np.float32),
        "mixture.weights": weights.astype(np.float32),
    }
    inverse = np.linalg.inv(engine.system.T)
    if language is None or language.readout is None:
        output = np.sqrt(model.frequencies)[:, None] / share * model.params.C @ inverse
        return arrays | _table("output", output[rows])
    readout = language.readout.transformed(inverse)
    kept, classes = np.unique(readout.classes[rows], return_inverse=True)
    return {
        **arrays,
        "readout.classes": classes.astype(np.int32),
        "readout.class_weights": readout.class_weights[kept],
        "readout.class_bias": readout.class_bias[kept],
        **_table("readout.word_weights", readout.word_weights[rows]),
        "readout.word_bias": readout.word_bias[rows],
    }


def _compact(model: PackedModel) -> Arrays:
    """Return what a packed model stores of its language model."""
    stored, language = model.stored_language, model.language
    assert stored is not None
    assert language is not None
    readout = stored.readout
    return {
        "counts": language.counts.astype(np.float32),
        "mixture.edges": stored.mixture.edges.astype(np.float32),
        "mixture.weights": stored.mixture.weights.astype(np.float32),
        "readout.classes": readout.classes.astype(np.int32),
        "readout.class_weights": readout.class_weights.all(),
        "readout.class_bias": readout.class_bias,
        "readout.word_bias": readout.word_bias.astype(np.float32),
        **readout.carry.arrays("readout.carry"),
    }


def _folded(counts: Vector, vocabulary: Vocabulary, rows: NDArray[np.int64]) -> Vector:
    """Return the occurrences of the rows that are kept; those of other words go to their classes."""
    n = len(rows) - (len(vocabulary) - vocabulary.n_types)
    folded: Vector = counts[rows].astype(np.float64)
    left = np.setdiff1d(np.arange(vocabulary.n_types), rows)
    np.add.at(folded, n + vocabulary.class_rows()[left] - vocabulary.n_types, counts[left])
    return folded


def packed_reader(folder: Path) -> Reader:
    """Return what reads texts, from a packed model: the library's own parts with the rounded tables."""
    facts: dict[str, Any] = read_json(folder / FACTS)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise FormatError(f"{folder / FACTS} is not that of a packed model. Write it again with textlds explore.")
    try:
        content = gzip.decompress((folder / ARRAYS).read_bytes())
    except (OSError, EOFError, zlib.error) as error:  # missing, cut short, or not gzip
        raise FormatError(f"{folder / ARRAYS} cannot be read ({error}). {REMEDY}") from error
    arrays = {name: np.array(array) for name, array in arrays_of(content, str(folder / ARRAYS)).items()}
    words = arrays["words"].tobytes().decode().split("\n")
    vocabulary = Vocabulary(tuple(words), facts["n_types"], TextSettings.from_json(facts["text"]))
    speller, gains = None, None
    vectors = _dequantized(arrays, "vectors")
    if "spelling" in arrays:
        small = {name: arrays[f"spelling.{name}"].astype(np.float64) for name in CARRY if f"spelling.{name}" in arrays}
        speller = Speller(
            vocabulary, _dequantized(arrays, "spelling"), small["carry"], small["centre"], small.get("shift")
        )
        gains = speller.gains(vectors.astype(np.float64))
    engine = _engine(arrays, "context", gains)
    language = None
    if facts["language"] is not None:
        own = engine if facts["language"] == "context" else _engine(arrays, "language", None)
        language = LanguageReader(own, _predictor(arrays, own, vectors))
    meaning = None
    if "meaning" in arrays:
        known = Meaning(
            _dequantized(arrays, "meaning"), _dequantized(arrays, "meaning.spelling"), np.empty((0, 0), np.float32)
        )
        meaning = MeaningSpace.of(known, vocabulary, arrays["frequencies"].astype(np.float64))
    return Reader(
        encoder=Encoder(vocabulary), engine=engine, whitener=arrays["whitener"].astype(np.float64),
        words=vectors[: vocabulary.n_types], speller=speller, language=language,
        meaning=meaning, common=arrays["common"].astype(np.bool_),
    )  # fmt: skip


def _dequantized(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    return RowTable(arrays[name], arrays[f"{name}.scale"]).all()


def _engine(arrays: Mapping[str, NDArray[Any]], name: str, gains: Matrix | None) -> Engine:
    A: Matrix = arrays[f"{name}.A"].astype(np.float64)
    identity = np.eye(len(A))
    system = CanonicalSystem(identity, A, arrays[f"{name}.shrink"].astype(np.float64), identity, 0.0)
    return Engine(system, _dequantized(arrays, f"{name}.gains") if gains is None else gains, np.float32)


def _predictor(arrays: Mapping[str, NDArray[Any]], engine: Engine, vectors: Array) -> Predictor:
    counts = arrays["counts"].astype(np.float64)
    unigram = smoothed_unigram(counts)
    parts: list[Part] = [Unigram(unigram)]
    if "readout.classes" in arrays:
        if "readout.carry" in arrays:
            both = [vectors, *([_dequantized(arrays, "meaning")] if "meaning" in arrays else [])]
            weights = np.hstack(both) @ _dequantized(arrays, "readout.carry")
        else:
            weights = _dequantized(arrays, "readout.word_weights")
        fields: Sequence[Any] = (
            arrays["readout.classes"], arrays["readout.class_weights"], arrays["readout.class_bias"],
            weights, arrays["readout.word_bias"],
        )  # fmt: skip
        parts.append(BoundReadout(Readout(*fields), engine))
    else:
        ones = np.ones(len(counts))
        parts.append(ClippedLink(engine, _dequantized(arrays, "output").astype(np.float64), ones, unigram, 1.0))
    mixture = Mixture(arrays["mixture.edges"].astype(np.float64), arrays["mixture.weights"].astype(np.float64))
    return Predictor(parts, mixture, counts)
