"""Whether the arrays of a packed model are whole and belong together."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from textlds.errors import FormatError
from textlds.learn.settings import Observations
from textlds.linalg.quantized import PRECISIONS
from textlds.linalg.types import Array
from textlds.storage.arrays import expect_arrays, width
from textlds.vectors.stored import CONTEXTS, SMALL

_SHIFT = "shift"  # the mean of the gains; there is none where profiles are observed


def observed(arrays: Container[str], *, lexicon: bool) -> Observations:
    """Return what a model observes, from the names of its small arrays and from whether it has a lexicon."""
    return "profiles" if lexicon and _SHIFT not in arrays else "words"


def check_arrays(
    path: Path, arrays: Mapping[str, Array], precision: Any, lexicon: bool, sizes: tuple[Any, Any, Any]
) -> None:
    """Refuse arrays that are not those of a packed model.

    Args:
        path: Their file.
        arrays: Those that give vectors.
        precision: As config.json says.
        lexicon: Whether there is one.
        sizes: V, d and h.
    """
    if precision not in PRECISIONS or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise FormatError(f"{path}: the precision {precision!r} or the sizes {sizes} are not those of a packed model.")
    V, d, h = sizes
    buckets = len(arrays["spelling"]) if "spelling" in arrays and arrays["spelling"].ndim else 0
    expected: dict[str, tuple[tuple[int, ...], str]] = {
        "A": ((h, h), "float32"),
        "shrink": ((h,), "float32"),
        **dict.fromkeys(SMALL[2:], ((h, d), "float32")),
        "words": ((V, d), precision),
        "frequencies": ((V,), "float32"),
    }
    if lexicon:
        expected |= {"carry": ((d, h), "float32"), "centre": ((d,), "float32")}
        if _SHIFT in arrays:  # not where profiles are observed
            expected[_SHIFT] = ((h,), "float32")
        expected["spelling"] = ((buckets, d), precision)
        if buckets < 1 or buckets & (buckets - 1):
            raise FormatError(f"{path}: spelling has {buckets} rows, which is not a power of two.")
    else:
        expected["gains"] = ((V, h), precision)
    if CONTEXTS in arrays:  # one made before has no meaning
        m = width(arrays.get("meaning"))
        expected |= {"meaning": ((V, m), precision), "meaning_spelling": ((buckets, m), precision)}
        expected[CONTEXTS] = ((m, m), "float32")
    if precision == "int8":
        scaled = [name for name, (_, dtype) in expected.items() if dtype == "int8"]
        expected |= {f"{name}.scale": (expected[name][0][:1], "float32") for name in scaled}
    expect_arrays(path, arrays, expected)
    F = arrays["shrink"][:, None].astype(np.float64) * arrays["A"]
    if not np.abs(np.linalg.eigvals(F)).max() < 1:
        raise FormatError(f"{path}: A and shrink are not those of a stable filter.")
