"""Vectors as columns: what is in a frame is what the model gives, in every library."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from model.worlds import random_model
from textlds.errors import ArgumentError, MissingExtraError
from textlds.integrations.frames import add_vectors

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pads = pytest.importorskip("pyarrow.dataset")

MODEL = random_model(0, V=9, h=3)
TEXTS = ["aaa aab aac", None, "aad", "", "aae aaf aag aah aaa"]
TOKENS = [None if text is None else text.split() for text in TEXTS]


def wanted(*, pooling, **options):
    """The vectors of every text, by the model itself: (tokens, vectors), or one vector."""
    found = []
    for text in TEXTS:
        if text is None:
            found.append(None)
        elif pooling == "none":
            found.append(next(MODEL.embed([text], **{"recipe": "features", **options})).vectors)
        else:
            vectors = next(MODEL.embed([text], **options)).vectors
            found.append(getattr(vectors, pooling)(axis=0) if len(vectors) else np.zeros(vectors.shape[1]))
    return found


def same(cells, expected):
    assert len(cells) == len(expected)
    for cell, vectors in zip(cells, expected, strict=True):
        if vectors is None:
            assert cell is None
        else:
            found = np.array([list(row) for row in cell] if vectors.ndim == 2 else list(cell), np.float64)
            np.testing.assert_allclose(found.reshape(vectors.shape), vectors, atol=1e-6)


def reader(texts):
    table = pa.table({"text": texts, "n": range(len(texts))})
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))


MAKE = {
    "pandas": lambda texts: pd.DataFrame({"text": texts, "n": range(len(texts))}, index=range(10, 10 + len(texts))),
    "polars": lambda texts: pl.DataFrame({"text": texts, "n": range(len(texts))}),
    "polars lazy": lambda texts: pl.LazyFrame({"text": texts, "n": range(len(texts))}),
    "table": lambda texts: pa.table({"text": texts, "n": range(len(texts))}),
    "batch": lambda texts: pa.RecordBatch.from_pydict({"text": texts, "n": range(len(texts))}),
    "reader": reader,
    "dataset": lambda texts: pads.dataset(pa.table({"text": texts, "n": range(len(texts))})),
}


def read(frame):
    """The columns of any frame as lists."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pa.RecordBatchReader):
        frame = frame.read_all()
    if isinstance(frame, pd.DataFrame):
        return {name: frame[name].tolist() for name in frame.columns}
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("pooling", ["mean", "max", "sum"])
def test_one_vector_per_text(kind, pooling):
    frame = MAKE[kind](TEXTS)
    options = {"pooling": pooling, "recipe": "previous_word+word"}
    columns = read(add_vectors(frame, MODEL, **options))
    assert list(columns) == ["text", "n", "vector"]
    same(columns["vector"], wanted(**options))
    assert columns["n"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", MAKE)
def test_one_vector_per_token(kind):
    columns = read(add_vectors(MAKE[kind](TEXTS), MODEL, pooling="none"))
    assert list(columns) == ["text", "n", "tokens", "vectors"]
    assert columns["tokens"] == TOKENS
    same(columns["vectors"], wanted(pooling="none"))


@pytest.mark.parametrize("kind", MAKE)
def test_lists_of_tokens(kind):
    """They are taken as they are, and not repeated."""
    columns = read(add_vectors(MAKE[kind](TOKENS), MODEL, pooling="none", name="of tokens", dtype="float64"))
    assert list(columns) == ["text", "n", "of tokens"]
    same(columns["of tokens"], wanted(pooling="none", dtype="float64"))


@pytest.mark.parametrize("kind", ["polars", "table", "batch", "reader"])
@pytest.mark.parametrize("pooling", ["mean", "none"])
def test_frames_without_rows(kind, pooling):
    typed = pa.table({"text": pa.array([], pa.string())})
    frames = {
        "polars": pl.DataFrame(schema={"text": pl.String}), "table": typed, "reader": typed.to_reader(),
        "batch": pa.RecordBatch.from_pydict({"text": pa.array([], pa.string())}),
    }  # fmt: skip
    columns = read(add_vectors(frames[kind], MODEL, pooling=pooling))
    assert list(columns)[-1] == ("vector" if pooling == "mean" else "vectors")
    assert not any(columns.values())


def test_types_are_those_that_other_tools_search():
    frame = add_vectors(MAKE["polars"](TEXTS), MODEL)
    assert frame.schema["vector"] == pl.Array(pl.Float32, 3)
    assert add_vectors(MAKE["polars"](TEXTS), MODEL, pooling="none").schema["vectors"] == pl.List(
        pl.Array(pl.Float32, 8)
    )
    table = add_vectors(MAKE["table"](TEXTS), MODEL, dtype="float64")
    assert table.schema.field("vector").type == pa.list_(pa.float64(), 3)
    series = add_vectors(MAKE["pandas"](TEXTS), MODEL)["vector"]
    assert series.iloc[0].dtype == np.float32
    assert np.stack(series.dropna()).shape == (4, 3)


@pytest.mark.parametrize("pooling", ["mean", "none"])
def test_pandas_goes_to_parquet_and_back(tmp_path, pooling):
    frame = add_vectors(MAKE["pandas"](TEXTS), MODEL, pooling=pooling)
    frame.to_parquet(tmp_path / "f.parquet")
    name = frame.columns[-1]
    same(pd.read_parquet(tmp_path / "f.parquet")[name].tolist(), wanted(pooling=pooling))
    assert frame.index.tolist() == [10, 11, 12, 13, 14]


def test_the_given_frame_does_not_change():
    frame = MAKE["pandas"](TEXTS)
    add_vectors(frame, MODEL)
    assert list(frame.columns) == ["text", "n"]


def test_a_path_of_a_model_will_do(tmp_path):
    MODEL.save(tmp_path / "m")
    columns = read(add_vectors(MAKE["table"](TEXTS), tmp_path / "m"))
    same(columns["vector"], wanted(pooling="mean"))


def test_a_reader_is_read_as_its_vectors_are_taken():
    taken = []

    def batches():
        for number in range(50):
            taken.append(number)
            yield pa.RecordBatch.from_pydict({"text": ["aaa aab"] * 1500})

    schema = pa.schema([("text", pa.string())])
    result = add_vectors(pa.RecordBatchReader.from_batches(schema, batches()), MODEL)
    assert not taken
    sizes = [result.read_next_batch().num_rows for _ in range(3)]
    assert sizes == [1024, 476, 1024]
    assert len(taken) == 2


def test_a_lazy_frame_is_computed_when_it_is_collected(tmp_path):
    """It goes to a file through the streaming engine, and the text may be left out afterwards."""
    parquet.write_table(MAKE["table"](TEXTS * 500), tmp_path / "in.parquet")
    lazy = add_vectors(pl.scan_parquet(tmp_path / "in.parquet"), MODEL)
    assert isinstance(lazy, pl.LazyFrame)
    lazy.select("n", "vector").sink_parquet(tmp_path / "out.parquet")
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written.columns == ["n", "vector"]
    same(written.sort("n")["vector"].to_list(), wanted(pooling="mean") * 500)
    long = lazy.filter(pl.col("vector").is_not_null()).select(pl.len()).collect().item()
    assert long == 4 * 500


def test_a_dataset_becomes_a_file_batch_by_batch(tmp_path):
    parquet.write_table(MAKE["table"](TEXTS), tmp_path / "in.parquet")
    with_vectors = add_vectors(pads.dataset(tmp_path / "in.parquet"), MODEL, pooling="none")
    pads.write_dataset(with_vectors, tmp_path / "out", format="parquet")
    same(pads.dataset(tmp_path / "out").to_table()["vectors"].to_pylist(), wanted(pooling="none"))


def test_a_hugging_face_data_set_maps_tables():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"text": TEXTS})
    mapped = data.with_format("arrow").map(lambda table: add_vectors(table, MODEL), batched=True)
    same(mapped.with_format(None)["vector"][:], wanted(pooling="mean"))


