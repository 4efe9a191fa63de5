"""The benchmark of taggers: rows of other runs are tested against the tagger as it is now."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

import pytest

from textlds.corpus.reading.tagged import Tagged

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.taggers import Predictions, Store, table
from benchmarks.taggers_report import page

GOLD = [Tagged(("a", "b"), ("X", "Y"))] * 20


def always(*tags):
    """Return a tagger that gives the same tags to every sentence."""

    class Peer:
        def __init__(self, *_):
            pass

        def predict(self, sentences):
            return [list(tags) for _ in sentences]

        def size(self):
            return 1_000_000

    return Peer


@pytest.fixture
def run(tmp_path):
    arguments = Namespace(results=tmp_path / "results", name="A set", column=None)
    sets = {"train": GOLD, "dev": GOLD, "test": GOLD}

    def measure(**chosen):
        named = {name.replace("_", " "): peer for name, peer in chosen.items()}
        store = Store(arguments, "tags", 40)
        table(named, sets, "tags", [], (1, 1), store, Predictions(tmp_path / "kept", "A set"))
        return {row["name"]: row for row in store.rows()}

    return measure


def test_a_peer_of_another_run_is_tested_against_ours_of_now(run):
    assert "against textlds" not in run(UDPipe_1=always("X", "X"))["UDPipe 1"]
    rows = run(textlds=always("X", "Y"))
    assert rows["textlds"]["mean"] == 100
    assert rows["UDPipe 1"]["mean"] == 50
    assert rows["UDPipe 1"]["against textlds"]["p"] == pytest.approx(2 * 0.5**20)
    rows = run(textlds=always("X", "X"))
    assert rows["UDPipe 1"]["against textlds"]["p"] == 1
    assert run(NLTK=always("X", "Y"))["NLTK"]["against textlds"]["p"] < 0.001


def test_the_page_says_how_a_peer_was_trained_if_it_is_there(run):
    def made(rows):
        return page({"A set": {"task": "tags", "tokens": 40, "rows": list(rows.values())}})

    assert "ten iterations" not in made(run(textlds=always("X", "Y")))
    found = made(run(UDPipe_1=always("X", "X")))
    assert "ten iterations" in found
    assert "| UDPipe 1 | 50.00 |" in found
    assert "floret" not in found
    assert "†" not in found


def test_the_page_marks_rows_of_another_machine(run):
    rows = list(run(textlds=always("X", "Y"), NLTK=always("X", "X")).values())
    found = page({"A set": {"task": "tags", "tokens": 40, "rows": [rows[0], rows[1] | {"before": True}]}})
    assert "| NLTK † | 50.00 |" in found
    assert "| textlds | 100.00 |" in found
    assert "another machine" in found
