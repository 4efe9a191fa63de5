"""From a corpus to an index on disk.

The corpus is read once, into a temporary copy beside the index, while its words are counted. Then it is known which
occurrences are kept; the texts they occur in are embedded, and vectors go to their rows in a temporary file (half a
gigabyte per million at h = 128), from which faiss reads them. Memory holds a window of texts, 13 bytes per text, some
bytes per occurrence, and at the end the vectors at a byte per number.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds._version import __version__
from textlds.corpus.reading.opening import Source
from textlds.corpus.reading.texts import read_texts, total_size
from textlds.corpus.tokens.tokenizer import ChunkTokenizer, separated
from textlds.errors import ArgumentError, CorpusError
from textlds.model.textlds import TextLDS
from textlds.progress import Progress
from textlds.search.sampling import NONE, Plan, Selection, select
from textlds.search.senses import SenseSpace
from textlds.search.texts import Place, Spool, TextWriter, mapped
from textlds.search.vectors import write_vectors
from textlds.storage.arrays import write_arrays
from textlds.storage.folders import CONFIG, write_config, write_json

MODEL, WORDS = "model", "words.json"
OCCURRENCES, TEXTS, VECTORS = "occurrences.safetensors", "texts.safetensors", "vectors.faiss"
_WINDOW = 1 << 16  # tokens embedded at a time
_SHOWN_EVERY = 1000  # texts between updates of the progress


def build(folder: Path, model: TextLDS, sources: list[Source], plan: Plan, *, threads: int, progress: Progress) -> None:
    """Write an index into an empty folder."""
    model.save(folder / MODEL)
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        (Path(scratch) / "texts").open("w+b") as texts,
        (Path(scratch) / "types").open("w+b") as types,
    ):
        spool = Spool(texts, types)
        table = _read(sources, model, spool, progress).table
        selection = select(table, model.vocabulary, plan)
        if not len(selection):
            raise CorpusError(
                f"none of the {spool.tokens:,} tokens of the text is to be indexed. Check the text, words and "
                f"min_count (now {plan.min_count})."
            )
        library = _embed(folder, Path(scratch), model, spool, selection, plan, threads=threads, progress=progress)
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


def model_sum(folder: Path) -> str:
    """Return the sum of the model's config.json, which has those of its other files."""
    return hashlib.sha256((folder / MODEL / CONFIG).read_bytes()).hexdigest()


def _read(sources: list[Source], model: TextLDS, spool: Spool, progress: Progress) -> ChunkTokenizer:
    """Read and count the corpus."""
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
    folder: Path,
    scratch: Path,
    model: TextLDS,
    spool: Spool,
    selection: Selection,
    plan: Plan,
    *,
    threads: int,
    progress: Progress,
) -> dict[str, Any]:
    """Embed the texts with kept occurrences; write texts, occurrences and vectors."""
    space = SenseSpace(model, recipe=plan.recipe)
    n = len(selection)
    # float16: a byte a number is all that stays in the end
    vectors = _new_memmap(scratch / "vectors", (n, space.dimensions), np.dtype(np.float16))
    text_of, position_of = np.empty(n, np.int32), np.empty(n, np.int32)
    counter = selection.counter()
    with (scratch / "kept").open("wb") as kept, progress.task("Embed", spool.tokens, "bytes") as task:
        writer = TextWriter(kept)
        for numbers, contents, types, lengths in spool.windows(_WINDOW):
            rows = np.split(counter.rows(types), np.cumsum(lengths)[:-1])
            some = [i for i, of_text in enumerate(rows) if (of_text != NONE).any()]
            senses = space.embed([contents[i] for i in some], threads=threads)
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
    write_arrays(folder / TEXTS, {"blocks": mapped(scratch / "kept")})
    with progress.task("Index", n, "occurrences") as task:
        return write_vectors(folder / VECTORS, vectors, seed=plan.seed, threads=threads, task=task)


def _new_memmap(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Map a new file. Its room on disk is taken at once: later, a full disk would end the process."""
    size = max(shape[0] * shape[1] * dtype.itemsize, 1)
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        file.truncate(size)
    return np.memmap(path, dtype, "r+", shape=shape)
