"""Counts in row shards, without a cluster: what was altered is refused, however it is read."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import textlds
from textlds.counts.blocks import RowRange
from textlds.counts.lagcounts import LagCounts, counts_bytes, open_shards, write_shards
from textlds.counts.shards import Place, write_shard
from textlds.errors import FormatError
from textlds.lexicon.streamed import load_within
from textlds.storage.arrays import packed_arrays, read_arrays
from textlds.storage.folders import config_sum

TEXT = "\n".join(f"the w{'abcdefg'[i % 7]} of x{'abcdefgh'[i * i % 8]} is a" for i in range(200))


@pytest.fixture
def counts() -> LagCounts:
    return textlds.count(texts=[TEXT], max_lag=3, threads=1)


@pytest.fixture
def sharded(counts: LagCounts, tmp_path: Path) -> Path:
    path, bounds = tmp_path / "shards", [0, 4, 9, len(counts.vocabulary)]
    path.mkdir()
    shards = []
    for number, (low, high) in enumerate(itertools.pairwise(bounds)):
        rows = [lag[low:high] for lag in counts.lags]
        block = [RowRange(0, np.diff(m.indptr).astype(np.int64), m.indices, m.data.astype(np.int64)) for m in rows]
        shards.append(write_shard(Place.at(path), f"rows-{number:05}-0.safetensors", block))
    write_shards(Place.at(path), counts.vocabulary, np.asarray(counts.unigrams), bounds, shards)
    return path


def reseal(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    for name, facts in config["files"].items():
        data = (folder / name).read_bytes()
        facts.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    config.pop("config_sha256")
    (folder / "config.json").write_text(json.dumps({**config, "config_sha256": config_sum(config)}))


def read_in_blocks(path: Path) -> None:
    for lag in load_within(path, counts_bytes(path) // 4, threads=1).lags:
        for _ in lag.blocks():
            pass


def test_shards_hold_the_counts(counts: LagCounts, sharded: Path) -> None:
    assert LagCounts.load(sharded) == counts
    read_in_blocks(sharded)


def test_a_shard_that_is_missing_or_in_the_place_of_another_is_refused(sharded: Path) -> None:
    one, two = sharded / "rows-00000-0.safetensors", sharded / "rows-00001-0.safetensors"
    first, second = one.read_bytes(), two.read_bytes()
    one.unlink()
    for read in (LagCounts.load, read_in_blocks):
        with pytest.raises(FormatError, match=r"rows-00000-0\.safetensors is missing"):
            read(sharded)
    one.write_bytes(second)
    two.write_bytes(first)
    for read in (lambda path: LagCounts.load(path).lags[0], read_in_blocks):
        with pytest.raises(FormatError, match="rows-0000"):
            read(sharded)
    reseal(sharded)  # by one who means harm: they have other numbers of rows
    for read in (lambda path: LagCounts.load(path).lags[0], read_in_blocks):
        with pytest.raises(FormatError, match="row pointers are int64"):
            read(sharded)


def test_a_shard_without_one_of_its_arrays_is_refused_however_it_is_read(sharded: Path) -> None:
    path = sharded / "rows-00001-0.safetensors"
    arrays = {name: np.array(array) for name, array in read_arrays(path).items() if name != "columns02"}
    path.write_bytes(packed_arrays(arrays))
    reseal(sharded)
    for read in (lambda folder: LagCounts.load(folder).lags[1], read_in_blocks):
        with pytest.raises(FormatError, match="no array 'columns02'"):
            read(sharded)


@pytest.mark.parametrize("bounds", [[], "", [0], [0, 4, 9], [0, 9, 4, 1000]])
def test_bounds_that_do_not_cover_the_rows_are_refused(sharded: Path, bounds: object) -> None:
    config = json.loads((sharded / "config.json").read_text())
    (sharded / "config.json").write_text(json.dumps({**config, "bounds": bounds}))
    reseal(sharded)
    for read in (LagCounts.load, read_in_blocks):
        with pytest.raises(FormatError, match="shards must cover rows"):
            read(sharded)


def test_lags_without_numbers_of_pairs_are_refused(sharded: Path) -> None:
    config = json.loads((sharded / "config.json").read_text())
    (sharded / "config.json").write_text(json.dumps({**config, "pairs": config["pairs"][:-1]}))
    reseal(sharded)
    for read in (LagCounts.load, read_in_blocks):
        with pytest.raises(FormatError, match="2 numbers of pairs"):
            read(sharded)


def test_counts_that_a_cluster_reads_in_blocks_are_checked_first(counts: LagCounts, tmp_path: Path) -> None:
    """A cluster reads folders without shards too, a block on each worker: none of them would notice."""
    counts.save(tmp_path / "counts")
    values = tmp_path / "counts" / next(f.name for f in (tmp_path / "counts").iterdir() if "values" in f.name)
    data = bytearray(values.read_bytes())
    data[-4] += 1
    values.write_bytes(data)
    with pytest.raises(FormatError, match="altered"):
        open_shards(tmp_path / "counts", block_bytes=1000, check="whole")
