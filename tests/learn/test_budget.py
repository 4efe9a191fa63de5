from __future__ import annotations

import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import textlds
from counts.texts import make_text
from textlds.cli import build_app
from textlds.corpus.reading.opening import open_sources
from textlds.corpus.settings import CountSettings
from textlds.errors import ArgumentError
from textlds.learn import budget
from textlds.learn.budget import LADDER, Rates, choose, choose_settings, entries, measure
from textlds.learn.settings import FitSettings, auto_state_size

# Of two cores: 10M tokens/s, 1.5 G entry-columns/s, 50 GFlop/s.
RATES = Rates(0.19, 1e-7, 7e-10, 2e-11)


def chosen(tokens, minutes, memory="64GB", **options):
    counting = CountSettings(memory=memory, **{k: v for k, v in options.items() if k == "vocab_size"})
    settings = FitSettings(**{k: v for k, v in options.items() if k != "vocab_size"})
    return choose(tokens, RATES, counting, settings, minutes=minutes)


def test_more_time_and_memory_never_give_a_smaller_model():
    def place(choice):
        return LADDER.index((choice.counting.vocab_size, choice.settings.state_size, choice.settings.iterations))

    times = [place(chosen(75e6, minutes)) for minutes in (0.6, 1, 2, 5, 10, 30, 100, 1000)]
    assert times == sorted(times)
    assert times[-1] > times[0]
    rooms = [place(chosen(75e6, 1000, memory)) for memory in ("900MB", "2GB", "4GB", "8GB", "64GB")]
    assert rooms == sorted(rooms)
    assert rooms[-1] > rooms[0]


def test_the_choice_is_within_the_budget():
    for minutes, memory in ((2, "8GB"), (10, "3GB"), (60, "16GB")):
        found = chosen(75e6, minutes, memory)
        assert found.seconds <= 60 * minutes
        assert found.bytes <= float(memory.removesuffix("GB")) * 1e9


def test_one_hot_words_take_longer():
    """The sketch has four times the dimensions of the state."""
    fixed = {"vocab_size": 100_001, "state_size": 200, "iterations": 20}
    assert chosen(75e6, 1e6, observations="words", **fixed).seconds > 2 * chosen(75e6, 1e6, **fixed).seconds


def test_little_text_gets_a_state_that_it_can_serve_whatever_the_time():
    """A larger one was chosen, and the fit warned of it."""
    assert chosen(20e6, 1e6).settings.size == auto_state_size(20e6, 100_000) == 140
    assert chosen(75e6, 1e6).settings.size == 400


def test_little_text_gets_few_words():
    assert chosen(2e5, 1000).counting.vocab_size <= 10_000
    assert chosen(1e9, 1e6, "900GB").counting.vocab_size == 200_000


def test_what_was_measured_is_met():
    """104M entries of 75M tokens; 329M tokens, 200,000 words and a state of 200 took 6.3 GB to fit."""
    assert entries(75e6, 100_000, 7) == pytest.approx(104e6)
    found = chosen(329e6, 1e6, "900GB", vocab_size=200_000, state_size=200, observations="words")
    assert found.bytes / 1.3 == pytest.approx(6.3e9, rel=0.15)


def test_settings_that_are_given_are_kept():
    found = chosen(75e6, 1000, vocab_size=30_000, state_size=60)
    assert (found.counting.vocab_size, found.settings.state_size) == (30_000, 60)
    assert found.settings.iterations == 20


def test_a_budget_too_small_for_any_model():
    with pytest.raises(ArgumentError, match=r"0.1 minutes.*too small for any model.*counting.*--minutes, --memory"):
        chosen(1e9, 0.1)
    with pytest.raises(ArgumentError, match=r"1 minute and 100 MB is too small for any model.*and \d\d\d MB\. Give"):
        chosen(75e6, 1, "100MB")


def test_what_the_process_has_already_is_part_of_the_budget():
    full = replace(RATES, resident=2e8)
    settings = CountSettings(memory="900MB")
    free, found = (choose(20e6, rates, settings, FitSettings(), minutes=1000) for rates in (RATES, full))
    assert found.bytes <= 9e8
    assert found.words <= free.words
    assert found.counting.memory == 7e8
    with pytest.raises(ArgumentError, match="and 150 MB is too small for any model"):
        choose(1e5, full, CountSettings(memory="150MB"), FitSettings(), minutes=1000)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(make_text(0, 60_000), encoding="utf-8")
    return path


