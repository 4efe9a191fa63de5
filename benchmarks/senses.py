"""What makes a good vector of a word's sense: three questions with known answers. Used by benchmarks/search.py.

parts of speech   words of a treebank with two parts of speech ("run"): of the ten nearest other occurrences of the
                  word, how many have the same one? Mean over words and tags.
pseudo-words      two nouns made into one by hiding both behind an unknown word: of the ten nearest occurrences, not in
                  the same line, how many were the same noun? Chance is a half.
SCWS              pairs of words in context: rank correlation of the products with people's scores.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import textlds
from textlds.corpus.reading.tagged import Tagged
from textlds.evaluation.data import read_scws

Vectors = NDArray[np.float32]
Places = Sequence[tuple[Sequence[str], int]]  # tokens, and the position of the word
View = Callable[[Places], Vectors]

_NEAREST = 10
_HIDDEN = "zzxq"  # no word at all
_AROUND = 60  # words on either side, beyond which nothing counts


def views(model: textlds.TextLDS) -> dict[str, View]:
    """Return the kinds of vectors that are compared, each a function from places to vectors."""

    def recipe(text: str) -> View:
        def embed(texts: list[Sequence[str]]) -> Iterator[Vectors]:
            for found in model.embed(texts, recipe=text, threads=1):
                yield found.vectors

        return lambda places: at_places(embed, places)

    return {
        "context": recipe("context"),
        "previous and next word": recipe("previous_word+next_word"),
        "topic": recipe("topic"),
        "word meaning": recipe("word_meaning"),
        "meaning": recipe("meaning"),
        "meaning and state": recipe("sense+state"),
        "topic and state": recipe("topic+state"),
    }


def at_places(embed: Callable[[list[Sequence[str]]], Iterator[Vectors]], places: Places) -> Vectors:
    """Return the vectors at some places; a text with several of them is embedded once."""
    wanted: dict[int, list[int]] = collections.defaultdict(list)
    for number, (tokens, _) in enumerate(places):
        wanted[id(tokens)].append(number)
    groups = list(wanted.values())
    found: list[Any] = [None] * len(places)
    for group, vectors in zip(groups, embed([places[group[0]][0] for group in groups]), strict=True):
        for number in group:
            found[number] = vectors[places[number][1]]
    return np.stack(found)


def study(model: textlds.TextLDS, text: Path, treebank: list[Tagged], scws: Path | None, seed: int) -> dict[str, Any]:
    """Answer the three questions with every kind of vector."""
    homographs = list(two_tagged(treebank))
    pseudo = list(pseudo_words(model, text, nouns(treebank), seed))
    pairs = read_scws(scws) if scws else []
    print(f"{len(homographs)} homographs, {len(pseudo)} pseudo-words, {len(pairs)} pairs in context")
    chance = float(np.mean([same_share(tags) for _, tags in homographs]))
    found: dict[str, Any] = {"chance": {"parts of speech": chance, "pseudo-words": 0.5}}
    for name, view in views(model).items():
        of_words = split(view, [places for places, _ in homographs])
        of_nouns = split(view, [places for places, _, _ in pseudo])
        row = {
            "parts of speech": mean(map(tag_precision, of_words, [tags for _, tags in homographs])),
            "pseudo-words": mean(
                nearest_share(vectors, np.array(labels), apart=np.array(lines)).mean()
                for vectors, (_, labels, lines) in zip(of_nouns, pseudo, strict=True)
            ),
        }
        if pairs:
            first = unit(view([(pair.first.tokens, pair.first.position) for pair in pairs]))
            second = unit(view([(pair.second.tokens, pair.second.position) for pair in pairs]))
            row["SCWS"] = rank_correlation((first * second).sum(axis=1), np.array([pair.score for pair in pairs]))
        found[name] = row
        print(f"  {name:36}" + "  ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)
    return found


def split(view: View, groups: list[Places]) -> list[Vectors]:
    """Return the vectors of each group, all computed together."""
    whole = view([place for group in groups for place in group])
    return np.split(whole, np.cumsum([len(group) for group in groups])[:-1])


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def two_tagged(treebank: list[Tagged], *, least: int = 10, share: float = 0.1) -> Iterator[tuple[Places, list[str]]]:
    """Yield the occurrences of words of which the second most frequent tag is frequent, with their tags."""
    places: dict[str, list[tuple[Sequence[str], int]]] = collections.defaultdict(list)
    tags: dict[str, list[str]] = collections.defaultdict(list)
    for sentence in treebank:
        for at, (token, tag) in enumerate(zip(sentence.tokens, sentence.tags, strict=True)):
            if token.isalpha():
                places[token.lower()].append((sentence.tokens, at))
                tags[token.lower()].append(tag)
    for word in places:
        counts = collections.Counter(tags[word]).most_common(2)
        if len(counts) == 2 and counts[1][1] >= max(least, share * len(tags[word])):
            yield places[word][:1000], tags[word][:1000]


def same_share(tags: list[str]) -> float:
    """Return what chance gives: the mean over tags of their share among the other occurrences."""
    counts = collections.Counter(tags)
    return float(np.mean([(count - 1) / (len(tags) - 1) for count in counts.values() if count >= 5]))


def tag_precision(vectors: Vectors, tags: list[str]) -> float:
    labels = np.array(tags)
    same = nearest_share(vectors, labels)
    counts = collections.Counter(tags)
    return float(np.mean([same[labels == tag].mean() for tag, count in counts.items() if count >= 5]))


def nouns(treebank: list[Tagged]) -> set[str]:
    """Return the words that are nearly always common nouns."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for sentence in treebank:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            counts[token][tag] += 1
    return {word for word, of in counts.items() if of.total() >= 3 and of["NOUN"] > 0.95 * of.total()}


