"""A small model, and labelled sentences that take context, spelling and the document to tag."""

from __future__ import annotations

import functools

import numpy as np

from model.worlds import counts_of
from textlds import fit
from textlds.corpus.reading.tagged import Tagged
from textlds.corpus.settings import TextSettings

_NOUNS = ("cat", "dog", "house", "river", "tree", "boat")
_VERBS = ("sees", "likes", "finds", "takes")
_EITHER = ("works", "walks", "plays", "rests")  # nouns after "the", verbs after a noun
_NAMES = ("Anna", "Ben", "Clara", "David")
SETTINGS = TextSettings(boundaries="line")


def tagged_sentences(n, *, seed=0):
    """Return sentences like "the cat works the walks ." whose ambiguous words are told apart by their neighbours."""
    rng = np.random.default_rng(seed)

    def pick(*groups):
        return str(rng.choice([word for group in groups for word in group]))

    sentences = []
    for _ in range(n):
        tokens, tags = [], []
        for _ in range(int(rng.integers(1, 4))):
            if rng.random() < 0.3:
                tokens.append(pick(_NAMES))
                tags.append("PROPN")
            else:
                tokens += ["the", pick(_NOUNS, _EITHER)]
                tags += ["DET", "NOUN"]
            tokens += [pick(_VERBS, _EITHER), "the", pick(_NOUNS, _EITHER)]
            tags += ["VERB", "DET", "NOUN"]
        sentences.append(Tagged((*tokens, "."), (*tags, "PUNCT")))
    return sentences


def entity_sentences(n, *, seed=0, scheme="iob2"):
    """Return documents of two sentences whose names are persons after "Mr" once and anything later."""
    from textlds.tagging.entities import convert_tags

    rng = np.random.default_rng(seed)
    sentences = []
    for document in range(n):
        name = [str(rng.choice(_NAMES)) for _ in range(int(rng.integers(1, 3)))]
        person = bool(rng.random() < 0.5)
        kind = "PER" if person else "LOC"
        tags = [f"{'B' if i == 0 else 'I'}-{kind}" for i in range(len(name))]
        for before in (["Mr" if person else "near"], ["the", "dog", "sees"]):
            full = ["O"] * len(before) + tags + ["O"]
            sentences.append(Tagged((*before, *name, "."), convert_tags(full, scheme), document))
    return sentences


@functools.cache
def small_counts(boundary_token=None):
    """Return counts of the little language."""
    settings = TextSettings(boundaries="line", boundary_token=boundary_token)
    sentences = [list(s.tokens) for s in (*tagged_sentences(400, seed=9), *entity_sentences(100, seed=9))]
    if boundary_token is not None:
        sentences = [[*s, boundary_token] for s in sentences]
    return counts_of(sentences, settings=settings)


@functools.cache
def small_model(boundary_token=None):
    """Return a model of the little language, with a lexicon."""
    return fit(small_counts(boundary_token), state_size=6, iterations=3, threads=1)
