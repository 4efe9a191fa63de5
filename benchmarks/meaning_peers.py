"""Word vectors of others, learnt from the tokens that were counted, for benchmarks/meaning.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Encoder
from textlds.corpus.reading.opening import open_sources
from textlds.corpus.reading.texts import read_texts
from textlds.corpus.vocabulary import Vocabulary

Table = NDArray[np.float32]
SETTINGS: dict[str, dict[str, Any]] = {
    "CBOW, window 5": {"sg": 0, "window": 5},
    "skip-gram, window 5": {"sg": 1, "window": 5},
    "CBOW, window 1": {"sg": 0, "window": 1},
    "skip-gram, window 1": {"sg": 1, "window": 1},
    "fastText, window 5": {"sg": 1, "window": 5, "fasttext": True},
}
_LINES = 2000  # encoded at a time
_LONGEST = 10_000  # tokens of a line that gensim reads


def peer_table(
    name: str, text: Path, vocabulary: Vocabulary, work: Path, *, size: int, epochs: int, threads: int
) -> Table:
    """Return a vector of length one for every row, (V, size); trained unless the working folder has it."""
    path = work / f"{name.replace(', ', '-').replace(' ', '-')}-{size}-{epochs}.npy"
    if not path.exists():
        np.save(path, _train(SETTINGS[name], _encoded(text, vocabulary, work), vocabulary, size, epochs, threads))
    table: Table = np.load(path)
    return table


def _train(settings: dict[str, Any], file: Path, vocabulary: Vocabulary, size: int, epochs: int, threads: int) -> Table:
    from gensim.models import FastText, Word2Vec

    make = FastText if settings.get("fasttext") else Word2Vec
    model = make(
        corpus_file=str(file), vector_size=size, window=settings["window"], sg=settings["sg"], epochs=epochs,
        negative=10, min_count=1, workers=threads, seed=1,
    )  # fmt: skip
    table = np.zeros((len(vocabulary), size), np.float32)
    for row, word in enumerate(vocabulary.words):
        if word in model.wv.key_to_index:
            table[row] = model.wv[word] / max(float(np.linalg.norm(model.wv[word])), 1e-30)
    return table


def _encoded(text: Path, vocabulary: Vocabulary, work: Path) -> Path:
    """Write the rows that were counted as words, a line per text; unknown words by the names of their classes."""
    path, done = work / "tokens.txt", work / "tokens.json"
    if done.exists():
        return path
    encoder = Encoder(vocabulary)
    lines: list[Any] = []

    def write(file: Any) -> None:
        for encoded in encoder.encode_many(lines):
            words = [vocabulary.words[row] for row in encoded.ids.tolist()]
            for start in range(0, len(words), _LONGEST):
                file.write(" ".join(words[start : start + _LONGEST]) + "\n")
        lines.clear()

    with path.open("w", encoding="utf-8") as file:
        for one in read_texts(open_sources([text])):
            lines.append(one.content)
            if len(lines) == _LINES:
                write(file)
        write(file)
    done.write_text(json.dumps({"text": text.name}))
    return path
