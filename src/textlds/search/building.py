"""From a corpus to an index on disk.

The corpus is read once, into a temporary copy beside the index, while its words are counted. Then it is known which
occurrences are kept; the texts they occur in are embedded, and vectors go to their rows in a temporary file (half a
gigabyte per million at h = 128), from which faiss reads them. Memory holds a window of texts, 13 bytes per text, some
bytes per occurrence, and at the end the vectors at a byte per number. The copy and the vectors are parts of unfinished
work, which is resumed from the last one that was finished.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from textlds._version import __version__
from textlds.corpus.reading.opening import Source
from textlds.corpus.reading.texts import read_texts, total_size
from textlds.corpus.settings import ReadSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer, separated
from textlds.corpus.tokens.types import TypeTable, check_words
from textlds.errors import ArgumentError, CorpusError, FormatError
from textlds.linalg.types import Array
from textlds.model.packed import PackedModel
from textlds.model.textlds import TextLDS
from textlds.progress import Progress
from textlds.search.sampling import NONE, Plan, Selection, select
from textlds.search.texts import Place, Spool, TextReader, TextWriter, expect, mapped
from textlds.search.vectors import write_vectors
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import CONFIG, write_config, write_json
from textlds.storage.parts import Parts

MODEL, WORDS = "model", "words.json"
OCCURRENCES, TEXTS, VECTORS = "occurrences.safetensors", "texts.safetensors", "vectors.faiss"
_COPY, _EMBEDDED = "copy", "embedded"  # parts of unfinished work
_ARRAYS, _VECTORS, _KEPT = "arrays.safetensors", "vectors", "kept"
_WINDOW = 1 << 16  # tokens embedded at a time
_CHECKED = 1 << 20  # tokens checked at a time
_SHOWN_EVERY = 1000  # texts between updates of the progress


def build(
    folder: Path,
    model: TextLDS,
    sources: list[Source],
    plan: Plan,
    parts: Parts,
    *,
    threads: int,
    progress: Progress,
) -> None:
    """Write an index into an empty folder; parts that are there already are used."""
    model.save(folder / MODEL)
    copy = parts.read(_COPY, _checked_copy) or parts.keep(_COPY, lambda path: _read(path, sources, model, progress))
    arrays = read_arrays(copy / _ARRAYS)
    table = _table(arrays)
    with (copy / "texts").open("rb") as texts, (copy / "types").open("rb") as types:
        spool = Spool(texts, types, arrays)
        selection = select(table, model.vocabulary, plan)
        if not len(selection):
            raise CorpusError(
                f"none of the {spool.tokens:,} tokens of the text is to be indexed. Check the text, words and "
                f"min_count (now {plan.min_count})."
            )
        shape = (len(selection), model.dimensions(plan.recipe))
        embedded = parts.read(_EMBEDDED, lambda path: _checked_embedded(path, selection, shape[1])) or parts.keep(
            _EMBEDDED,
            lambda path: _embed(path, model, spool, selection, plan.recipe, threads=threads, progress=progress),
        )
    shutil.copyfile(embedded / OCCURRENCES, folder / OCCURRENCES)
    write_arrays(folder / TEXTS, {"blocks": mapped(embedded / _KEPT)})
    vectors = np.memmap(embedded / _VECTORS, np.float16, "r", shape=shape)
    with progress.task("Index", len(selection), "occurrences") as task:
        library = write_vectors(folder / VECTORS, vectors, seed=plan.seed, threads=threads, task=task)
    write_json(folder / WORDS, selection.words, indent=None)
    content = {
        "textlds_version": __version__,
        "occurrences": len(selection),
        "words": len(selection.words),
        "tokens": spool.tokens,
        "sources": [source.name for source in sources],
        "plan": plan.to_json(),
        "vectors": library,
        "model_sha256": model_sum(folder),
    }
    write_config(folder, kind="index", content=content)


def job_of(model: TextLDS, sources: list[Source], reading: ReadSettings, plan: Plan) -> dict[str, Any]:
    """Return what an index is made of: what must match before unfinished work can be resumed."""
    numbers = hashlib.sha256(repr(model.vocabulary.words).encode())
    for array in _arrays(model):
        numbers.update(np.ascontiguousarray(array).data)
    identities = [source.identity() for source in sources]
    return {
        "task": "index", "model": numbers.hexdigest(), "text": model.vocabulary.settings.to_json(),
        "sources": None if None in identities else identities, **reading.to_json(), "plan": plan.to_json(),
    }  # fmt: skip


def _arrays(model: TextLDS) -> list[Array]:
    """Return what a model's vectors follow from."""
    if isinstance(model, PackedModel):
        return list(model.arrays().values())
    lexicon = {} if model.lexicon is None else model.lexicon.arrays()
    return [model.params.A, model.params.C, model.params.Q, *lexicon.values()]


