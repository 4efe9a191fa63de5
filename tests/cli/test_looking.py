"""The commands that look at a model: similar, dynamics, score, info, plot."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.runs import Run, make_lines
from textlds import TextLDS, load
from textlds.cli.info import human_size


def test_similar(run: Run, model: Path) -> None:
    expected = load(model).similar("cat", n=3)
    rows = [line.split() for line in run("similar", model, "cat", "-n", 3).stdout.splitlines()]
    assert rows == [["word", "cosine"], *([word, f"{cosine:.3f}"] for word, cosine in expected)]
    found = json.loads(run("similar", model, "cat", "-n", 3, "--json").stdout)
    assert [(item["word"], item["cosine"]) for item in found["similar"]] == expected


def test_similar_in_a_context(run: Run, model: Path) -> None:
    context = "the old cat likes Anna"
    expected = load(model).similar("cat", context=context, n=4)
    found = json.loads(run("similar", model, "cat", "--context", context, "-n", 4, "--json").stdout)
    assert [(item["word"], item["cosine"]) for item in found["similar"]] == expected
    assert "not a token of the context" in run("similar", model, "cat", "--context", "the dog", code=1).stderr


def test_an_unknown_word_gets_a_hint(run: Run, model: Path) -> None:
    error = run("similar", model, "gardn", code=1).stderr
    assert "'gardn' is not among" in error
    assert "garden" in error


def test_a_word_that_nothing_is_close_to_gets_help(run: Run, model: Path) -> None:
    error = run("similar", model, "qqqqqq", code=1).stderr
    assert "No word of it is spelled alike. Give a context (--context)" in " ".join(error.split())


def test_similar_needs_a_context_for_a_recipe(run: Run, model: Path) -> None:
    error = run("similar", model, "cat", "--recipe", "state", code=1).stderr
    assert "--recipe state is that of a word in a context" in " ".join(error.split())
    assert run("similar", model, "cat", "--recipe", "state", "--context", "the cat").stdout


def test_numbers_are_one_word(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "years.txt").write_text("\n".join(f"{line} 1984" for line in make_lines(300)))
    run("train", tmp_path / "years.txt", "-o", tmp_path / "m", "--state-size", 4, "--iterations", 1, "--quiet")
    result = run("similar", tmp_path / "m", 1984)
    assert "all numbers like 1984 as one word, NUM: these are its neighbours" in result.stderr
    assert run("similar", tmp_path / "m", "NUM").stdout == result.stdout
    assert run("similar", tmp_path / "m", "NUM").stderr == ""


def test_dynamics(run: Run, model: Path) -> None:
    expected = load(model).dynamics(2, words=3)
    found = json.loads(run("dynamics", model, "-n", 2, "--words", 3, "--json").stdout)
    assert [item["source"] for item in found] == [pair.source for pair in expected]
    assert [item["target"] for item in found] == [pair.target for pair in expected]
    lines = run("dynamics", model, "-n", 2, "--words", 3).stdout.splitlines()
    assert lines[0].split() == ["strength", "from", "to"]
    assert lines[1].split() == [f"{expected[0].strength:.3f}", *expected[0].source, *expected[0].target]


def test_score_by_line(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("the cat sees the dog\n\nAnna likes tall tall\n")
    expected = load(model).log_likelihood(["the cat sees the dog", "Anna likes tall tall"])
    result = run("score", model, tmp_path / "t.txt", "-n", 1)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["1", "3"]
    for row, scores in zip(rows, expected, strict=True):
        token, value = scores.surprising(1)[0]
        assert row[1:] == [f"{scores.values.mean():.4f}", f"{token} ({value:.2f})"]
    assert f"Mean {expected.per_token:.4f} nats per token, 9 tokens." in result.stderr
    both = run("score", model, tmp_path / "t.txt", tmp_path / "t.txt", "--quiet")
    assert both.stdout.splitlines()[-1].startswith(f"{tmp_path / 't.txt'}:3\t")
    assert both.stderr == ""


def test_score_as_json_and_by_token(run: Run, model: Path) -> None:
    text = b"the cat sees the dog\n"
    expected = load(model).log_likelihood([text.decode()])[0]
    record = json.loads(run("score", model, "--json", input=text).stdout)
    assert record["tokens"] == 5
    assert record["log_likelihood"] == pytest.approx(expected.values.mean())
    assert len(record["surprising"]) == 3
    record = json.loads(run("score", model, "--json", "--per-token", input=text).stdout)
    assert record["tokens"] == list(expected.tokens)
    np.testing.assert_array_equal(record["values"], expected.values)
    lines = run("score", model, "-", "--per-token", input=text).stdout.splitlines()
    assert [line.split("\t")[2] for line in lines] == list(expected.tokens)


def test_score_in_batches_is_the_same(run: Run, model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"".join(corpus.read_bytes().splitlines(keepends=True)[:200])
    whole = run("score", model, "--gains", "exact", input=text).stdout
    monkeypatch.setattr("textlds.cli.score._BATCH_CHARACTERS", 1000)
    assert run("score", model, "--gains", "exact", input=text).stdout == whole


def test_info_of_a_model(run: Run, model: Path) -> None:
    facts = json.loads(run("info", model, "--json").stdout)
    history = load(model).history
    assert facts["kind"] == "model"
    assert facts["state_size"] == 6
    assert facts["log_likelihood"] == history.log_likelihood[-1]
    assert facts["tokens"] == history.settings["tokens"]
    assert facts["bytes"] == sum(file.stat().st_size for file in model.iterdir())
    text = run("info", model).stdout
    assert "a model" in text
    assert "EM iterations   4" in text
    assert facts["lexicon"] is True
    assert "profiles and spelling of words" in text


def test_info_counts_words_without_classes(run: Run, model: Path, counts: Path) -> None:
    vocabulary = load(model).vocabulary
    assert len(vocabulary) > vocabulary.n_types
    for folder in (model, counts):
        assert json.loads(run("info", folder, "--json").stdout)["words"] == vocabulary.n_types
        shown = run("info", folder).stdout
        assert re.search(rf"^words +{vocabulary.n_types}$", shown, re.MULTILINE)
        assert str(len(vocabulary)) not in re.findall(r"\d+", shown)


def test_info_of_a_packed_model(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    whole = load(model)
    packed = whole.quantized("int8", vocab_size=20, dimensions=4)
    packed.save(tmp_path / "small")
    facts = json.loads(run("info", tmp_path / "small", "--json").stdout)
    before = {"precision": "int8", "state_size": 6, "words_before": whole.vocabulary.n_types, "transitions": 6}
    assert facts["packed"] == before
    assert (facts["observations"], facts["noise"], facts["state_size"], facts["words"]) == ("profiles", "full", 4, 20)
    shown = " ".join(run("info", tmp_path / "small").stdout.split())
    assert "what a packed model" in shown
    assert f"packed in int8, from a state of 6 dimensions and {whole.vocabulary.n_types} words" in shown
    assert "dimensions 4 observes profiles noise full" in shown
    assert "packed from state_size=6" in shown
    assert "meaning vectors of what words are about, " in shown
    assert "next word not calibrated, no probabilities: see textlds calibrate" in shown
    packed.with_language_model(corpus.read_text().splitlines(), tokens=5000).save(tmp_path / "speaking")
    assert "next word calibrated, log-linear link" in " ".join(run("info", tmp_path / "speaking").stdout.split())


def test_info_says_what_a_model_lacks(run: Run, model: Path, tmp_path: Path) -> None:
    assert "not calibrated, rough probabilities: see textlds calibrate" in run("info", model).stdout
    whole = load(model)
    TextLDS(whole.params, whole.vocabulary, whole.frequencies, whole.moments).save(tmp_path / "bare")
    assert re.search(r"meaning +none", run("info", tmp_path / "bare").stdout)
    assert json.loads(run("info", tmp_path / "bare", "--json").stdout)["meaning_size"] == 0


def test_info_of_a_model_without_a_lexicon(run: Run, model: Path, tmp_path: Path) -> None:
    whole = load(model)
    TextLDS(whole.params, whole.vocabulary, whole.frequencies, whole.moments).save(tmp_path / "bare")
    assert json.loads(run("info", tmp_path / "bare", "--json").stdout)["lexicon"] is False
    assert re.search(r"lexicon +none", run("info", tmp_path / "bare").stdout)


def test_info_of_counts(run: Run, counts: Path) -> None:
    facts = json.loads(run("info", counts, "--json").stdout)
    assert facts["kind"] == "counts"
    assert facts["max_lag"] == len(facts["pairs"]) == 7
    assert facts["exact"] is True
    assert "exact integers  yes" in run("info", counts).stdout


def test_info_of_something_else(run: Run, tmp_path: Path, model: Path) -> None:
    assert "no config.json" in run("info", tmp_path, code=1).stderr
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    assert "was altered" in run("info", copy, code=1).stderr


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (4_700_000, "4.7 MB"), (2e15, "2000.0 TB")],
)
def test_sizes_for_people(size: float, words: str) -> None:
    assert human_size(size) == words


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_plot(run: Run, model: Path, tmp_path: Path, suffix: str, magic: bytes) -> None:
    pytest.importorskip("matplotlib")
    output = tmp_path / f"figure{suffix}"
    run("plot", model, "-o", output)
    assert output.read_bytes().startswith(magic)
    assert "exists already" in run("plot", model, "-o", output, code=1).stderr
    run("plot", model, "-o", output, "--force")


def test_plot_shows_the_curve_and_the_spectra(model: Path) -> None:
    pytest.importorskip("matplotlib")
    from textlds.cli.plot import figure

    fitted = load(model)
    likelihood, singular, of_A, of_F = (axes for axes in figure(fitted, title="m").axes if axes.get_title(loc="left"))
    np.testing.assert_array_equal(
        likelihood.lines[0].get_ydata(), [fitted.history.start, *fitted.history.log_likelihood]
    )
    assert [line.get_label() for line in singular.lines] == ["A", "F", "J"]
    found = np.sort_complex(of_A.collections[0].get_offsets().data @ [1, 1j])
    np.testing.assert_allclose(found, np.sort_complex(np.linalg.eigvals(fitted.params.A)), atol=1e-8)
    assert "of J" in of_F.get_title(loc="left")


def test_plot_without_matplotlib(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "must end in .png, .svg, .pdf" in run("plot", model, "-o", tmp_path / "f.gif", code=1).stderr
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "textlds[plot]" in run("plot", model, "-o", tmp_path / "f.png", code=1).stderr
