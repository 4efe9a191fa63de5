"""Does more text make the default model better? Tags read off its states, for growing amounts of text.

    python -m benchmarks.amounts TEXT --train train.conllu --dev dev.conllu [--more TEXT] [--tokens 5e6 20e6 75e6]

The beginnings of TEXT with so many tokens, and the longest of them with --more behind it. Accuracy is that of the local
classifier with 128 units on the development set. Figures that are there already are kept: a run goes on where it was
stopped.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import textlds
from benchmarks.poison import Tags, parser
from benchmarks.texts import first_bytes, markdown_table

RECIPES = ("context", "features")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tokens", type=float, nargs="+", default=[5e6, 20e6, 75e6])
    options.add_argument("--more", type=Path, help="another text, added to the longest")
    arguments = options.parse_args()
    tags = Tags(arguments.train, arguments.dev, arguments.sentences)
    texts: list[tuple[str, float, list[Path]]] = [(f"{size / 1e6:.0f} M", size, []) for size in arguments.tokens]
    if arguments.more:
        texts.append((f"{texts[-1][0]} + {arguments.more.stem}", arguments.tokens[-1], [arguments.more]))
    path = arguments.results and arguments.results / "amounts.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text()) if path and path.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for name, size, more in texts:
            if any(row["text"] == name for row in rows):
                continue
            first = Path(folder) / "first.txt"
            first.write_bytes(first_bytes(arguments.text, size))
            model = textlds.train([first, *more], threads=arguments.threads)
            facts = {"text": name, "tokens": model.history.settings["tokens"], "state_size": model.state_size}
            rows.append({**facts, **{recipe: tags(model, recipe) for recipe in RECIPES}})
            print(rows[-1], flush=True)
            if path:
                arguments.results.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(rows, indent=1) + "\n")
                path.with_suffix(".md").write_text(report(rows), encoding="utf-8")


def report(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a page."""
    table = [
        [row["text"], f"{row['tokens'] / 1e6:.1f} M", row["state_size"], *(f"{row[recipe]:.2f}" for recipe in RECIPES)]
        for row in rows
    ]
    return "\n".join(
        [
            "# More text",
            "",
            "The default model of growing amounts of Wikipedia, all settings left to themselves. Per cent of universal "
            "tags on the development set of UD English EWT, read off the vectors of two recipes by a classifier with "
            "128 units; one seed, so that differences below 0.15 are noise. `python -m benchmarks.amounts` prints "
            "these figures.",
            "",
            *markdown_table(["text", "tokens", "state", *RECIPES], table),
        ]
    )


if __name__ == "__main__":
    main()
