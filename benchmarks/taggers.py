"""Whole taggers side by side: accuracy, training time, size, and speed from raw text to tags.

    python -m benchmarks.taggers MODEL --train train.conllu --dev dev.conllu --test test.conllu [--column xpos]
    python -m benchmarks.taggers MODEL --train eng.train --dev eng.testa --test eng.testb --entities
        [--raw TEXT] [--floret TEXT] [--counts COUNTS] [--seeds 3] [--only NAME ...] [--curve 10 30 100 ...] [--genres]
        [--name NAME] [--results FOLDER] [--keep FOLDER]
    python -m benchmarks.taggers --report FOLDER

Everything learns from the same labelled sentences with their tokens, on one thread, in one run; whatever a tagger
chooses, it chooses on --dev. The test set is read at the end. Times are those of the processor, so that other work on
the machine counts for nothing: minutes of training, tokens a second of the first lines of --raw by each tagger's own
tokeniser. Differences to textlds are tested on the test set: McNemar's exact test for tags, approximate randomisation
for entities.

--seeds is for textlds; peers are trained --peer-seeds times. --curve draws so many training sentences, --draws times
(once where they are all), for every tagger, and measures on --dev. --genres trains on each genre of a
treebank whose sentence ids begin with it (UD English EWT) and measures on the others of --dev; --adapted NAME=MODEL
adds a model whose counts have unlabelled text of the genres in them:

    grep '^# text = ' train.conllu | cut -c10- > genres.txt; textlds count genres.txt -o few
    textlds merge COUNTS few -w 1 -w 10 -o merged; textlds fit merged -o MODEL

Results are stored after every tagger, in place of those of the same name before, by several runs at once if need be;
--report writes the page and the picture of what is stored. --keep keeps what the first seeds predict, so that taggers
of other runs are tested against textlds as it is now.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tagger_peers import Peer, Textlds, peers, train_floret
from benchmarks.taggers_report import OURS, page, plot
from benchmarks.texts import first_lines
from textlds.corpus.reading.tagged import Tagged, read_lines, read_tagged
from textlds.evaluation.measures import accuracy, mcnemar, randomisation_test, right
from textlds.tagging.entities import convert_tags, entities
from textlds.tagging.labels import Task

SEEDED = ("spaCy blank", "spaCy + floret", "NLTK perceptron")  # peers that a seed changes


def main() -> None:
    arguments = options().parse_args()
    if arguments.report:
        report(arguments.report)
        return
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    task: Task = "entities" if arguments.entities else "tags"
    files = {name: getattr(arguments, name) for name in ("train", "dev", "test") if getattr(arguments, name)}
    sets = {name: read_tagged(path, column=arguments.column) for name, path in files.items()}
    floret = None
    if arguments.floret is not None:
        floret = arguments.floret.with_suffix(".floret")
        if not floret.exists():
            train_floret(arguments.floret, floret)
    chosen = peers(arguments.model, floret=floret, counts=arguments.counts, task=task)
    for name, _, model in (one.partition("=") for one in arguments.adapted):
        chosen[name] = partial(Textlds, Path(model))
    if arguments.only:
        chosen = {name: make for name, make in chosen.items() if name in arguments.only}
    store = Store(arguments, task, sum(map(len, sets["train"])))
    kept = Predictions(arguments.keep, arguments.name)
    if arguments.curve is not None:
        sizes = [min(size, len(sets["train"])) for size in arguments.curve]
        curve(chosen, sets, task, sizes, arguments.draws, store)
    elif arguments.genres:
        genres(chosen, arguments, task, store)
    else:
        raw = first_lines(arguments.raw, arguments.raw_tokens) if arguments.raw else []
        table(chosen, sets, task, raw, (arguments.seeds, arguments.peer_seeds), store, kept)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--train")
    parser.add_argument("--dev")
    parser.add_argument("--test")
    parser.add_argument("--column")
    parser.add_argument("--entities", action="store_true")
    parser.add_argument("--raw", type=Path, help="text, for the speed from raw text")
    parser.add_argument("--raw-tokens", type=float, default=2e5)
    parser.add_argument("--floret", type=Path, help="text for floret vectors, which are kept beside it")
    parser.add_argument("--counts", type=Path, help="counts of the model, for Brown clusters")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--only", nargs="+", help="names of taggers")
    parser.add_argument("--curve", type=int, nargs="*", help="numbers of training sentences")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--genres", action="store_true")
    parser.add_argument("--adapted", nargs="*", default=[], metavar="NAME=MODEL")
    parser.add_argument("--name", default="taggers", help="of the entry in the results")
    parser.add_argument("--results", type=Path, help="folder for taggers.json")
    parser.add_argument("--keep", type=Path, help="folder for predictions")
    parser.add_argument("--report", type=Path, help="folder with taggers.json, for taggers.md and taggers.png")
    return parser


class Store:
    """Where results are kept, row by row."""

    def __init__(self, arguments: argparse.Namespace, task: Task, tokens: int) -> None:
        self._path = arguments.results / "taggers.json" if arguments.results else None
        self._name, self._facts = arguments.name, {"task": task, "column": arguments.column, "tokens": tokens}

    def add(self, kind: str, row: dict[str, Any], *keys: str) -> None:
        """Add a row to the entry, in place of one with the same keys."""
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # other runs may write there too
            file.seek(0)
            found = json.loads(file.read() or "{}")
            entry = found.setdefault(self._name, {})
            entry.update(self._facts)
            others = [one for one in entry.get(kind, []) if any(one[key] != row[key] for key in keys)]
            entry[kind] = [*others, row]
            file.truncate(0)
            file.write(json.dumps(found, indent=1) + "\n")

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of whole taggers that are stored."""
        if self._path is None or not self._path.exists():
            return []
        found: list[dict[str, Any]] = (
            json.loads(self._path.read_text(encoding="utf-8")).get(self._name, {}).get("rows", [])
        )
        return found


