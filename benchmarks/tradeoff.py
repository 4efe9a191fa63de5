"""Accuracy against speed: the tags that a small classifier reads off token vectors, and how fast the vectors come.

    python -m benchmarks.tradeoff TEXT --train train.conllu --dev dev.conllu [--tokens 20e6] [--results FOLDER]

word2vec (gensim's CBOW, 200 dimensions, alone and with its neighbours' vectors), textlds at several state sizes
(the kinds of vectors below), and a small transformer. word2vec and textlds learn from the same tokens of TEXT,
unknown words in the same classes. The classifier is the same for all: two layers, 64 hidden units, Adam, the epoch
chosen on the development set; its accuracy there is the best of that choice, so that the picture compares, and no test
set is touched. Rates are tokens per second on one thread from lists of tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textlds
from benchmarks.peers import Transformer, train_word2vec, with_neighbours
from benchmarks.recorded import recipe_of, shown
from benchmarks.texts import first_lines

Sentences = list[list[str]]
Features = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--tokens", type=float, default=20e6)
    parser.add_argument("--vocab-size", type=int, default=50_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=5, help="of word2vec")
    parser.add_argument("--threads", type=int, default=2, help="for training; vectors are made on one")
    parser.add_argument(
        "--only", choices=("all", "textlds", "transformer"), default="all", help="what to measure again"
    )
    parser.add_argument("--results", type=Path, help="folder for tradeoff.json and tradeoff.png")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    tagging = Tagging(arguments.train, arguments.dev, arguments.threads)
    rows: list[dict[str, Any]] = []

    def measure(name: str, family: str, vectors: Callable[[Sentences], Features]) -> None:
        rate, accuracy = tagging.measure(vectors)
        rows.append({"name": name, "family": family, "tokens_per_second": rate, "accuracy": accuracy})
        print(f"  {name:<36} {rate:>12,.0f} tokens/s   {accuracy:6.2f} %", flush=True)

    if arguments.only != "transformer":
        learnt(arguments, measure)
    if arguments.only != "textlds":
        try:
            transformer = Transformer()
            measure("transformer", "transformer", lambda sentences: transformer.vectors(sentences))
        except ImportError as error:
            print(f"  transformer: not installed ({error.name})")
    if arguments.results:
        write(rows, arguments)


def learnt(arguments: argparse.Namespace, measure: Callable[..., None]) -> None:
    """Measure what learns from the text: textlds and word2vec."""
    part = first_lines(arguments.text, arguments.tokens)
    counts = textlds.count(texts=part, vocab_size=arguments.vocab_size, threads=arguments.threads)
    for size in arguments.sizes:
        model = textlds.fit(
            counts,
            state_size=size,
            iterations=arguments.iterations,
            observations="words",  # which has both weightings
            threads=arguments.threads,
        )
        for parts, evidence in KINDS:
            name = " + ".join(parts) + (f", {evidence} evidence" if evidence != "model" else "")
            measure(f"textlds {size}, {name}", f"textlds, {name}", embedder(model, parts, evidence))
    if arguments.only == "all":
        word_vectors(arguments, counts, part, measure)


def write(rows: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """Write the rows, those measured before and not again included."""
    arguments.results.mkdir(parents=True, exist_ok=True)
    path = arguments.results / "tradeoff.json"
    settings = {key: str(value) for key, value in vars(arguments).items() if key in SETTINGS}
    if arguments.only != "all" and path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        names = {row["name"] for row in rows}
        rows, settings = [row for row in before["rows"] if row["name"] not in names] + rows, before["settings"]
    path.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    plot(rows, arguments.results / "tradeoff.png")


# parts of textlds's vectors, and their weighting, as recorded
KINDS = (
    (("state",), "model"),
    (("left", "word", "right"), "model"),
    (("state",), "equal"),
    (("state", "before", "word", "after"), "equal"),
)
SETTINGS = ("tokens", "vocab_size", "sizes", "iterations", "epochs", "threads")


def embedder(model: textlds.TextLDS, parts: Any, evidence: Any) -> Callable[[Sentences], Features]:
    def vectors(sentences: Sentences) -> Features:
        embedded = model.embed(sentences, recipe=recipe_of(parts, evidence), threads=1)
        return np.concatenate([sentence.vectors for sentence in embedded])

    return vectors


def word_vectors(
    arguments: argparse.Namespace,
    counts: textlds.LagCounts,
    lines: list[str],
    measure: Callable[[str, str, Callable[[Sentences], Features]], None],
) -> None:
    from textlds.corpus.encoding import Encoder

    vocabulary = counts.vocabulary
    words = np.array(vocabulary.words, dtype=object)
    encoder = Encoder(vocabulary)
    corpus = [words[text.ids].tolist() for text in encoder.encode_many(lines)]
    vectors = train_word2vec(corpus, size=200, window=3, epochs=arguments.epochs, threads=arguments.threads)
    table = np.zeros((len(words), 200), np.float32)
    for i, word in enumerate(words):
        if word in vectors:
            table[i] = vectors[word] / np.linalg.norm(vectors[word])

    def alone(sentences: Sentences) -> Features:
        return table[np.concatenate([text.ids for text in encoder.encode_many(sentences)])]

    def neighbours(sentences: Sentences) -> Features:
        return with_neighbours(alone(sentences), [len(sentence) for sentence in sentences])

    measure("word2vec 200", "word2vec", alone)
    measure("word2vec 200 and its neighbours", "word2vec and neighbours", neighbours)


class Tagging:
    """Universal part-of-speech tags of a CoNLL-U treebank."""

    def __init__(self, train: Path, dev: Path, threads: int) -> None:
        (self._train, tags), (self._dev, dev_tags) = read_conllu(train), read_conllu(dev)
        names = sorted(set(tags))
        numbers = {name: i for i, name in enumerate(names)}
        self._y = np.array([numbers[tag] for tag in tags])
        self._y_dev = np.array([numbers.get(tag, -1) for tag in dev_tags])
        self._classes, self._threads = len(names), threads

    def measure(self, vectors: Callable[[Sentences], Features]) -> tuple[float, float]:
        """Return tokens per second, once all is set up, and accuracy in per cent."""
        vectors(self._dev[:10])
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            dev = vectors(self._dev)
            seconds.append(time.perf_counter() - began)
            if seconds[-1] > 5:
                break
        set_threads(self._threads)
        return len(dev) / min(seconds), classify(vectors(self._train), self._y, dev, self._y_dev, self._classes)


def set_threads(threads: int) -> None:
    """Let the classifier use so many threads: on a busy machine, two that wait for each other take far longer."""
    import torch

    torch.set_num_threads(threads)


def classify(X: Features, y: Any, X_dev: Features, y_dev: Any, classes: int, epochs: int = 12) -> float:
    """Train two layers with 64 hidden units; return the best accuracy over the epochs."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    scale = float(np.sqrt(X.shape[1]) / max(np.sqrt(np.mean(np.sum(X**2, axis=1))), 1e-9))
    inputs, targets = torch.from_numpy(X * scale), torch.from_numpy(y)
    dev = torch.from_numpy(X_dev * scale)
    network = nn.Sequential(nn.Linear(X.shape[1], 64), nn.Tanh(), nn.Linear(64, classes))
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    best = 0.0
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(256):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(inputs[batch]), targets[batch]).backward()
            optimiser.step()
        schedule.step()
        with torch.no_grad():
            best = max(best, float(np.mean(network(dev).argmax(1).numpy() == y_dev)))
    return 100 * best


