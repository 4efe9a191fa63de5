from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from counts.texts import count_corpus, count_to_folder, flat, make_text
from textlds.corpus.settings import CountSettings, TextSettings
from textlds.corpus.tokens.types import TypeTable
from textlds.counts.lagcounts import LagCounts
from textlds.counts.shards import row_bounds
from textlds.errors import ArgumentError, ClusterError, CorpusError, CorpusNotFoundError, OutputExistsError
from textlds.integrations import dask_repeats
from textlds.integrations.cluster import Cluster, connect
from textlds.integrations.dask import count_on_cluster, count_on_cluster_to_folder, cut
from textlds.integrations.dask_fit import counts_on_cluster
from textlds.integrations.dask_types import frequent_types
from textlds.progress import resolve

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # a foreign library's warnings are not ours to fix

SETTINGS = [
    TextSettings(),
    TextSettings(boundaries="none", unknown="single"),
    TextSettings(boundaries="document", boundary_token="</s>"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    for seed in range(2):
        (folder / f"{seed}.txt").write_text(make_text(seed, 20_000), encoding="utf-8")
    (folder / "2.txt.gz").write_bytes(gzip.compress(make_text(2, 5000).encode()))
    (folder / "3.txt").write_text("\n" * 500 + "a few tokens\n" + "\n" * 5000 + "and then some\n\n\n")
    (folder / "4.txt").write_text("")
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


SENTENCES = {"again": "Run it again.", "smaller": "Make it smaller."}


def files(counts, folder: Path) -> dict[str, bytes]:
    counts.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.boundaries}-{s.boundary_token}")
def test_the_same_bytes_as_one_thread(client, corpus, settings, tmp_path):
    options = {"vocab_size": 400, "max_lag": 5, "text": settings}
    alone = count_corpus(corpus, threads=1, **options)
    for piece_bytes in (1 << 26, 20_000, 3_001):
        together = count_on_cluster(client, corpus, piece_bytes=piece_bytes, **flat(dict(options)))
        assert together == alone
    assert files(together, tmp_path / "together") == files(alone, tmp_path / "alone")


@pytest.mark.parametrize("block_bytes", [1 << 28, 100_000, 8_000])
def test_the_folder_is_written_in_shards(client, corpus, block_bytes, tmp_path):
    options = {"vocab_size": 300, "max_lag": 4, "text": SETTINGS[1]}
    alone = count_corpus(corpus, threads=1, **options)
    killer = Killer(client, ["Sum"] if block_bytes < 1 << 20 else [])
    count_on_cluster_to_folder(
        client, corpus, tmp_path / "together",
        piece_bytes=20_000, block_bytes=block_bytes, progress=killer, **flat(dict(options)),
    )  # fmt: skip
    assert len(killer.killed) == (block_bytes < 1 << 20)
    assert LagCounts.load(tmp_path / "together") == alone
    with pytest.raises(OutputExistsError):
        count_on_cluster_to_folder(client, corpus, tmp_path / "together")


@pytest.mark.parametrize("kept", [1, 3])
def test_repeated_lines_are_left_out_as_on_one_machine(client, corpus, kept, tmp_path, monkeypatch):
    lines = Path(corpus[0]).read_text(encoding="utf-8").splitlines()
    rng = np.random.default_rng(0)
    again = tmp_path / "again.txt"
    again.write_text("\n".join(lines[i] for i in rng.integers(0, len(lines) // 4, len(lines))) + "\n")
    texts, options = [*corpus, str(again)], {"vocab_size": 300, "max_lag": 3, "repeats": kept}
    count_to_folder(texts, tmp_path / "alone", **options)
    alone = json.loads((tmp_path / "alone" / "config.json").read_text())
    assert count_corpus(texts, **options) != count_corpus(texts, **{**options, "repeats": "all"})
    for share_bytes in (dask_repeats.SHARE_BYTES, 20_000):  # one task, and several, rank the lines
        monkeypatch.setattr(dask_repeats, "SHARE_BYTES", share_bytes)
        folder = tmp_path / str(share_bytes)
        count_on_cluster_to_folder(client, texts, folder, piece_bytes=20_000, **flat(dict(options)))
        assert LagCounts.load(folder) == LagCounts.load(tmp_path / "alone")
        assert json.loads((folder / "config.json").read_text())["repeats"] == alone["repeats"]


def test_blocks_of_rows_cover_all_rows_once():
    lengths = np.array([1000, 0, 3, 3, 3, 500, 0, 0, 1])
    for entries in (1, 10, 600, 10_000):
        bounds = row_bounds(lengths, entries)
        assert bounds[0] == 0
        assert bounds[-1] == len(lengths)
        assert all(a < b for a, b in itertools.pairwise(bounds))
        for low, high in itertools.pairwise(bounds):
            assert lengths[low:high].sum() <= entries + lengths[low:high].max()


@pytest.mark.parametrize(
    "options", [{"vocab_size": 30}, {"min_count": 3}, {"vocab_size": 200, "min_count": 1}], ids=str
)
@pytest.mark.parametrize("settings", SETTINGS[1:], ids=lambda s: s.boundaries)
def test_words_are_those_of_one_machine_whatever_is_left_out(client, corpus, options, settings, tmp_path):
    alone = count_corpus(corpus, threads=1, text=settings, max_lag=2, **options)
    together = count_on_cluster(
        client, corpus, piece_bytes=3_001, text=settings, settings=CountSettings(max_lag=2, **options)
    )
    assert files(together, tmp_path / "together") == files(alone, tmp_path / "alone")


def test_only_types_that_may_become_words_reach_this_machine(client):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in rng.zipf(1.3, 30_000) if i < 100_000]
    tables = [TypeTable.from_words(words[start::40]) for start in range(40)]
    total = TypeTable.merged(tables)
    known = dict(zip(total.words(), total.counts.tolist(), strict=True))
    cluster = Cluster(client, resolve(False), **SENTENCES)
    futures = cluster.submit("table", TypeTable.merged, [([table],) for table in tables])
    found = frequent_types(cluster, futures, number=50, min_count=2, always=["w99999", "</s>"])
    counts = dict(zip(found.words(), found.counts.tolist(), strict=True))
    assert len(counts) < 60 < len(known)
    assert (counts.pop("w99999"), counts.pop("</s>")) == (known.get("w99999", 0), 0)
    assert {word: known[word] for word in counts} == counts
    least = sorted(known.values())[-50]
    assert {word for word, n in known.items() if n >= least} <= set(counts)


def test_the_remedy_is_that_of_the_command(client, corpus, tmp_path, monkeypatch):
    """Of counts on a cluster nothing is kept; an error does not say otherwise."""
    seen = []

    def stop(self, *_, **__):
        seen.append((self._again, self._smaller))
        raise StopIteration

    monkeypatch.setattr(Cluster, "submit", stop)
    with pytest.raises(StopIteration):
        count_on_cluster(client, corpus)
    count_corpus(corpus, vocab_size=50).save(tmp_path / "counts")
    with pytest.raises(StopIteration):
        counts_on_cluster(client, tmp_path / "counts")
    (counting, pieces), (fitting, _) = seen
    assert "counts all of the text again" in counting
    assert "--memory" in pieces
    assert "--resume" in fitting


class Killer:
    """A progress display that kills a worker when a stage is at its second piece."""

    def __init__(self, client, stages):
        self.client, self.stages, self.killed = client, list(stages), []

    @contextlib.contextmanager
    def task(self, name, total, unit=""):
        self.name, self.done = name, 0
        yield self

    def advance(self, amount=1.0, note=""):
        self.done += 1
        if self.name in self.stages and self.done == 2:
            self.stages.remove(self.name)
            victim = sorted(self.client.run(os.getpid).values())[0]
            os.kill(victim, signal.SIGKILL)
            self.killed.append(victim)


@pytest.mark.parametrize("stages", [["Tokenise"], ["Count"], ["Tokenise", "Count"]], ids=str)
def test_a_worker_that_dies_costs_only_its_pieces(client, corpus, stages):
    options = {"vocab_size": 400, "max_lag": 4, "text": SETTINGS[1]}
    killer = Killer(client, stages)
    counts = count_on_cluster(client, corpus, piece_bytes=8_000, progress=killer, **flat(dict(options)))
    assert len(killer.killed) == len(stages)
    assert counts == count_corpus(corpus, threads=1, **options)


def test_a_vocabulary_can_be_given(client, corpus, tmp_path):
    count_to_folder(corpus[:1], tmp_path / "words", min_count=4)
    options = {"vocabulary": tmp_path / "words", "max_lag": 2}
    assert count_on_cluster(client, corpus[1:], settings=CountSettings(**options)).record == {"min_count": 4}
    vocabulary = count_corpus(corpus[:1], vocab_size=50).vocabulary
    counts = count_on_cluster(
        client, corpus[1:], settings=CountSettings(vocabulary=vocabulary, max_lag=2), piece_bytes=30_000
    )
    assert counts == count_corpus(corpus[1:], vocabulary=vocabulary, max_lag=2)


def test_errors_of_the_workers_reach_the_user(client, corpus, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine\n\xff\xff\n")
    with pytest.raises(CorpusError, match="not UTF-8"):
        count_on_cluster(client, [*corpus, str(bad)])
    with pytest.raises(CorpusError, match="no token"):
        count_on_cluster(client, corpus[-1:])
    with pytest.raises(CorpusNotFoundError):
        count_on_cluster(client, ["nowhere.txt"])
    with pytest.raises(ArgumentError, match="reads files"):
        count_on_cluster(client, iter(["a b c"]))


def test_the_last_items_keep_every_end():
    from textlds.integrations.dask import _last_items

    items = np.array([7, -2, -1, 5, 6, *[-1, -2] * 20, 4, -1, -1], np.int32)
    assert _last_items(items, 5).tolist() == [7, -2, 5, 6, -2, 4, -1]
    assert _last_items(items, 1).tolist() == [-2, 4, -1]
    assert _last_items(items[:0], 3).tolist() == []


def test_pieces_cover_the_text_once(corpus):
    from textlds.corpus.reading.opening import open_sources

    pieces = cut(open_sources(corpus), 10_000)
    assert len(pieces) > 10
    text = b"".join(chunk.data for piece in pieces for source in piece for chunk in source.chunks())
    whole = b"".join(chunk.data for source in open_sources(corpus) for chunk in source.chunks())
    assert text == whole


def test_from_the_command_line(client, corpus, tmp_path):
    from textlds.cli import build_app

    output = tmp_path / "counts"
    options = ["--scheduler", client.scheduler.address, "--vocab-size", "300", "--max-lag", "2", "-q"]
    result = CliRunner().invoke(build_app(), ["count", *corpus, "-o", str(output), *options])
    assert result.exit_code == 0, result.output
    assert LagCounts.load(tmp_path / "counts") == count_corpus(corpus, vocab_size=300, max_lag=2)


def test_no_scheduler_at_the_address():
    with pytest.raises(ArgumentError, match="no Dask scheduler"):
        connect("nonsense")


def test_a_cluster_without_workers_is_an_error_and_no_endless_wait():
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as few,
        distributed.Client(few) as client,
    ):
        cluster = Cluster(client, resolve(False), patience=1, **SENTENCES)
        assert cluster.gather("add", "add", sum, [([1, 2],), ([3],)]) == [3, 3]
        few.scale(0)
        while client.scheduler_info()["workers"]:  # the worker may still take a task on its way out
            time.sleep(0.05)
        futures = cluster.submit("add", sum, [([1, 2],)])
        with pytest.raises(
            ClusterError, match=r"no worker for 1 seconds, and 1 task is left\. Start workers\. Run it again\."
        ):
            cluster.watch("add", futures)


def _die() -> None:
    os._exit(1)


def test_a_task_that_kills_its_workers_is_named():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as few,
        distributed.Client(few) as client,
    ):
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
        cluster = Cluster(client, resolve(False), **SENTENCES)
        with pytest.raises(ClusterError, match=r"workers that tried it died.*more memory\. Make it smaller\."):
            cluster.watch("die", cluster.submit("die", _die, [()]))
