"""What the lexicon says of new words, and what it costs, for benchmarks/meaning.py."""

from __future__ import annotations

import multiprocessing
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textlds
from textlds.counts.lagcounts import LagCounts
from textlds.learn.moments import word_moments
from textlds.learn.sketch import sketch
from textlds.lexicon.cooccurrences import cooccurrences
from textlds.lexicon.meaning import CORE, TRUST, fit_contexts, make_meaning
from textlds.lexicon.spelling import fit_spelling
from textlds.lexicon.unknown import spelt
from textlds.lexicon.windows import window_weights
from textlds.linalg.sphere import on_sphere
from textlds.model.words import mixed_vectors

Table = NDArray[np.float32]
_BANDS = ((20, 100), (100, 1000), (1000, 10_000), (10_000, 1_000_000))
_AROUND = 80  # words on either side
_CONTEXTS = (1, 4, 16)
_DIMENSIONS, _SKETCH = 300, 900


def new_words(
    model: textlds.TextLDS, counts: Path, held_out: Path, threads: int, hidden: int = 1000
) -> list[dict[str, Any]]:
    """Hide known words of each frequency band from both regressions, and predict them from a few contexts."""
    meaning = model.lexicon.meaning if model.lexicon else None
    if meaning is None:
        raise SystemExit("the model has no meaning.")
    occurrences, rng = model.words.counts, np.random.default_rng(0)
    lines = [line for line in held_out.read_text(encoding="utf-8").split("\n") if len(line) > 50]
    texts = model.encoder.encode_many(lines)
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, text in enumerate(texts):
        for at, row in enumerate(text.ids.tolist()):
            places[row].append((number, at))
    bands = []
    for low, high in _BANDS:
        rows = [r for r in places if r < len(occurrences) and low <= occurrences[r] < high]
        rows = [r for r in rows if len(places[r]) >= min(_CONTEXTS)]
        bands.append([rows[i] for i in rng.permutation(len(rows))[:hidden]])
    seen = occurrences.copy()
    seen[[row for band in bands for row in band]] = 0
    spelling = fit_spelling(list(model.words), seen, meaning.vectors, threads=threads)
    contexts = _contexts_without(model, counts, seen, threads)
    found = []
    for (low, high), band in zip(_BANDS, bands, strict=True):
        truth = meaning.vectors[band]
        spelled = spelt([model.vocabulary.words[row] for row in band], spelling, model.vocabulary)
        row: dict[str, Any] = {"from": low, "to": high, "words": len(band), "spelling": _mean_cosine(spelled, truth)}
        for n in _CONTEXTS:
            often = np.array([len(places[word]) >= n for word in band])
            some = [word for word, enough in zip(band, often, strict=True) if enough]
            if len(some) < 100:
                continue
            vectors = on_sphere(np.array([_average(model, texts, places[word], n, rng) for word in some]) @ contexts)
            row[f"contexts: {n}"] = _mean_cosine(vectors, truth[often])
            row[f"both: {n}"] = _mean_cosine(mixed_vectors(spelled[often], vectors, n), truth[often])
        found.append(row)
    return found


def _mean_cosine(vectors: Table, truth: Table) -> float:
    return round(float(np.einsum("ij,ij->i", on_sphere(vectors), truth).mean()), 3) if len(truth) else 0.0


def _average(
    model: textlds.TextLDS, texts: Sequence[Any], places: Sequence[tuple[int, int]], n: int, rng: np.random.Generator
) -> Table:
    """Return the mean topic of some of the places where a word occurs, as ``Words.infer`` takes it."""
    space = model.spaces.space("float32", "equal").meaning
    sums = []
    for i in rng.choice(len(places), n, replace=False):
        number, at = places[i]
        first = max(at - _AROUND, 0)
        ids = texts[number].ids[first : at + _AROUND + 1]
        sums.append(space.sums(ids, [], np.zeros(1, np.int64), ahead=True, threads=1)[at - first])
    average: Table = on_sphere(np.array(sums)).mean(axis=0)
    return average


def _contexts_without(model: textlds.TextLDS, path: Path, seen: NDArray[Any], threads: int) -> Table:
    """Return the map from contexts that is fitted without the hidden words."""
    counts, core = LagCounts.load(path), min(CORE, len(model.words))
    shape = window_weights(model.history.settings.get("meaning_window", "triangular"), len(counts.lags))
    near = cooccurrences(counts.lags, shape, rows=(0, core), columns=core, threads=threads)
    vectors = model.spaces.space("float32", "equal").meaning.words
    return fit_contexts(near, vectors, model.frequencies, seen[:core] / (seen[:core] + TRUST))


def learnt(path: Path, size: int, threads: int, window: str = "near") -> NDArray[np.float32]:
    """Return meaning with so many numbers per word and such a window, from counts, as a fit learns it."""
    counts = LagCounts.load(path)
    rng = np.random.default_rng([0, 5])
    made = make_meaning(counts.lags, counts.unigrams, counts.vocabulary, size, window=window, rng=rng, threads=threads)
    return made.vectors


def cost(counts: Path) -> dict[str, Any]:
    """Measure meaning and the sketch on the same counts, one thread, in a process of its own each."""
    found: dict[str, Any] = {}
    for name, work in (("meaning", _make_meaning), ("sketch", _make_sketch)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[name] = pool.apply(_measured, (counts, work))
    return found


def _measured(path: Path, work: Callable[[LagCounts], None]) -> dict[str, Any]:
    counts = LagCounts.load(path)
    loaded, began = _peak(), time.process_time()
    work(counts)
    seconds = time.process_time() - began
    return {"processor seconds": round(seconds, 3), "peak bytes": _peak(), "bytes of the counts": loaded}


def _peak() -> int:
    """Return the largest memory of this process; ru_maxrss of a child begins with that of its parent."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def _make_meaning(counts: LagCounts) -> None:
    rng = np.random.default_rng(0)
    make_meaning(counts.lags, counts.unigrams, counts.vocabulary, _DIMENSIONS, rng=rng, threads=1)


def _make_sketch(counts: LagCounts) -> None:
    moments = word_moments(counts.unigrams, counts.lags, threads=1)
    sketch(moments, _SKETCH, rng=np.random.default_rng(0), threads=1)
