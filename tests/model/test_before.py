"""Folders that earlier versions wrote still load, and their vectors are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import textlds

BEFORE = Path(__file__).parents[1] / "data" / "before"


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("fitted", "paper"),
        ("exact", "left_context+right_context+state, fitted, exact"),
        ("equal", "state+previous_word+word+next_word"),
        ("equal", textlds.Recipe(["state", "previous_word", "word", "next_word"], weighting="equal")),
    ],
)
def test_vectors_of_an_earlier_model(name: str, recipe: str | textlds.Recipe) -> None:
    model = textlds.load(BEFORE / "model")
    texts = (BEFORE / "texts.txt").read_text(encoding="utf-8").splitlines()
    with np.load(BEFORE / "vectors.npz") as arrays:
        expected = arrays[name]
    found = np.concatenate([text.vectors for text in model.embed(texts, recipe=recipe)])
    if name == "exact":  # in float64: what was float32 then was wrong by 2e-4 where words to the right say little
        again = np.concatenate([text.vectors for text in model.embed(texts, recipe=recipe, dtype="float64")])
        np.testing.assert_allclose(again, expected, atol=1e-8)
    np.testing.assert_allclose(found, expected, atol=3e-6 if name == "exact" else 1e-6)


def test_earlier_counts() -> None:
    counts = textlds.LagCounts.load(BEFORE / "counts")
    model = textlds.load(BEFORE / "model")
    assert counts.vocabulary.words == model.vocabulary.words
    assert counts.tokens == int(counts.unigrams.sum()) == model.history.settings["tokens"]
    words = textlds.FitSettings(observations="words")
    again = textlds.fit(counts, state_size=8, iterations=10, settings=words)
    found = again.history.log_likelihood[-1]
    assert found == pytest.approx(1.18932, rel=1e-5)  # whatever the processor (OPENBLAS_CORETYPE)
    assert found == pytest.approx(model.history.log_likelihood[-1], rel=2e-3)  # its start was a randomized one
