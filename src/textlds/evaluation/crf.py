"""A lexicalised tagger: a linear-chain conditional random field on words, affixes, shapes and neighbours.

The attributes of a token are those that carefully made taggers have: the word, its lower case, affixes of one to four
characters, its shape, the words and shapes two to each side, and pairs of neighbouring words. Token vectors join them
as real-valued attributes, word clusters as prefixes of their paths. CRFsuite (L-BFGS) learns the weights.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError, MissingExtraError
from textlds.evaluation.features import Features, Vectors, remembered
from textlds.progress import ProgressOption, resolve

Item = dict[str, Any]
Tags = list[tuple[str, ...]]

_OUTSIDE = ("<s>", "</s>")
_PREFIXES = (4, 6, 10, 20)  # of the paths of Brown clusters (Ratinov & Roth 2009)


@dataclass(frozen=True)
class CRFSettings:
    """How the weights are learnt.

    Attributes:
        c1: Weight of the L1 penalty.
        c2: Weight of the L2 penalty.
        vector_scale: Standard deviation that the entries of the vectors are given (0.1: Turian et al. 2010).
        min_count: Attributes that occur less often are left out.
        iterations: Of L-BFGS, at most.
    """

    c1: float = 0.0
    c2: float = 0.5
    vector_scale: float = 0.1
    min_count: int = 1
    iterations: int = 100


# what is tried on the development set where a search is asked for
GRID = tuple(CRFSettings(c2=c2, vector_scale=scale) for c2 in (0.1, 0.5, 2.0) for scale in (0.1, 0.3))


class CRFTagger:
    """A tagger that was learnt. Made by :func:`train_crf`.

    Attributes:
        settings: How it was learnt.
    """

    def __init__(
        self,
        content: bytes,
        settings: CRFSettings,
        features: Features | None,
        scale: float,
        clusters: Mapping[str, str],
    ) -> None:
        self.settings = settings
        self._features, self._scale, self._clusters = features, scale, clusters
        self._content = content  # the tagger reads from this memory
        self._tagger = _pycrfsuite().Tagger()
        self._tagger.open_inmemory(content)

    def predict(self, sentences: Sequence[Sequence[str]]) -> Tags:
        """Return the most likely tags of every sentence."""
        vectors = None if self._features is None else self._features(sentences) * np.float32(self._scale)
        return [tuple(self._tagger.tag(items)) for items in _items(sentences, vectors, self._clusters)]


def train_crf(
    train: Sequence[Tagged],
    *,
    features: Features | None = None,
    clusters: Mapping[str, str] | None = None,
    settings: CRFSettings | None = None,
) -> CRFTagger:
    """Learn a tagger from tagged sentences.

    Args:
        train: What to learn from.
        features: Token vectors, as attributes beside the lexical ones.
        clusters: The path of every word's cluster, such as ``"0010110"``.
        settings: Penalties and scales.

    Cost: an iteration takes O(tokens · (attributes + d) · tags + tokens · tags²), on one thread.
    """
    chosen = settings or CRFSettings()
    trainer = _pycrfsuite().Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {
            "c1": chosen.c1,
            "c2": chosen.c2,
            "max_iterations": chosen.iterations,
            "feature.minfreq": chosen.min_count,
            "feature.possible_transitions": True,
        }
    )
    sentences = [sentence.tokens for sentence in train]
    vectors, scale = None, 1.0
    if features is not None:
        vectors = features(sentences)
        scale = chosen.vector_scale / max(float(vectors.std()), 1e-12)
        vectors = vectors * np.float32(scale)
    for sentence, items in zip(train, _items(sentences, vectors, clusters or {}), strict=True):
        trainer.append(items, sentence.tags)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        trainer.train(str(path))
        return CRFTagger(path.read_bytes(), chosen, features, scale, clusters or {})


@dataclass(frozen=True)
class ChosenCRF:
    """The tagger that did best on the development set.

    Attributes:
        tagger: The best.
        score: What it reached.
        tried: All settings of the grid with their scores.
    """

    tagger: CRFTagger
    score: float
    tried: list[dict[str, float]]


def choose_crf(
    train: Sequence[Tagged],
    dev: Sequence[Tagged],
    score: Callable[[Tags], float],
    *,
    grid: Sequence[CRFSettings],
    features: Features | None = None,
    clusters: Mapping[str, str] | None = None,
    progress: ProgressOption = False,
) -> ChosenCRF:
    """Learn a tagger with each of several settings and keep the one that does best on the development set.

    Args:
        train: What to learn from.
        dev: What to choose on.
        score: Gives a number, the higher the better, for predicted tags of the development set.
        grid: The settings to try; the first of equally good ones is kept.
        features: See :func:`train_crf`.
        clusters: See :func:`train_crf`.
        progress: Whether to show how far it is.
    """
    if not grid:
        raise ArgumentError("grid is empty; give at least one CRFSettings.")
    once = remembered(features) if features is not None and len(grid) > 1 else features
    tokens = [sentence.tokens for sentence in dev]
    tried: list[dict[str, float]] = []

    def attempts() -> Iterator[tuple[float, CRFTagger]]:
        with resolve(progress).task("CRF", len(grid), "settings") as task:
            for settings in grid:
                tagger = train_crf(train, features=once, clusters=clusters, settings=settings)
                reached = score(tagger.predict(tokens))
                tried.append({**asdict(settings), "score": reached})
                task.advance(1, f"best {max(row['score'] for row in tried):.2f}")
                yield reached, tagger

    best, tagger = max(attempts(), key=itemgetter(0))
    return ChosenCRF(tagger, best, tried)


def lexical_attributes(tokens: Sequence[str]) -> list[list[str]]:
    """Return the attributes of every token of a sentence that need no vectors."""
    padded = [_OUTSIDE[0], _OUTSIDE[0], *tokens, _OUTSIDE[1], _OUTSIDE[1]]
    lower = [word.lower() for word in padded]
    shapes = [_shape(word) for word in padded]
    rows = []
    for i in range(2, len(tokens) + 2):
        row = list(_own_attributes(padded[i]))
        for shift in (-2, -1, 1, 2):
            row += [f"w{shift:+d}={lower[i + shift]}", f"shape{shift:+d}={shapes[i + shift]}"]
        row += [
            f"w-1,w={lower[i - 1]},{lower[i]}",
            f"w,w+1={lower[i]},{lower[i + 1]}",
            f"w-1,w+1={lower[i - 1]},{lower[i + 1]}",
            f"shape-1,shape,shape+1={shapes[i - 1]},{shapes[i]},{shapes[i + 1]}",
        ]
        rows.append(row)
    if rows:
        rows[0].append("first")
        rows[-1].append("last")
    return rows


@lru_cache(maxsize=1 << 17)
def _own_attributes(word: str) -> tuple[str, ...]:
    lower = word.lower()
    found = ["bias", f"w={word}", f"lower={lower}", f"shape={_shape(word)}"]
    for n in range(1, min(4, len(lower)) + 1):
        found += [f"prefix={lower[:n]}", f"suffix={lower[-n:]}"]
    flags = {
        "digit": any(c.isdigit() for c in word),
        "number": bool(re.fullmatch(r"[+-]?[\d.,:/]*\d[\d.,:/]*", word)),
        "hyphen": "-" in word,
        "apostrophe": "'" in word or "’" in word,
        "capital": word[:1].isupper(),
        "capitals": word.isupper() and len(word) > 1,
        "inner capital": any(c.isupper() for c in word[1:]) and not word.isupper(),
        "no letter or digit": not any(c.isalnum() for c in word),
    }
    return (*found, *(name for name, holds in flags.items() if holds))


@lru_cache(maxsize=1 << 17)
def _shape(word: str) -> str:
    """Return the word with letters as X or x, digits as 0, and runs cut to two: ``McDonald's-9`` is ``XxXxx'x-0``."""
    if word in _OUTSIDE:
        return word
    classes = "".join("X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return re.sub(r"(.)\1\1+", r"\1\1", classes)


def _items(
    sentences: Sequence[Sequence[str]], vectors: Vectors | None, clusters: Mapping[str, str]
) -> Iterator[list[Item]]:
    """Yield the attributes of every token of each sentence, as CRFsuite takes them."""
    names = [] if vectors is None else [str(number) for number in range(vectors.shape[1])]
    start = 0
    for tokens in sentences:
        items: list[Item] = [{"x": row} for row in lexical_attributes(tokens)]
        if vectors is not None:
            rows = vectors[start : start + len(tokens)].tolist()
            for item, row in zip(items, rows, strict=True):
                item["v"] = dict(zip(names, row, strict=True))
        if clusters:
            for i, item in enumerate(items):
                item["x"] += _cluster_attributes(tokens, i, clusters)
        start += len(tokens)
        yield items


def _cluster_attributes(tokens: Sequence[str], i: int, clusters: Mapping[str, str]) -> list[str]:
    found = []
    for shift in (-2, -1, 0, 1, 2):
        path = clusters.get(tokens[i + shift], "") if 0 <= i + shift < len(tokens) else ""
        found += [f"cluster{shift:+d},{n}={path[:n]}" for n in _PREFIXES if path]
    return found


def _pycrfsuite() -> Any:
    try:
        import pycrfsuite
    except ImportError as error:
        raise MissingExtraError("a CRF tagger", "evaluate") from error
    return pycrfsuite
