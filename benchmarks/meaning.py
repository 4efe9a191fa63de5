"""Meaning: how well vectors of words agree with people, in context and for new words, and what they cost.

    python -m benchmarks.meaning TEXT --model MODEL --similarity FOLDER [--counts COUNTS ...] [--peers ...]
                                 [--peer-dimensions 200 300] [--dimensions 200 400] [--windows 1,1]
                                 [--held-out FILE] [--sections ...] [--work FOLDER] [--results FOLDER]

similarity  Spearman's correlation with people's judgements, for the model and for peers that learn from the same text.
            Choices were made on one half of each set (by a hash of the pair); the other half is reported, and the whole
            set beside it. A bootstrap over the pairs says how often meaning is above a peer. A run for each amount of
            text stands in the results
context     SCWS, the other half: with and without the context, and how often a bootstrap over pairs reverses the order
analogies   Google's: king - man + woman, over the 50,000 most frequent words
ambiguous   neighbours of ambiguous words in two contexts each, for anyone to judge
new words   known words of HELD-OUT hidden from the regressions: cosine of what spelling and contexts predict with the
            vector from all the text, which the first of COUNTS are of
cost        processor time and peak memory of meaning and of the sketch, from each of COUNTS

`benchmarks/requirements.txt` lists the peers.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import textlds
from benchmarks.meaning_lexicon import cost, learnt, new_words
from benchmarks.meaning_peers import SETTINGS, Contender, peer
from benchmarks.meaning_report import page
from textlds.counts.lagcounts import LagCounts
from textlds.evaluation.data import Pair, read_pairs, read_scws
from textlds.evaluation.measures import spearman
from textlds.lexicon.meaning import CORE as _FREQUENT
from textlds.linalg.sphere import on_sphere

Table = NDArray[np.float32]
SECTIONS = ("similarity", "context", "analogies", "ambiguous", "new words", "cost")
SETS = {"SimLex-999": "*SIMLEX*", "WS-353": "*WS-353-ALL*", "MEN": "*MEN*", "RW": "*RW*", "SimVerb": "*SimVerb*"}
CONTEXTS = Path(__file__).with_name("ambiguous.tsv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--counts", type=Path, nargs="+", default=[])
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--peers", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument(
        "--peer-dimensions", type=int, nargs="*", default=[], help="numbers of the peers' vectors; as meaning has them"
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument(
        "--dimensions", type=int, nargs="*", default=[], help="meaning with other numbers, from the first of --counts"
    )
    parser.add_argument(
        "--windows", nargs="*", default=[], help="meaning with other windows, from the first of --counts"
    )
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
    contenders = _contenders(arguments, model)
    amount = f"{model.history.settings.get('tokens', 0) / 1e6:.0f}M tokens"
    run: dict[str, Callable[[], Any]] = {
        "similarity": lambda: {
            name: similarity(arguments, model, one, contenders["meaning"]) for name, one in contenders.items()
        },
        "context": lambda: context(arguments, model),
        "analogies": lambda: {name: analogies(arguments, model, one.table) for name, one in contenders.items()},
        "ambiguous": lambda: ambiguous(model),
        "new words": lambda: _new_words(arguments, model),
        "cost": lambda: _costs(arguments),
    }
    for section in arguments.sections:
        found = run[section]()
        if found:
            of_words = section in ("similarity", "analogies")
            into = results.setdefault("words", {}).setdefault(amount, {}) if of_words else results
            into[section] = {**into.get(section, {}), **found} if of_words else found  # peers of other runs stay
            results.setdefault("amounts", {})[section] = amount
            print(section, json.dumps(found, indent=1)[:3000], flush=True)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            path.with_suffix(".md").write_text(page(results), encoding="utf-8")


def _new_words(arguments: argparse.Namespace, model: textlds.TextLDS) -> list[dict[str, Any]] | None:
    if not (arguments.held_out and arguments.counts):
        return None
    return new_words(model, arguments.counts[0], arguments.held_out, arguments.threads)


def _costs(arguments: argparse.Namespace) -> dict[str, Any]:
    return {f"{LagCounts.load(path).tokens / 1e6:.0f}M tokens": cost(path) for path in arguments.counts}


def _contenders(arguments: argparse.Namespace, model: textlds.TextLDS) -> dict[str, Contender]:
    """Return the vectors that are compared."""
    if not {"similarity", "analogies"} & set(arguments.sections):
        return {}
    unknown = _unknown(arguments, model)
    space = model.spaces.space("float32", "equal").meaning
    found = {
        "meaning": Contender(model.words.vectors, space.spelt(unknown)),
        "use": Contender(model.words.use.vectors),
    }
    for size in arguments.dimensions if arguments.counts else []:
        found[f"meaning, {size} dimensions"] = Contender(learnt(arguments.counts[0], size, arguments.threads))
    for window in arguments.windows if arguments.counts else []:
        table = learnt(arguments.counts[0], model.meaning_size, arguments.threads, window)
        found[f"meaning, window {window}"] = Contender(table)
    for name, size in itertools.product(arguments.peers, arguments.peer_dimensions or [model.meaning_size]):
        own = name if size == model.meaning_size else f"{name}, {size} dimensions"
        found[own] = peer(
            name, arguments.text, model.vocabulary, arguments.work, unknown=unknown,
            size=size, epochs=arguments.epochs, threads=arguments.threads,
        )  # fmt: skip
    return found


def _pairs(arguments: argparse.Namespace) -> dict[str, list[Pair]]:
    return {name: read_pairs(next(arguments.similarity.glob(pattern))) for name, pattern in SETS.items()}


def _unknown(arguments: argparse.Namespace, model: textlds.TextLDS) -> list[str]:
    """Return the words of the sets that the model does not know."""
    every = {word for pairs in _pairs(arguments).values() for pair in pairs for word in (pair.first, pair.second)}
    return sorted(word for word in every if word not in model.words)


def chosen_on(*words: str) -> bool:
    """Tell whether a pair is in the half that choices were made on."""
    return hashlib.sha256(" ".join(words).encode()).digest()[0] % 2 == 0


def similarity(
    arguments: argparse.Namespace, model: textlds.TextLDS, vectors: Contender, ours: Contender, rounds: int = 1000
) -> dict[str, Any]:
    """Return the correlations on the half that nothing was chosen on and on whole sets, and how many were found."""
    known = len(model.words)
    unknown = {word: known + i for i, word in enumerate(_unknown(arguments, model))}
    table = vectors.table[:known]
    if vectors.unknown is not None:
        table = np.vstack([table, vectors.unknown])
    found: dict[str, Any] = {}
    for name, pairs in _pairs(arguments).items():
        words = [(pair.first, pair.second) for pair in pairs]
        rows = np.array([[unknown.get(w, -1) if w in unknown else model.words.row(w) for w in two] for two in words])
        held_out = np.array([not chosen_on(*two) for two in words])
        scores = np.array([pair.score for pair in pairs])

        def rho(some: NDArray[np.bool_], rows: Any = rows, scores: Any = scores) -> float:
            return round(100 * spearman(scores[some], _cosines(table, rows[some])).rho, 1)

        both, frequent = (rows < known).all(axis=1), (rows < min(_FREQUENT, known)).all(axis=1)
        found[name] = {
            "rho": rho(held_out & both),
            "found": int((held_out & both).sum()),
            "pairs": int(held_out.sum()),
            "rho of frequent": rho(held_out & frequent),
            "frequent": int((held_out & frequent).sum()),
            "rho of the whole set": rho(both),
            "rho of frequent, whole set": rho(frequent),
        }
        if vectors.unknown is not None:
            found[name]["rho with unknown words"] = rho(held_out)
        if vectors is not ours:
            some = held_out & both
            theirs, own = (_cosines(one, rows[some]) for one in (table, ours.table))
            found[name]["samples in which meaning is above"] = _above(scores[some], own, theirs, rounds)
    return {"sets": found, "seconds": vectors.seconds}


def _cosines(table: Table, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the cosine of every pair of rows, (n, 2)."""
    cosines: NDArray[np.float32] = np.einsum("ij,ij->i", table[rows[:, 0]], table[rows[:, 1]])
    return cosines


def _above(scores: NDArray[Any], ours: NDArray[Any], theirs: NDArray[Any], rounds: int) -> float:
    """Return the share of bootstrap samples of pairs in which the first cosines agree better with the scores."""
    rng, above = np.random.default_rng(0), 0
    for _ in range(rounds):
        sample = rng.integers(len(scores), size=len(scores))
        one, other = (spearman(scores[sample], cosines[sample]).rho for cosines in (ours, theirs))
        above += one > other
    return above / rounds


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
    better = _above(scores, cosines["word in context"], cosines["word"], rounds)
    rho = {name: round(100 * spearman(scores, values).rho, 1) for name, values in cosines.items()}
    return {"rho": rho, "pairs": len(pairs), "bootstrap samples in which context is better": better}


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


if __name__ == "__main__":
    main()
