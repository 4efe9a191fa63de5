from __future__ import annotations

import numpy as np
import pytest

from textlds.errors import ArgumentError
from textlds.linalg.quantized import RowTable, _widen, quantized


@pytest.fixture
def table():
    rows = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)
    rows *= np.geomspace(1e-6, 1e6, 40, dtype=np.float32)[:, None]
    rows[7] = 0
    return rows


@pytest.mark.parametrize(
    ("precision", "error", "size"), [("int8", 1 / 200, 1), ("float16", 1e-3, 2), ("float32", 0, 4)]
)
def test_rows_are_near_what_they_were(table, precision, error, size):
    if precision == "float16":
        table = table[15:25]  # its range is small
    found = quantized(table, precision)
    assert found.values.itemsize == size
    largest = np.abs(table).max(axis=1, keepdims=True)
    assert np.all(np.abs(found.all() - table) <= error * largest)
    numbers = np.array([3, 1, 1, 7])
    np.testing.assert_array_equal(found.rows(numbers), found.all()[numbers])
    assert found.rows(numbers).dtype == np.float32
    assert len(found) == len(table)


def test_int8_keeps_the_length_of_every_row(table):
    found = quantized(table, "int8")
    np.testing.assert_allclose(np.linalg.norm(found.all(), axis=1), np.linalg.norm(table, axis=1), rtol=1e-6)
    assert np.abs(found.values.astype(int)).max() == 127


def test_an_unbiased_error(table):
    """Rounding errors of many rows have no direction in common."""
    rows = np.random.default_rng(1).standard_normal((4000, 20)).astype(np.float32)
    error = quantized(rows, "int8").all() - rows
    assert np.abs(error.mean(axis=0)).max() < 4 * error.std() / np.sqrt(4000)


def test_kernel_and_twin(table):
    packed = quantized(table, "int8")
    out, twin = np.empty((2, 3, 30), np.float32)
    numbers = np.array([5, 0, 39])
    _widen(packed.values, packed.scale, numbers, out)
    _widen.py_func(packed.values, packed.scale, numbers, twin)
    np.testing.assert_array_equal(out, twin)
    np.testing.assert_allclose(out, packed.scale[numbers, None] * packed.values[numbers], rtol=1e-6)


def test_what_is_stored(table):
    packed = quantized(table, "int8")
    assert set(packed.arrays("words")) == {"words", "words.scale"}
    np.testing.assert_array_equal(RowTable(*packed.arrays("words").values()).all(), packed.all())
    assert set(quantized(table, "float32").arrays("words")) == {"words"}
    with pytest.raises(ArgumentError, match="precision"):
        quantized(table, "int4")
