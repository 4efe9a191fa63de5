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
        ("equal", "features"),
        ("equal", textlds.Recipe(["state", "previous_word", "word", "next_word"], weighting="equal")),
    ],
)
def test_vectors_of_an_earlier_model(name: str, recipe: str | textlds.Recipe) -> None:
    model = textlds.load(BEFORE / "model")
    texts = (BEFORE / "texts.txt").read_text(encoding="utf-8").splitlines()
    found = np.concatenate([text.vectors for text in model.embed(texts, recipe=recipe)])
    # The kernels that OpenBLAS chooses for a processor move exact vectors by up to 4e-5, most of all right_context, and
    # the others by 3e-7 (measured with OPENBLAS_CORETYPE).
    tolerance = 1e-4 if name == "exact" else 1e-6
    with np.load(BEFORE / "vectors.npz") as arrays:
        np.testing.assert_allclose(found, arrays[name], atol=tolerance)


def test_earlier_counts() -> None:
    counts = textlds.LagCounts.load(BEFORE / "counts")
    model = textlds.load(BEFORE / "model")
    assert counts.vocabulary.words == model.vocabulary.words
    assert counts.tokens == int(counts.unigrams.sum()) == model.history.settings["tokens"]
    words = textlds.FitSettings(observations="words")
    again = textlds.fit(counts, state_size=8, iterations=10, settings=words)
    assert again.history.log_likelihood[-1] == pytest.approx(model.history.log_likelihood[-1], rel=1e-3)
