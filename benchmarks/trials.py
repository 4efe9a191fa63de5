"""Ways to more accurate tags, tried on training and development sets: other parts of vectors, other observations.

    python -m benchmarks.trials MODEL --data FOLDER --work FOLDER [--counts COUNTS] [--word2vec TABLE] [--only NAME ...]

MODEL is a default model. A network of 128 units, small and quick to train, tells universal and PTB tags at once; it
learns in a fixed number of epochs from training and development sentences of two treebanks, less those that it is
measured on: a quarter of the large one, and of the small one all, a fifth at a time. Development sets alone are too
small to tell vectors apart. No test set is read. Trials of other fits and of longer profiles learn from COUNTS. TABLE
holds word2vec's vectors of length one for the words of COUNTS, as benchmarks.paper keeps them in its work folder. What
was right of every trial is kept in the work folder: a run that was stopped goes on where it was, and differences are
those of pairs. The results tell of all trials that the folder holds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np

import textlds
from benchmarks.paper.data import Data, under
from benchmarks.paper.spelling import spelt_features
from benchmarks.paper.treebanks import NAMES, Tags, sentences
from benchmarks.texts import markdown_table
from benchmarks.trials_fits import FITS, fitted, long_words
from benchmarks.trials_network import EPOCHS, HIDDEN, Bank, Hits, measured
from textlds.evaluation.features import Features, Sentences, Vectors, model_features, with_neighbours
from textlds.storage.arrays import read_arrays

TAGS: tuple[Tags, ...] = get_args(Tags)
THREE = "previous_word+word+next_word"
BASE = "state, three words"
FEATURES = "features: these, spelling and meaning"
WORD2VEC = "word2vec ± 1, spelling"
FOLDS = {"ewt": {"pieces": 4, "folds": 1}, "ptb": {"pieces": 5, "folds": 5}}


def beside(*several: Features) -> Features:
    """Return several features side by side."""

    def vectors(sentences: Sentences) -> Vectors:
        return np.concatenate([features(sentences) for features in several], axis=1)

    return vectors


def shifted(features: Features, *shifts: int) -> Features:
    """Return the features of words beside each, so many places to the right; zeros beyond the ends of a sentence."""
    reach = max(map(abs, shifts))
    several = with_neighbours(features, reach=reach)

    def vectors(sentences: Sentences) -> Vectors:
        blocks = np.split(several(sentences), 2 * reach + 1, axis=1)
        return np.concatenate([blocks[reach + shift] for shift in shifts], axis=1)

    return vectors


def _parts(recipe: str) -> Callable[[textlds.TextLDS], Features]:
    return lambda model: model_features(model, recipe=recipe)


# what a classifier is given, of one model
VECTORS: dict[str, Callable[[textlds.TextLDS], Features]] = {
    BASE: _parts(f"state+{THREE}"),
    "state": _parts("state"),
    "three words": _parts(THREE),
    "state, word": _parts("state+word"),
    "state, word, leading quarters of both neighbours": _parts("state+word+neighbours"),
    "these and spelling": _parts("state+word+neighbours+spelling"),
    FEATURES: _parts("features"),
    f"{BASE}, spelling": _parts(f"state+{THREE}+spelling"),
    f"{BASE}, meaning": _parts(f"state+{THREE}+word_meaning"),
    f"{BASE}, spelling and meaning": _parts(f"state+{THREE}+spelling+word_meaning"),
    f"{BASE}, states of both neighbours": lambda model: beside(
        _parts(f"state+{THREE}")(model), shifted(_parts("state")(model), -1, 1)
    ),
    f"{BASE}, two more words": lambda model: beside(
        _parts(f"state+{THREE}")(model), shifted(_parts("word")(model), -2, 2)
    ),
    f"{BASE}, left and right context": _parts(f"state+{THREE}+left_context+right_context"),
    f"{BASE}, topic": _parts(f"state+{THREE}+topic"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--word2vec", type=Path)
    parser.add_argument("--only", nargs="*", help="of the trials; all that the data allows by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, help="folder for trials.json and trials.md")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    data = Data(**under(arguments.data))
    banks: dict[str, Bank] = {}
    for name, make in trials(arguments).items():
        path = _place(arguments.work, name)
        if (arguments.only is not None and name not in arguments.only) or path.exists():
            continue
        features, found = make(), {}
        for bank in NAMES:
            if bank not in banks:
                both = [[*sentences(data, bank, "train", tags=t), *sentences(data, bank, "dev", tags=t)] for t in TAGS]
                banks[bank] = Bank(both, **FOLDS[bank])
            numbers, hits = measured(features, banks[bank], arguments.seeds)
            found |= {f"{bank} {tags}": some for tags, some in zip(TAGS, hits, strict=True)}
        np.savez_compressed(path, numbers=numbers, **found)
        print(name, {key: round(100 * float(hits.mean()), 2) for key, hits in found.items()}, flush=True)
    rows = [row for name in trials(arguments) if (row := summary(arguments.work, name))]
    text = report(rows)
    print(text)
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "trials.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        (arguments.results / "trials.md").write_text(text, encoding="utf-8")


def trials(arguments: argparse.Namespace) -> dict[str, Callable[[], Features]]:
    """Return all trials that the data allows, by name."""
    made: dict[str, Callable[[], Features]] = {
        name: lambda features=features: features(textlds.load(arguments.model))  # type: ignore[misc]
        for name, features in VECTORS.items()
    }

    def state(fit: str) -> Features:
        return VECTORS["state"](fitted(fit, arguments.counts, arguments.threads))

    if arguments.counts and arguments.word2vec:
        made[WORD2VEC] = lambda: with_neighbours(
            spelt_features(
                textlds.LagCounts.load(arguments.counts),
                np.array(read_arrays(arguments.word2vec)["table"]),
                threads=arguments.threads,
            )
        )
    if arguments.counts:

        def longer(*more: Callable[[textlds.TextLDS], Features]) -> Features:
            model = textlds.load(arguments.model)
            own = _parts("state+previous_word"), lambda _: words(), _parts("next_word")
            return beside(*(make(model) for make in (*own, *more)))

        def words() -> Features:
            return long_words(arguments.counts, arguments.threads)

        made[f"{BASE}, word of 400 numbers"] = longer
        made[f"{BASE}, all words of 400 numbers"] = lambda: beside(
            VECTORS["state"](textlds.load(arguments.model)), with_neighbours(words())
        )
        made[f"{BASE}, word of 400 numbers, spelling and meaning"] = lambda: longer(_parts("spelling+word_meaning"))
        for fit in FITS:
            made[f"state, {fit}"] = lambda fit=fit: state(fit)  # type: ignore[misc]
            made[f"state, {fit}; three words"] = lambda fit=fit: beside(  # type: ignore[misc]
                state(fit), VECTORS["three words"](textlds.load(arguments.model))
            )
    return made


def summary(work: Path, name: str) -> dict[str, Any] | None:
    """Return accuracies of a trial in per cent, and by how much it is above BASE; nothing if it was not run."""
    if not _place(work, name).exists():
        return None
    found, base = _hits(work, name), _hits(work, BASE)
    tasks: dict[str, Any] = {}
    for task, hits in found.items():
        if task == "numbers":
            continue
        tasks[task] = {"accuracy": 100 * float(hits.mean()), "seeds": len(hits)}
        if task in base and name != BASE:
            tasks[task] |= _difference(hits, base[task])
    row = {"trial": name, "numbers": int(found["numbers"]), "tasks": tasks}
    peer = _hits(work, WORD2VEC) if name == FEATURES else {}
    if peer:
        row["over word2vec"] = {task: _difference(found[task], peer[task]) for task in tasks}
    return row


def _difference(hits: Hits, others: Hits) -> dict[str, float]:
    """Return by how much the first are right more often, in points, with the standard error over words."""
    seeds = min(len(hits), len(others))
    pairs = 100 * (hits[:seeds].mean(axis=0) - others[:seeds].mean(axis=0))
    return {"above": float(pairs.mean()), "error": float(pairs.std() / np.sqrt(len(pairs)))}


def report(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a page."""
    titles = {f"{bank} {tags}": f"{NAMES[bank]}, {_TAGS[tags]}" for bank in NAMES for tags in TAGS}
    table = [[row["trial"], row["numbers"], *(_cell(row["tasks"].get(task)) for task in titles)] for row in rows]
    return "\n".join(
        [
            "# Trials",
            "",
            "Ways to more accurate tags, tried without test sets. Per cent of tags, read off the vectors by a network "
            f"with {HIDDEN} units that tells both sets of tags, learnt in {EPOCHS} epochs from training and "
            "development sentences but those that are measured: a quarter of UD English EWT, and all of the "
            "Penn Treebank's sample, a fifth at a time. Nothing is chosen on these, so that figures are lower than "
            "where the best epoch is. In "
            f"brackets, how much that is above *{BASE}*, with the standard error of the difference over words, and the "
            "number of seeds. The default model of 75 million tokens of Wikipedia, unless the row names "
            f"another fit. {_verdict(rows)}{_over(rows, titles)} `python -m benchmarks.trials` prints these figures.",
            "",
            *markdown_table(["vectors", "numbers", *titles.values()], table),
        ]
    )


