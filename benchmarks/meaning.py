"""Meaning: how well vectors of words agree with people, in context and for new words, and what they cost.

    python -m benchmarks.meaning TEXT --model MODEL --similarity FOLDER [--counts COUNTS] [--peers ...]
                                 [--held-out FILE] [--sections ...] [--work FOLDER] [--results FOLDER]

similarity  Spearman's correlation with people's judgements, for the model and for peers that learn from the same text.
            Choices were made on one half of each set (by a hash of the pair); the other half is reported
context     SCWS, the other half: with and without the context, and how often a bootstrap over pairs reverses the order
analogies   Google's: king - man + woman, over the 50,000 most frequent words
ambiguous   neighbours of ambiguous words in two contexts each, for anyone to judge
new words   known words of HELD-OUT hidden from the regressions: cosine of what spelling and contexts predict with the
            vector from all the text
cost        processor time and peak memory of meaning and of the sketch, from COUNTS

`benchmarks/requirements.txt` lists the peers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import textlds
from benchmarks.meaning_peers import SETTINGS, peer_table
from benchmarks.meaning_report import page
from textlds.evaluation.data import read_pairs, read_scws
from textlds.evaluation.measures import spearman
from textlds.lexicon.meaning import make_meaning, passage_mean, word_weights
from textlds.lexicon.spelling import fit_spelling
from textlds.lexicon.unknown import spelt
from textlds.linalg.sphere import on_sphere

Table = NDArray[np.float32]
SECTIONS = ("similarity", "context", "analogies", "ambiguous", "new words", "cost")
SETS = {"SimLex-999": "*SIMLEX*", "WS-353": "*WS-353-ALL*", "MEN": "*MEN*", "RW": "*RW*", "SimVerb": "*SimVerb*"}
CONTEXTS = Path(__file__).with_name("ambiguous.tsv")
_FREQUENT = 50_000  # words: those that the vectors of meaning are factorised over
_BANDS = ((20, 100), (100, 1000), (1000, 10_000), (10_000, 1_000_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--peers", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--work", type=Path, default=Path("work"), help="folder for the peers' vectors, kept")
    parser.add_argument(
        "--results", type=Path, help="folder for meaning.json and meaning.md; what is there is added to"
    )
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    model = textlds.load(arguments.model)
    path = arguments.results / "meaning.json" if arguments.results else None
    results: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}
    tokens = model.history.settings.get("tokens")
    results["model"] = {"state_size": model.state_size, "tokens": tokens, "words": len(model.words)}
    tables = _tables(arguments, model)
    run: dict[str, Callable[[], Any]] = {
        "similarity": lambda: {name: similarity(arguments, model, table) for name, table in tables.items()},
        "context": lambda: context(arguments, model),
        "analogies": lambda: {name: analogies(arguments, model, table) for name, table in tables.items()},
        "ambiguous": lambda: ambiguous(model),
        "new words": lambda: new_words(arguments, model) if arguments.held_out and arguments.counts else None,
        "cost": lambda: cost(arguments) if arguments.counts else None,
    }
    for section in arguments.sections:
        found = run[section]()
        if found is not None:
            results[section] = found
            print(section, json.dumps(found, indent=1)[:3000], flush=True)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            path.with_suffix(".md").write_text(page(results), encoding="utf-8")


def _tables(arguments: argparse.Namespace, model: textlds.TextLDS) -> dict[str, Table]:
    """Return the vectors that are compared, a row per known word."""
    found = {"meaning": model.words.vectors, "use": model.words.use.vectors}
    if {"similarity", "analogies"} & set(arguments.sections):
        for name in arguments.peers:
            table = peer_table(
                name, arguments.text, model.vocabulary, arguments.work,
                size=model.state_size, epochs=arguments.epochs, threads=arguments.threads,
            )  # fmt: skip
            found[name] = table[: len(model.words)]
    return found


def chosen_on(*words: str) -> bool:
    """Tell whether a pair is in the half that choices were made on."""
    return hashlib.sha256(" ".join(words).encode()).digest()[0] % 2 == 0


def similarity(arguments: argparse.Namespace, model: textlds.TextLDS, table: Table) -> dict[str, Any]:
    """Return the correlations on the half that nothing was chosen on, and how many of its pairs were found."""
    found: dict[str, Any] = {}
    for name, pattern in SETS.items():
        (file,) = arguments.similarity.glob(pattern)
        pairs = [pair for pair in read_pairs(file) if not chosen_on(pair.first, pair.second)]
        known = [pair for pair in pairs if pair.first in model.words and pair.second in model.words]
        rows = np.array([[model.words.row(pair.first), model.words.row(pair.second)] for pair in known])
        cosines = np.einsum("ij,ij->i", table[rows[:, 0]], table[rows[:, 1]])
        scores = np.array([pair.score for pair in known])
        frequent = (rows < _FREQUENT).all(axis=1)
        found[name] = {
            "rho": round(100 * spearman(scores, cosines).rho, 1),
            "found": len(known),
            "pairs": len(pairs),
            "rho of frequent": round(100 * spearman(scores[frequent], cosines[frequent]).rho, 1),
            "frequent": int(frequent.sum()),
        }
    return found


def context(arguments: argparse.Namespace, model: textlds.TextLDS, rounds: int = 1000) -> dict[str, Any]:
    """Compare words in context with words alone on SCWS."""
    (file,) = arguments.similarity.glob("scws*")
    every = read_scws(file)
    pairs = [pair for number, pair in enumerate(every, start=1) if not chosen_on(str(number))]
    texts = [place.tokens for pair in pairs for place in (pair.first, pair.second)]
    positions = [place.position for pair in pairs for place in (pair.first, pair.second)]
    scores = np.array([pair.score for pair in pairs])
    cosines = {}
    for name, recipe in (("word", "word_meaning"), ("word in context", "meaning"), ("state", "context")):
        vectors = [t.vectors[p] for t, p in zip(model.embed(texts, recipe=recipe), positions, strict=True)]
        unit = on_sphere(np.array(vectors))
        cosines[name] = np.einsum("ij,ij->i", unit[::2], unit[1::2])
    rng = np.random.default_rng(0)
    better = 0
    for _ in range(rounds):
        sample = rng.integers(len(pairs), size=len(pairs))
        with_context, without = (spearman(scores[sample], cosines[n][sample]).rho for n in ("word in context", "word"))
        better += with_context > without
    rho = {name: round(100 * spearman(scores, values).rho, 1) for name, values in cosines.items()}
    return {"rho": rho, "pairs": len(pairs), "bootstrap samples in which context is better": better / rounds}


def analogies(arguments: argparse.Namespace, model: textlds.TextLDS, table: Table, limit: int = 50_000) -> Any:
    """Return the share of Google's questions answered right, by kind, among those whose words are known."""
    rows = {word: row for row, word in enumerate(list(model.words)[:limit])}
    X = table[:limit]
    questions: dict[str, list[list[int]]] = defaultdict(list)
    kind = "semantic"
    for line in (arguments.similarity / "questions-words.txt").read_text().splitlines():
        if line.startswith(":"):
            kind = "syntactic" if line.startswith(": gram") else "semantic"
        elif all(word in rows for word in line.split()):
            questions[kind].append([rows[word] for word in line.split()])
    found = {}
    for kind, asked in questions.items():
        right = 0
        for start in range(0, len(asked), 256):
            a, b, c, d = np.array(asked[start : start + 256]).T
            products = on_sphere(X[b] - X[a] + X[c]) @ X.T
            for given in (a, b, c):
                products[np.arange(len(given)), given] = -2
            right += int((products.argmax(axis=1) == d).sum())
        found[kind] = {"right": round(100 * right / max(len(asked), 1), 1), "questions": len(asked)}
    return found


