"""``textlds info --verify``: a sound folder is sound, and one that was altered and resealed is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.runs import Run, make_lines
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


def test_what_is_made_of_a_model_is_sound_until_it_is_altered(
    run: Run, model: Path, corpus: Path, tmp_path: Path
) -> None:
    tags = "\n\n".join("\n".join(f"{word}\tT{len(word)}" for word in line.split()) for line in make_lines(30))
    (tmp_path / "tags.tsv").write_text(tags + "\n")
    (tmp_path / "lines.txt").write_text("\n".join(make_lines(50)) + "\n")
    run("pack", model, "-o", tmp_path / "packed", "--quiet")
    run("index", model, tmp_path / "lines.txt", "-o", tmp_path / "index", "--quiet")
    small = ("--hidden", 4, "--rounds", 1, "--bundle", "--quiet")
    run("tagger", "train", model, "--train", tmp_path / "tags.tsv", "-o", tmp_path / "tagger", *small)
    for name in ("packed", "index", "tagger"):
        assert run("info", tmp_path / name, "--verify").stdout == f"{tmp_path / name} is sound.\n"
    wide = altered(tmp_path / "tagger", tmp_path / "t", "tagger.safetensors", vectors=lambda W: np.vstack([W, W]))
    assert "was trained on vectors of" in run("info", wide, "--verify", code=1).stdout
    skew = altered(tmp_path / "tagger", tmp_path / "u", "model/model.safetensors", Q=skewed)
    assert "was altered" in run("info", skew, "--verify", code=1).stdout
    seal(skew / "model")
    assert "checksum differs" in run("info", skew, "--verify", code=1).stdout


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


NUMBERS = {
    "negative frequencies": ({"frequencies": np.negative}, "frequencies are no distribution: the least is -"),
    "one negative frequency": ({"frequencies": lambda f: first(f, -f[0])}, "frequencies are no distribution"),
    "frequencies that do not sum to one": ({"frequencies": lambda f: 2 * f}, "their sum is 2"),
    "large contexts": ({"meaning.contexts": lambda C: C * np.float32(1e30)}, "meaning.contexts has numbers up to"),
    "large spelling": ({"spelling.scale": lambda s: s * np.float32(1e30)}, "spelling.scale has numbers up to"),
}


def first(array: Any, value: Any) -> Any:
    array[0] = value
    return array


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_no_learning_gives(run: Run, model: Path, tmp_path: Path, name: str) -> None:
    changes, message = NUMBERS[name]
    run("pack", model, "-o", tmp_path / "packed", "--quiet")
    copy = altered(tmp_path / "packed", tmp_path / "p", "packed.safetensors", **changes)
    assert message in run("info", copy, "--verify", code=1).stdout
    if "frequencies" in changes:
        copy = altered(model, tmp_path / "m", "model.safetensors", **changes)
        assert "sound" not in run("info", copy, "--verify", code=1).stdout


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