def _verdict(rows: list[dict[str, Any]]) -> str:
    """Say what is above BASE by twice the error or more, with either set of tags, on both treebanks."""

    def pays(row: dict[str, Any], bank: str) -> bool:
        own = [task for name, task in row["tasks"].items() if name.startswith(f"{bank} ") and "above" in task]
        return any(task["above"] >= 2 * task["error"] for task in own)

    both = [row["trial"] for row in rows if all(pays(row, bank) for bank in NAMES)]
    return f"By twice the error or more, on both treebanks: {'; '.join(both) if both else 'none of these'}."


def _over(rows: list[dict[str, Any]], titles: dict[str, str]) -> str:
    """Say by how much features is above word2vec, if both were run."""
    found = next((row["over word2vec"] for row in rows if "over word2vec" in row), None)
    if found is None:
        return ""
    pieces = (f"{titles[task]} {one['above']:+.2f} ± {one['error']:.2f}" for task, one in found.items())
    return f" *features* over *{WORD2VEC}*: {', '.join(pieces)}."


_TAGS = {"universal": "universal tags", "ptb": "PTB tags"}


def _cell(task: dict[str, Any] | None) -> str:
    if task is None:
        return ""
    above = f"{task['above']:+.2f} ± {task['error']:.2f}, " if "above" in task else ""
    return f"{task['accuracy']:.2f} ({above}{task['seeds']})"


def _place(work: Path, name: str) -> Path:
    return work / f"{name.replace(' ', '-')}.npz"


def _hits(work: Path, name: str) -> dict[str, Hits]:
    path = _place(work, name)
    return dict(np.load(path)) if path.exists() else {}


if __name__ == "__main__":
    main()
