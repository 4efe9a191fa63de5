"""Lines that repeat: the counts are those of the text without them, however it is cut, ordered or interrupted."""

from __future__ import annotations

import collections
import itertools
import json

import numpy as np
import pytest

import textlds
from textlds import CountSettings, TextSettings
from textlds.counts import repeats
from textlds.counts.repeats import SHORT, ranks
from textlds.errors import ArgumentError

WORDS = [
    "the",
    "river",
    "saw",
    "every",
    "old",
    "house",
    "and",
    "some",
    "quiet",
    "teacher",
    "held",
    "a",
    "green",
    "field",
    "in",
    "1990",
    "or",
    "2015",
    ".",
]


def lines_of(seed, n):
    """Return lines of 3 to 14 tokens, many of them twice or more."""
    rng = np.random.default_rng(seed)
    different = [" ".join(rng.choice(WORDS, rng.integers(3, 15))) for _ in range(n // 3)]
    return [different[i] for i in rng.integers(0, len(different), n)]


def kept_by_hand(lines, most):
    """Leave out what comes after the first ``most`` equal lines of eight tokens or more; numbers are all the same."""
    seen = collections.Counter()
    for line in lines:
        key = " ".join("NUM" if word.isdigit() else word for word in line.split())
        seen[key] += 1
        if len(line.split()) < SHORT or seen[key] <= most:
            yield line


@pytest.mark.parametrize(("most", "boundary"), [(1, None), (2, None), (1, "</s>")])
def test_counts_are_those_of_the_lines_that_are_kept(tmp_path, most, boundary):
    lines = lines_of(0, 900)
    kept = list(kept_by_hand(lines, most))
    assert SHORT < len(kept) < len(lines)
    text = TextSettings(boundary_token=boundary)
    for name, some in (("all", lines), ("kept", kept)):
        (tmp_path / name).write_text("\n".join(some) + "\n")
    found = textlds.count(tmp_path / "all", text=text, counting=CountSettings(repeats=most))
    assert found == textlds.count(tmp_path / "kept", text=text, counting=CountSettings(repeats="all"))
    assert found != textlds.count(tmp_path / "all", text=text)  # count keeps everything unless told


def test_the_same_for_any_order_memory_and_number_of_threads(tmp_path):
    lines = lines_of(1, 1500)
    parts = [lines[i::5] for i in range(5)]
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.txt").write_text("\n".join(part) + "\n")
    once = CountSettings(repeats=1)
    (tmp_path / "all.txt").write_text("\n".join(lines) + "\n")
    expected = textlds.count(tmp_path / "all.txt", counting=once)
    for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 37):
        paths = [tmp_path / f"{number}.txt" for number in order]
        for threads in (1, 2):
            assert textlds.count(paths, counting=once, threads=threads) == expected


def test_the_same_in_many_passes(monkeypatch):
    lines = lines_of(6, 600)
    expected = textlds.count(texts=lines, counting=CountSettings(repeats=2))
    monkeypatch.setattr(repeats, "UNIT_BYTES", 1 << 22)  # as if hashes were large
    assert textlds.count(texts=lines, counting=CountSettings(repeats=2)) == expected


def test_what_was_left_out_is_on_record(tmp_path):
    lines = lines_of(2, 600)
    kept = list(kept_by_hand(lines, 1))
    textlds.count(texts=lines, counting=CountSettings(repeats=1), output=tmp_path / "counts")
    record = json.loads((tmp_path / "counts" / "config.json").read_text())["repeats"]
    assert record["kept"] == 1
    assert record["units_left_out"] == len(lines) - len(kept)
    assert record["tokens_left_out"] == sum(len(line.split()) for line in lines) - sum(len(k.split()) for k in kept)
    assert record["units"] == sum(len(line.split()) >= SHORT for line in lines)


def test_train_counts_a_line_that_repeats_once():
    lines = lines_of(3, 900)
    one = textlds.train(texts=lines, state_size=4, iterations=1)
    kept = textlds.count(texts=kept_by_hand(lines, 1))
    assert one.history.settings["tokens"] == kept.tokens
    every = textlds.train(texts=lines, state_size=4, iterations=1, counting=CountSettings(repeats="all"))
    assert every.history.settings["tokens"] == sum(len(line.split()) for line in lines)


def test_contexts_that_run_across_lines_cannot_leave_lines_out():
    with pytest.raises(ArgumentError, match="repeats=1 leaves out lines, but boundaries='none'"):
        textlds.count(texts=["a b"], text=TextSettings(boundaries="none"), counting=CountSettings(repeats=1))


@pytest.mark.parametrize("boundaries", ["document", "none"])
def test_training_says_that_it_counts_repeats_where_contexts_cross_lines(boundaries, caplog):
    options = {"state_size": 3, "iterations": 1, "text": TextSettings(boundaries=boundaries)}
    model = textlds.train(texts=lines_of(4, 300), **options)
    assert model.history.settings["repeats"] == "all"
    assert f"all counted: with boundaries='{boundaries}', contexts cross lines" in caplog.text
    caplog.clear()
    textlds.train(texts=lines_of(4, 300), counting=CountSettings(repeats="all"), **options)
    assert "all counted" not in caplog.text


def test_training_with_given_words_counts_a_line_once(tmp_path, caplog):
    lines = lines_of(3, 900)
    kept = textlds.count(texts=kept_by_hand(lines, 1))
    kept.save(tmp_path / "line")
    textlds.count(texts=lines, text=TextSettings(boundaries="document"), output=tmp_path / "document")
    (tmp_path / "words").write_text("\n".join(kept.vocabulary.words[:9]))
    for words in (kept.vocabulary, tmp_path / "line", tmp_path / "words"):
        model = textlds.train(texts=lines, state_size=3, iterations=1, counting=CountSettings(vocabulary=words))
        assert model.history.settings["tokens"] == kept.tokens
    assert "all counted" not in caplog.text
    words = CountSettings(vocabulary=tmp_path / "document")  # which brings its boundaries
    model = textlds.train(texts=lines, state_size=3, iterations=1, counting=words)
    assert model.history.settings["tokens"] == sum(len(line.split()) for line in lines)
    assert "all counted: with boundaries='document'" in caplog.text


def test_ranks():
    hashes = np.array([5, 3, 5, 5, 9, 3], np.uint64)
    np.testing.assert_array_equal(ranks(hashes), [0, 0, 1, 2, 0, 1])
    assert len(ranks(hashes[:0])) == 0
