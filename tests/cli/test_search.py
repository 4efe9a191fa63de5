"""``textlds index`` and ``textlds find``: what the library finds, on the command line."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from cli.runs import Run, process
from textlds.search import OccurrenceIndex

pytest.importorskip("faiss")

ASKED = ("--word", "bank", "--context", "the old bank opens near the river .")


@pytest.fixture(scope="module")
def index(run: Run, model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "index"
    result = run("index", model, corpus, "-o", path, "--per-word", 50, "--json", "--quiet")
    facts = json.loads(result.stdout)
    assert facts["words"] == len(OccurrenceIndex.load(path).words)
    assert facts["bytes"] > 50 * facts["words"]
    return path


def test_find(run: Run, index: Path, corpus: Path) -> None:
    lines = corpus.read_text().splitlines()
    wanted = OccurrenceIndex.load(index).find(ASKED[1], ASKED[3], n=4)
    shown = run("find", index, *ASKED, "-n", 4).stdout.splitlines()
    assert shown[0].split() == ["score", "where", "sentence"]
    assert len(shown) == 5
    for row, occurrence in zip(shown[1:], wanted, strict=True):
        score, where, sentence = row.split(maxsplit=2)
        assert float(score) == pytest.approx(occurrence.score, abs=0.006)
        assert where == f"{corpus}:{occurrence.line}"
        assert sentence == occurrence.marked()
        assert occurrence.sentence in lines[occurrence.line - 1]
        assert "[bank]" in sentence


def test_find_for_machines(run: Run, index: Path) -> None:
    found = json.loads(run("find", index, *ASKED, "--match", "any", "--json").stdout)
    assert found["word"] == "bank"
    first = found["occurrences"][0]
    assert set(first) == {"word", "score", "sentence", "start", "file", "line"}
    assert first["sentence"][first["start"] :].startswith(first["word"])
    assert len({o["word"] for o in found["occurrences"]}) > 1


def test_long_sentences_are_cut(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("river " * 100 + "bank " + "garden " * 100)
    run("index", model, tmp_path / "long.txt", "-o", tmp_path / "i", "--quiet")
    (row,) = run("find", tmp_path / "i", "-w", "bank", "-c", "a bank").stdout.splitlines()[1:]
    assert "…" in row
    assert "river [bank] garden" in row
    assert len(row) < 500


def test_words_of_a_file(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("Bank\nriver\n")
    options = ("--words", tmp_path / "terms.txt", "--per-word", "all", "--quiet")
    run("index", model, corpus, "-o", tmp_path / "i", *options)
    index = OccurrenceIndex.load(tmp_path / "i")
    assert index.words == ["bank", "river"]
    text = corpus.read_text().split()
    assert (index.count("bank"), index.count("river")) == (text.count("bank"), text.count("river"))
    failed = run("find", tmp_path / "i", "-w", "cat", "-c", "the cat", code=1)
    assert "'cat' is not among the 2 words of the index" in failed.stderr
    failed = run("index", model, corpus, "-o", tmp_path / "j", "--words", "some", code=1)
    assert "neither all nor content nor a file" in failed.stderr
    assert not (tmp_path / "j").exists()


def test_standard_input(model: Path, tmp_path: Path) -> None:
    done = process(["index", model, "-", "-o", tmp_path / "i"], input=b"the cat sees the bank .\na bank opens .\n")
    assert done.returncode == 0, done.stderr
    assert b"Wrote" in done.stderr
    assert not done.stdout
    assert OccurrenceIndex.load(tmp_path / "i").count("bank") == 2


def test_info(run: Run, index: Path, tmp_path: Path) -> None:
    facts = json.loads(run("info", index, "--json").stdout)
    assert facts["kind"] == "index"
    assert facts["occurrences"] == len(OccurrenceIndex.load(index))
    assert "occurrences of words" in run("info", index).stdout
    copy = tmp_path / "copy"
    shutil.copytree(index, copy)
    data = bytearray((copy / "vectors.faiss").read_bytes())
    data[-1] ^= 1  # of the same size: only a sum can tell
    (copy / "vectors.faiss").write_bytes(data)
    assert "was altered" in run("info", copy, code=1).stderr


def test_what_goes_wrong(run: Run, index: Path, model: Path, corpus: Path, tmp_path: Path) -> None:
    assert "not a token of the context" in run("find", index, "-w", "bank", "-c", "the river", code=1).stderr
    assert "exists already" in run("index", model, corpus, "-o", index, code=1).stderr
    assert "is a model, but an index" in run("find", model, *ASKED, code=1).stderr
    assert "is an index, but a model" in run("similar", index, "bank", code=1).stderr
    run("index", model, corpus, "-o", tmp_path / "i", "--per-word", "many", code=2)
    run("find", index, "--word", "bank", code=2)
    assert os.listdir(tmp_path) == []


def test_without_faiss(run: Run, index: Path, model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert "textlds[search]" in run("find", index, *ASKED, code=1).stderr
    assert "textlds[search]" in run("index", model, corpus, "-o", "nowhere", code=1).stderr
