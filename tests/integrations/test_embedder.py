"""One embedder in every framework: what comes out is what the model gives."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import textlds
from model.worlds import random_model
from textlds.errors import ArgumentError, FormatError

TEXTS = ["aaa aab aac", "aad", "", "aae aaf aag aah aaa"]


@pytest.fixture(scope="module")
def model():
    return random_model(0, V=9, h=3)


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedder") / "model"
    model.save(folder)
    return str(folder)


def test_a_list_of_texts_gives_an_array(model, path):
    embed = textlds.Embedder(path)
    assert embed.dimensions == 3
    np.testing.assert_array_equal(embed(TEXTS), model.encode(TEXTS))
    np.testing.assert_array_equal(embed([text.split() for text in TEXTS]), model.encode(TEXTS))
    np.testing.assert_array_equal(textlds.Embedder(path, recipe="paper", pooling="max", dtype="float64")(TEXTS),
                                  model.encode(TEXTS, recipe="paper", pooling="max", dtype="float64"))  # fmt: skip
    assert embed([]).shape == (0, 3)


def test_vectors_of_tokens(model, path):
    found = textlds.Embedder(path, pooling="none")(TEXTS)
    for rows, expected in zip(found, model.embed(TEXTS), strict=True):
        np.testing.assert_array_equal(rows, expected.vectors)
    columns = textlds.Embedder(path, pooling="none", recipe="features")({"text": TEXTS})
    assert columns["tokens"] == [text.split() for text in TEXTS]
    assert [len(rows) for rows in columns["vectors"]] == [3, 1, 0, 5]


def test_a_dictionary_of_columns_gets_one_more(model, path):
    batch = {"body": np.array(TEXTS, object), "n": np.arange(4)}
    found = textlds.Embedder(path, column="body", name="v")(batch)
    assert list(found) == ["body", "n", "v"]
    np.testing.assert_array_equal(found["v"], model.encode(TEXTS))
    assert "v" not in batch


def test_missing_texts_have_zeros_or_nothing(path):
    pd = pytest.importorskip("pandas")
    texts = ["aaa", None, float("nan"), pd.NA, "aab"]
    assert textlds.Embedder(path)(texts).any(axis=1).tolist() == [True, False, False, False, True]
    series = textlds.Embedder(path)(pd.Series(texts, index=list("abcde")))
    assert series.index.tolist() == list("abcde")
    assert series.isna().tolist() == [False, True, True, True, False]


@pytest.mark.filterwarnings("default")
def test_tables(model, path):
    pa, pl, pd = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas"))
    embed, expected = textlds.Embedder(path), model.encode(TEXTS)
    table = embed(pa.table({"text": TEXTS}))
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 3)
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), expected)
    np.testing.assert_array_equal(np.stack(embed(pd.DataFrame({"text": TEXTS}))["vector"]), expected)
    np.testing.assert_array_equal(embed(pl.DataFrame({"text": TEXTS}))["vector"].to_numpy(), expected)


def test_it_is_small_and_reads_the_model_when_it_is_needed(model, path):
    embed = textlds.Embedder("nowhere/at/all", recipe="features")
    assert len(pickle.dumps(embed)) < 500
    assert "nowhere" in repr(embed)
    with pytest.raises(FormatError, match="does not exist"):
        embed(["a"])
    sent = pickle.dumps(textlds.Embedder(path))
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())(['aaa aab']).tolist())"
    result = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    np.testing.assert_allclose(eval(result.stdout), model.encode(["aaa aab"]), rtol=1e-6)


@pytest.mark.filterwarnings("default")
def test_datasets_in_several_processes(model, path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    given = datasets.Dataset.from_dict({"text": TEXTS * 5})
    found = given.map(textlds.Embedder(path), batched=True, batch_size=3, num_proc=2).with_format("numpy")
    np.testing.assert_allclose(found["vector"][:], np.tile(model.encode(TEXTS), (5, 1)), atol=1e-7)


@pytest.mark.filterwarnings("default")
def test_dask_partitions(model, path):
    dask = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dask.from_pandas(pd.DataFrame({"text": TEXTS * 3}), npartitions=3)
    embed = textlds.Embedder(path)
    meta = frame._meta.assign(vector=pd.Series(dtype=object))
    found = frame.map_partitions(embed, meta=meta).compute(scheduler="processes")
    np.testing.assert_array_equal(np.stack(found["vector"]), np.tile(model.encode(TEXTS), (3, 1)))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ("one string", "a single string"),
        ({"text": "abc"}, "column 'text' is a single string, 'abc'; give a list"),
        ({"body": ["a"]}, "no column 'text'.*'body'"),
        ({"text": ["a"], "vector": [1]}, "has a column 'vector' already"),
        ([1, 2], "row 0 .* is 1"),
        (7, "frame is of type int"),
    ],
)
def test_bad_batches(path, batch, message):
    with pytest.raises(ArgumentError, match=message):
        textlds.Embedder(path)(batch)


def test_bad_arguments(model, path):
    with pytest.raises(ArgumentError, match=r"model is a TextLDS.*give the path.*model.save"):
        textlds.Embedder(model)
    with pytest.raises(ArgumentError, match="pooling="):
        textlds.Embedder(path, pooling="median")
    with pytest.raises(ArgumentError, match="recipe"):
        textlds.Embedder(path, recipe="stat+word")
