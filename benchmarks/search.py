"""Search in context: which vector of a sense, which library, how fast.

    python -m benchmarks.search TEXT --model MODEL [--treebank TRAIN --treebank-held-out DEV] [--other-text OTHER]
                                [--scws FILE] [--occurrences 1000000] [--sections ...] [--results FOLDER]

senses      which vectors tell senses apart: see benchmarks/senses.py. TEXT is none that the model has learnt from.
            Choices were made on TRAIN; DEV is for the record, and so is OTHER, text of another kind
libraries   faiss, usearch and hnswlib on the vectors of occurrences of TEXT: processor time to build, size on disk,
            processor time of a question, recall of the ten nearest against comparing all, one thread
commands    what `textlds index` and `textlds find` take from end to end on TEXT

Questions are occurrences that are not in the index. `benchmarks/requirements.txt` lists the libraries.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import textlds
from benchmarks.senses import study
from textlds.corpus.reading.tagged import read_tagged
from textlds.search import OccurrenceIndex

Vectors = NDArray[np.float32]
Search = Callable[[Vectors], NDArray[np.int64]]
SECTIONS = ("senses", "libraries", "commands")
_QUESTIONS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--treebank", type=Path)
    parser.add_argument("--treebank-held-out", type=Path)
    parser.add_argument("--other-text", type=Path)
    parser.add_argument("--scws", type=Path)
    parser.add_argument("--occurrences", type=int, default=1_000_000)
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=list(LIBRARIES))
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--work", type=Path, help="folder for the vectors, kept from run to run")
    parser.add_argument("--results", type=Path, help="folder for search.json and search.md; what is there is added to")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    model = textlds.load(arguments.model)
    results = read_results(arguments.results)
    results["model"] = {"state_size": model.state_size, "tokens": model.history.settings.get("tokens")}
    if "senses" in arguments.sections and arguments.treebank:
        results["senses"] = senses(arguments, model)
    if "libraries" in arguments.sections:
        with tempfile.TemporaryDirectory() as folder:
            work = arguments.work or Path(folder)
            for name, found in libraries(arguments, model, work):
                results.setdefault("libraries", {})[name] = found
                write_results(arguments.results, results)
    if "commands" in arguments.sections:
        results["commands"] = commands(arguments, model)
    write_results(arguments.results, results)


def read_results(folder: Path | None) -> dict[str, Any]:
    path = folder / "search.json" if folder else None
    content: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}
    return content


def write_results(folder: Path | None, results: dict[str, Any]) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "search.json").write_text(json.dumps(results, indent=1) + "\n")
        (folder / "search.md").write_text(page(results))


def senses(arguments: argparse.Namespace, model: textlds.TextLDS) -> dict[str, Any]:
    """Study the kinds of vectors on the training part, with which choices were made, and on the other."""
    found = {"train": study(model, arguments.text, read_tagged(arguments.treebank), arguments.scws, seed=0)}
    if arguments.treebank_held_out:
        # other pairs of nouns too
        treebank = read_tagged(arguments.treebank_held_out)
        found["held out"] = study(model, arguments.text, treebank, None, seed=1)
        if arguments.other_text:
            found["other text"] = study(model, arguments.other_text, treebank, None, seed=2)
    return found


# Libraries


def libraries(arguments: argparse.Namespace, model: textlds.TextLDS, work: Path) -> Iterator[tuple[str, Any]]:
    """Measure each library on the same vectors."""
    vectors = occurrences(model, arguments.text, work / "vectors.npy", arguments.occurrences + _QUESTIONS)
    rng = np.random.default_rng(0)
    asked = np.sort(rng.choice(len(vectors), min(_QUESTIONS, len(vectors) // 10), replace=False))
    questions = np.ascontiguousarray(vectors[asked])
    rest = np.delete(np.arange(len(vectors)), asked)
    stored = np.ascontiguousarray(vectors[rest])
    truth = np.argsort(-(questions @ stored.T), axis=1)[:, :10]
    print(f"\n{len(stored):,} vectors of {stored.shape[1]} numbers, {len(questions)} questions")
    for name in arguments.libraries:
        try:
            yield name, measure(name, stored, questions, truth, work / "index")
        except ImportError as error:
            print(f"  {name}: not installed ({error.name})")


def occurrences(model: textlds.TextLDS, text: Path, path: Path, n: int) -> Vectors:
    """Return the vectors of some occurrences of words, from a file if it is there."""
    if path.exists() and len(np.load(path, mmap_mode="r")) == n:
        return np.array(np.load(path, mmap_mode="r"))
    lines = [line for line in text.read_text(encoding="utf-8").split("\n") if len(line) > 50]
    found: list[Vectors] = []
    size, rng = 0, np.random.default_rng(0)
    for sense in model.embed(lines, recipe="meaning", threads=1):
        lettered = np.array([any(character.isalpha() for character in token) for token in sense.tokens])
        found.append(sense.vectors[lettered & (rng.random(len(lettered)) < 0.5)])
        size += len(found[-1])
        if size >= n:
            break
    result = np.concatenate(found)[:n]
    np.save(path, result)
    return result


def measure(name: str, stored: Vectors, questions: Vectors, truth: NDArray[np.int64], path: Path) -> dict[str, Any]:
    began = time.process_time()
    build, efforts = LIBRARIES[name]
    search_with = build(stored, path)
    seconds = time.process_time() - began
    rows = []
    for effort in efforts:
        search = search_with(effort)
        began = time.process_time()
        answers = np.concatenate([search(question[None]) for question in questions])
        spent = (time.process_time() - began) / len(questions)
        same = [len(set(a) & set(t)) / 10 for a, t in zip(answers.tolist(), truth.tolist(), strict=True)]
        rows.append({"effort": effort, "milliseconds": 1e3 * spent, "recall": float(np.mean(same))})
    found = {"vectors": len(stored), "build seconds": seconds, "bytes": path.stat().st_size, "questions": rows}
    path.unlink()
    told = ", ".join(f"{row['milliseconds']:.2f} ms {row['recall']:.3f}" for row in rows)
    print(f"  {name:22} build {seconds:6.1f} s  {found['bytes'] / 1e6:5.0f} MB  {told}", flush=True)
    return found


def faiss_index(factory: str) -> Callable[[Vectors, Path], Callable[[int], Search]]:
    def build(stored: Vectors, path: Path) -> Callable[[int], Search]:
        import faiss

        faiss.omp_set_num_threads(1)
        cells = 1 << round(np.log2(len(stored)) / 2)
        index = faiss.index_factory(stored.shape[1], factory.format(cells=cells), faiss.METRIC_INNER_PRODUCT)
        rows = np.random.default_rng(0).choice(len(stored), min(len(stored), 40 * cells), replace=False)
        index.train(np.ascontiguousarray(stored[rows]))
        index.add(stored)
        faiss.write_index(index, str(path))

        def search_with(effort: int) -> Search:
            if hasattr(index, "nprobe"):
                index.nprobe = effort
            elif hasattr(index, "hnsw"):
                index.hnsw.efSearch = effort
            return lambda question: index.search(question, 10)[1]

        return search_with

    return build


def usearch_index(dtype: str) -> Callable[[Vectors, Path], Callable[[int], Search]]:
    def build(stored: Vectors, path: Path) -> Callable[[int], Search]:
        from usearch.index import Index

        index = Index(ndim=stored.shape[1], metric="ip", dtype=dtype, connectivity=16, expansion_add=128)
        index.add(np.arange(len(stored)), stored, threads=1)
        index.save(str(path))

        def search_with(effort: int) -> Search:
            index.expansion_search = effort
            return lambda question: index.search(question[0], 10, threads=1).keys[None].astype(np.int64)

        return search_with

    return build


def hnswlib_index(stored: Vectors, path: Path) -> Callable[[int], Search]:
    import hnswlib

    index = hnswlib.Index("ip", stored.shape[1])
    index.init_index(len(stored), ef_construction=128, M=16)
    index.set_num_threads(1)
    index.add_items(stored, np.arange(len(stored)))
    index.save_index(str(path))

    def search_with(effort: int) -> Search:
        index.set_ef(effort)
        return lambda question: index.knn_query(question, 10)[0].astype(np.int64)

    return search_with


_GRAPH, _CELLS = (32, 128, 256), (8, 16, 32, 64)
LIBRARIES: dict[str, tuple[Callable[[Vectors, Path], Callable[[int], Search]], tuple[int, ...]]] = {
    "faiss SQ8": (faiss_index("SQ8"), (0,)),
    "faiss IVF,SQ8": (faiss_index("IVF{cells},SQ8"), _CELLS),
    "faiss IVF,Flat": (faiss_index("IVF{cells},Flat"), _CELLS),
    "faiss HNSW16,SQ8": (faiss_index("HNSW16,SQ8"), _GRAPH),
    "usearch i8": (usearch_index("i8"), _GRAPH),
    "usearch f16": (usearch_index("f16"), _GRAPH),
    "hnswlib": (hnswlib_index, _GRAPH),
}


# Commands


def commands(arguments: argparse.Namespace, model: textlds.TextLDS) -> dict[str, Any]:
    """Build an index of the text and ask it, with what both take."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        began = time.process_time()
        index = OccurrenceIndex.build(model, [arguments.text], path, threads=1)
        built = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        config = json.loads((path / "config.json").read_text())
        context, word = question(model, arguments.text, index)
        began = time.process_time()
        index = OccurrenceIndex.load(path)
        opened = time.process_time() - began
        times = {}
        for match in ("same", "any"):
            began = time.process_time()
            for _ in range(10):
                index.find(word, context, match=match)
            times[match] = (time.process_time() - began) / 10
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    found = {
        "tokens": config["tokens"],
        "occurrences": config["occurrences"],
        "words": config["words"],
        "cells": config["vectors"]["cells"],
        "build seconds": built,
        "bytes": size,
        "peak memory": memory,
        "open seconds": opened,
        "find seconds": times,
    }
    print(f"\ntextlds index, textlds find\n  {found}")
    return found