class Predictions:
    """What taggers predicted, by name: in a folder, or only during this run."""

    def __init__(self, folder: Path | None, entry: str) -> None:
        self._folder = None if folder is None else folder / entry
        self._found: dict[str, list[list[str]]] = {}

    def keep(self, name: str, predicted: list[list[str]]) -> None:
        """Keep what a tagger predicts."""
        self._found[name] = predicted
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{name}.json").write_text(json.dumps(predicted), encoding="utf-8")

    def of(self, name: str) -> list[list[str]] | None:
        """Return what a tagger predicted, in this run or before."""
        path = None if self._folder is None else self._folder / f"{name}.json"
        if name not in self._found and path is not None and path.exists():
            self._found[name] = json.loads(path.read_text(encoding="utf-8"))
        return self._found.get(name)


def report(folder: Path) -> None:
    """Write the page, and the picture of the first entry."""
    results = json.loads((folder / "taggers.json").read_text(encoding="utf-8"))
    (folder / "taggers.md").write_text(page(results), encoding="utf-8")
    title, found = next((name, found) for name, found in results.items() if found.get("rows"))
    plot(found, title, folder / "taggers.png")


def table(
    chosen: dict[str, Callable[..., Peer]],
    sets: dict[str, list[Tagged]],
    task: Task,
    raw: list[str],
    seeds: tuple[int, int],
    store: Store,
    kept: Predictions,
) -> None:
    """Train every tagger and measure it; the first seed is the one that is tested and timed."""
    part = "test" if "test" in sets else "dev"
    gold, known = sets[part], {token for s in sets["train"] for token in s.tokens}
    for name, make in chosen.items():
        row: dict[str, Any] = {"name": name, "set": part}
        values = []
        for seed in range(seeds[0] if name == OURS else seeds[1] if name in SEEDED else 1):
            began = time.process_time()
            try:
                peer = make(sets["train"], sets["dev"], task, seed)
            except ImportError as error:
                print(f"  {name}: not installed ({error.name})", flush=True)
                break
            minutes = (time.process_time() - began) / 60
            predicted = peer.predict(gold)
            value = measured(gold, predicted, known, task)
            values.append(value["value"])
            if seed == 0:
                row |= {**value, "minutes": minutes, "bytes": peer.size()}
                if isinstance(peer, Textlds):
                    row["dev"] = peer.tagger.report["dev"]
                kept.keep(name, predicted)
                ours = kept.of(OURS)
                if name != OURS and ours is not None:
                    row["against textlds"] = compared(gold, ours, predicted, task)
                if raw:
                    row["tokens_per_second"] = speed(peer, raw)
        if not values:
            continue
        row |= {"seeds": values, "mean": float(np.mean(values)), "spread": float(np.std(values))}
        store.add("rows", row, "name")
        if name == OURS:
            for other in store.rows():
                before = kept.of(other["name"])
                if other["name"] != OURS and before is not None:
                    store.add("rows", other | {"against textlds": compared(gold, kept.of(OURS), before, task)}, "name")
        rate = f"{row.get('tokens_per_second', 0):>10,.0f} tokens/s"
        details = f"known {row['known']:.2f} unknown {row['unknown']:.2f}" if task == "tags" else ""
        print(
            f"  {name:<26} {row['mean']:6.2f} ± {row['spread']:.2f}  {details}  {row['minutes']:5.1f} min  "
            f"{row['bytes'] / 1e6:7.1f} MB {rate}  {row.get('dev', row.get('against textlds', ''))}",
            flush=True,
        )  # fmt: skip


