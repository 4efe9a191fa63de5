"""What was left out of the text is on record, wherever the counts go."""

from __future__ import annotations

import json

import pytest

import textlds
from counts.test_repeats import lines_of
from textlds import CountSettings, LagCounts
from textlds.counts.record import joined_record, read_record, said_of_repeats
from textlds.errors import CountsError, FormatError

ONCE = CountSettings(repeats=1, min_count=3)


def config(folder):
    return json.loads((folder / "config.json").read_text())


def left_out(kept=1, units=9, lines=4, tokens=50):
    return {"repeats": {"kept": kept, "units": units, "units_left_out": lines, "tokens_left_out": tokens}}


def test_the_same_record_in_python_as_on_the_command_line(tmp_path):
    lines = lines_of(2, 600)
    textlds.count(texts=lines, counting=ONCE, output=tmp_path / "folder")
    textlds.count(texts=lines, counting=ONCE).save(tmp_path / "memory")
    assert config(tmp_path / "memory") == config(tmp_path / "folder")
    counts = LagCounts.load(tmp_path / "memory")
    assert counts.record["repeats"]["units_left_out"] > 0
    assert counts.record["min_count"] == 3
    for other in (counts.truncate(2), counts.shrink(5), counts.prune(2).counts):
        assert other.record == counts.record


def test_a_model_has_it_in_its_history(tmp_path):
    lines = lines_of(2, 600)
    counts = textlds.count(texts=lines, counting=ONCE, output=tmp_path / "counts")
    options = {"state_size": 3, "iterations": 1}
    here = textlds.fit(counts, **options)
    there = textlds.train(texts=lines, counting=CountSettings(min_count=3, memory=1 << 28), **options)
    folder = textlds.train(texts=lines, counting=CountSettings(min_count=3), output=tmp_path / "model", **options)
    for model in (here, there, folder):
        assert model.history.settings["repeats"] == counts.record["repeats"]
        assert model.history.settings["min_count"] == 3
    every = textlds.fit(textlds.count(texts=lines), **options)
    assert (every.history.settings["repeats"], every.history.settings["min_count"]) == ("all", 1)


def test_counts_that_are_read_as_they_are_used_keep_it(tmp_path):
    from textlds.model.training import fit_to_folder

    counts = textlds.count(texts=lines_of(2, 600), counting=ONCE, output=tmp_path / "counts")
    settings = textlds.FitSettings(state_size=3, iterations=1)
    model = fit_to_folder(tmp_path / "counts", tmp_path / "model", settings, memory=20_000)
    assert model.history.settings["repeats"] == counts.record["repeats"]


def test_words_of_a_folder_bring_their_record(tmp_path):
    every = CountSettings(min_count=3)
    textlds.count(texts=lines_of(2, 600), counting=every, output=tmp_path / "all")
    assert textlds.count(texts=lines_of(3, 60), vocabulary=tmp_path / "all").record == {"min_count": 3}


def test_sums_have_the_sums(caplog):
    a, b = (textlds.count(texts=lines_of(seed, 600), counting=CountSettings(repeats=1)) for seed in (2, 3))
    first, second = a.record["repeats"], b.record["repeats"]
    both = {name: first[name] + second[name] for name in first} | {"kept": 1}
    assert (a + b).record["repeats"] == both
    assert (a + b - b).record["repeats"] == first
    assert (2 * a).record["repeats"]["units"] == 2 * first["units"]
    assert not caplog.text


def test_different_repeats_are_warned_of_when_added_and_refused_when_subtracted(caplog):
    once = textlds.count(texts=lines_of(2, 600), counting=CountSettings(repeats=1))
    every = textlds.count(texts=lines_of(2, 600), vocabulary=once.vocabulary)
    with pytest.raises(CountsError, match=r"different repeats \('all' and 1\).* repeats='all' \(--repeats all\)"):
        every - once
    with pytest.raises(CountsError, match=r"different repeats \(1 and 'all'\).* repeats=1 \(--repeats 1\)"):
        once - every
    both = once + every
    assert "different repeats (1 and 'all')" in caplog.text
    assert both.record["repeats"] == {"kept": "mixed"}
    caplog.clear()
    assert both - every == once  # what was added can be taken away
    assert "exact only if what is subtracted was added before" in caplog.text


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([{}, {}], {}),
        ([left_out(lines=0), {}], {}),  # nothing was left out, whatever the settings
        ([left_out(), left_out(kept=2, lines=0)], left_out(units=18, tokens=100)),
        ([left_out(lines=0), left_out(lines=0)], left_out(units=18, lines=0, tokens=100)),
        ([{"min_count": 2}, {"min_count": 2}], {"min_count": 2}),
        ([{"min_count": 2}, {"min_count": 3}], {}),
        ([{"min_count": 2}, {}], {}),
    ],
)
def test_records_that_agree_are_joined_in_silence(records, expected, caplog):
    assert joined_record(records, [1, 1], shared=False) == expected
    assert not caplog.text


def test_words_that_are_shared_have_one_record():
    assert joined_record([{"min_count": 2}, {}], [1, 1], shared=True) == {"min_count": 2}


@pytest.mark.parametrize("wrong", [{"repeats": 1}, {"repeats": {"kept": "many"}}, {"min_count": "few"}])
def test_what_is_no_record_is_refused(wrong):
    with pytest.raises(FormatError, match="no record of counts"):
        read_record(wrong)


def test_a_record_as_a_sentence():
    assert said_of_repeats("all") == said_of_repeats(None) == "all lines are counted, however often they repeat"
    assert said_of_repeats({"kept": "mixed"}).startswith("left out of some")
    assert said_of_repeats(left_out(lines=0)["repeats"]) == "each line is counted once; none had to be left out"
    expected = "each line is counted 2 times at most: 1,000 of 4,138 lines are left out, 50 tokens"
    assert said_of_repeats(left_out(2, 4138, 1000)["repeats"]) == expected