def test_rates_are_measured(corpus):
    sources = open_sources([str(corpus)])
    rates = measure(sources, None, CountSettings(), threads=1)
    counts = textlds.count(corpus)
    assert rates.tokens_per_byte == pytest.approx(counts.unigrams.sum() / corpus.stat().st_size, rel=0.01)
    assert 1e-9 < rates.counting < 1e-3
    assert 1e-12 < rates.products < 1e-5
    assert 1e-13 < rates.dense < 1e-8
    assert 2e7 < rates.resident < 2e10
    found = choose_settings(sources, minutes=1000)
    assert found.counting.vocab_size == 5_000
    assert found.words == rates.rows == len(counts.vocabulary)
    assert f"{len(counts.vocabulary):,} words, state size {auto_state_size(rates.sampled, 5_000)}" in str(found)


def test_resuming_keeps_what_was_chosen(corpus, tmp_path, monkeypatch):
    """The machine is busier, or quieter, than when the work began."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def run(*more, state_size, minutes=5):
        choice = chosen(1e6, 1000, vocab_size=100, state_size=state_size, iterations=2)
        monkeypatch.setattr(budget, "choose_settings", lambda *_, **__: choice)
        arguments = ["train", str(corpus), "-o", str(tmp_path / "model"), "--minutes", str(minutes), *more]
        return CliRunner().invoke(build_app(), arguments)

    with monkeypatch.context() as patch:
        patch.setattr("textlds.model.training._fit", interrupt)
        assert run(state_size=5).exit_code != 0
    assert (tmp_path / "model.work").exists()
    other = run("--resume", minutes=6, state_size=7)
    assert other.exit_code == 1
    assert "was begun with --minutes 5, not 6" in " ".join(other.stderr.split())
    for _ in range(2):  # the second time, it is finished
        resumed = run("--resume", state_size=7)
        assert resumed.exit_code == 0, resumed.output
        assert textlds.load(tmp_path / "model").state_size == 5
        assert not (tmp_path / "model.work").exists()
    assert run("--force", state_size=7).exit_code == 0
    assert textlds.load(tmp_path / "model").state_size == 7


@pytest.mark.parametrize(
    ("lines", "most"),
    [
        (["the cat sat on the mat and looked at the dog"] * 590, 12),
        ([" ".join("abcdefg"[(i * j + j * j) % 7] * 3 for j in range(12)) for i in range(5000)], 13),
        (["", ""] * 20 + ["some words at last, and some more of them"], 12),
    ],
    ids=["one line", "few words", "begins with blank lines"],
)
def test_texts_of_few_words_are_quick_and_get_a_state_that_they_can_serve(tmp_path, monkeypatch, lines, most):
    """Products with an almost empty matrix once made the least estimate hours."""
    monkeypatch.setattr(budget, "resident_bytes", lambda: 2e8)  # of a new process: that of the tests has gigabytes
    path = tmp_path / "few.txt"
    path.write_text("\n".join(lines) + "\n")
    for minutes in (0.5, 1000):
        found = choose_settings(open_sources([str(path)]), minutes=minutes, threads=1)
        assert found.seconds < 10
        assert found.settings.size <= most
        assert re.search(r"expected to take \d+ seconds and \d+ MB$", str(found))
    arguments = ["train", str(path), "-o", str(tmp_path / "model"), "--minutes", "0.5"]
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("lines repeat others and are left out") <= 2  # of the text, not of the sample too


def test_the_words_of_the_text_bound_what_a_model_costs():
    few = replace(RATES, rows=100, sampled=1e6)
    found = choose(1e9, few, CountSettings(memory="64GB"), FitSettings(), minutes=1e4)
    assert found.settings.size == 25
    assert found.words == pytest.approx(100 * 1000**0.7, abs=1)
    assert found.seconds < choose(1e9, RATES, CountSettings(memory="64GB"), FitSettings(), minutes=1e4).seconds
    with pytest.raises(ArgumentError, match=r"the smallest takes \d+\.\d minutes, of which counting"):
        choose(1e9, few, CountSettings(), FitSettings(), minutes=0.1)
    with pytest.raises(ArgumentError, match=r"about 50,000 tokens\): the smallest takes 2 seconds"):
        choose(5e4, few, CountSettings(), FitSettings(), minutes=1e-9)


def test_bad_arguments(corpus):
    with pytest.raises(ArgumentError, match="minutes=0"):
        choose_settings(open_sources([str(corpus)]), minutes=0)
    with pytest.raises(ArgumentError, match=r"size of .* is not known"):
        choose_settings(open_sources(iter(["a b c"])), minutes=1)


def test_the_command(corpus, tmp_path):
    arguments = ["train", str(corpus), "-o", str(tmp_path / "model"), "--minutes", "50", "--iterations", "1"]
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    assert "state size 30, 1 iteration;" in " ".join(result.stderr.split())
    assert textlds.load(tmp_path / "model").state_size == 30
