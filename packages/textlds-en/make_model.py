"""Make the model of this package from a text, and its card.

    python packages/textlds-en/make_model.py WIKIPEDIA.txt [--counts FOLDER] [--train FILE --dev FILE] [--keep]

WIKIPEDIA.txt has one paragraph per line. With --train and --dev, CoNLL-U files of a treebank, the card says how well
a small network tags the development set with the vectors, before and after packing. Probabilities of words are fitted
to paragraphs of the text after packing, in some minutes. With --keep, the packed model that is there is measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import textlds
from textlds.cli.info import folder_size

HERE = Path(__file__).parent / "src" / "textlds_en"
VOCAB_SIZE, STATE_SIZE = 100_000, 200  # of the model that is learnt
PACKED = {"precision": "int8", "vocab_size": 40_000, "dimensions": 100, "buckets": 16_384}
LARGEST = 12_000_000  # bytes of the wheel
TOKENS = 500_000  # that probabilities are fitted to
EVERY = 29  # paragraphs: a sample of the whole text


def main() -> None:
    """Train, pack, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--counts", type=Path, help="a counts folder of the text, if there is one")
    parser.add_argument("--model", type=Path, help="a model folder of the text, if there is one")
    parser.add_argument("--keep", action="store_true", help="keep the packed model, write its card again")
    parser.add_argument("--train", type=Path)
    parser.add_argument("--dev", type=Path)
    arguments = parser.parse_args()
    if arguments.model:
        model = textlds.load(arguments.model)
    else:
        counts = (
            textlds.LagCounts.load(arguments.counts)
            if arguments.counts
            else textlds.count(arguments.text, vocab_size=VOCAB_SIZE, progress=True)
        )
        model = textlds.fit(counts, state_size=STATE_SIZE, progress=True)
    if not arguments.keep:
        packed = model.quantized(**PACKED).with_language_model(sample(arguments.text), tokens=TOKENS, progress=True)
        packed.save(HERE / "model", force=True)
    packed = textlds.load(HERE / "model")
    size = folder_size(HERE / "model")
    if size > 1.15 * LARGEST:  # a wheel is compressed, by about a tenth
        raise SystemExit(f"the model takes {size:,} bytes, more than a wheel of {LARGEST:,} may: keep fewer words")
    accuracy = ""
    if arguments.train and arguments.dev:
        figures = [tagging(each, arguments.train, arguments.dev) for each in (model, packed)]
        accuracy = (
            f"\nUniversal part-of-speech tags, {arguments.dev.name}, a network with 128 hidden units on the recipe "
            f"`features`: {figures[0]:.2f} % with the model that was learnt, {figures[1]:.2f} % with this one.\n"
        )
    (HERE / "CARD.md").write_text(card(packed, arguments.text, size, accuracy), encoding="utf-8")
    print(f"{HERE / 'model'}: {size / 1e6:.1f} MB{accuracy}")


def sample(text: Path) -> Iterator[str]:
    """Yield some paragraphs of the text, from all of it."""
    with text.open(encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number % EVERY == 0 and line.strip():
                yield line.strip()


def tagging(model: textlds.TextLDS, train: Path, dev: Path) -> float:
    """Return the per cent of right tags on the development set."""
    from textlds.corpus.reading.tagged import read_tagged
    from textlds.evaluation.features import model_features
    from textlds.evaluation.tagging import evaluate_tagging

    result = evaluate_tagging(model_features(model), *(read_tagged(path) for path in (train, dev)), hidden=128)
    return next(row.accuracy.all for row in result.rows if row.part == "dev")


def card(model: textlds.TextLDS, text: Path, size: int, accuracy: str) -> str:
    """Return the card of the model."""
    settings = model.history.settings
    assert model.language is not None
    language = model.language.facts
    return f"""# An English model for textlds

- **Text**: `{text.name}`, {text.stat().st_size / 1e6:,.0f} MB of English Wikipedia, one paragraph per line,
  {settings.get("tokens", 0):,} tokens. Licence: CC BY-SA 4.0.
- **Model**: {len(model.vocabulary):,} words, {model.state_size} numbers per part of a vector, learnt with a state of
  {settings.get("state_size")} in {model.history.iterations} iterations, seed {settings.get("seed")}; packed as int8,
  {size / 1e6:.1f} MB. Other words are read by their spelling.
- **Probabilities of words**: a readout of the state, fitted to {language["tokens"]:,} tokens of the text; perplexity
  {language["held_out_perplexity"]:.0f} on {language["held_out_tokens"]:,} others (of frequencies alone:
  {language["parts"]["unigram"]:.0f}).
- **Made by**: `make_model.py` of this package with textlds {textlds.__version__}.
{accuracy}
It reflects what Wikipedia writes about, and how. It knows no other language.
"""


if __name__ == "__main__":
    main()