def pseudo_words(
    model: textlds.TextLDS, text: Path, words: set[str], seed: int, *, pairs: int = 50, least: int = 80
) -> Iterator[tuple[Places, list[str], list[int]]]:
    """Yield pairs of nouns as one: hidden occurrences, which noun each was, and the line it is from."""
    lines = [line for line in text.read_text(encoding="utf-8").split("\n") if len(line) > 50]
    texts = [list(encoded.tokens) for encoded in model.encoder.encode_many(lines)]
    where: dict[str, list[tuple[int, int]]] = collections.defaultdict(list)
    for number, tokens in enumerate(texts):
        for at, token in enumerate(tokens):
            if token in words and len(token) > 3 and token in model.vocabulary:
                where[token].append((number, at))
    frequent = sorted(word for word, places in where.items() if len(places) >= least)
    rng = np.random.default_rng(seed)
    order = [frequent[i] for i in rng.permutation(len(frequent))]
    for one, other in zip(order[0 : 2 * pairs : 2], order[1 : 2 * pairs : 2], strict=False):
        places: list[tuple[Sequence[str], int]] = []
        labels: list[str] = []
        origin: list[int] = []
        for word in (one, other):
            for i in rng.choice(len(where[word]), least, replace=False):
                number, at = where[word][i]
                first = max(at - _AROUND, 0)
                tokens = [*texts[number][first:at], _HIDDEN, *texts[number][at + 1 : at + 1 + _AROUND]]
                places.append((tokens, at - first))
                labels.append(word)
                origin.append(number)
        yield places, labels, origin


def nearest_share(vectors: Vectors, labels: NDArray[Any], *, apart: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Return for each vector the share of its nearest ones that have its label; the mean is taken off before."""
    centred = unit(vectors - vectors.sum(axis=0) / (len(vectors) + 10))
    products = centred @ centred.T
    np.fill_diagonal(products, -np.inf)
    if apart is not None:
        products[apart[:, None] == apart] = -np.inf
    nearest = np.argsort(-products, axis=1)[:, :_NEAREST]
    share: NDArray[np.float64] = (labels[nearest] == labels[:, None]).mean(axis=1)
    return share


def unit(vectors: Vectors) -> Vectors:
    scaled: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled


def rank_correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(x, y).statistic)
