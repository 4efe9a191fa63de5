"""A little language whose tags depend on words and on what occurs beside them."""

from __future__ import annotations

import numpy as np

from textlds.corpus.reading.tagged import Tagged

_NOUNS = ("cat", "dog", "house", "river", "tree", "boat")
_VERBS = ("sees", "likes", "finds", "takes")
_EITHER = ("works", "walks", "plays", "rests")  # nouns after "the", verbs after a noun


def tagged_sentences(n: int, *, seed: int = 0) -> list[Tagged]:
    """Return sentences like "the cat works the walks ." whose ambiguous words are told apart by their neighbours."""
    rng = np.random.default_rng(seed)

    def pick(*groups):
        return str(rng.choice([word for group in groups for word in group]))

    sentences = []
    for _ in range(n):
        tokens, tags = [], []
        for _ in range(int(rng.integers(1, 4))):
            tokens += ["the", pick(_NOUNS, _EITHER), pick(_VERBS, _EITHER), "the", pick(_NOUNS, _EITHER)]
            tags += ["DET", "NOUN", "VERB", "DET", "NOUN"]
        sentences.append(Tagged((*tokens, "."), (*tags, "PUNCT")))
    return sentences


def one_hot(sentences, *, context: bool):
    """Return an indicator of each token's word and, with context, of the word before."""
    words = ["the", ".", *_NOUNS, *_VERBS, *_EITHER]
    number = {word: i for i, word in enumerate(words)}
    rows = []
    for sentence in sentences:
        for i, token in enumerate(sentence):
            row = np.zeros((2, len(words)), np.float32)
            if token in number:
                row[0, number[token]] = 1
            if context and i and sentence[i - 1] in number:
                row[1, number[sentence[i - 1]]] = 1
            rows.append(row.ravel())
    return np.array(rows, np.float32).reshape(-1, 2 * len(words))


def secret_world(n: int, *, seed: int, names=("A", "B")):
    """Sentences whose tags only a vector tells, and the vectors of every sentence, by its tokens.

    Words and tags are drawn independently; the sign of the first number is the tag. The last token makes the
    sentence unlike all others.
    """
    rng = np.random.default_rng(seed)
    sentences, rows = [], {}
    for i in range(n):
        tags = rng.choice(names, 5)
        tokens = (*rng.choice(["u", "v"], 5).tolist(), f"#{seed}-{i}")
        sentences.append(Tagged(tokens, (*map(str, tags), "O")))
        signs = np.where(tags == names[0], 1.0, -1.0) * rng.uniform(0.5, 1.5, 5)
        rows[tokens] = np.column_stack([np.append(signs, 0.0), rng.standard_normal(6)]).astype(np.float32)
    return sentences, rows


def looked_up(*tables):
    """Return the vectors of :func:`secret_world` as features."""
    rows = {tokens: vectors for table in tables for tokens, vectors in table.items()}
    return lambda sentences: np.concatenate([rows[tuple(tokens)] for tokens in sentences])
