"""Features of spelling: what they are made of, by a twin in plain Python, and that hashing spreads them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textlds.lexicon import features as spelling
from textlds.lexicon.features import spelling_features

LARGE = 1 << 30  # so that different features hardly ever share a bucket


def named_features(word):
    """The features of a word, as tuples."""
    lower = word.lower()
    if word == lower:
        capitals = "none"
    elif word.isupper() and len(word) > 1:
        capitals = "all"
    else:
        capitals = "first" if word[0].isupper() else "some"
    found = [("every word",), ("capitals", capitals)]
    if len(lower) > 64:
        lower = lower[:32] + lower[-32:]
    marked = ["<begin>", *lower, "<end>"]
    found += [("run", *marked[i : i + n]) for n in (2, 3, 4, 5) for i in range(len(marked) - n + 1)]
    found += [("ending", capitals, lower[-n:]) for n in (1, 2, 3, 4) if n < len(lower)]
    return found + [("mark", mark) for mark in ("NUM", "-", ".") if mark in word]


def buckets_of(words, size=LARGE):
    indptr, indices = spelling_features(words, size)
    assert indptr[0] == 0
    assert indptr[-1] == len(indices)
    assert len(indices) == 0 or 0 <= indices.min() <= indices.max() < size
    return [indices[a:b].tolist() for a, b in itertools.pairwise(indptr)]


WORDS = ["walking", "Walking", "WALKING", "iPhone", "a", "A", "NUMth", "co-op", "U.S.", "éclair", "Éclair", "语言", "-"]
WORDS += ["", "x" * 80 + "ing", "ß", "İstanbul", "1990s", "the", "The"]


def test_features_are_those_of_the_twin():
    """Two features have one bucket if, and only if, they are the same: over all pairs of all words."""
    words = [word for word in WORDS if word]
    names = [named_features(word) for word in words]
    found = buckets_of(words)
    bucket_of, feature_of = {}, {}
    for word, features, buckets in zip(words, names, found, strict=True):
        assert len(features) == len(buckets), word
        # a word's features come in no order that is promised: compare as a multiset through names seen before
        for feature, bucket in zip(features, buckets, strict=True):
            assert bucket_of.setdefault(feature, bucket) == bucket, (word, feature)
            assert feature_of.setdefault(bucket, feature) == feature, (word, feature)


@given(st.lists(st.text(min_size=1, max_size=90), min_size=1, max_size=8))
def test_a_word_has_the_same_features_in_any_company(words):
    together = buckets_of(words)
    for word, buckets in zip(words, together, strict=True):
        assert buckets_of([word]) == [buckets]


def test_fewer_buckets_are_the_last_bits():
    """Features do not depend on the number of buckets otherwise, and spread over all of them."""
    words = [f"{a}{b}{c}" for a in "bcdfghklmnprst" for b in "aeiou" for c in ("nd", "rk", "st", "ng", "lls")]
    large, small = buckets_of(words), buckets_of(words, 256)
    assert small == [[bucket % 256 for bucket in row] for row in large]
    different = np.array(sorted({bucket for row in large for bucket in row}))
    spread = np.bincount(different % 256, minlength=256)
    assert len(different) > 1000
    assert spread.max() < 4 * spread.mean()  # about Poisson: four times the mean of 7 has a chance of 1e-9


@pytest.mark.parametrize("words", [[], [""]])
def test_nothing_to_spell(words):
    found = buckets_of(words)
    assert len(found) == len(words)


def test_the_kernel_agrees_with_its_source():
    characters = np.array([2, 97, 98, 3], np.uint32)
    with np.errstate(over="ignore"):
        plain = spelling._bucket.py_func(1, 0, characters, 0, 3, np.uint64(1023))
    assert spelling._bucket(1, 0, characters, 0, 3, np.uint64(1023)) == plain
