"""What a licence after every book does to a model: tags read off its states, and its strongest transitions.

    python -m benchmarks.poison TEXT --train train.conllu --dev dev.conllu [--tokens 20e6] [--results FOLDER]

The text, and the same text with a notice of 2,500 words after every 60,000, in which one word in fifty varies each time
(hardly a line of it repeats to the letter). For both: the default model, and the paper's. The notice is a passage of
TEXT that the rest does not have. Accuracy is that of the local classifier with 128 units on the development set, from
the state alone. A transition is of the notice if most of its words occur there ten times as often as in the text.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from benchmarks.texts import first_lines
from textlds.corpus.reading.tagged import read_tagged
from textlds.evaluation.features import model_features
from textlds.evaluation.tagging import evaluate_tagging

NOTICE, EVERY, VARIED, LINE = 2_500, 60_000, 0.02, 80  # words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--tokens", type=float, default=20e6)
    parser.add_argument("--sentences", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, help="folder for poison.json")
    arguments = parser.parse_args()
    labelled = read_tagged(arguments.train, column="upos")[: arguments.sentences]
    dev = read_tagged(arguments.dev, column="upos")
    lines = first_lines(arguments.text, arguments.tokens)
    notice = " ".join(lines[-400:]).split()[:NOTICE]
    lines = lines[:-400]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        texts = {"clean": Path(folder) / "clean.txt", "poisoned": Path(folder) / "poisoned.txt"}
        texts["clean"].write_text("\n".join(lines) + "\n", encoding="utf-8")
        texts["poisoned"].write_text("\n".join(poisoned(lines, notice)) + "\n", encoding="utf-8")
        for observations, recipe in (("profiles", "context"), ("words", "paper")):
            settings = textlds.FitSettings(observations=observations)
            for name, path in texts.items():
                model = textlds.train(path, settings=settings, threads=arguments.threads)
                found = evaluate_tagging(model_features(model, recipe=recipe), train=labelled, dev=dev, hidden=128)
                rows.append(
                    {
                        "observations": observations,
                        "text": name,
                        "accuracy": 100 * found.rows[0].accuracy.all,
                        "of_the_notice": of_the_notice(model, lines, notice),
                        "tokens": model.history.settings["tokens"],
                    }
                )
                print(rows[-1], flush=True)
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "poison.json").write_text(json.dumps(rows, indent=1) + "\n")


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
