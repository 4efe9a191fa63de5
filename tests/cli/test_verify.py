"""``textlds info --verify``: a sound folder is sound, and one that was altered and resealed is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.runs import Run
from storage.sealing import alter_arrays, seal


def altered(folder: Path, copy: Path, file: str, **changes: Any) -> Path:
    """Copy a folder, change arrays of a file in it, and put its sums right."""
    shutil.copytree(folder, copy)
    alter_arrays(copy / file, **changes)
    seal(copy)
    return copy


def test_sound_folders(run: Run, counts: Path, model: Path) -> None:
    for path in (counts, model):
        assert run("info", path, "--verify").stdout == f"{path} is sound.\n"
        assert json.loads(run("info", path, "--verify", "--json").stdout) == {
            "path": str(path),
            "sound": True,
            "wrong": [],
        }


def skewed(array: Any) -> Any:
    array[0, 1] += 1e-3
    return array


MODELS = {
    "symmetric Q": ({"Q": skewed}, "Q is not symmetric"),
    "symmetric moments": ({"smooth_smooth": skewed}, "smooth_smooth is not symmetric"),
    "stable A": ({"A": lambda A: 3 * A / np.abs(np.linalg.eigvals(A)).max()}, "spectral radius of A is 3"),
    "positive D": ({"C": lambda C: 100 * C}, "noise covariance D"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_breaks_an_invariant(run: Run, model: Path, tmp_path: Path, name: str) -> None:
    changes, message = MODELS[name]
    wrong = run("info", altered(model, tmp_path / "m", "model.safetensors", **changes), "--verify", code=1).stdout
    assert message in wrong
    assert "sound" not in wrong


def test_counts_that_no_text_has(run: Run, counts: Path, tmp_path: Path) -> None:
    copy = altered(counts, tmp_path / "c", "counts.safetensors", unigrams=lambda n: np.maximum(n // 2, 1))
    wrong = run("info", copy, "--verify", code=1).stdout
    assert "more often" in wrong
    assert "config.json says tokens" in wrong


def test_a_broken_sum(run: Run, model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "m")
    data = bytearray((tmp_path / "m" / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "m" / "model.safetensors").write_bytes(data)
    wrong = json.loads(run("info", tmp_path / "m", "--verify", "--json", code=1).stdout)
    assert wrong["sound"] is False
    assert "SHA-256" in wrong["wrong"][0]
