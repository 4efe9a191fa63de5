from __future__ import annotations

import shutil

import numpy as np
import pytest

from counts.texts import count_corpus, make_text
from storage.sealing import edit_config
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError, FormatError, OutputExistsError
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import read_config, write_config


@pytest.fixture(scope="module")
def counts():
    return count_corpus(iter([make_text(0, 4000)]), vocab_size=500, max_lag=4, threads=1)


@pytest.fixture
def folder(counts, tmp_path):
    counts.save(tmp_path / "counts")
    return tmp_path / "counts"


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def rewrite(folder, change):
    """Alter a folder and make its sums right again, as someone who tampers with it would."""
    config = read_config(folder)
    content = {k: v for k, v in config.items() if k not in ("format", "format_version", "files")}
    change(folder, content)
    (folder / "config.json").unlink()
    write_config(folder, kind="counts", content=content)


def change_array(file, name, function):
    def change(folder, content):
        arrays = {key: np.array(value) for key, value in read_arrays(folder / file).items()}
        arrays[name] = function(arrays[name])
        write_arrays(folder / file, arrays)

    return change


def test_save_and_load_are_exact_and_canonical(counts, folder, tmp_path):
    loaded = LagCounts.load(folder)
    assert loaded == counts
    assert loaded.vocabulary == counts.vocabulary
    assert loaded.settings == counts.settings
    for lag in loaded.lags:
        assert lag.indices.dtype == np.int32
        assert lag.data.dtype == np.uint32
        lag.check_format(full_check=True)
    loaded.save(tmp_path / "again")
    assert files(folder) == files(tmp_path / "again")


def test_loaded_counts_can_be_computed_with(counts, folder):
    loaded = LagCounts.load(folder)
    assert loaded + loaded == counts * 2
    assert loaded.shrink(50) == counts.shrink(50)
    assert loaded.lags[0].T.tocsr().sum() == counts.lags[0].sum()


def test_repr_and_facts(counts):
    assert counts.max_lag == 4
    assert counts.tokens == counts.unigrams.sum()
    assert counts.exact
    assert counts.pairs == tuple(lag.nnz for lag in counts.lags)
    assert "4 lags" in repr(counts)
    assert counts != 3


def test_large_counts_take_64_bits(counts, tmp_path):
    large = counts * 2**33
    assert large.lags[0].data.dtype == np.int64
    large.save(tmp_path / "large")
    assert LagCounts.load(tmp_path / "large") == large
    assert large - counts * (2**33 - 1) == counts  # back to 32 bits
    assert (large - counts * (2**33 - 1)).lags[0].data.dtype == np.uint32


def test_weighted_counts_are_marked(counts, tmp_path):
    half = 0.5 * counts
    assert not half.exact
    assert half.tokens == counts.tokens / 2
    half.save(tmp_path / "half")
    assert LagCounts.load(tmp_path / "half") == half
    assert not LagCounts.load(tmp_path / "half").exact
    assert (2 * half).unigrams.tolist() == counts.unigrams.tolist()


def test_output_is_not_overwritten(counts, folder):
    with pytest.raises(OutputExistsError, match="--force"):
        counts.save(folder)
    counts.save(folder, force=True)


def test_truncate(counts):
    assert counts.truncate(2).lags[1] is counts.lags[1]
    with pytest.raises(ArgumentError, match="between 1 and 4"):
        counts.truncate(5)


@pytest.mark.parametrize("name", ["vocabulary.json", "counts.safetensors", "lag02-values.safetensors"])
def test_missing_truncated_and_altered_files_are_refused(folder, name):
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(FormatError, match="truncated"):
        LagCounts.load(folder)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(FormatError, match="altered"):
        LagCounts.load(folder)
    path.unlink()
    with pytest.raises(FormatError, match="missing"):
        LagCounts.load(folder)


def set_first(value):
    def change(array):
        array = array.copy()
        array[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_array("counts.safetensors", "unigrams", lambda a: a[:-1]), "unigrams"),
        (change_array("counts.safetensors", "unigrams", set_first(-1)), "negative"),
        (change_array("counts.safetensors", "unigrams", lambda a: set_first(np.nan)(a.astype(float))), "non-finite"),
        (change_array("counts.safetensors", "unigrams", lambda a: a.astype(np.float32)), "unigrams"),
        (change_array("counts.safetensors", "pointers", lambda a: a[:-1]), "pointers"),
        (change_array("counts.safetensors", "pointers", lambda a: a[:, ::-1]), "pointers"),
        (change_array("lag01-columns.safetensors", "columns", set_first(-1)), "increasing"),
        (change_array("lag01-columns.safetensors", "columns", set_first(10**6)), "increasing"),
        (change_array("lag01-columns.safetensors", "columns", lambda a: a.astype(np.int64)), "int32"),
        (change_array("lag03-values.safetensors", "values", set_first(0)), "not positive"),
        (change_array("lag03-values.safetensors", "values", lambda a: a[1:]), "values of lag 3"),
        (change_array("lag03-values.safetensors", "values", lambda a: a.astype(np.float64)), "values of lag 3"),
        (lambda folder, content: content.update(max_lag=0), "max_lag"),
        (lambda folder, content: content.update(max_lag=9), "max_lag=9 .* 4 numbers of pairs"),
        (lambda folder, content: content.pop("settings"), "settings"),
        (lambda folder, content: content["settings"].update(digits="all"), "digits"),
        (lambda folder, content: (folder / "vocabulary.json").write_text("[1, 2]"), "list of words"),
        (lambda folder, content: (folder / "vocabulary.json").write_text("{"), "JSON"),
        (lambda folder, content: (folder / "lag01-values.safetensors").write_bytes(b"\0" * 50), "safetensors"),
        (lambda folder, content: (folder / "lag01-values.safetensors").unlink(), "lag01"),
    ],
)
def test_inconsistent_folders_are_refused_even_with_right_sums(folder, change, message):
    rewrite(folder, change)
    with pytest.raises(FormatError, match=message):
        LagCounts.load(folder)


def test_other_folders_and_versions_are_refused(folder, tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        LagCounts.load(tmp_path / "nothing")
    edit_config(folder, format="textlds-model")
    with pytest.raises(FormatError, match="model"):
        LagCounts.load(folder)
    edit_config(folder, format="textlds-counts", format_version=99)
    with pytest.raises(FormatError, match="version 99"):
        LagCounts.load(folder)
    shutil.rmtree(folder)
