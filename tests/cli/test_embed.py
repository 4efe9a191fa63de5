"""``textlds embed``: every format holds what the model gives, text by text."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.runs import Run, make_lines, process
from integrations.limits import files_up_to
from textlds import load
from textlds.cli import vector_files
from textlds.cli.options import model_path
from textlds.cli.texts import open_texts, read_texts
from textlds.errors import ArgumentError, MissingExtraError
from textlds.model.installed import find_model
from textlds.model.textlds import TokenVectors
from textlds.vectors.recipes import Recipe

LINES = ["the cat sees the dog .", "", "  ", "Anna likes a small house", "Überraschung “quoted” 12 x"]
TEXTS = [(1, LINES[0]), (4, LINES[3]), (5, LINES[4])]  # blank lines are skipped, numbers are kept


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def expected(model: Path) -> list[TokenVectors]:
    return list(load(model).embed([line for _, line in TEXTS]))


def test_npz(run: Run, model: Path, text: Path, tmp_path: Path, expected: list[TokenVectors]) -> None:
    result = run("embed", model, text, "-o", tmp_path / "v.npz", "--json")
    tokens = sum(map(len, expected))
    facts = json.loads(result.stdout)
    assert (facts["texts"], facts["tokens"], facts["dimensions"]) == (3, tokens, 6)
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"tokens", "vectors", "starts", "lines", "file", "files"}
        np.testing.assert_array_equal(arrays["vectors"], np.concatenate([t.vectors for t in expected]))
        assert arrays["vectors"].dtype == np.float32
        assert arrays["tokens"].tolist() == [token for t in expected for token in t.tokens]
        assert arrays["starts"].tolist() == [0, *np.cumsum([len(t) for t in expected])]
        assert arrays["lines"].tolist() == [number for number, _ in TEXTS]
        assert arrays["files"][arrays["file"]].tolist() == [str(text)] * 3
    assert sorted(os.listdir(tmp_path)) == ["text.txt", "v.npz"]


def test_parquet_in_row_groups(
    run: Run, model: Path, text: Path, tmp_path: Path, expected: list[TokenVectors], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(vector_files, "_ROW_GROUP", 8)
    run("embed", model, text, text, "-o", tmp_path / "v.parquet", "--quiet")
    file = parquet.ParquetFile(tmp_path / "v.parquet")
    assert file.metadata.num_row_groups > 1
    rows = file.read().to_pylist()
    assert [row["line"] for row in rows] == [number for number, _ in TEXTS] * 2
    for row, t in zip(rows, expected * 2, strict=True):
        assert row["tokens"] == t.tokens
        np.testing.assert_array_equal(np.array(row["vectors"], np.float32), t.vectors)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_json_lines_hold_the_exact_numbers(run: Run, model: Path, text: Path, tmp_path: Path, dtype: Any) -> None:
    run("embed", model, text, "-o", tmp_path / "v.jsonl", "--dtype", dtype, "--quiet")
    records = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text("utf-8").splitlines()]
    assert [record["line"] for record in records] == [number for number, _ in TEXTS]
    assert {record["file"] for record in records} == {str(text)}
    for record, t in zip(records, load(model).embed([line for _, line in TEXTS], dtype=dtype), strict=True):
        assert record["tokens"] == t.tokens
        np.testing.assert_array_equal(np.array(record["vectors"], dtype), t.vectors)


@pytest.mark.parametrize("pooling", ["mean", "max", "sum", "weighted"])
def test_one_vector_per_text(run: Run, model: Path, text: Path, tmp_path: Path, pooling: Any) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    expected = load(model).encode([line for _, line in TEXTS], pooling=pooling)
    for suffix in vector_files.FORMATS:
        result = run("embed", model, text, "-o", tmp_path / f"v{suffix}", "--pooling", pooling)
        assert "3 texts of" in result.stderr
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"vectors", "lines", "file", "files"}
        np.testing.assert_array_equal(arrays["vectors"], expected)
    table = parquet.read_table(tmp_path / "v.parquet")
    assert table.schema.names == ["file", "line", "vector"]
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), expected)
    records = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text("utf-8").splitlines()]
    assert [set(record) for record in records] == [{"file", "line", "vector"}] * 3
    np.testing.assert_array_equal(np.array([record["vector"] for record in records], np.float32), expected)


def test_a_url_is_refused_on_one_machine(
    run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("s3://bucket/v.npz", f"file://{tmp_path}/v.npz"):
        stderr = run("embed", model, text, "-o", url, code=1).stderr
        assert f"--output {url} is a URL" in stderr
        assert "--scheduler" in stderr
    assert os.listdir(tmp_path) == ["text.txt"]


def test_a_path_with_a_separator_is_no_name(tmp_path: Path) -> None:
    """``Path("./en")`` is the name of an installed model; the command has to tell them apart."""
    assert model_path("en") == Path("en")
    assert model_path("models/en") == Path("models/en")
    for given in ("./en", "en/", ".//en"):
        assert model_path(given) == Path.cwd() / "en"
        assert find_model(model_path(given)) == Path.cwd() / "en"


def test_standard_input_to_standard_output(model: Path, text: Path, expected: list[TokenVectors]) -> None:
    done = process(["embed", model], input=text.read_bytes())
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(record) for record in records] == [{"line", "tokens", "vectors"}] * 3
    assert [record["tokens"] for record in records] == [list(t.tokens) for t in expected]


def test_recipe(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    run("embed", model, text, "-o", tmp_path / "v.npz", "--recipe", "left_context+word, filter", "--quiet")
    wanted = load(model).embed([line for _, line in TEXTS], recipe=Recipe("left_context+word", method="filter"))
    with np.load(tmp_path / "v.npz") as arrays:
        np.testing.assert_array_equal(arrays["vectors"], np.concatenate([t.vectors for t in wanted]))
    failed = run("embed", model, text, "-o", tmp_path / "w.npz", "--recipe", "state+up", code=1)
    assert "'up' is not a recipe or a word of one" in failed.stderr


def test_compressed_files_and_records(run: Run, model: Path, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.txt.gz", "wt") as file:
        file.write("the cat\nthe dog\n")
    records = [{"text": "the cat\nsees"}, {"text": ""}, {"text": ["the", "old", "dog"]}]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    result = run("embed", model, tmp_path / "a.txt.gz", tmp_path / "b.jsonl", "--quiet")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(Path(r["file"]).name, r["line"], r["tokens"]) for r in found] == [
        ("a.txt.gz", 1, ["the", "cat"]),
        ("a.txt.gz", 2, ["the", "dog"]),
        ("b.jsonl", 1, ["the", "cat", "sees"]),
        ("b.jsonl", 3, ["the", "old", "dog"]),
    ]


def test_sizes_of_texts_add_up_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("\n".join(make_lines(500)) + "\n")
    sources = open_texts([str(tmp_path / "t.txt")], text_column="text", encoding_errors="strict", quiet=True)
    assert sum(text.size for text in read_texts(sources)) == (tmp_path / "t.txt").stat().st_size


def test_outputs_are_refused_before_any_work(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "v.npz").write_text("precious")
    assert "exists already" in run("embed", model, text, "-o", tmp_path / "v.npz", code=1).stderr
    assert "must end in .npz, .parquet, .jsonl" in run("embed", model, text, "-o", tmp_path / "v.csv", code=1).stderr
    assert (tmp_path / "v.npz").read_text() == "precious"
    run("embed", model, text, "-o", tmp_path / "v.npz", "--force", "--quiet")
    assert np.load(tmp_path / "v.npz")["tokens"].size


def test_bad_input_leaves_no_file(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"the cat\n\xff\xfe\n")
    for suffix in vector_files.FORMATS:
        result = run("embed", model, tmp_path / "bad.txt", "-o", tmp_path / f"v{suffix}", "--quiet", code=1)
        assert "offset 8" in result.stderr
    assert sorted(os.listdir(tmp_path)) == ["bad.txt", "text.txt"]
    run("embed", model, tmp_path / "bad.txt", "-o", tmp_path / "v.npz", "--encoding-errors", "replace", "--quiet")


@pytest.mark.parametrize("suffix", vector_files.FORMATS)
def test_a_full_disk_is_told_with_the_file_and_loses_nothing(
    run: Run, model: Path, text: Path, tmp_path: Path, suffix: str
) -> None:
    output = tmp_path / f"v{suffix}"
    output.write_text("precious")
    with files_up_to(200):
        result = run("embed", model, text, "-o", output, "--force", "--quiet", code=1)
    assert result.stderr == f"error: {output}: File too large. Free some room, or write elsewhere.\n"
    assert output.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["text.txt", output.name]


def test_parquet_without_pyarrow(run: Run, model: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "textlds[parquet]" in run("embed", model, text, "-o", "v.parquet", code=1).stderr
    with pytest.raises(MissingExtraError):
        vector_files.check_format(Path("v.parquet"))


def test_npz_refuses_a_token_that_would_blow_it_up(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("the " + "x" * 5000)
    result = run("embed", model, tmp_path / "t.txt", "-o", tmp_path / "v.npz", "--quiet", code=1)
    assert "5,000 characters" in result.stderr
    assert not (tmp_path / "v.npz").exists()
    run("embed", model, tmp_path / "t.txt", "-o", tmp_path / "v.jsonl", "--quiet")


@pytest.mark.parametrize("suffix", vector_files.FORMATS)
def test_memory_does_not_grow_with_the_text(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "_ROW_GROUP", 1000)
    monkeypatch.setattr(vector_files, "_COPY", 1 << 16)
    vectors = np.zeros((100, 50), np.float32)
    text = TokenVectors(["a-longer-word"] * 100, vectors)

    def peak(n: int) -> int:
        tracemalloc.start()
        with vector_files.vector_file(
            tmp_path / f"{n}{suffix}", ["f"], vector_files.Shape(50, "float32"), force=False
        ) as writer:
            for line in range(n):
                writer.add(0, line, text)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    small, large = peak(40), peak(160)
    assert large < small + 120 * vectors.nbytes / 10


def test_formats_are_known_by_their_suffix() -> None:
    with pytest.raises(ArgumentError, match="must end in"):
        vector_files.check_format(Path("vectors"))
