"""What a licence after every book does to a model: tags read off its states, and its strongest transitions.

    python -m benchmarks.poison TEXT --train train.conllu --dev dev.conllu [--tokens 20e6] [--results FOLDER]

The text, and the same text with a notice of 2,500 words after every 60,000, in which one word in fifty varies each time
(hardly a line of it repeats to the letter). For both: the default model, and the paper's. The notice is a passage of
TEXT that the rest does not have. Accuracy is that of the local classifier with 128 units on the development set, from
the state alone. A transition is of the notice if most of its words occur there ten times as often as in the text. Rows
of other runs in the results are kept.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.texts import first_lines, markdown_table
from textlds.corpus.reading.tagged import read_tagged
from textlds.evaluation.features import model_features
from textlds.evaluation.tagging import evaluate_tagging

NOTICE, EVERY, VARIED, LINE = 2_500, 60_000, 0.02, 80  # words
MODELS = {"profiles": "context", "words": "paper"}  # observations -> recipe
NAMES = {"profiles": "default", "words": "the paper's"}


class Tags:
    """Accuracy of universal tags read off vectors, on a development set, in per cent.

    Args:
        train: A treebank's training part, CoNLL-U.
        dev: Its development part.
        sentences: How many to learn from.
    """

    def __init__(self, train: Path, dev: Path, sentences: int) -> None:
        self._train, self._dev = read_tagged(train, column="upos")[:sentences], read_tagged(dev, column="upos")

    def __call__(self, model: textlds.TextLDS, recipe: str) -> float:
        """Return the accuracy of a model's vectors."""
        found = evaluate_tagging(model_features(model, recipe=recipe), train=self._train, dev=self._dev, hidden=128)
        return found.rows[0].accuracy.all


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the options of a script that trains models and reads tags off them."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("text", type=Path)
    made.add_argument("--train", type=Path, required=True)
    made.add_argument("--dev", type=Path, required=True)
    made.add_argument("--sentences", type=int, default=8000)
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--results", type=Path, help="folder for the figures")
    return made


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tokens", type=float, default=20e6)
    options.add_argument("--observations", nargs="+", default=list(MODELS), choices=list(MODELS))
    arguments = options.parse_args()
    tags = Tags(arguments.train, arguments.dev, arguments.sentences)
    lines = first_lines(arguments.text, arguments.tokens)
    notice = " ".join(lines[-400:]).split()[:NOTICE]
    lines = lines[:-400]
    stored = arguments.results / "poison.json" if arguments.results else None
    rows: list[dict[str, Any]] = json.loads(stored.read_text()) if stored and stored.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        texts = {"clean": Path(folder) / "clean.txt", "poisoned": Path(folder) / "poisoned.txt"}
        texts["clean"].write_text("\n".join(lines) + "\n", encoding="utf-8")
        texts["poisoned"].write_text("\n".join(poisoned(lines, notice)) + "\n", encoding="utf-8")
        for observations in arguments.observations:
            recipe = MODELS[observations]
            settings = textlds.FitSettings(observations=observations)  # type: ignore[arg-type]
            for name, path in texts.items():
                model = textlds.train(path, settings=settings, threads=arguments.threads)
                row = {
                    "observations": observations,
                    "text": name,
                    "accuracy": tags(model, recipe),
                    "of_the_notice": of_the_notice(model, lines, notice),
                    "tokens": model.history.settings["tokens"],
                    "state_size": model.state_size,
                }
                print(row, flush=True)
                keys = ("observations", "text", "tokens")
                rows = [one for one in rows if any(one[key] != row[key] for key in keys)] + [row]
                if stored:
                    stored.parent.mkdir(parents=True, exist_ok=True)
                    stored.write_text(json.dumps(rows, indent=1) + "\n")
                    stored.with_suffix(".md").write_text(report(rows), encoding="utf-8")


def report(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a page."""
    table = [
        [NAMES[row["observations"]], row["text"], f"{row['tokens'] / 1e6:.1f} M", row["state_size"],
         f"{row['accuracy']:.2f}", f"{row['of_the_notice']} of 10"]
        for row in rows
    ]  # fmt: skip
    head = ["model", "text", "tokens", "state", "tags", "transitions of the notice"]
    return "\n".join(
        [
            "# A notice after every book",
            "",
            "Wikipedia, and the same text with a notice of 2,500 words after every 60,000, one word in fifty of it "
            "varied each time. Per cent of universal tags on the development set of UD English EWT, read off the state "
            "by a classifier with 128 units, and how many of the ten strongest transitions are of words of the notice. "
            "`python -m benchmarks.poison` prints these figures.",
            "",
            *markdown_table(head, table),
        ]
    )


def poisoned(lines: list[str], notice: list[str]) -> list[str]:
    """Return the lines with a varied notice after every so many words."""
    rng, result, words = np.random.default_rng(0), [], 0
    for line in lines:
        result.append(line)
        words += len(line.split())
        if words >= EVERY:
            words = 0
            varied = [str(rng.choice(notice)) if rng.random() < VARIED else word for word in notice]
            result += [" ".join(varied[i : i + LINE]) for i in range(0, len(varied), LINE)]
    return result


def of_the_notice(model: textlds.TextLDS, lines: list[str], notice: list[str]) -> int:
    """Return how many of the ten strongest transitions are made of words of the notice."""
    text: dict[str, int] = {}
    for line in lines:
        for word in line.split():
            text[word] = text.get(word, 0) + 1
    copies = sum(text.values()) // EVERY
    own = {word for word in set(notice) if notice.count(word) * copies > 10 * text.get(word, 0)}
    found = (transition.source + transition.target for transition in model.dynamics(10))
    return sum(sum(word in own for word in words) > len(words) / 2 for words in found)


if __name__ == "__main__":
    main()
