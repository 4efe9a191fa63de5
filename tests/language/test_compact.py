"""A readout in few bytes: near the one it was made of, refused if anything about it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from textlds.errors import FormatError
from textlds.language.compact import CompactReadout
from textlds.language.readout import Readout

V, K, D, H = 60, 7, 5, 4


@pytest.fixture
def made():
    """A readout whose words differ within classes by what their vectors say, and those vectors."""
    rng = np.random.default_rng(0)
    words = rng.standard_normal((V, D)).astype(np.float32)
    classes = np.concatenate([np.arange(K), rng.integers(0, K, V - K)]).astype(np.int32)
    shared = rng.standard_normal((K, 2 * H))  # of the words of a class: no softmax within it sees them
    weights = words @ rng.standard_normal((D, 2 * H)) + 3 * shared[classes]
    readout = Readout(
        classes,
        rng.standard_normal((K, 2 * H)).astype(np.float32),
        rng.standard_normal(K).astype(np.float32),
        weights.astype(np.float32),
        rng.standard_normal(V).astype(np.float32),
    )
    return readout, words


def within(readout: Readout, x: np.ndarray) -> np.ndarray:
    """P(w | class of w, x) of every word, summed word by word."""
    scores = np.exp(readout.word_weights @ x + readout.word_bias)
    return np.array([scores[w] / scores[readout.classes == readout.classes[w]].sum() for w in range(V)])


def test_what_follows_from_vectors_is_kept(made):
    readout, words = made
    compact = CompactReadout.of(readout, words, np.full(V, 1 / V))
    again = compact.readout(words)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(2 * H)
        np.testing.assert_allclose(within(again, x), within(readout, x), atol=0.03)
    np.testing.assert_allclose(again.class_weights, readout.class_weights, atol=0.02)
    np.testing.assert_array_equal(again.classes, readout.classes)


def test_it_is_read_as_it_was_stored(made):
    readout, words = made
    compact = CompactReadout.of(readout, words, np.full(V, 1 / V))
    arrays = compact.arrays("mine")
    again = CompactReadout.from_arrays(arrays, "mine", size=V, width=D, state_size=H)
    for name, array in again.arrays("mine").items():
        np.testing.assert_array_equal(array, arrays[name])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("mine.carry"), "instead of"),
        (lambda a: a.update({"mine.word_bias": a["mine.word_bias"][:-1]}), r"mine.word_bias is float16\(59,\)"),
        (lambda a: a.update({"mine.classes": 0 * a["mine.classes"]}), "does not name each of the 7 classes"),
        (lambda a: a["mine.class_bias"].__setitem__(0, np.nan), "not finite"),
    ],
)
def test_a_damaged_one_is_refused(made, change, message):
    readout, words = made
    whole = CompactReadout.of(readout, words, np.ones(V)).arrays("mine")
    arrays = {name: np.array(array) for name, array in whole.items()}
    change(arrays)
    with pytest.raises(FormatError, match=message):
        CompactReadout.from_arrays(arrays, "mine", size=V, width=D, state_size=H)
