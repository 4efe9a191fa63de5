"""Words in the other case: which they are, how frequent, and that a tagger sees them."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from model.worlds import random_model
from storage.sealing import seal
from tagging.worlds import entity_sentences, small_model, tagged_sentences
from textlds import Tagger
from textlds.errors import FormatError
from textlds.tagging import cases
from textlds.tagging.cases import OtherCases, other_case
from textlds.tagging.inputs import InputMaker
from textlds.tagging.labels import documents_of, labelled_sentences
from textlds.tagging.settings import TaggerSettings

SETTINGS = TaggerSettings(hidden=8, around=4, rounds=2)


@pytest.mark.parametrize(
    ("word", "other"),
    [("Bank", "bank"), ("BANK", "bank"), ("bank", "Bank"), ("iPod", "ipod"), ("1990", None), ("-", None), ("", None)],
)
def test_the_other_case(word, other):
    assert other_case(word) == other


def test_rows_and_levels_by_their_definition(monkeypatch):
    words = ["bank", "Bank", "May", "may", "NASA", "river", "x1"]
    model = random_model(0, V=len(words) + 1, words=words)
    frequencies = np.array([0.3, 0.02, 0.1, 0.1, 0.01, 0.4, 0.07, 0.0])
    monkeypatch.setattr(cases, "_REMEMBERED", 3)
    found = OtherCases(model.vocabulary, frequencies)
    for _ in range(2):  # what is remembered is the same
        asked = ["bank", "Bank", "BANK", "may", "NASA", "river", "7", "unheard"]
        rows, levels = found.look_up(asked)
        assert [None if row < 0 else words[row] for row in rows] == ["Bank", "bank", "bank", "May", *[None] * 4]
        ratios = [0.02 / 0.3, 0.3 / 0.02, math.inf, 1, 0, 0, None, 1]
        for ratio, level in zip(ratios, levels.tolist(), strict=True):
            steps = None if ratio is None else 5 if ratio == math.inf else -5 if ratio == 0 else math.log2(ratio) / 2
            assert level == (0 if steps is None else 10 + max(-5, min(5, round(steps))))
    assert [array.shape for array in found.look_up([])] == [(0,), (0,)]


def test_a_tagger_sees_the_word_in_the_other_case(tmp_path):
    """A capital that raw text has never had; the word itself is known by its other case."""
    model = small_model()
    of = Tagger.train(model, tagged_sentences(150), dev=tagged_sentences(30, seed=1), settings=SETTINGS)
    assert of.design.cases
    maker = InputMaker(model, of.design)
    word = next(w for w in model.vocabulary.words if w.islower() and w.capitalize() not in model.vocabulary)
    plain, capital = (
        maker.inputs(maker.reader.read(documents_of(labelled_sentences([([w, "."], ["X", "Y"])], "s"))))
        for w in (word, word.capitalize())
    )
    own = model(word, recipe="word").vectors[0]
    np.testing.assert_allclose(capital.parts[-1].table[capital.parts[-1].rows[0]], own, atol=1e-6)
    assert not plain.parts[-1].table[plain.parts[-1].rows[0]].any()
    assert maker.width == sum(part.table.shape[1] for part in capital.parts) == len(of.weights.vectors)
    of.save(tmp_path / "tagger", bundle=True)
    again = Tagger.load(tmp_path / "tagger")
    texts = [[word.capitalize(), "."], [word, "."], [word.upper()]]
    assert [s.tags for s in again.tag(texts)] == [s.tags for s in of.tag(texts)]


@pytest.mark.parametrize(("task", "settings"), [("entities", SETTINGS), ("tags", TaggerSettings(hidden=4, rounds=1))])
def test_entities_and_few_labels_do_without(task, settings):
    sentences = entity_sentences(30) if task == "entities" else tagged_sentences(40)
    of = Tagger.train(small_model(), sentences, task=task, settings=settings)
    assert not of.design.cases


def test_a_tagger_made_before_sees_none(tmp_path):
    of = Tagger.train(
        small_model(), tagged_sentences(40), dev=tagged_sentences(10, seed=1),
        settings=dataclasses.replace(SETTINGS, around=0),
    )  # fmt: skip
    of.save(tmp_path / "tagger", bundle=True)
    path = tmp_path / "tagger" / "config.json"
    config = json.loads(path.read_text())
    assert config.pop("cases") is False
    path.write_text(json.dumps(config))
    seal(tmp_path / "tagger")
    assert not Tagger.load(tmp_path / "tagger").design.cases
    for wrong in (True, 1, "no"):  # the weights are not those of a tagger that sees it
        path.write_text(json.dumps({**config, "cases": wrong}))
        seal(tmp_path / "tagger")
        with pytest.raises(FormatError):
            Tagger.load(tmp_path / "tagger").tag([["a"]]).__next__()
