"""The commands of the language model: calibrate, score --measure surprisal, evaluate perplexity."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import textlds
from cli.runs import Run, make_lines


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("held") / "held-out.txt"
    path.write_text("\n".join(make_lines(300, seed=7)) + "\n")
    return path


@pytest.fixture(scope="module")
def calibrated(
    run: Run, model: Path, counts: Path, corpus: Path, held_out: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("calibrated") / "model"
    run("calibrate", model, corpus, "-o", path, "--held-out", held_out, "--counts", counts, "--quiet")
    return path


def test_calibrating_gives_what_python_gives(model: Path, counts: Path, corpus: Path, held_out: Path, calibrated: Path):
    texts, others = corpus.read_text().splitlines(), held_out.read_text().splitlines()
    options = {"held_out": others, "counts": textlds.LagCounts.load(counts)}
    expected = textlds.load(model).with_language_model(texts, **options)
    found = textlds.load(calibrated)
    assert found.language.facts["held_out_perplexity"] == pytest.approx(
        expected.language.facts["held_out_perplexity"], rel=1e-3
    )
    assert found.next_word("the").top(3)[0][0] == expected.next_word("the").top(3)[0][0]


def test_calibrating_says_what_it_did(run: Run, model: Path, corpus: Path, tmp_path: Path):
    result = run("calibrate", model, corpus, "-o", tmp_path / "a", "--link", "clipped", "--json")
    facts = json.loads(result.stdout)
    assert facts["link"] == "clipped"
    assert facts["held_out_perplexity"] <= facts["parts"]["unigram"]
    assert f"perplexity {facts['held_out_perplexity']:.1f}" in result.stderr
    assert "exists already" in run("calibrate", model, corpus, "-o", tmp_path / "a", code=1).stderr
    run("calibrate", model, corpus, "-o", tmp_path / "a", "--link", "clipped", "--force", "--quiet")
    assert "no file" in run("calibrate", model, tmp_path / "none.txt", "-o", tmp_path / "b", code=1).stderr
    assert not (tmp_path / "b").exists()
    shown = run("info", tmp_path / "a").stdout
    assert f"clipped link: perplexity {facts['held_out_perplexity']:.1f}" in " ".join(shown.split())
    assert json.loads(run("info", tmp_path / "a", "--json").stdout)["language"]["link"] == "clipped"
    assert json.loads(run("info", model, "--json").stdout)["language"] is None


def test_a_model_may_be_calibrated_in_its_place(run: Run, model: Path, corpus: Path, tmp_path: Path):
    textlds.load(model).save(tmp_path / "m")
    run("calibrate", tmp_path / "m", corpus, "-o", tmp_path / "m", "--link", "clipped", "--force", "--quiet")
    assert textlds.load(tmp_path / "m").language is not None


def test_surprisals_of_lines(run: Run, calibrated: Path):
    lines = ["the cat sees the dog .", "", "near near sees Anna xyzzy"]
    result = run("score", calibrated, "--measure", "surprisal", "-n", 1, input="\n".join(lines))
    expected = list(textlds.load(calibrated).surprisal([lines[0], lines[2]]))
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["1", "3"]
    for row, text in zip(rows, expected, strict=True):
        token, bits = text.surprising(1)[0]
        assert row[1:] == [f"{text.bits.mean():.4f}", f"{token} ({bits:.2f})"]
    both = np.concatenate([text.bits for text in expected])
    assert f"perplexity {2 ** both.mean():.2f}" in result.stderr
    record = json.loads(run("score", calibrated, "--measure", "surprisal", "--json", input=lines[0]).stdout)
    assert record["surprisal"] == pytest.approx(expected[0].bits.mean())
    each = run("score", calibrated, "--measure", "surprisal", "--per-token", "-q", input=lines[0]).stdout
    assert each.splitlines()[1] == f"1\t{expected[0].bits[1]:.4f}\tcat"
    run("score", calibrated, "--measure", "surprisal", "--gains", "exact", code=2, input="a")


def test_perplexity_of_a_file(run: Run, model: Path, calibrated: Path, held_out: Path):
    found = json.loads(run("evaluate", "perplexity", calibrated, held_out, "--json").stdout)
    lines = held_out.read_text().splitlines()
    expected = textlds.load(calibrated).perplexity(lines)
    assert found["calibrated"] is True
    assert found["model"]["tokens"] == found["unigram"]["tokens"] == expected.tokens
    assert found["model"]["perplexity"] == pytest.approx(float(expected), rel=1e-4)
    words = [word for line in lines for word in line.split()]
    counts = textlds.load(calibrated).language.counts
    vocabulary = textlds.load(calibrated).vocabulary
    unigram = 2 ** -np.log2([counts[vocabulary.id(word)] / counts.sum() for word in words]).mean()
    assert found["unigram"]["perplexity"] == pytest.approx(unigram, rel=0.01)
    assert found["model"]["perplexity"] < found["unigram"]["perplexity"]
    shown = run("evaluate", "perplexity", model, input="the cat sees\nthe dog\n")
    assert "frequencies of words" in shown.stdout
    assert "5 tokens" in shown.stderr
    assert "not calibrated" in shown.stderr


def test_contexts_run_across_lines_as_they_were_counted(run: Run, corpus: Path, tmp_path: Path):
    options = ("--tokenizer", "whitespace", "--boundary-token", "</s>", "--quiet")
    run("train", corpus, "-o", tmp_path / "m", "--state-size", 4, "--iterations", 2, *options)
    text = "\n".join(corpus.read_text().splitlines()[:50]) + "\n"
    (tmp_path / "t.txt").write_text(text)
    found = json.loads(run("evaluate", "perplexity", tmp_path / "m", tmp_path / "t.txt", "--json").stdout)
    expected = textlds.load(tmp_path / "m").perplexity([text])
    assert found["model"]["boundaries"] == expected.boundaries == 50
    assert found["model"]["perplexity"] == pytest.approx(float(expected))
    tokens = [json.dumps({"text": line}) for line in text.splitlines()]
    (tmp_path / "t.jsonl").write_text("\n".join(tokens))
    records = json.loads(run("evaluate", "perplexity", tmp_path / "m", tmp_path / "t.jsonl", "--json").stdout)
    assert records["model"]["perplexity"] == pytest.approx(
        float(textlds.load(tmp_path / "m").perplexity(text.splitlines()))
    )
