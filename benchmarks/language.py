"""A language model without gradient descent: perplexities on the Penn Treebank, next to n-grams and networks.

    python -m benchmarks.language --ptb FOLDER [--observations words profiles] [--state-sizes 100 200 300]
                                  [--pseudocounts 50 200] [--work FOLDER] [--rnn-work FOLDER] --results FOLDER

FOLDER holds ptb.train.txt, ptb.valid.txt and ptb.test.txt, the language-model split. The end of a sentence is a token,
predicted like the others; the distribution is over 10,000 words, <unk> and the end among them.

The model observes one-hot words, as the paper's does, or profiles, as the default does (without pseudocounts);
figures of the other kind that are there already are kept. Everything is chosen on the development set: the state size
and the pseudocount by a readout of a part of the training text (--tuning-tokens), then the weights of every mixture.
The test set is read at the end and decides nothing. With --rnn-work, the folder that benchmarks.rnn keeps its networks
in, these are mixed in too. Writes language.json, and language.md made from it. What is fitted is kept in --work, and an
interrupted study resumes from there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textlds
from benchmarks.language_report import page
from benchmarks.ngrams import KneserNey
from benchmarks.rnn_report import final_runs, pace, read_work
from benchmarks.texts import PENN_TREEBANK, PENN_TREEBANK_WORDS
from textlds.corpus.encoding import Encoder
from textlds.language.mixture import Mixture, fit_mixture
from textlds.language.reading import sample

Column = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptb", type=Path, required=True)
    parser.add_argument("--observations", nargs="+", default=("words", "profiles"), choices=("words", "profiles"))
    parser.add_argument("--state-sizes", type=int, nargs="+", default=(100, 200, 300))
    parser.add_argument("--pseudocounts", type=float, nargs="+", default=(50, 200), help="of one-hot words")
    parser.add_argument("--tuning-tokens", type=int, default=200_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder for fitted models")
    parser.add_argument("--rnn-work", type=Path, help="the --work of benchmarks.rnn")
    parser.add_argument("--results", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments.work = arguments.work or Path(folder)
        arguments.work.mkdir(parents=True, exist_ok=True)
        path = arguments.results / "language.json"
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for observations in arguments.observations:
            found = study(arguments, observations)
            kept = {key: value for key, value in results.items() if key == "profiles"}  # one-hot words are the page's
            results = found | kept if observations == "words" else results | {"profiles": found}
            arguments.results.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if "rows" in results:
        path.with_suffix(".md").write_text(page(results), encoding="utf-8")
        print(page(results))


@dataclass
class Table:
    """Probabilities of every token of the development and test sets by several models, and their mixtures."""

    seen: dict[str, Column]  # occurrences of the word before each token in the training text
    columns: dict[str, dict[str, Column]] = field(default_factory=dict)

    def row(self, *names: str) -> dict[str, Any]:
        """Return the perplexities of one column, or of several mixed by weights that suit the development set."""
        mixed = self.mixed(*names)
        return {"parts": names, **{part: float(np.exp(-np.log(p).mean())) for part, p in mixed.items()}}

    def mixed(self, *names: str) -> dict[str, Column]:
        """Return the probabilities by the mixture of some columns."""
        stacked = {part: np.stack([self.columns[n][part] for n in names], axis=1) for part in ("dev", "test")}
        if len(names) == 1:
            return {part: values[:, 0] for part, values in stacked.items()}
        mixture: Mixture = fit_mixture(stacked["dev"], self.seen["dev"])
        return {part: (mixture.rows(self.seen[part]) * values).sum(axis=1) for part, values in stacked.items()}


def study(arguments: argparse.Namespace, observations: str) -> dict[str, Any]:
    """Return the figures of a model that observes one-hot words or profiles, and of its mixtures with others."""
    files = {"train": "ptb.train.txt", "dev": "ptb.valid.txt", "test": "ptb.test.txt"}
    texts = {part: (arguments.ptb / file).read_text(encoding="utf-8") for part, file in files.items()}
    counts, seconds = timed(
        lambda: textlds.count(
            [arguments.ptb / "ptb.train.txt"],
            threads=arguments.threads,
            text=PENN_TREEBANK,
            counting=PENN_TREEBANK_WORDS,
        )
    )
    ids = {part: Encoder(counts.vocabulary).encode(text).ids for part, text in texts.items()}
    results: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {arguments.threads} threads",
        "tokens": {part: len(some) for part, some in ids.items()},
        "vocabulary": len(counts.vocabulary),
        "tuning_tokens": arguments.tuning_tokens,
        "count_seconds": seconds,
        "trials": trials(arguments, observations, counts, texts),
    }
    chosen = min(results["trials"], key=lambda trial: trial["dev"])
    results["chosen"] = {name: chosen[name] for name in ("state_size", "pseudocount", "fit_seconds")}
    model = fitted(arguments, observations, counts, chosen["state_size"], chosen["pseudocount"])[0]
    results["iterations"] = model.history.iterations
    options = {"held_out": [texts["dev"]], "counts": counts, "threads": arguments.threads}
    calibrated, results["calibrate_seconds"] = timed(lambda: model.with_language_model([texts["train"]], **options))
    clipped = model.with_language_model([texts["train"]], link="clipped", **options)
    boundary = counts.vocabulary.id("</s>")
    before = {part: np.concatenate([[boundary], ids[part][:-1]]) for part in ("dev", "test")}
    table = Table({part: np.asarray(counts.unigrams, float)[some] for part, some in before.items()})
    add_parts(table, clipped, texts, ("unigram", "clipped link", "", ""))
    results["predict_rate"] = add_parts(table, calibrated, texts, ("unigram", "state", "lag 1", "lag 2"))
    sentences = {part: split(some, boundary) for part, some in ids.items()}
    ngrams = {n: KneserNey(sentences["train"], n, len(counts.vocabulary), boundary) for n in (2, 3)}
    for n, name in ((2, "KN bigram"), (3, "KN trigram")):
        table.columns[name] = {part: ngrams[n].probabilities(sentences[part]) for part in ("dev", "test")}
    if arguments.rnn_work:
        results["networks"] = add_networks(table, arguments.rnn_work, ids, boundary)
    results["rows"] = rows(table)
    results["default"] = {part: float(model.perplexity([texts[part]])) for part in ("dev", "test")}
    results["sentences alone"] = {
        part: float(calibrated.perplexity(texts[part].splitlines())) for part in ("dev", "test")
    }
    results["adds"] = what_the_state_adds(table, ngrams[3], sentences["test"])
    return results


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the processor seconds it took."""
    began = time.process_time()
    return work(), time.process_time() - began