def speed(peer: Peer, raw: list[str]) -> float:
    """Return tokens a second from raw text, the best of three: of the first twentieth for slow taggers."""
    peer.raw(raw[:5])
    few = raw[: max(5, len(raw) // 20)]
    found = []
    for texts in (few, raw, raw):
        began = time.process_time()
        count = peer.raw(texts)
        seconds = time.process_time() - began
        found.append(count / seconds)
        if seconds > 5:  # the whole would take long and say the same
            break
    return max(found)


def measured(gold: Sequence[Tagged], predicted: list[list[str]], known: set[str], task: Task) -> dict[str, Any]:
    """Return accuracy, or F1 for entities, in per cent."""
    if task == "tags":
        found = accuracy([s.tags for s in gold], predicted, [s.tokens for s in gold], known)
        return {"value": found.all, "known": found.known, "unknown": found.unknown}
    pairs = [(set(entities(s.tags)), set(entities(tags))) for s, tags in zip(gold, predicted, strict=True)]
    total = sum(len(a) + len(b) for a, b in pairs)
    return {"value": 200 * sum(len(a & b) for a, b in pairs) / max(total, 1)}


def compared(gold: Sequence[Tagged], ours: list[list[str]], other: list[list[str]], task: Task) -> dict[str, Any]:
    if task == "tags":
        tags = [s.tags for s in gold]
        return mcnemar(right(tags, ours), right(tags, other)).to_json()
    tags = [convert_tags(s.tags, "iob2") for s in gold]
    return randomisation_test(tags, other, ours, rounds=2000).to_json()


def curve(
    chosen: dict[str, Callable[..., Peer]],
    sets: dict[str, list[Tagged]],
    task: Task,
    sizes: Sequence[int],
    draws: int,
    store: Store,
) -> None:
    """Measure every tagger on dev after a few labelled sentences; half of dev is for choosing, half for measuring."""
    known: set[str] = set()
    dev = sets["dev"]
    choose, measure = dev[: len(dev) // 2], dev[len(dev) // 2 :]
    for size in sizes:
        for name, make in chosen.items():
            values = []
            for draw in range(1 if size >= len(sets["train"]) else draws):  # all sentences are always the same
                order = np.sort(np.random.default_rng([size, draw]).permutation(len(sets["train"]))[:size])
                train = [sets["train"][i] for i in order]
                # so few labels are no match for a development set as large as the whole
                try:
                    peer = make(train, choose[: max(10, size // 2)], task, draw)
                except ImportError as error:
                    print(f"  {name}: not installed ({error.name})", flush=True)
                    break
                values.append(measured(measure, peer.predict(measure), known, task)["value"])
            if values:
                row = {"name": name, "sentences": size, "values": values, "mean": float(np.mean(values))}
                store.add("curve", row, "name", "sentences")
                print(f"  {size:>6} {name:<26} {np.mean(values):6.2f} ± {np.std(values):.2f}", flush=True)


def genres(chosen: dict[str, Callable[..., Peer]], arguments: argparse.Namespace, task: Task, store: Store) -> None:
    """Train on each genre, measure on the others."""
    train, dev = (by_genre(path, arguments.column) for path in (arguments.train, arguments.dev))
    for genre in sorted(train):
        others = [s for name, some in dev.items() if name != genre for s in some]
        known = {token for s in train[genre] for token in s.tokens}
        for name, make in chosen.items():
            peer = make(train[genre], dev[genre], task, 0)
            found = measured(others, peer.predict(others), known, task)
            store.add(
                "genres", {"name": name, "genre": genre, "sentences": len(train[genre]), **found}, "name", "genre"
            )
            print(f"  {genre:<12} {name:<26} {found['value']:6.2f}", flush=True)


def by_genre(path: str, column: str | None) -> dict[str, list[Tagged]]:
    """Return the sentences of a treebank by the first part of their ids."""
    names = [line.split("= ")[1].split("-")[0] for line in read_lines(path) if line.startswith("# sent_id")]
    found: dict[str, list[Tagged]] = {}
    for name, sentence in zip(names, read_tagged(path, column=column), strict=True):
        found.setdefault(name, []).append(Tagged(sentence.tokens, sentence.tags))
    return found


if __name__ == "__main__":
    main()