def ambiguous(model: textlds.TextLDS) -> list[list[str]]:
    """Return words with a context and their neighbours in it."""
    rows = []
    for line in CONTEXTS.read_text(encoding="utf-8").splitlines():
        word, text = line.split("\t")
        if word in model.words:
            rows.append([word, text, ", ".join(name for name, _ in model.similar(word, context=text, n=6))])
    return rows


def new_words(arguments: argparse.Namespace, model: textlds.TextLDS, hidden: int = 1000) -> list[dict[str, Any]]:
    """Hide known words of each frequency band from both regressions, and predict them from a few contexts."""
    meaning = model.lexicon.meaning if model.lexicon else None
    if meaning is None:
        raise SystemExit("the model has no meaning.")
    counts, rng = model.words.counts, np.random.default_rng(0)
    lines = [line for line in arguments.held_out.read_text(encoding="utf-8").split("\n") if len(line) > 50]
    texts = model.encoder.encode_many(lines)
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, text in enumerate(texts):
        for at, row in enumerate(text.ids.tolist()):
            places[row].append((number, at))
    bands = []
    for low, high in _BANDS:
        rows = [r for r in places if r < len(counts) and low <= counts[r] < high and len(places[r]) >= 4]
        bands.append([rows[i] for i in rng.permutation(len(rows))[:hidden]])
    seen = counts.copy()
    seen[[row for band in bands for row in band]] = 0
    spelling = fit_spelling(list(model.words), seen, meaning.vectors, threads=arguments.threads)
    contexts = _contexts_without(arguments, model, seen)
    found = []
    for (low, high), band in zip(_BANDS, bands, strict=True):
        truth = meaning.vectors[band]
        spelled = spelt([model.vocabulary.words[row] for row in band], spelling, model.vocabulary)
        row: dict[str, Any] = {"from": low, "to": high, "words": len(band), "spelling": _mean_cosine(spelled, truth)}
        for n in (1, 4):
            vectors = np.array([_average(model, texts, places[word], n, rng) for word in band]) @ contexts
            mixed = n / (n + 4) * on_sphere(vectors) + 4 / (n + 4) * spelled
            row[f"{n} contexts"] = _mean_cosine(vectors, truth)
            row[f"both, {n} contexts"] = _mean_cosine(mixed, truth)
        found.append(row)
    return found


