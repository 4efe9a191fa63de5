"""Ways to more accurate tags, tried on development sets: other parts of vectors, other observations.

    python -m benchmarks.trials MODEL --data FOLDER [--counts COUNTS] [--word2vec TABLE] [--only NAME ...]

MODEL is a default model. Accuracy is that of the local classifier with 128 units (dropout 0.2) on universal tags of the
development sets of two treebanks, the mean over seeds: 8,000 training sentences of UD English EWT, all of the treebank
sample. No test set is read. Trials of other fits learn from COUNTS. TABLE holds word2vec's
vectors of length one for the words of COUNTS, as benchmarks.paper keeps them in its work folder. Rows that are there
already are kept: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.paper.data import Data, under
from benchmarks.paper.spelling import spelt_features
from benchmarks.paper.treebanks import NAMES, Bank, sentences
from benchmarks.texts import markdown_table
from benchmarks.trials_fits import FITS, fitted
from textlds.corpus.reading.tagged import Tagged
from textlds.evaluation.features import Features, Sentences, Vectors, model_features, with_neighbours
from textlds.evaluation.local import train_local
from textlds.evaluation.network import NetworkSettings
from textlds.lexicon.unknown import spelt
from textlds.storage.arrays import read_arrays
from textlds.tagging.texts import plain_texts

SETTINGS = NetworkSettings(hidden=128, dropout=0.2)
SENTENCES = 8000
THREE = "previous_word+word+next_word"
FEATURES = f"state+{THREE}"


def beside(*several: Features) -> Features:
    """Return several features side by side."""

    def vectors(sentences: Sentences) -> Vectors:
        return np.concatenate([features(sentences) for features in several], axis=1)

    return vectors


def spelling(model: textlds.TextLDS) -> Features:
    """Return what the spelling of every word says, known words included."""
    lexicon = model.lexicon
    assert lexicon is not None

    def vectors(sentences: Sentences) -> Vectors:
        tokens = [token for sentence in plain_texts(sentences, model.vocabulary) for token in sentence]
        return spelt(tokens, lexicon.spelling, model.vocabulary)

    return vectors


def around(model: textlds.TextLDS, part: str, reach: int = 1) -> Features:
    """Return a part of a word and of its neighbours."""
    return with_neighbours(model_features(model, recipe=part), reach=reach)


def _parts(recipe: str) -> Callable[[textlds.TextLDS], Features]:
    return lambda model: model_features(model, recipe=recipe)


# what a classifier is given, of one model
VECTORS: dict[str, Callable[[textlds.TextLDS], Features]] = {
    "word": _parts("word"),
    "state": _parts("state"),
    "three words": _parts(THREE),
    "features": _parts(FEATURES),
    "features, topic": _parts(f"{FEATURES}+topic"),
    "features, meaning of the word": _parts(f"{FEATURES}+word_meaning"),
    "features, left and right context": _parts(f"{FEATURES}+left_context+right_context"),
    "three states": lambda model: around(model, "state"),
    "features, states of both neighbours": lambda model: beside(_parts(THREE)(model), around(model, "state")),
    "state, five words": lambda model: beside(_parts("state")(model), around(model, "word", 2)),
    "features, spelling": lambda model: beside(_parts(FEATURES)(model), spelling(model)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--word2vec", type=Path)
    parser.add_argument("--only", nargs="+", help="of the trials; all that the data allows by default")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, help="folder for trials.json and trials.md")
    arguments = parser.parse_args()
    data = Data(**under(arguments.data))
    banks = {
        bank: (sentences(data, bank, "train")[: arguments.sentences], sentences(data, bank, "dev")) for bank in NAMES
    }
    path = arguments.results and arguments.results / "trials.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text()) if path and path.exists() else []
    for name, make in trials(arguments).items():
        if arguments.only and name not in arguments.only:
            continue
        features = None
        for bank, (train, dev) in banks.items():
            key = {"trial": name, "bank": bank, "sentences": len(train)}
            done = [row for row in rows if key.items() <= row.items()]
            seeds = [seed for seed in range(arguments.seeds) if seed not in {row["seed"] for row in done}]
            if not seeds:
                continue
            features = features or make()
            for row in measured(features, train, dev, seeds):
                rows.append({**key, **row})
                print(rows[-1], flush=True)
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(rows, indent=1) + "\n")
                path.with_suffix(".md").write_text(report(rows), encoding="utf-8")


def trials(arguments: argparse.Namespace) -> dict[str, Callable[[], Features]]:
    """Return all trials that the data allows, by name."""
    made: dict[str, Callable[[], Features]] = {
        name: lambda features=features: features(textlds.load(arguments.model))  # type: ignore[misc]
        for name, features in VECTORS.items()
    }

    def state(fit: str) -> Features:
        return VECTORS["state"](fitted(fit, arguments.counts, arguments.threads))

    if arguments.counts and arguments.word2vec:
        made["word2vec ± 1, spelling"] = lambda: with_neighbours(
            spelt_features(
                textlds.LagCounts.load(arguments.counts),
                np.array(read_arrays(arguments.word2vec)["table"]),
                threads=arguments.threads,
            )
        )
    if arguments.counts:
        for fit in FITS:
            made[f"state, {fit}"] = lambda fit=fit: state(fit)  # type: ignore[misc]
            made[f"state, {fit}; three words"] = lambda fit=fit: beside(  # type: ignore[misc]
                state(fit), VECTORS["three words"](textlds.load(arguments.model))
            )
    return made


def measured(features: Features, train: list[Tagged], dev: list[Tagged], seeds: list[int]) -> list[dict[str, Any]]:
    """Return the accuracy on the development set with each seed, in per cent."""
    known: dict[int, Vectors] = {}

    def once(some: Sentences) -> Vectors:  # train and dev are told apart by their length
        if len(some) not in known:
            known[len(some)] = features(some)
        return known[len(some)]

    rows = []
    for seed in seeds:
        (tagger,) = train_local(train, dev, once, grid=[SETTINGS], seed=seed)
        tokens = [sentence.tokens for sentence in dev]
        tags = tagger.predict(tokens, once(tokens))
        hits = [a == b for one, found in zip(dev, tags, strict=True) for a, b in zip(one.tags, found, strict=True)]
        rows.append({"seed": seed, "numbers": int(once(tokens).shape[1]), "accuracy": 100 * float(np.mean(hits))})
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a page."""
    amounts = sorted({(row["bank"], row["sentences"]) for row in rows})
    table = []
    for name in dict.fromkeys(row["trial"] for row in rows):
        own = [row for row in rows if row["trial"] == name]
        table.append([name, own[0]["numbers"], *(_mean(own, *amount) for amount in amounts)])
    return "\n".join(
        [
            "# Trials",
            "",
            "Ways to more accurate tags, tried on development sets alone. Per cent of universal tags, read off the "
            f"vectors by a classifier with {SETTINGS.hidden} units (mean over seeds, and how many there were), learnt "
            "from so many sentences. The default model of 75 million tokens of Wikipedia, unless the row names another "
            f"fit.{_noise(rows)} `python -m benchmarks.trials` prints these figures.",
            "",
            *markdown_table(["vectors", "numbers", *(f"{NAMES[bank]}, {n:,}" for bank, n in amounts)], table),
        ]
    )


def _mean(rows: list[dict[str, Any]], bank: Bank, n: int) -> str:
    found = [row["accuracy"] for row in rows if (row["bank"], row["sentences"]) == (bank, n)]
    return f"{np.mean(found):.2f} ({len(found)})" if found else ""


def _noise(rows: list[dict[str, Any]]) -> str:
    """Say how much two seeds of one trial differ, if there are two."""
    found = []
    for key in dict.fromkeys((row["trial"], row["bank"], row["sentences"]) for row in rows):
        own = [row["accuracy"] for row in rows if (row["trial"], row["bank"], row["sentences"]) == key]
        found += [abs(a - b) for a, b in itertools.pairwise(own)]
    return f" Two runs with different seeds differ by {np.mean(found):.2f} on the average." if found else ""


if __name__ == "__main__":
    main()
