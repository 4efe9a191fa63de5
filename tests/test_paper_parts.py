"""What the studies of the paper are made of: clusters, stored cells, data, the report."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import textlds
from textlds.errors import ArgumentError

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.paper.data import Data, under
from benchmarks.paper.report import blocks
from benchmarks.paper.store import Cell, Store
from benchmarks.paper.treebanks import running
from benchmarks.paper.work import Corpus, Workspace


def test_store_computes_once(tmp_path):
    calls = []

    def cell(key, **settings):
        return Cell(key, settings, lambda: calls.append(key) or {"value": np.float64(1.5), "where": np.arange(2)})

    def store(data="1", **options):
        return Store(tmp_path / "study.json", title="A study", data={"a.txt": data}, **options)

    first = store()
    assert first.run(cell("a", n=1, sizes=(1, 2)))
    assert first.run(cell("b"))
    assert first.figures("a") == {"value": 1.5, "where": [0, 1]}
    assert json.loads((tmp_path / "study.json").read_text())["complete"] is False
    again = store()
    assert not again.run(cell("a", n=1, sizes=(1, 2)))
    assert again.run(cell("a", n=2, sizes=(1, 2)))  # other settings
    again.keep(["a"])
    content = json.loads((tmp_path / "study.json").read_text())
    assert list(content["cells"]) == ["a"]
    assert content["complete"] is True
    assert content["cells"]["a"]["versions"]["textlds"] == textlds.__version__
    assert store(data="2").run(cell("a", n=2, sizes=(1, 2)))  # other data
    assert store(data="2", again=True).run(cell("a", n=2, sizes=(1, 2)))
    with pytest.raises(ArgumentError, match="no cell 'c'"):
        store(data="2").figures("c")


def test_store_loses_nothing_when_a_cell_fails(tmp_path):
    def fail():
        raise RuntimeError("out of memory")

    store = Store(tmp_path / "study.json", title="A study", data={})
    store.run(Cell("a", {}, lambda: {"value": 1}))
    before = (tmp_path / "study.json").read_bytes()
    with pytest.raises(RuntimeError):
        store.run(Cell("b", {}, fail))
    with pytest.raises(TypeError, match="cannot be stored"):
        store.run(Cell("c", {}, lambda: {"value": object()}))
    assert (tmp_path / "study.json").read_bytes() == before
    store.run(Cell("d", {}, lambda: {"value": float("nan")}))
    assert store.figures("d") == {"value": None}


def test_data(tmp_path):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / "conll2003").mkdir(exist_ok=True)
        (tmp_path / "conll2003" / name).write_text(name)
    data = Data(**under(tmp_path))
    assert [data.split("conll", part).name for part in ("train", "dev", "test")] == [
        "eng.train", "eng.testa", "eng.testb",
    ]  # fmt: skip
    with pytest.raises(ArgumentError, match="needs --ewt"):
        data.path("ewt")
    with pytest.raises(ArgumentError, match="does not exist"):
        Data(ewt=tmp_path / "nowhere").path("ewt")
    (tmp_path / "conll2003" / "other.train").write_text("")
    with pytest.raises(ArgumentError, match=r"exactly one file .* found eng.train, other.train"):
        data.split("conll", "train")


def test_workspace_makes_things_once(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a b a c\n" * 300 + "d d d d\n" * 300)
    work = Workspace(tmp_path / "work")
    corpus = Corpus((text,), 100, {"vocab_size": 4})  # 100 tokens: only the beginning
    (beginning,) = work.texts(corpus)
    assert 0 < beginning.stat().st_size < text.stat().st_size
    assert "d" not in beginning.read_text()
    counts = work.counts(corpus)
    assert counts.vocabulary.id("a") == 0
    made = sorted(path.name for path in (tmp_path / "work").iterdir())
    models = work.models(corpus, [0, 2], state_size=2, compression="none", observations="words")
    assert textlds.load(models[0]).history.log_likelihood == []
    assert len(textlds.load(models[2]).history.log_likelihood) == 2
    Workspace(tmp_path / "work").counts(corpus)
    assert {path.name for path in (tmp_path / "work").iterdir()} - set(made) == {models[0].parent.name}
    other = Corpus((text,), 100, {"vocab_size": 2})
    assert len(work.counts(other).vocabulary) < len(counts.vocabulary)


def test_running_text_has_no_sentences():
    seen = []

    def features(sentences):
        seen.append([list(sentence) for sentence in sentences])
        return np.zeros((sum(map(len, sentences)), 1), np.float32)

    assert running(features)([["a", "b"], ["c"]]).shape == (3, 1)
    assert seen == [[["a", "b", "c"]]]


def test_blocks(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "x.png").write_bytes(b"\x89PNG")
    section = blocks.Section(
        "Part <1>",
        [
            blocks.Text("some `a<b` and **bold**"),
            blocks.Table(("x", "y"), [("a|b", "1.5 ± 0.1")], "A table"),
            blocks.Figure(tmp_path / "p" / "x.png", "A picture"),
            blocks.claims_table([blocks.Claim("it holds", None, "nothing")]),
        ],
    )
    page = blocks.to_markdown("T", "intro", [section], tmp_path)
    assert "| a\\|b | 1.5 ± 0.1 |" in page
    assert "![A picture](p/x.png)" in page
    assert "| it holds | cannot be told | nothing |" in page
    html = blocks.to_html("T", "intro", [section])
    assert "Part &lt;1&gt;" in html
    assert "<code>a&lt;b</code> and <strong>bold</strong>" in html
    assert 'src="data:image/png;base64,iVBORw=="' in html
    assert '<td class="n">1.5 ± 0.1</td>' in html


def test_what_the_default_model_was_to_show(tmp_path):
    from benchmarks.paper.report.default import section

    assert section(tmp_path) == []  # nothing to judge

    def row(kind, text, tokens, accuracy, transitions=0):
        names = ("observations", "text", "tokens", "accuracy", "of_the_notice")
        return dict(zip(names, (kind, text, tokens, accuracy, transitions), strict=True))

    notices = [
        row("profiles", "clean", 5e6, 92.0), row("profiles", "poisoned", 5.1e6, 91.9),
        row("profiles", "clean", 20e6, 93.0), row("profiles", "poisoned", 20.6e6, 92.7),
        row("words", "clean", 5e6, 90.0), row("words", "poisoned", 5.1e6, 89.9, 1),
    ]  # fmt: skip
    (tmp_path / "poison.json").write_text(json.dumps(notices))
    texts = [{"text": name, "context": score, "features": 94.0} for name, score in (("5 M", 92.0), ("20 M", 91.85))]
    (tmp_path / "amounts.json").write_text(json.dumps(texts))

    over = {"ewt ptb": {"above": 0.3, "error": 0.1}, "ptb ptb": {"above": 0.1, "error": 0.1}}
    trials = [{"trial": "state"}, {"trial": "features", "over word2vec": over}]
    (tmp_path / "trials.json").write_text(json.dumps(trials))

    def summary(test, seeds):
        spread = {"mean": test, "sd": 0.5, "least": test - 0.5, "most": test + 0.5}
        return {"test": spread, "seeds": seeds, "epochs": {"mean": 10}, "epochs to the best dev of random": [7, 8]}

    networks = {"random": summary(124.0, 3), "em": summary(122.9, 3), "profiles": summary(121.0, 1)}
    (tmp_path / "rnn.json").write_text(json.dumps({"sizes": {"300": {"summary": networks}}}))
    _, table = section(tmp_path)
    held = [claim[1] for claim in table.rows]
    assert held == ["**no**", "**no**", "**no**", "**yes**", "**no**", "**yes**", "cannot be told"]
    assert table.rows[0][2] == "5M tokens: −0.10, 0 of 10 transitions; 20M tokens: −0.30, 0 of 10 transitions"
    assert table.rows[4][2] == "ewt ptb +0.30 ± 0.10, ptb ptb +0.10 ± 0.10"
    assert "random's best after 7.5 epochs instead of 10.0" in table.rows[5][2]
