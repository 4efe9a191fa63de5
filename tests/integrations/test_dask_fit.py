"""Counts in shards and learning from them on a cluster: the same bits as on one machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

import textlds
from counts.texts import count_corpus, make_text
from textlds.corpus.settings import CountSettings
from textlds.counts.lagcounts import LagCounts
from textlds.errors import CountsError, FormatError, OutputExistsError
from textlds.integrations.dask import count_on_cluster_to_folder
from textlds.integrations.dask_fit import counts_on_cluster

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # a foreign library's warnings are not ours to fix

FIT = {"state_size": 12, "iterations": 3}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "corpus.txt"
    path.write_text(make_text(1, 60_000, 900), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def alone(corpus):
    return count_corpus([corpus], vocab_size=600, max_lag=7)


@pytest.fixture(scope="module")
def sharded(client, corpus, tmp_path_factory):
    output = tmp_path_factory.mktemp("shards") / "counts"
    count_on_cluster_to_folder(
        client, [corpus], output, settings=CountSettings(vocab_size=600, max_lag=7), piece_bytes=60_000,
        block_bytes=300_000,
    )  # fmt: skip
    return output


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def arrays(model, folder):
    model.save(folder)
    return (folder / "model.safetensors").read_bytes()


def test_a_folder_of_shards_holds_the_same_counts(sharded, alone, tmp_path):
    assert sum(name.startswith("rows-") for name in names(sharded)) > 3
    counts = LagCounts.load(sharded)
    assert counts == alone
    assert counts + alone == alone + alone
    assert counts.truncate(2) == alone.truncate(2)
    counts.save(tmp_path / "whole")
    assert LagCounts.load(tmp_path / "whole") == alone


@pytest.mark.parametrize("observations", ["profiles", "words"])
def test_a_model_has_the_same_bits_as_on_one_machine(client, sharded, alone, observations, tmp_path):
    here = textlds.fit(alone, observations=observations, **FIT)
    there = textlds.fit(counts_on_cluster(client, sharded), observations=observations, **FIT)
    assert arrays(there, tmp_path / "there") == arrays(here, tmp_path / "here")


def test_a_folder_without_shards_is_read_in_blocks_of_rows(client, alone, tmp_path):
    alone.save(tmp_path / "counts")
    counts = counts_on_cluster(client, tmp_path / "counts", block_bytes=200_000)
    assert counts.pairs == alone.pairs
    rng = np.random.default_rng(0)
    for k in (0, 6):
        matrix, there = alone.lags[k].toarray().astype(float), counts.lags[k]
        np.testing.assert_array_equal(there.to_dense(), matrix)
        np.testing.assert_array_equal(there.transpose().to_dense(), matrix.T)
        n, none = len(matrix), np.zeros((len(matrix), 0))
        for width in (3, 100):
            X = rng.standard_normal((n, width))
            left, right = rng.random(n), rng.random(n)
            np.testing.assert_allclose(
                there.scaled_rmatmat(X, left, right, none, none), left[:, None] * (matrix.T @ (right[:, None] * X)),
                rtol=1e-9, atol=1e-9,
            )  # fmt: skip
    (alone * 0.5).save(tmp_path / "weighted")
    with pytest.raises(CountsError, match=r"weighted counts.*one machine"):
        counts_on_cluster(client, tmp_path / "weighted")


class Killer:
    """A progress display that kills a worker at every stage."""

    def __init__(self, client):
        self.client, self.killed = client, []

    @contextlib.contextmanager
    def task(self, name, total, unit=""):
        self.done = 0
        yield self

    def advance(self, amount=1.0, note=""):
        self.done += 1
        if self.done == 2 and len(self.killed) < 3:
            victim = sorted(self.client.run(os.getpid).values())[0]
            os.kill(victim, signal.SIGKILL)
            self.killed.append(victim)


def test_workers_that_die_cost_their_shards_only(client, sharded, alone, tmp_path):
    killer = Killer(client)
    there = textlds.fit(counts_on_cluster(client, sharded), progress=killer, **FIT)
    assert len(killer.killed) == 3
    assert arrays(there, tmp_path / "there") == arrays(textlds.fit(alone, **FIT), tmp_path / "here")


def test_from_the_command_line(client, sharded, alone, tmp_path):
    from textlds.cli import build_app

    options = ["--scheduler", client.scheduler.address, "--state-size", "12", "--iterations", "3", "-q"]
    result = CliRunner().invoke(build_app(), ["fit", str(sharded), "-o", str(tmp_path / "model"), *options])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == arrays(
        textlds.fit(alone, **FIT), tmp_path / "here"
    )


def test_a_url_is_read_and_written(alone, corpus, tmp_path):
    pytest.importorskip("fsspec")
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as threads,
        distributed.Client(threads) as client,
    ):
        url = "memory://bucket/counts"
        options = {"settings": CountSettings(vocab_size=600, max_lag=7), "block_bytes": 300_000}
        count_on_cluster_to_folder(client, [corpus], url, **options)
        assert LagCounts.load(url) == alone
        with pytest.raises(OutputExistsError, match="--force"):
            count_on_cluster_to_folder(client, [corpus], url, **options)
        count_on_cluster_to_folder(client, [corpus], url, force=True, **options)
        there = textlds.fit(counts_on_cluster(client, url), **FIT)
        assert arrays(there, tmp_path / "there") == arrays(textlds.fit(alone, **FIT), tmp_path / "here")
    with pytest.raises(FormatError, match="missing"):
        LagCounts.load("memory://bucket/nothing")


@pytest.mark.parametrize("fault", ["missing", "another run", "cut", "bounds", "config"])
def test_damaged_shards_are_refused(sharded, alone, tmp_path, fault):
    import shutil

    folder = tmp_path / "counts"
    shutil.copytree(sharded, folder)
    first, second = [folder / name for name in names(folder) if name.startswith("rows-")][:2]
    config = json.loads((folder / "config.json").read_text())
    if fault == "missing":
        first.unlink()
    elif fault == "another run":  # the same size: only the sum tells
        content = bytearray(first.read_bytes())
        content[-1] ^= 1
        first.write_bytes(content)
    elif fault == "cut":
        second.write_bytes(second.read_bytes()[:-8])
    elif fault == "bounds":
        config["bounds"][1] = config["bounds"][2]
    else:
        config["shards"] = config["shards"][:-1]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(FormatError):
        _ = LagCounts.load(folder) == alone
