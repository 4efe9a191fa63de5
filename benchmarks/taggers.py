"""Whole taggers side by side: accuracy, training time, size, and speed from raw text to tags.

    python -m benchmarks.taggers MODEL --train train.conllu --dev dev.conllu --test test.conllu [--column xpos]
    python -m benchmarks.taggers MODEL --train eng.train --dev eng.testa --test eng.testb --entities
        [--raw TEXT] [--floret TEXT] [--seeds 3] [--only NAME ...] [--curve 10 30 100 ...] [--genres] [--results FOLDER]

Everything learns from the same labelled sentences with their tokens, on one thread, in one run; whatever a tagger
chooses, it chooses on --dev. The test set is read at the end. Times are those of the processor, so that other work on
the machine counts for nothing: minutes of training, tokens a second of the first lines of --raw by each tagger's own
tokeniser. Differences to textlds are tested on the test set: McNemar's exact test for tags, approximate randomisation
for entities.

--curve draws so many training sentences, --draws times, for every tagger, and measures on --dev. --genres trains on
each genre of a treebank whose sentence ids begin with it (UD English EWT) and measures on the others of --dev.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tagger_peers import Peer, peers, train_floret
from benchmarks.texts import first_lines
from textlds.corpus.reading.tagged import Tagged, read_lines, read_tagged
from textlds.evaluation.measures import accuracy, mcnemar, randomisation_test, right
from textlds.tagging.entities import convert_tags, entities
from textlds.tagging.labels import Task

OURS = "textlds"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--train", required=True)
    parser.add_argument("--dev", required=True)
    parser.add_argument("--test")
    parser.add_argument("--column")
    parser.add_argument("--entities", action="store_true")
    parser.add_argument("--raw", type=Path, help="text, for the speed from raw text")
    parser.add_argument("--raw-tokens", type=float, default=2e5)
    parser.add_argument("--floret", type=Path, help="text, tokens with spaces between them, for floret vectors")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", nargs="+", help="names of taggers")
    parser.add_argument("--curve", type=int, nargs="*", help="numbers of training sentences")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--genres", action="store_true")
    parser.add_argument("--name", default="taggers", help="of the entry in the results")
    parser.add_argument("--results", type=Path, help="folder for taggers.json")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    task: Task = "entities" if arguments.entities else "tags"
    files = {name: getattr(arguments, name) for name in ("train", "dev", "test") if getattr(arguments, name)}
    sets = {name: read_tagged(path, column=arguments.column) for name, path in files.items()}
    floret = None
    if arguments.floret is not None:
        floret = train_floret(arguments.floret, Path("/tmp") / f"{arguments.floret.stem}.floret")
    chosen = peers(arguments.model, floret=floret, task=task)
    if arguments.only:
        chosen = {name: make for name, make in chosen.items() if name in arguments.only}
    found: dict[str, Any] = {"task": task, "column": arguments.column, "tokens": sum(map(len, sets["train"]))}
    if arguments.curve is not None:
        found["curve"] = curve(chosen, sets, task, arguments.curve, arguments.draws)
    elif arguments.genres:
        found["genres"] = genres(chosen, arguments, task)
    else:
        raw = first_lines(arguments.raw, arguments.raw_tokens) if arguments.raw else []
        found["rows"] = table(chosen, sets, task, raw, arguments.seeds)
    if arguments.results:
        write(arguments.results / "taggers.json", arguments.name, found)


def table(
    chosen: dict[str, Callable[..., Peer]], sets: dict[str, list[Tagged]], task: Task, raw: list[str], seeds: int
) -> list[dict[str, Any]]:
    """Train every tagger and measure it; the first seed is the one that is tested and timed."""
    part = "test" if "test" in sets else "dev"
    gold, known = sets[part], {token for s in sets["train"] for token in s.tokens}
    rows: list[dict[str, Any]] = []
    ours: list[list[str]] | None = None
    for name, make in chosen.items():
        row: dict[str, Any] = {"name": name, "set": part}
        values = []
        for seed in range(seeds if name.startswith((OURS, "spaCy", "NLTK")) else 1):
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
                if name == OURS:
                    ours = predicted
                elif ours is not None:
                    row["against textlds"] = compared(gold, ours, predicted, task)
                if raw:
                    peer.raw(raw[:5])
                    began = time.process_time()
                    count = peer.raw(raw)
                    row["tokens_per_second"] = count / (time.process_time() - began)
        if not values:
            continue
        row |= {"seeds": values, "mean": float(np.mean(values)), "spread": float(np.std(values))}
        rows.append(row)
        rate = f"{row.get('tokens_per_second', 0):>10,.0f} tokens/s"
        details = f"known {row['known']:.2f} unknown {row['unknown']:.2f}" if task == "tags" else ""
        print(
            f"  {name:<26} {row['mean']:6.2f} ± {row['spread']:.2f}  {details}  {row['minutes']:5.1f} min  "
            f"{row['bytes'] / 1e6:7.1f} MB {rate}  {row.get('against textlds', '')}",
            flush=True,
        )  # fmt: skip
    return rows


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
) -> list[dict[str, Any]]:
    """Measure every tagger on dev after a few labelled sentences; half of dev is for choosing, half for measuring."""
    known: set[str] = set()
    dev = sets["dev"]
    choose, measure = dev[: len(dev) // 2], dev[len(dev) // 2 :]
    rows = []
    for size in sizes:
        for name, make in chosen.items():
            values = []
            for draw in range(draws if size < len(sets["train"]) else 1):
                order = np.random.default_rng([size, draw]).permutation(len(sets["train"]))[:size]
                train = [sets["train"][i] for i in order]
                # so few labels are no match for a development set as large as the whole
                peer = make(train, choose[: max(10, size // 2)], task, draw)
                values.append(measured(measure, peer.predict(measure), known, task)["value"])
            rows.append({"name": name, "sentences": size, "values": values, "mean": float(np.mean(values))})
            print(f"  {size:>6} {name:<26} {np.mean(values):6.2f} ± {np.std(values):.2f}", flush=True)
    return rows


def genres(chosen: dict[str, Callable[..., Peer]], arguments: argparse.Namespace, task: Task) -> list[dict[str, Any]]:
    """Train on each genre, measure on the others."""
    train, dev = (by_genre(path, arguments.column) for path in (arguments.train, arguments.dev))
    rows = []
    for genre in sorted(train):
        others = [s for name, some in dev.items() if name != genre for s in some]
        for name, make in chosen.items():
            peer = make(train[genre], dev[genre], task, 0)
            known = {token for s in train[genre] for token in s.tokens}
            found = measured(others, peer.predict(others), known, task)
            rows.append({"name": name, "genre": genre, "sentences": len(train[genre]), **found})
            print(f"  {genre:<12} {name:<26} {found['value']:6.2f}", flush=True)
    return rows


def by_genre(path: str, column: str | None) -> dict[str, list[Tagged]]:
    """Return the sentences of a treebank by the first part of their ids."""
    names = [line.split("= ")[1].split("-")[0] for line in read_lines(path) if line.startswith("# sent_id")]
    found: dict[str, list[Tagged]] = {}
    for name, sentence in zip(names, read_tagged(path, column=column), strict=True):
        found.setdefault(name, []).append(Tagged(sentence.tokens, sentence.tags))
    return found


def write(path: Path, name: str, found: dict[str, Any]) -> None:
    """Add an entry to the results, in place of one of the same name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entry = {**before.get(name, {}), **found}
    path.write_text(json.dumps({**before, name: entry}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
