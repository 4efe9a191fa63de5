"""Hashed features against a twin, and what they depend on."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.tagging_twin import base_of, features_of
from tagging.test_spelling import bases
from textlds.errors import FormatError
from textlds.tagging.features import BUCKETS, LEXICAL, cluster_templates, hashed
from textlds.tagging.spelling import COLUMNS

SENTENCES = [["The", "old", "Bank", "raised", "9", "rates", "."], ["Yes"], ["a", "b"]]


def test_the_twin_has_the_same_buckets():
    tokens = [token for sentence in SENTENCES for token in sentence]
    starts = np.cumsum([0, *map(len, SENTENCES)])
    found = hashed(bases(tokens), starts, LEXICAL, COLUMNS)
    expected = [row for s in SENTENCES for row in features_of([base_of(t) for t in s], LEXICAL, BUCKETS)]
    assert found.tolist() == expected


def test_other_columns_have_features_of_their_own():
    tokens = SENTENCES[0]
    clusters = np.arange(1, 8, dtype=np.uint64)
    base = np.column_stack([bases(tokens), clusters])
    templates = cluster_templates(["cluster"])
    found = hashed(base, np.array([0, 7]), templates, [*COLUMNS, "cluster"])
    expected = features_of([{"cluster": int(c)} for c in clusters], templates, BUCKETS)
    assert found.tolist() == expected


def test_a_feature_sees_its_own_sentence_only():
    tokens = ["a", "b", "c", "d"]
    whole = hashed(bases(tokens), np.array([0, 4]), LEXICAL, COLUMNS)
    cut = hashed(bases(tokens), np.array([0, 2, 4]), LEXICAL, COLUMNS)
    assert cut[:2].tolist() == hashed(bases(tokens[:2]), np.array([0, 2]), LEXICAL, COLUMNS).tolist()
    assert (whole != cut).any(axis=1).all()


def test_an_unknown_column():
    with pytest.raises(FormatError, match="'nothing'"):
        hashed(bases(["a"]), np.array([0, 1]), [(("nothing", 0),)], COLUMNS)
