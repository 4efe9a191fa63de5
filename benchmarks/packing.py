"""Size against accuracy of packed models.

    python -m benchmarks.packing MODEL --train TRAIN.conllu --dev DEV.conllu [--similarity FILE ...] [--results FOLDER]

Each way of packing a model: bytes of its folder, universal tags of the development set that a network with 128 hidden
units gets right with the recipe `features`, and Spearman's correlation of cosines of meaning with judgements on sets of
word pairs. The test part of a treebank is not looked at.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import textlds
from benchmarks.texts import markdown_table
from textlds.cli.info import folder_size
from textlds.corpus.reading.tagged import read_tagged
from textlds.evaluation.data import read_pairs
from textlds.evaluation.features import model_features
from textlds.evaluation.similarity import evaluate_pairs
from textlds.evaluation.tagging import evaluate_tagging

WAYS: dict[str, dict[str, Any]] = {
    "as learnt": {},
    "float16": {"precision": "float16"},
    "int8": {"precision": "int8"},
    "int8, 40,000 words": {"precision": "int8", "vocab_size": 40_000},
    "int8, 40,000 words, 100 dimensions": {"precision": "int8", "vocab_size": 40_000, "dimensions": 100},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--dev", type=Path)
    parser.add_argument("--sentences", type=int, default=4000, help="of the training part")
    parser.add_argument("--similarity", type=Path, nargs="*", default=[])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    model, rows = textlds.load(arguments.model), []
    for way in arguments.ways:
        with tempfile.TemporaryDirectory() as folder:
            packed = model if way == "as learnt" else model.quantized(**WAYS[way])
            packed.save(Path(folder) / "model")
            rows.append({"way": way, **measured(textlds.load(Path(folder) / "model"), arguments)})
            rows[-1]["bytes"] = folder_size(Path(folder) / "model")
        print(rows[-1], flush=True)
    if arguments.results:
        write(rows, arguments)


def measured(model: textlds.TextLDS, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what is right, in per cent, and correlations times 100."""
    found: dict[str, Any] = {}
    if arguments.train and arguments.dev:
        train, dev = read_tagged(arguments.train)[: arguments.sentences], read_tagged(arguments.dev)
        result = evaluate_tagging(model_features(model, threads=1), train, dev, hidden=128)
        found["tags"] = next(row.accuracy.all for row in result.rows if row.part == "dev")
    words = model_features(model, recipe="word_meaning", threads=1)
    for path in arguments.similarity:
        correlation = evaluate_pairs(words, read_pairs(path), model.vocabulary)
        found[path.stem] = 100 * correlation.rho
    return found


def write(rows: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "packing.json").write_text(json.dumps(rows, indent=1) + "\n")
    names = [name for name in rows[0] if name not in ("way", "bytes")]
    table = markdown_table(
        ["model", "MB", *names],
        [[row["way"], f"{row['bytes'] / 1e6:.1f}", *(f"{row[name]:.2f}" for name in names)] for row in rows],
    )
    lines = [
        "# Packed models: size against accuracy", "",
        "By `python -m benchmarks.packing`. Tags: per cent of universal tags on the development set, a network with "
        f"128 hidden units on the recipe `features`, {arguments.sentences:,} training sentences, one seed. Sets of "
        "word pairs: Spearman's correlation times 100; pairs with a word outside the vocabulary are left out, so that "
        "models with fewer words are measured on fewer pairs.", "", *table,
    ]  # fmt: skip
    (arguments.results / "packing.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