def _mean_cosine(vectors: Table, truth: Table) -> float:
    return round(float(np.einsum("ij,ij->i", on_sphere(vectors), truth).mean()), 3) if len(truth) else 0.0


def _average(
    model: textlds.TextLDS, texts: Sequence[Any], places: Sequence[tuple[int, int]], n: int, rng: Any
) -> Table:
    space = model.spaces.space("float32", "equal").meaning
    sums = []
    for i in rng.choice(len(places), n, replace=False):
        number, at = places[i]
        first = max(at - 80, 0)
        ids = texts[number].ids[first : at + 81]
        sums.append(space.sums(ids, [], np.zeros(1, np.int64), ahead=True, threads=1)[at - first])
    average: Table = on_sphere(np.array(sums)).mean(axis=0)
    return average


def _contexts_without(arguments: argparse.Namespace, model: textlds.TextLDS, seen: NDArray[Any]) -> Table:
    """Return the map from contexts without the hidden words, from the counts."""
    from textlds.counts.lagcounts import LagCounts
    from textlds.lexicon.cooccurrences import cooccurrences
    from textlds.lexicon.meaning import window_shape

    counts = LagCounts.load(arguments.counts)
    vectors, core = model.words.vectors, min(50_000, len(model.words))
    M = cooccurrences(
        counts.lags, window_shape(len(counts.lags)), rows=(0, core), columns=core, threads=arguments.threads
    )
    f = model.frequencies
    summands = vectors * word_weights(f)[: len(vectors), None] - passage_mean(vectors, f[: len(vectors)])
    sums = M.marginals()[0]
    averages = M.matmat(np.ascontiguousarray(summands[:core])) / np.maximum(sums, 1e-9)[:, None].astype(np.float32)
    weighted = averages * (seen[:core] / (seen[:core] + 100)).astype(np.float32)[:, None]
    left, right = weighted.T @ averages, weighted.T @ vectors[:core]
    left += 0.01 * np.trace(left) / len(left) * np.eye(len(left), dtype=np.float32)
    solved: Table = np.linalg.solve(left, right).astype(np.float32)
    return solved


def cost(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the meaning of the counts, in a process of its own each, and the sketch beside it."""
    import multiprocessing

    found = {}
    for name, work in (("meaning", _meaning_cost), ("sketch", _sketch_cost)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[name] = pool.apply(work, (str(arguments.counts),))
    return found


def _measured(path: str, work: Callable[[Any], Any]) -> dict[str, Any]:
    import resource

    from textlds.counts.lagcounts import LagCounts

    counts = LagCounts.load(path)
    began = time.process_time()
    work(counts)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"tokens": int(counts.tokens), "processor seconds": round(seconds, 1), "peak bytes": peak}


def _meaning_cost(path: str) -> dict[str, Any]:
    def work(counts: Any) -> None:
        make_meaning(counts.lags, counts.unigrams, counts.vocabulary, 200, rng=np.random.default_rng(0), threads=1)

    return _measured(path, work)


def _sketch_cost(path: str) -> dict[str, Any]:
    from textlds.learn.moments import word_moments
    from textlds.learn.sketch import sketch

    def work(counts: Any) -> None:
        moments = word_moments(counts.unigrams, counts.lags, threads=1)
        sketch(moments, 900, rng=np.random.default_rng(0), threads=1)

    return _measured(path, work)


if __name__ == "__main__":
    main()
