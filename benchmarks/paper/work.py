"""What studies share and what is dear to make: pieces of text, counts, models, word2vec vectors.

All of it lies in one folder, under names made from what decides the content, and is made when it is first asked for.
The names know the version of textlds, not its code: after changing that, begin with an empty folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.paper.data import sha256
from benchmarks.paper.spelling import spelt_features
from benchmarks.texts import BYTES_A_TOKEN
from textlds.corpus.encoding import Encoder
from textlds.corpus.reading.opening import open_sources
from textlds.evaluation.features import Features, word_features
from textlds.learn.run import FitStep
from textlds.lexicon.brown import brown_clusters
from textlds.progress import Progress, SilentProgress
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import new_file


@dataclass(frozen=True)
class Corpus:
    """Unlabelled text and how it is counted.

    Attributes:
        paths: The files; only the first is cut.
        tokens: How much of the first file, about; None is all.
        count: Arguments of :func:`textlds.count`.
    """

    paths: tuple[Path, ...]
    tokens: float | None = None
    count: Mapping[str, Any] = field(default_factory=dict)


class Workspace:
    """A folder of things that are made once.

    Args:
        folder: Where they lie.
        threads: For making them.
        progress: Shows how it goes.
    """

    def __init__(self, folder: Path, *, threads: int = 1, progress: Progress | None = None) -> None:
        self.folder, self.threads = folder, threads
        self._progress: Progress = progress or SilentProgress()
        self._sums: dict[str, str] = {}
        self._counts: tuple[str, textlds.LagCounts] | None = None

    def sha256(self, path: Path) -> str:
        """Return the SHA-256 sum of a file, computed once a run."""
        key = str(path.resolve())
        if key not in self._sums:
            self._sums[key] = sha256(path)
        return self._sums[key]

    def texts(self, corpus: Corpus) -> list[Path]:
        """Return the files of a corpus, the first one cut if it is to be."""
        if corpus.tokens is None:
            return list(corpus.paths)
        path = self._place("text", {"text": self.sha256(corpus.paths[0]), "tokens": corpus.tokens}, ".txt")
        if not path.exists():
            with new_file(path) as file:
                _copy_beginning(corpus.paths[0], int(corpus.tokens * BYTES_A_TOKEN), file.write)
        return [path, *corpus.paths[1:]]

    def counts(self, corpus: Corpus) -> textlds.LagCounts:
        """Return the counts of a corpus."""
        path = self._place("counts", self._identity(corpus))
        if self._counts is None or self._counts[0] != path.name:  # one at a time: they are large
            if not path.exists():
                of_text = {
                    name: value for name, value in corpus.count.items() if name in textlds.TextSettings.options()
                }
                others = {name: value for name, value in corpus.count.items() if name not in of_text}
                counts = textlds.count(
                    self.texts(corpus), text=textlds.TextSettings(**of_text),
                    counting=textlds.CountSettings(**others), threads=self.threads, progress=self._progress,
                )  # fmt: skip
                counts.save(path)
            self._counts = path.name, textlds.LagCounts.load(path)
        return self._counts[1]

    def model(self, corpus: Corpus, **fit: Any) -> textlds.TextLDS:
        """Return the model that :func:`textlds.fit` makes of a corpus with these arguments."""
        path = self._place("model", {**self._identity(corpus), "fit": fit})
        if not path.exists():
            counts = self.counts(corpus)
            settings = textlds.FitSettings(**fit)
            textlds.fit(counts, settings=settings, threads=self.threads, progress=self._progress).save(path)
        return textlds.load(path)

    def models(self, corpus: Corpus, stops: Sequence[int], **fit: Any) -> dict[int, Path]:
        """Return folders of the model as it stood after these iterations of one fit, 0 being its start."""
        folder = self._place("models", {**self._identity(corpus), "fit": fit})
        paths = {stop: folder / f"iteration-{stop}" for stop in stops}
        if all(path.exists() for path in paths.values()):
            return paths

        def save(step: FitStep) -> bool:
            if step.iteration in paths and not paths[step.iteration].exists():
                step.model().save(paths[step.iteration])
            return step.iteration >= max(stops)

        settings = textlds.FitSettings(**{**fit, "iterations": max(stops)})
        counts = self.counts(corpus)
        textlds.fit(counts, settings=settings, callback=save, threads=self.threads, progress=self._progress)
        return paths

    def word2vec(
        self, corpus: Corpus, *, size: int, window: int, epochs: int, seed: int = 0, by_spelling: bool = False
    ) -> Features:
        """Return gensim's CBOW vectors, of length one, learnt from the very rows that were counted.

        With ``by_spelling``, rare and unknown words are read as textlds reads them.
        """
        settings = {"size": size, "window": window, "epochs": epochs, "seed": seed}
        path = self._place("word2vec", {**self._identity(corpus), **settings}, ".safetensors")
        counts = self.counts(corpus)
        if not path.exists():
            self._train_word2vec(corpus, path, **settings)
        table = np.array(read_arrays(path)["table"])
        if by_spelling:
            return spelt_features(counts, table, threads=self.threads)
        return word_features(counts.vocabulary, table)

    def clusters(self, corpus: Corpus, n: int) -> tuple[textlds.Vocabulary, list[str]]:
        """Return the vocabulary and the Brown cluster of each of its rows, a path of zeros and ones."""
        counts = self.counts(corpus)
        identity = {**self._identity(corpus), "clusters": n}
        paths = self.json("brown", identity, lambda: brown_clusters(counts, n, progress=self._progress))
        return counts.vocabulary, paths

    def json(self, kind: str, identity: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        """Return JSON content that ``identity`` decides, such as the tags that a tagger predicts."""
        path = self._place(kind, identity, ".json")
        if not path.exists():
            content = make()
            with new_file(path, text=True) as file:
                json.dump(content, file, ensure_ascii=False)
        return json.loads(path.read_text(encoding="utf-8"))

    def _train_word2vec(self, corpus: Corpus, path: Path, *, size: int, window: int, epochs: int, seed: int) -> None:
        from gensim.models import Word2Vec

        words = self.counts(corpus).vocabulary.words
        with self._progress.task("word2vec", None) as task:
            model = Word2Vec(
                corpus_file=str(self._encoded(corpus)), vector_size=size, window=window, epochs=epochs, seed=seed + 1,
                sg=0, negative=10, min_count=1, workers=self.threads,
            )  # fmt: skip
            task.advance(0, f"{size} dimensions, window {window}, {epochs} epochs")
        table = np.zeros((len(words), size), np.float32)
        for i, word in enumerate(words):
            if word in model.wv:
                table[i] = model.wv[word] / max(float(np.linalg.norm(model.wv[word])), 1e-30)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        write_arrays(partial, {"table": table})
        partial.replace(path)

    def _encoded(self, corpus: Corpus) -> Path:
        """Return a file of the words of a corpus as they were counted, unknown ones by their class, a line per line."""
        path = self._place("encoded", self._identity(corpus), ".txt")
        if not path.exists():
            vocabulary = self.counts(corpus).vocabulary
            words, encoder = np.array(vocabulary.words, dtype=object), Encoder(vocabulary)
            with new_file(path, text=True) as file:
                for text in self.texts(corpus):
                    for lines in _lines(text):
                        for encoded in encoder.encode_many(lines):
                            if len(encoded.ids):
                                file.write(" ".join(words[encoded.ids].tolist()) + "\n")
        return path

    def _identity(self, corpus: Corpus) -> dict[str, Any]:
        sums = [self.sha256(path) for path in corpus.paths]
        return {"texts": sums, "tokens": corpus.tokens, "count": dict(corpus.count)}

    def _place(self, kind: str, identity: Mapping[str, Any], suffix: str = "") -> Path:
        content = json.dumps({**identity, "textlds": textlds.__version__}, sort_keys=True, default=str)
        return self.folder / f"{kind}-{hashlib.sha256(content.encode()).hexdigest()[:12]}{suffix}"


def _copy_beginning(path: Path, size: int, write: Callable[[bytes], Any]) -> None:
    """Write the whole lines with which the first ``size`` bytes of a text begin."""
    (source,) = open_sources([path])
    for chunk in source.chunks():
        data = chunk.data
        if len(data) >= size:
            end = data.find(b"\n", max(size - 1, 0))
            write(data if end < 0 else data[: end + 1])
            return
        write(data)
        size -= len(data)


def _lines(path: Path) -> Iterator[list[str]]:
    """Yield the lines of a text, compressed or not, some thousands at a time."""
    (source,) = open_sources([path])
    for chunk in source.chunks():
        yield chunk.data.decode("utf-8").split("\n")