@pytest.mark.parametrize("kind", MAKE)
def test_faults(kind):
    with pytest.raises(ArgumentError, match=re.escape("no column 'body'; it has 'text', 'n'")):
        add_vectors(MAKE[kind](TEXTS), MODEL, column="body")
    with pytest.raises(ArgumentError, match="has a column 'n' already"):
        add_vectors(MAKE[kind](TEXTS), MODEL, name="n")
    with pytest.raises(ArgumentError, match=r"strings or (of )?lists of tokens"):
        read(add_vectors(MAKE[kind](TEXTS), MODEL, column="n"))
    with pytest.raises(ArgumentError, match="pooling='median' is not one of 'none', 'mean'"):
        add_vectors(MAKE[kind](TEXTS), MODEL, pooling="median")


def test_tokens_there_already():
    frame = pl.DataFrame({"text": ["aaa"], "tokens": [1]})
    with pytest.raises(ArgumentError, match="'tokens' already"):
        add_vectors(frame, MODEL, pooling="none")


@pytest.mark.parametrize("frame", [["aaa"], {"text": ["aaa"]}, np.zeros(3), "aaa", None])
def test_what_is_no_frame(frame):
    with pytest.raises(ArgumentError, match="give a pandas DataFrame, a polars DataFrame"):
        add_vectors(frame, MODEL)


@pytest.mark.parametrize("column", [pd.Series(["aaa"]), pl.Series(["aaa"]), pa.array(["aaa"])], ids=type)
def test_a_column_is_no_frame(column):
    with pytest.raises(ArgumentError, match="give a pandas DataFrame, a polars DataFrame"):
        add_vectors(column, MODEL)


def test_polars_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=re.escape("textlds[polars]")):
        add_vectors(pl.DataFrame({"text": ["aaa"]}), MODEL)