def model_sum(folder: Path) -> str:
    """Return the sum of the model's config.json, which has those of its other files."""
    return hashlib.sha256((folder / MODEL / CONFIG).read_bytes()).hexdigest()


def _read(folder: Path, sources: list[Source], model: TextLDS, progress: Progress) -> None:
    """Copy the corpus into a folder, with the types of its tokens, and count them."""
    folder.mkdir()
    with (folder / "texts").open("wb") as texts, (folder / "types").open("wb") as types:
        spool = Spool(texts, types)
        table = _spool(sources, model, spool, progress).table
    data, offsets = table.word_bytes()
    arrays = {**spool.arrays(), "types": data, "offsets": offsets, "counts": table.counts}
    write_arrays(folder / _ARRAYS, arrays)


def _table(arrays: Mapping[str, Array]) -> TypeTable:
    table = TypeTable()
    if len(arrays["counts"]):
        table.add_bytes(*(np.array(arrays[name]) for name in ("types", "offsets", "counts")))
    return table


def _checked_copy(folder: Path) -> Path:
    """Return a copy of the corpus that an earlier process made, if its numbers belong together."""
    file = folder / _ARRAYS
    arrays = read_arrays(file)
    n, n_texts = len(arrays["counts"]), len(arrays["text_bytes"])
    expect(file, arrays, "offsets", np.int64, n + 1, rising=True)
    expect(file, arrays, "counts", np.int64, n, below=1 << 62)
    expect(file, arrays, "types", np.uint8, int(arrays["offsets"][-1]))
    for name, dtype in (("text_bytes", np.int64), ("text_tokens", np.int64), ("text_line", np.int64)):
        expect(file, arrays, name, dtype, n_texts, below=1 << 62)
    expect(file, arrays, "text_file", np.int32, n_texts, below=1 << 31)
    expect(file, arrays, "text_is_list", np.uint8, n_texts)
    sizes = (folder / "texts").stat().st_size, (folder / "types").stat().st_size
    if sizes != (arrays["text_bytes"].sum(), 4 * arrays["text_tokens"].sum()):
        raise FormatError(f"{folder} holds {sizes} bytes of texts and types, which is not what {file.name} says")
    total = np.zeros(n, np.int64)
    types = np.memmap(folder / "types", np.int32, "r") if sizes[1] else np.empty(0, np.int32)
    for start in range(0, len(types), _CHECKED):
        some = np.array(types[start : start + _CHECKED])
        if some.min() < 0 or some.max() >= n:
            raise FormatError(f"{folder / 'types'} holds types that are not among the {n:,} known")
        total += np.bincount(some, minlength=n)
    try:
        check_words(np.array(arrays["types"]), np.array(arrays["offsets"]))
    except ValueError as error:
        raise FormatError(f"{file} holds types that are not words ({error})") from error
    if len(_table(arrays)) != n or (total != arrays["counts"]).any():
        raise FormatError(f"{folder / 'types'} does not hold what {file.name} counts")
    return folder