def fitted(
    arguments: argparse.Namespace, observations: str, counts: textlds.LagCounts, h: int, kappa: float
) -> tuple[textlds.TextLDS, float]:
    """Return a model, fitted now or before, and the processor seconds of the fit."""
    folder = arguments.work / f"{observations}-h{h}-k{kappa:g}"
    note = folder.with_name(f"{folder.name}.json")
    if not note.exists():
        options: dict[str, Any] = {"state_size": h, "pseudocount": kappa, "observations": observations}
        model, seconds = timed(lambda: textlds.fit(counts, threads=arguments.threads, **options))
        model.save(folder, force=True)
        note.write_text(json.dumps({"fit_seconds": seconds}))
    return textlds.load(folder), float(json.loads(note.read_text())["fit_seconds"])


def trials(
    arguments: argparse.Namespace, observations: str, counts: textlds.LagCounts, texts: dict[str, str]
) -> list[dict[str, float]]:
    """Try state sizes and pseudocounts on the development set, each with a readout of a part of the training text."""
    path = arguments.work / f"trials-{observations}.json"
    done: list[dict[str, float]] = json.loads(path.read_text()) if path.exists() else []
    for h in arguments.state_sizes:
        for kappa in arguments.pseudocounts if observations == "words" else (0.0,):
            if any((trial["state_size"], trial["pseudocount"]) == (h, kappa) for trial in done):
                continue
            model, seconds = fitted(arguments, observations, counts, h, kappa)
            facts = model.with_language_model(
                [texts["train"]], held_out=[texts["dev"]], counts=counts,
                tokens=max(arguments.tuning_tokens, 1000), threads=arguments.threads,
            ).language.facts  # type: ignore[union-attr]  # fmt: skip
            trial = {"state_size": h, "pseudocount": kappa, "fit_seconds": seconds}
            trial |= {"dev": facts["held_out_perplexity"], "state": facts["parts"]["log-linear"]}
            done.append(trial)
            path.write_text(json.dumps(done))
            print(trial, flush=True)
    return done


