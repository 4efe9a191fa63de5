"""``textlds export``: files that other tools read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import textlds.integrations
from cli.runs import Run
from textlds import load
from textlds.model.static import word_vectors


def read_text(path: Path, *, header: bool) -> tuple[list[str], np.ndarray]:
    lines = path.read_text("utf-8").splitlines()[int(header) :]
    rows = [line.split(" ") for line in lines]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], np.float32)


def test_word2vec_and_what_is_told(run: Run, model: Path, tmp_path: Path) -> None:
    result = run("export", model, "-o", tmp_path / "words.txt", "--json")
    table = word_vectors(load(model))
    words, vectors = read_text(tmp_path / "words.txt", header=True)
    assert words == table.words
    np.testing.assert_array_equal(vectors, table.vectors)
    assert json.loads(result.stdout) == {
        "output": str(tmp_path / "words.txt"), "format": "word2vec", "vectors": "meaning", "words": len(words),
        "dimensions": load(model).meaning_size,
    }  # fmt: skip
    assert f"{len(words)} words, {load(model).meaning_size} numbers each" in result.stderr


def test_options(run: Run, model: Path, tmp_path: Path) -> None:
    options = ["--format", "glove", "--vectors", "output", "--words-only", "--quiet"]
    result = run("export", model, "-o", tmp_path / "words", *options)
    assert result.stdout + result.stderr == ""
    words, vectors = read_text(tmp_path / "words", header=False)
    table = word_vectors(load(model), "output", classes="drop")
    assert words == table.words
    assert not any(word.startswith("<unk") for word in words)
    np.testing.assert_array_equal(vectors, table.vectors)


def test_spacy(run: Run, model: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    run("export", model, "-o", tmp_path / "vectors", "--format", "spacy", "--language", "de", "--quiet")
    nlp = spacy.load(tmp_path / "vectors")
    assert nlp.lang == "de"
    table = word_vectors(load(model))
    for word, vector in zip(table.words, table.vectors, strict=True):
        np.testing.assert_array_equal(nlp.vocab[word].vector, vector)
    assert "exists already" in run("export", model, "-o", tmp_path / "vectors", "--format", "spacy", code=1).stderr
    run("export", model, "-o", tmp_path / "vectors", "--format", "spacy", "--force", "--quiet")
    assert spacy.load(tmp_path / "vectors").lang == "en"
    assert "word vectors for spaCy" in run("info", tmp_path / "vectors").stdout


def test_errors(run: Run, model: Path, counts: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("precious")
    assert "exists already" in run("export", model, "-o", tmp_path / "words", code=1).stderr
    assert (tmp_path / "words").read_text() == "precious"
    assert "is counts, but a model" in run("export", counts, "-o", tmp_path / "w", code=1).stderr
    run("export", model, "-o", tmp_path / "w", "--format", "text", code=2)
    run("export", model, code=2)
    assert os.listdir(tmp_path) == ["words"]


def test_without_spacy(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.delitem(sys.modules, "textlds.integrations.spacy", raising=False)
    monkeypatch.delattr(textlds.integrations, "spacy", raising=False)
    result = run("export", model, "-o", tmp_path / "vectors", "--format", "spacy", code=1)
    assert result.stderr.startswith("error: textlds.integrations.spacy needs an optional library")
    assert "textlds[spacy]" in result.stderr
    assert not list(tmp_path.iterdir())
