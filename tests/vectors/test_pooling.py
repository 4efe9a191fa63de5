from __future__ import annotations

import numpy as np
import pytest

from model.worlds import random_model
from textlds.errors import ArgumentError

TEXTS = ["aaa aab zzz", "", "aac", ["aad", "aaa"]]


@pytest.mark.parametrize("recipe", ["context", "features", "paper, filter"])
@pytest.mark.parametrize("pooling", ["mean", "max", "sum"])
def test_a_text_is_encoded_as_its_pooled_tokens(recipe, pooling):
    model = random_model(0)
    found = model.encode(iter(TEXTS), recipe=recipe, pooling=pooling, dtype="float64")
    assert found.shape == (4, model.dimensions(recipe))
    assert found.dtype == np.float64
    for row, text in zip(found, TEXTS, strict=True):
        columns = model(text, recipe=recipe, dtype="float64").vectors.T.tolist()
        expected = {"mean": lambda x: sum(x) / len(x), "max": max, "sum": sum}[pooling]
        np.testing.assert_allclose(row, [expected(column) if column else 0 for column in columns], atol=1e-12)


def test_defaults_and_nothing():
    model = random_model(0)
    np.testing.assert_array_equal(model.encode(TEXTS), model.encode(TEXTS, recipe="context", pooling="mean"))
    assert model.encode(TEXTS).dtype == np.float32
    assert model.encode([], recipe="features").shape == (0, 3 + 3 + 2)  # no spelling and no meaning


def test_bad_arguments():
    model = random_model(0)
    with pytest.raises(ArgumentError, match="pooling='median' is not one of 'mean', 'max', 'sum'"):
        model.encode(TEXTS, pooling="median")
    with pytest.raises(ArgumentError, match="single string; give a list of texts"):
        model.encode("aaa")