def _checked_embedded(folder: Path, selection: Selection, dimensions: int) -> Path:
    """Return what an earlier process embedded, if it belongs together and to these occurrences."""
    file, n = folder / OCCURRENCES, len(selection)
    arrays = read_arrays(file)
    texts = TextReader(arrays, mapped(folder / _KEPT), folder)
    expect(file, arrays, "text", np.int32, n, below=len(texts))
    expect(file, arrays, "position", np.int32, n, below=1 << 31)
    if not np.array_equal(arrays["starts"], selection.starts):
        raise FormatError(f"{file} holds other occurrences than were chosen")
    size = (folder / _VECTORS).stat().st_size
    if size != 2 * n * dimensions:
        raise FormatError(f"{folder / _VECTORS} has {size:,} bytes instead of {2 * n * dimensions:,}")
    vectors = np.memmap(folder / _VECTORS, np.float16, "r", shape=(n, dimensions))
    if not all(np.isfinite(vectors[start : start + _WINDOW]).all() for start in range(0, n, _WINDOW)):
        raise FormatError(f"{folder / _VECTORS} holds numbers that are not finite")
    return folder


def _spool(sources: list[Source], model: TextLDS, spool: Spool, progress: Progress) -> ChunkTokenizer:
    settings = dataclasses.replace(model.vocabulary.settings, boundary_token=None)
    custom = model.encoder.tokenizer
    if (
        settings.tokenizer == "custom" and custom is None
    ):  # lists of tokens need none; a string meets the encoder's error
        settings = dataclasses.replace(settings, tokenizer="whitespace")
    tokenizer = ChunkTokenizer(settings, tokenizer=custom)
    size = 0
    with progress.task("Read", total_size(sources), "bytes") as task:
        for number, text in enumerate(read_texts(sources)):
            if isinstance(text.content, str):
                if model.vocabulary.settings.tokenizer == "custom" and custom is None:
                    model.encoder.encode(text.content)
                ids = tokenizer.ids(text.content.encode("utf-8", "replace"), end=False)
            else:
                ids = tokenizer.ids(separated([text.content]), end=False, separated=True)
            spool.add(text, ids[ids >= 0])
            size += text.size
            if number % _SHOWN_EVERY == 0:
                task.advance(size)
                size = 0
        task.advance(size, f"{spool.tokens:,} tokens")
    return tokenizer


def _embed(
    folder: Path, model: TextLDS, spool: Spool, selection: Selection, recipe: str, *, threads: int, progress: Progress
) -> None:
    """Embed the texts with kept occurrences; write texts, occurrences and vectors."""
    folder.mkdir()
    n = len(selection)
    # float16: a byte a number is all that stays in the end
    vectors = _new_memmap(folder / _VECTORS, (n, model.dimensions(recipe)), np.dtype(np.float16))
    text_of, position_of = np.empty(n, np.int32), np.empty(n, np.int32)
    counter = selection.counter()
    with (folder / _KEPT).open("wb") as kept, progress.task("Embed", spool.tokens, "bytes") as task:
        writer = TextWriter(kept)
        for numbers, contents, types, lengths in spool.windows(_WINDOW):
            rows = np.split(counter.rows(types), np.cumsum(lengths)[:-1])
            some = [i for i, of_text in enumerate(rows) if (of_text != NONE).any()]
            senses = model.embed([contents[i] for i in some], recipe=recipe, threads=threads)
            for i, sense in zip(some, senses, strict=True):
                if len(sense.tokens) != lengths[i]:
                    raise ArgumentError(
                        f"the tokenizer made {lengths[i]} tokens of a text and then {len(sense.tokens)} of the same: "
                        f"{contents[i]!r:.100}. It must always give the same tokens."
                    )
                place = Place(spool.places.file[numbers[i]], spool.places.line[numbers[i]])
                text = writer.add(contents[i], place)
                positions = np.flatnonzero(rows[i] != NONE)
                at = rows[i][positions]
                vectors[at], text_of[at], position_of[at] = sense.vectors[positions], text, positions
            task.advance(sum(lengths), f"{len(writer.places):,} texts")
        arrays = writer.finish()
    arrays |= {"starts": selection.starts, "text": text_of, "position": position_of}
    write_arrays(folder / OCCURRENCES, arrays)
    vectors.flush()


def _new_memmap(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> np.memmap[Any, Any]:
    """Map a new file. Its room on disk is taken at once: later, a full disk would end the process."""
    size = max(shape[0] * shape[1] * dtype.itemsize, 1)
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        file.truncate(size)
    return np.memmap(path, dtype, "r+", shape=shape)
