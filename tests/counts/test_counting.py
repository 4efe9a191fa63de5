from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from counts.texts import count_corpus, count_to_folder, make_text
from oracles.counting_twin import corpus_twin
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts import counting
from textlds.counts.lagcounts import LagCounts
from textlds.counts.plan import make_plan, parse_memory
from textlds.errors import ArgumentError, CorpusError, OutputExistsError

ALL_BOUNDARIES = [
    TextSettings(tokenizer="whitespace", digits="keep", boundaries="line"),
    TextSettings(tokenizer="whitespace", digits="keep", boundaries="document"),
    TextSettings(tokenizer="whitespace", digits="keep", boundaries="none"),
    TextSettings(tokenizer="whitespace", digits="keep", boundaries="line", boundary_token="</s>"),
    TextSettings(tokenizer="whitespace", digits="keep", boundaries="document", boundary_token="</s>", unknown="single"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for seed in range(3):
        (folder / f"{seed}.txt").write_text(make_text(seed, 4000 * seed + 500), encoding="utf-8")
    (folder / "empty.txt").write_text("\n\n")
    return [str(path) for path in sorted(folder.iterdir())]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def parts_of(text: str, boundaries: str) -> list[list[str]]:
    """Cut whitespace-tokenised text at its boundaries, in plain Python."""
    lines = [line.split() for line in text.split("\n")]
    if boundaries == "line":
        return lines
    if boundaries == "none":
        return [[word for line in lines for word in line]]
    documents: list[list[str]] = [[]]
    for line in lines:
        if line:
            documents[-1] += line
        else:
            documents.append([])
    return documents


@pytest.mark.parametrize("settings", ALL_BOUNDARIES, ids=lambda s: f"{s.boundaries}-{s.boundary_token}")
def test_counts_agree_with_the_twin(corpus, settings, monkeypatch):
    monkeypatch.setattr(counting, "make_plan", small_plan(piece_bytes=3000, block_tokens=2500))
    counts = count_corpus(corpus, vocab_size=200, max_lag=4, text=settings, threads=2)
    sources = [parts_of(Path(path).read_text(encoding="utf-8"), settings.boundaries) for path in corpus]
    unigrams, pairs = corpus_twin(sources, counts.vocabulary.id, 4, settings.boundary_token)
    assert counts.unigrams.tolist() == [unigrams[row] for row in range(len(counts.vocabulary))]
    for lag, expected in zip(counts.lags, pairs, strict=True):
        coo = lag.tocoo()
        found = zip(zip(coo.row.tolist(), coo.col.tolist(), strict=True), coo.data.tolist(), strict=True)
        assert dict(found) == dict(expected)
    order = counts.unigrams[: counts.vocabulary.n_types]
    assert (np.diff(order) <= 0).all()  # the boundary token stands where its count belongs


def small_plan(**sizes):
    """A plan with sizes far smaller than any budget would give, so that a small text goes every way."""
    import dataclasses

    def plan(memory, **options):
        return dataclasses.replace(make_plan("4GB", **options), **sizes)

    return plan


@pytest.mark.parametrize("settings", [TextSettings(), ALL_BOUNDARIES[4]], ids=["defaults", "boundary-token"])
def test_same_bytes_for_any_division_of_the_work(corpus, settings, tmp_path, monkeypatch):
    options = {"vocab_size": 300, "max_lag": 5, "text": settings}
    count_corpus(corpus, threads=1, **options).save(tmp_path / "reference")
    reference = files(tmp_path / "reference")
    ways = [
        {"threads": 1},
        {"threads": 2, "piece_bytes": 1000, "held_bytes": 0, "types_bytes": 10**6},
        {"threads": 2, "piece_bytes": 20_000, "block_tokens": 3000, "entries": 100},
        {"threads": 1, "piece_bytes": 500, "block_tokens": 400, "held_bytes": 30_000},  # more runs than one merge takes
    ]
    for number, way in enumerate(ways):
        threads = way.pop("threads")
        monkeypatch.setattr(counting, "make_plan", small_plan(**way))
        order = corpus[number:] + corpus[:number]
        count_to_folder(order, tmp_path / f"way{number}", threads=threads, **options)
        assert files(tmp_path / f"way{number}") == reference
        assert not (tmp_path / f"way{number}.work").exists()
        count_corpus(order, threads=threads, **options).save(tmp_path / f"memory{number}")
        assert files(tmp_path / f"memory{number}") == reference


def test_a_vocabulary_can_be_given(corpus):
    vocabulary = Vocabulary.from_words(["the", "of", "zebra"], TextSettings(unknown="single"))
    counts = count_corpus(corpus, vocabulary=vocabulary, max_lag=2)
    assert counts.vocabulary == vocabulary
    assert counts.unigrams[2] == 0
    assert counts.unigrams[3] > 0
    with pytest.raises(ArgumentError, match="made for"):
        count_corpus(corpus, vocabulary=vocabulary, text=TextSettings(digits="keep"))


def test_min_count_and_custom_tokenizer():
    text = ["a b a b c a\nb d"]
    counts = count_corpus(iter(text), min_count=2, max_lag=1)
    assert counts.vocabulary.words[: counts.vocabulary.n_types] == ("a", "b")
    custom = count_corpus(iter(text), max_lag=1, text=TextSettings(tokenizer=str.split))
    assert custom.settings.tokenizer == "custom"
    assert custom.unigrams.tolist()[:4] == [3, 3, 1, 1]


def test_token_lists_are_taken_as_they_are():
    counts = count_corpus([["New York", "is", "big"], ["New York", "."]], max_lag=1)
    assert counts.vocabulary.words[0] == "New York"
    assert counts.unigrams[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, "vocab_size=0"),
        ({"max_lag": 0}, "max_lag=0"),
        ({"max_lag": 2.5}, "max_lag=2.5"),
        ({"min_count": 0}, "min_count=0"),
        ({"threads": 0}, "threads=0"),
        ({"memory": "much"}, "memory='much'"),
        ({"memory": "1MB"}, "at least [0-9]+MB"),
        ({"vocab_size": 10**8}, "Raise memory"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ArgumentError, match=message):
        count_corpus(iter(["a b c"]), **options)


def test_memory_is_read_in_the_usual_ways():
    assert parse_memory("4GB") == parse_memory(4 * 10**9) == parse_memory("4g") == 4 * 10**9
    assert parse_memory("1.5 GiB") == 3 * 2**29
    assert parse_memory("300MB") == parse_memory("300m") == 3 * 10**8


@pytest.mark.parametrize(("text", "message"), [("\n \n", "no token"), ("a a a", "single type of token, 'a'")])
def test_text_that_cannot_be_counted(text, message, tmp_path):
    with pytest.raises(CorpusError, match=message):
        count_corpus(iter([text]))
    path = tmp_path / "text.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=message):
        count_to_folder([str(path)], tmp_path / "counts")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_existing_output_is_refused_before_any_work(corpus, tmp_path):
    (tmp_path / "counts").mkdir()
    (tmp_path / "counts" / "mine.txt").write_text("keep me")
    for force in (False, True):
        with pytest.raises(OutputExistsError):
            count_to_folder(corpus, tmp_path / "counts", force=force)
    assert (tmp_path / "counts" / "mine.txt").exists()


MEASURE = """
import sys
from counts.texts import count_to_folder

def peak():  # not ru_maxrss, which begins with that of the parent process
    return int(dict(line.split(":", 1) for line in open("/proc/self/status"))["VmHWM"].split()[0]) * 1024

count_to_folder(iter(["warm up the compiled code\\nb c"]), sys.argv[2] + "/warm", max_lag=7)
before = peak()
count_to_folder([sys.argv[1]], sys.argv[2] + "/counts", max_lag=7, vocab_size=20_000, memory="64MB", threads=2)
print(peak() - before)
"""


@pytest.mark.serial
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak memory of a process")
def test_peak_memory_stays_below_the_budget(tmp_path):
    path = tmp_path / "large.txt"
    text = make_text(7, 400_000, n_types=30_000)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(20):
            file.write(text)  # 8 M tokens: ids and index would take 64 MB, the counts another 60
    command = [sys.executable, "-c", MEASURE, str(path), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    above = int(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
    assert above < 64e6, f"{above / 1e6:.0f} MB above the baseline with a budget of 64 MB"
    counts = LagCounts.load(tmp_path / "counts")
    assert counts.tokens > 7_000_000
    once = count_corpus(iter([text]), vocabulary=counts.vocabulary)
    assert counts.unigrams.tolist() == (20 * once.unigrams).tolist()
