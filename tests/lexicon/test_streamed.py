"""Counts that are read as they are used: the same bits, in less memory."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import textlds
from counts.texts import count_corpus, make_text
from textlds.counts.lagcounts import LagCounts, counts_bytes
from textlds.errors import ArgumentError, CountsError, FormatError
from textlds.lexicon import streamed
from textlds.lexicon.cooccurrences import cooccurrences
from textlds.lexicon.streamed import StreamedLags, load_within
from textlds.model.training import fit_to_folder

FIT = {"state_size": 12, "iterations": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("streamed")
    (path / "corpus.txt").write_text(make_text(1, 40_000, 900), encoding="utf-8")
    count_corpus([str(path / "corpus.txt")], vocab_size=600, max_lag=7).save(path / "counts")
    return path


def test_counts_within_the_limit_are_mapped(folder):
    for memory in (None, "1GB"):
        assert not isinstance(load_within(folder / "counts", memory).lags, StreamedLags)
    assert isinstance(load_within(folder / "counts", "100kB").lags, StreamedLags)


@pytest.mark.parametrize("memory", [100_000, 400_000])
def test_products_are_those_of_counts_in_memory(folder, memory):
    whole, read = LagCounts.load(folder / "counts"), load_within(folder / "counts", memory, threads=2)
    assert read.pairs == whole.pairs
    rng = np.random.default_rng(0)
    for k in (0, 6):
        dense, lag = whole.lags[k].toarray().astype(float), read.lags[k]
        np.testing.assert_array_equal(lag.to_dense(), dense)
        for mine, sums in zip(lag.marginals(), (dense.sum(axis=1), dense.sum(axis=0)), strict=True):
            np.testing.assert_array_equal(mine, sums)
        n = len(dense)
        left, right, U, V = rng.random(n), rng.random(n), rng.random((n, 2)), rng.random((n, 2))
        for width in (3, 100):
            X = rng.standard_normal((n, width))
            for way, product in ((dense, lag.scaled_matmat), (dense.T, lag.scaled_rmatmat)):
                goal = (left[:, None] * way - U @ V.T) @ (right[:, None] * X)
                np.testing.assert_allclose(product(X, left, right, U, V), goal, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("observations", ["profiles", "words"])
def test_a_model_has_the_same_bits(folder, observations, tmp_path):
    settings = textlds.FitSettings(observations=observations, **FIT)
    for name, memory in (("mapped", None), ("streamed", 200_000)):
        fit_to_folder(folder / "counts", tmp_path / name, settings, memory=memory)
    mapped, read = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("mapped", "streamed"))
    assert read == mapped


def test_a_limit_that_is_too_small_is_refused_with_the_amount_that_is_needed(folder, tmp_path):
    size = counts_bytes(folder / "counts")
    with pytest.raises(ArgumentError, match=rf"'1KB' is too little: .* {-(-size // 1000)}kB takes at least") as error:
        fit_to_folder(folder / "counts", tmp_path / "model", textlds.FitSettings(**FIT), memory="1KB")
    least = str(error.value).partition("at least ")[2].partition(".")[0]
    assert isinstance(load_within(folder / "counts", least).lags, StreamedLags)


def test_no_limit_makes_learning_read_the_counts_again_and_again(folder, monkeypatch):
    """Any limit of 64MB is kept for counts of any size, so that ranges of M may have to be larger than their share."""
    monkeypatch.setattr(streamed, "_LEAST", 1000)
    counts, ranges = load_within(folder / "counts", 1000), []
    merged = StreamedLags._merged
    monkeypatch.setattr(StreamedLags, "_merged", lambda self, *job: ranges.append(job) or merged(self, *job))
    n, shape = len(counts.vocabulary), [1.0, 0.5, 0.0, 0.0, 2.0, 1.0, 0.0]  # a lag of weight 0 is not read
    found = counts.lags.cooccurrences(shape, rows=(0, n), columns=n)
    assert len(ranges) <= 2 * 16
    whole = cooccurrences(LagCounts.load(folder / "counts").lags, shape, rows=(0, n), columns=n, threads=1)
    np.testing.assert_array_equal(found.to_dense(), whole.to_dense())


def test_weighted_counts_and_damage_are_refused(folder, tmp_path):
    counts = LagCounts.load(folder / "counts")
    (counts * 0.5).save(tmp_path / "weighted")
    with pytest.raises(CountsError, match="without a memory limit"):
        load_within(tmp_path / "weighted", 100_000)
    counts.save(tmp_path / "damaged")
    values = tmp_path / "damaged" / "lag03-values.safetensors"
    values.write_bytes(values.read_bytes()[:-1] + b"\x01")
    with pytest.raises(FormatError):
        load_within(tmp_path / "damaged", 100_000)


_CHILD = """
import json, sys
import textlds
from textlds.model.training import fit_to_folder
from textlds.learn.settings import FitSettings
settings = FitSettings(state_size=4, iterations=1)
fit_to_folder(sys.argv[1], sys.argv[2], settings, memory=json.loads(sys.argv[3]), threads=1)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_peak_is_lower_by_what_the_counts_take(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([a + b + c for a in "bcdfghklmnpr" for b in "aeiouwyxjq" for c in "stvzlnmrdg"])
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(words[rng.integers(0, 1200, 5000)]) for _ in range(600)))
    counts = tmp_path / "counts"
    textlds.count(str(text), output=counts)
    size = sum(path.stat().st_size for path in counts.iterdir())
    assert size > 60e6
    peaks = []
    for name, memory in (("mapped", None), ("streamed", "40MB")):
        arguments = [str(counts), str(tmp_path / name), json.dumps(memory)]
        done = subprocess.run([sys.executable, "-c", _CHILD, *arguments], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.splitlines()[-1]))
    assert peaks[1] < peaks[0] - 0.6 * size  # lag 1 and a block stay
