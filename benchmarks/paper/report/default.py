"""What the default model was to show beside the paper's: claims judged by the figures of other scripts.

Each claim is told if its figures are in the results, and left out if they are not. What the studies of the paper
themselves say of the default model stands in their own sections.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.paper.report.blocks import Block, Claim, Text, claims_table
from benchmarks.paper.report.numbers import signed

TITLE = "What the default model was to show"
LOST, WORSE, FASTER = 0.2, 0.1, 5.0  # points that a notice may cost, that more text may cost; times gensim's speed
SEEDS = 3


def section(results: Path) -> list[Block]:
    """Return the blocks: a table of claims, if there is any to be judged."""
    claims: list[Claim] = []
    for name, judge in JUDGES.items():
        path = results / f"{name}.json"
        if path.exists():
            claims += judge(json.loads(path.read_text(encoding="utf-8")))
    if not claims:
        return []
    scripts = ", ".join(f"`benchmarks.{name}`" for name in JUDGES)
    about = (
        f"From the results of {scripts}; tags and entities, transitions and likelihood stand in the sections above. "
        f"Accuracy is that of universal tags on the development set of UD English EWT, 128 units, 8,000 sentences."
    )
    return [Text(about), claims_table(claims)]


def _poison(rows: list[dict[str, Any]]) -> Iterator[Claim]:
    for kind, name in (("profiles", "the default model"), ("words", "the paper's model")):
        pairs = [
            (clean, poisoned)
            for clean, poisoned in itertools.product(rows, rows)
            if (clean["observations"], clean["text"]) == (kind, "clean")
            and (poisoned["observations"], poisoned["text"]) == (kind, "poisoned")
            and 1 <= poisoned["tokens"] / clean["tokens"] < 1.1
        ]
        if not pairs:
            continue
        losses = [clean["accuracy"] - poisoned["accuracy"] for clean, poisoned in pairs]
        told = "; ".join(
            f"{clean['tokens'] / 1e6:.0f}M tokens: {signed(-loss)}, {poisoned['of_the_notice']} of 10 transitions"
            for (clean, poisoned), loss in zip(pairs, losses, strict=True)
        )
        holds = max(losses) <= LOST and not any(poisoned["of_the_notice"] for _, poisoned in pairs)
        yield Claim(
            f"a notice after every book costs the state of {name} at most {LOST} points, and none of the ten strongest "
            f"transitions is of it",
            holds,
            told,
        )


def _amounts(rows: list[dict[str, Any]]) -> Iterator[Claim]:
    for recipe in ("context", "features"):
        steps = [after[recipe] - before[recipe] for before, after in itertools.pairwise(rows)]
        told = ", ".join(f"{row['text']}: {row[recipe]:.2f}" for row in rows)
        yield Claim(f"more text never costs `{recipe}` more than {WORSE} points", min(steps) >= -WORSE, told)


def _trials(rows: list[dict[str, Any]]) -> Iterator[Claim]:
    found = next((row["over word2vec"] for row in rows if "over word2vec" in row), None)
    if found is not None:
        told = ", ".join(f"{task} {signed(one['above'])} ± {one['error']:.2f}" for task, one in found.items())
        text = (
            "`features` is above word2vec ± 1 with spelling by more than two standard errors, on folds of training and "
            "development sets"
        )
        yield Claim(text, all(one["above"] > 2 * one["error"] for one in found.values()), told)


def _starts(content: dict[str, Any]) -> Iterator[Claim]:
    for kind in dict.fromkeys(row["observations"] for row in content["rows"]):
        ends = {
            row["start"]: row["log_likelihood"][-1]
            for row in content["rows"]
            if row["observations"] == kind and row["start"] in ("neighbours", "subspace", "random")
        }
        told = ", ".join(f"{start} {value:.2f}" for start, value in ends.items())
        yield Claim(
            f"observing {kind}: after 20 iterations of EM, subspace identification is ahead of random parameters",
            ends["subspace"] > ends["random"],
            f"{told} nats per token",
        )
        yield Claim(
            f"observing {kind}: the start from neighbours, which mends it, is ahead of both",
            ends["neighbours"] > max(ends["subspace"], ends["random"]),
            f"{told} nats per token",
        )


def _rnn(content: dict[str, Any]) -> Iterator[Claim]:
    names = {"em": "EM on words", "profiles": "EM on profiles", "subspace": "subspace identification"}
    for size, study in content["sizes"].items():
        rows = study["summary"]
        for start in [start for start in names if start in rows and "random" in rows]:
            ours, theirs = rows[start]["test"], rows["random"]["test"]
            epochs = rows[start]["epochs to the best dev of random"]
            told = (
                f"{ours['mean']:.1f} ± {ours['sd']:.1f} against {theirs['mean']:.1f} ± {theirs['sd']:.1f} on test "
                f"({rows[start]['seeds']} and {rows['random']['seeds']} seeds); random's best after "
                f"{f'{sum(epochs) / len(epochs):.1f}' if epochs else 'no'} epochs instead of "
                f"{rows['random']['epochs']['mean']:.1f}"
            )
            enough = min(rows[start]["seeds"], rows["random"]["seeds"]) >= SEEDS
            text = f"a recurrent network with h = {size} is better from {names[start]} than from random weights"
            yield Claim(text, ours["most"] < theirs["least"] if enough else None, told)


def _language(content: dict[str, Any]) -> Iterator[Claim]:
    own = content.get("profiles")
    if not own:
        return
    parts = ["unigram", "state", "lag 1", "lag 2"]
    ours, theirs = (next(row for row in some["rows"] if row["parts"] == parts) for some in (own, content))
    trigram = next(row for row in content["rows"] if row["parts"] == ["KN trigram"])
    yield Claim(
        "the state of profiles and the counts predict the Penn Treebank better than a Kneser–Ney trigram",
        ours["test"] < trigram["test"],
        f"test perplexity {ours['test']:.1f}; the trigram {trigram['test']:.1f}; with the state of one-hot words "
        f"{theirs['test']:.1f}",
    )


def _learning(content: dict[str, Any]) -> Iterator[Claim]:
    if "train" not in content:
        return
    train = content["train"]
    told = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{row['tokens'] / 1e6:.0f}M tokens in {row['seconds']:.0f} s and {row['memory'] / 1e3:.1f} GB"
            for row in train[key]
        )
        for key, name in (("textlds", "profiles"), ("words", "one-hot words"))
    )
    yield Claim(
        f"from raw text to the model at least {FASTER:g} times as fast as gensim's CBOW with five epochs",
        train["ratio"] >= FASTER,
        f"{train['ratio']:.1f} times, {train['cpu_ratio']:.1f} by processor time; {told}; gensim "
        f"{train['gensim']['seconds']:.0f} s",
    )


JUDGES: dict[str, Callable[[Any], Iterator[Claim]]] = {
    "poison": _poison,
    "amounts": _amounts,
    "trials": _trials,
    "starts": _starts,
    "rnn": _rnn,
    "language": _language,
    "learning": _learning,
}
