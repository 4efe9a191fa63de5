"""Word vectors of others, learnt from the tokens that were counted, for benchmarks/meaning.py.

word2vec is gensim's. fastText is its own C++ as floret packs it: skip-gram with subwords, its default, in two epochs,
because it takes several times as long as gensim's skip-gram. GloVe is missing: no package of it can be installed with
Python 3.11. glove-python, glove_python3 and glovepy carry C code generated for older versions, glove and glove-py do
not build, and mittens wants a dense V x V matrix.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Encoder
from textlds.corpus.reading.opening import open_sources
from textlds.corpus.reading.texts import read_texts
from textlds.corpus.vocabulary import Vocabulary
from textlds.linalg.sphere import on_sphere

Table = NDArray[np.float32]
Lookup = Callable[[str], NDArray[np.float32]]
SETTINGS: dict[str, dict[str, Any]] = {
    "CBOW, window 5": {"sg": 0, "window": 5},
    "skip-gram, window 5": {"sg": 1, "window": 5},
    "CBOW, window 1": {"sg": 0, "window": 1},
    "skip-gram, window 1": {"sg": 1, "window": 1},
    "fastText, window 5, two epochs": {"sg": 1, "window": 5, "fasttext": True, "epochs": 2},
}
_LINES = 2000  # encoded at a time
_LONGEST = 10_000  # tokens of a line that gensim reads


@dataclass(frozen=True, eq=False)
class Contender:
    """Vectors of words, all of length one.

    Attributes:
        table: Of the known words, (V, size).
        unknown: Of words beyond the vocabulary, (n, size), in the order they were asked for; None without any.
        seconds: Processor time of learning them; None if it was not measured.
    """

    table: Table
    unknown: Table | None = None
    seconds: float | None = None


def peer(
    name: str,
    text: Path,
    vocabulary: Vocabulary,
    work: Path,
    *,
    unknown: Sequence[str],
    size: int,
    epochs: int,
    threads: int,
) -> Contender:
    """Return the vectors of a peer, trained with the defaults of its library unless the working folder has them."""
    path = work / f"{name.replace(', ', '-').replace(' ', '-')}-{size}-{epochs}.npz"
    if not path.exists():
        file = _encoded(text, vocabulary, work)
        made = _train(SETTINGS[name], file, vocabulary, unknown, size, epochs, threads)
        np.savez(path, **{key: array for key, array in vars(made).items() if array is not None})
    stored = np.load(path)
    return Contender(stored["table"], stored.get("unknown"), round(float(stored["seconds"]), 1))


def _train(
    settings: dict[str, Any],
    file: Path,
    vocabulary: Vocabulary,
    unknown: Sequence[str],
    size: int,
    epochs: int,
    threads: int,
) -> Contender:
    train = _fasttext if settings.get("fasttext") else _word2vec
    began = time.process_time()
    vector = train(file, settings, size, settings.get("epochs", epochs), threads)
    seconds = time.process_time() - began
    table = np.array([vector(word) for word in vocabulary.words], np.float32)
    spelled = on_sphere(np.array([vector(word) for word in unknown], np.float32)) if train is _fasttext else None
    return Contender(on_sphere(table), spelled, seconds)


def _word2vec(file: Path, settings: dict[str, Any], size: int, epochs: int, threads: int) -> Lookup:
    from gensim.models import Word2Vec

    vectors = Word2Vec(
        corpus_file=str(file), vector_size=size, window=settings["window"], sg=settings["sg"], epochs=epochs,
        min_count=1, workers=threads, seed=1,
    ).wv  # fmt: skip
    return lambda word: vectors[word] if word in vectors.key_to_index else np.zeros(size, np.float32)


def _fasttext(file: Path, settings: dict[str, Any], size: int, epochs: int, threads: int) -> Lookup:
    import floret

    vectors = floret.train_unsupervised(
        str(file), model="skipgram" if settings["sg"] else "cbow", mode="fasttext", dim=size, ws=settings["window"],
        epoch=epochs, minCount=1, thread=threads, verbose=0,
    )  # fmt: skip
    lookup: Lookup = vectors.get_word_vector
    return lookup


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

    unfinished = work / f"tokens-{os.getpid()}.txt"  # other runs may be at it too
    with unfinished.open("w", encoding="utf-8") as file:
        for one in read_texts(open_sources([text])):
            lines.append(one.content)
            if len(lines) == _LINES:
                write(file)
        write(file)
    unfinished.replace(path)
    done.write_text(json.dumps({"text": text.name}))
    return path