def read_conllu(path: Path) -> tuple[Sentences, list[str]]:
    sentences: Sentences = [[]]
    tags: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line:
            sentences.append([])
        elif not line.startswith("#"):
            fields = line.split("\t")
            if fields[0].isdigit():
                sentences[-1].append(fields[1])
                tags.append(fields[3])
    return [sentence for sentence in sentences if sentence], tags


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    for family in dict.fromkeys(row["family"] for row in rows):
        some = [row for row in rows if row["family"] == family]
        x, y = [row["tokens_per_second"] for row in some], [row["accuracy"] for row in some]
        axes.plot(x, y, "o-", label=shown(family))
    axes.set(xscale="log", xlabel="tokens per second, one thread", ylabel="tagging accuracy, UPOS, %")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    figure.tight_layout()
    _label(axes, [row for row in rows if row["family"].startswith("textlds")])
    figure.savefig(path, dpi=120)


# where a label may be beside its point, in points; the first place where it covers nothing is taken
_PLACES = [(x, y, side) for y in (4, -10, 15, -21, 26, -32, 37, -43) for x, side in ((4, "left"), (-4, "right"))]


def _label(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Put names beside points so that none covers another one or a point."""
    figure = axes.figure
    figure.canvas.draw()
    points = axes.transData.transform([(row["tokens_per_second"], row["accuracy"]) for row in rows])
    taken: list[Any] = [axes.get_legend().get_window_extent()]
    for row in rows:
        name = row["name"].split(",")[0].removeprefix("textlds ")
        spot = (row["tokens_per_second"], row["accuracy"])
        for x, y, side in _PLACES:
            text = axes.annotate(name, spot, xytext=(x, y), textcoords="offset points", ha=side, fontsize=8)
            box = text.get_window_extent(figure.canvas.get_renderer())
            inside = axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1 and axes.bbox.y0 <= box.y0 <= axes.bbox.y1
            if inside and not any(box.overlaps(other) for other in taken) and not box.padded(5).count_contains(points):
                break
            text.remove()
        else:
            axes.annotate(name, spot, xytext=(4, 4), textcoords="offset points", fontsize=8)
            continue
        taken.append(box)


if __name__ == "__main__":
    main()