def question(model: textlds.TextLDS, text: Path, index: OccurrenceIndex) -> tuple[str, str]:
    """Return a line of the text and its word with the most occurrences in the index."""
    with text.open(encoding="utf-8") as lines:
        line = next(line for line in lines if len(line) > 50)
    (tokens,) = (encoded.tokens for encoded in model.encoder.encode_many([line]))
    return line, max(tokens, key=index.count)


# The page


def page(results: dict[str, Any]) -> str:
    """Return what was found as Markdown."""
    lines = [
        "# Search in context",
        "",
        "Printed by `python -m benchmarks.search`, which says what each figure is. Processor time of one thread.",
        "",
    ]
    for part, found in results.get("senses", {}).items():
        tokens = results["model"].get("tokens") or 0
        names = [name for name in ("parts of speech", "pseudo-words", "SCWS") if name in found["meaning"]]
        lines += [
            f"## Which vector of a sense, {part}",
            "",
            f"A model of {tokens / 1e6:.0f}M tokens.",
            "",
            f"| vector | {' | '.join(names)} |",
        ]
        lines += ["|---" * (len(names) + 1) + "|"]
        for kind, row in found.items():
            cells = " | ".join(f"{row[name]:.3f}" if name in row else "" for name in names)
            lines.append(f"| {kind} | {cells} |")
        lines.append("")
    if "libraries" in results:
        lines += ["## Which library", "", "| library | vectors | build | on disk | a question: time, recall of ten |"]
        lines.append("|---|---|---|---|---|")
        for name, found in results["libraries"].items():
            told = "; ".join(f"{row['milliseconds']:.2g} ms, {row['recall']:.3f}" for row in found["questions"])
            size = f"{found['bytes'] / 1e6:.0f} MB"
            lines.append(f"| {name} | {found['vectors']:,} | {found['build seconds']:.1f} s | {size} | {told} |")
        lines.append("")
    if "commands" in results:
        found = results["commands"]
        times = found["find seconds"]
        lines += [
            "## From end to end",
            "",
            f"{found['tokens'] / 1e6:.1f}M tokens: {found['occurrences']:,} occurrences of {found['words']:,} words "
            f"are indexed in {found['build seconds']:.0f} s and take {found['bytes'] / 1e6:.0f} MB on disk; peak "
            f"memory {found['peak memory'] / 1e9:.1f} GB. Opening the index takes {found['open seconds']:.1f} s, most "
            f"of it the model; then a question takes {1e3 * times['same']:.0f} ms for the same word and "
            f"{1e3 * times['any']:.0f} ms for any.",
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