def add_parts(table: Table, model: textlds.TextLDS, texts: dict[str, str], names: Sequence[str]) -> float:
    """Put the parts of a model into the table, under these names; returns tokens per second of processor time."""
    engine, predictor = model.language_filter()
    tokens = 0
    began = time.process_time()
    for part in ("dev", "test"):
        contexts, words = sample(engine, model.encoder, [texts[part]], limit=1 << 40, threads=1)
        found = predictor.parts_of(contexts, words)
        tokens += len(words)
        for name, column in zip(names, found.T, strict=True):
            if name:
                table.columns.setdefault(name, {})[part] = column
    return tokens / (time.process_time() - began)


def split(ids: NDArray[np.int32], boundary: int) -> list[list[int]]:
    """Return sentences without the boundary that ends each."""
    ends = np.flatnonzero(ids == boundary)
    return [some[some != boundary].tolist() for some in np.split(ids, ends + 1) if len(some)]


def rows(table: Table) -> list[dict[str, Any]]:
    """Return the rows of the table, mixtures among them; a mixture always holds the unigram."""
    state = ("unigram", "state")
    bigrams = ("unigram", "lag 1", "lag 2")
    mixtures: list[tuple[str, ...]] = [
        ("unigram",), ("KN bigram",), ("KN trigram",),
        ("unigram", "clipped link"), state,
        bigrams, ("unigram", "clipped link", "lag 1", "lag 2"), (*state, "lag 1"), (*state, "lag 1", "lag 2"),
        (*bigrams, "KN trigram"), (*state, "lag 1", "lag 2", "KN trigram"),
    ]  # fmt: skip
    for name in [name for name in table.columns if name.startswith("network")]:
        mixtures += [(name,), ("unigram", name, "KN trigram"), (*state, name), (*state, name, "lag 1", "lag 2")]
        mixtures.append((*state, name, "lag 1", "lag 2", "KN trigram"))
    return [table.row(*names) for names in mixtures]


def what_the_state_adds(table: Table, trigram: KneserNey, sentences: list[list[int]]) -> list[dict[str, Any]]:
    """Return bits per token of the test set without and with the state, by how much of the context the n-gram knew."""
    without = table.mixed("unigram", "lag 1", "lag 2", "KN trigram")["test"]
    with_state = table.mixed("unigram", "state", "lag 1", "lag 2", "KN trigram")["test"]
    known = trigram.known(sentences)
    names = {2: "trigram seen", 1: "bigram seen, trigram not", 0: "neither seen"}
    found = []
    for number, name in [*names.items(), (None, "all")]:
        chosen = np.ones(len(known), bool) if number is None else known == number
        bits = [float(-np.log2(p[chosen]).mean()) for p in (without, with_state)]
        found.append({"tokens": name, "share": float(chosen.mean()), "without": bits[0], "with": bits[1]})
    return found


def add_networks(table: Table, work: Path, ids: dict[str, NDArray[np.int32]], boundary: int) -> dict[str, Any]:
    """Put the networks of benchmarks.rnn into the table: of each start, the chosen rate and decay, the first seed."""
    import torch

    from textlds.integrations.torch import RecurrentLM

    runs = final_runs(read_work(work))
    found: dict[str, Any] = {}
    for start in [start for start in ("random", "em") if start in runs]:
        run = runs[start][0]
        rate, decay = pace(run)
        weights = torch.load(work / f"run-{start}-seed=0-rate={rate:g}-decay={decay:g}.pt", weights_only=True)
        lm = RecurrentLM(*weights["readout.weight"].shape)
        lm.load_state_dict(weights)
        table.columns[f"network, {start}"] = {
            part: network_probabilities(lm, ids[part], boundary) for part in ("dev", "test")
        }
        found[start] = {"epochs": len(run["curve"]) - 1, "dev": run["dev"]}
        found[start]["cpu_seconds"] = sum(record["cpu"] for record in run["curve"])
    return found


def network_probabilities(lm: Any, ids: NDArray[np.int32], boundary: int) -> Column:
    """Return the probability of every token by a network, which reads a boundary first."""
    import torch

    read = torch.from_numpy(np.concatenate([[boundary], ids]).astype(np.int64))
    found, state = [], None
    with torch.no_grad():
        for begin in range(0, len(ids), 1000):
            part = read[begin : begin + 1001]
            outputs, state = lm(part[None, :-1], state)
            found.append(lm.log_probabilities(outputs[0]).gather(1, part[1:, None])[:, 0])
    return np.exp(torch.cat(found).double().numpy())


if __name__ == "__main__":
    main()
