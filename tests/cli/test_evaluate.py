"""``textlds evaluate``: tables for people, JSON for machines, the figures of the functions behind them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from cli.runs import Run, make_lines
from textlds import load
from textlds.corpus.reading.tagged import read_tagged
from textlds.evaluation.data import read_pairs, read_scws
from textlds.evaluation.features import model_features
from textlds.evaluation.similarity import evaluate_context_pairs, evaluate_pairs
from textlds.evaluation.tagging import evaluate_tagging

TAGS = {"the": "DET", "a": "DET", "every": "DET", ".": "PUNCT", ",": "PUNCT", "and": "CONJ"}


def tag(word: str) -> str:
    return TAGS.get(word) or ("PROPN" if word[0].isupper() else "VERB" if word.endswith("s") else "NOUN")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tagged files in two formats, entities, pairs."""
    folder = tmp_path_factory.mktemp("labelled")
    for name, (n, seed) in {"train": (150, 11), "dev": (40, 12), "test": (30, 13)}.items():
        sentences = [line.split() for line in make_lines(n, seed=seed)]
        tsv = "\n\n".join("\n".join(f"{word}\t{tag(word)}" for word in words) for words in sentences)
        (folder / f"{name}.tsv").write_text(tsv + "\n")
        rows = (
            "\n".join(f"{i}\t{w}\t_\t{tag(w)}\t{tag(w)[:2]}" + "\t_" * 5 for i, w in enumerate(words, 1))
            for words in sentences
        )
        (folder / f"{name}.conllu").write_text("\n\n".join(rows) + "\n")
        ner = "\n\n".join(
            "\n".join(f"{word} X {'I-PER' if tag(word) == 'PROPN' else 'O'}" for word in words) for words in sentences
        )
        (folder / f"{name}.ner").write_text("-DOCSTART- X O\n\n" + ner + "\n")
    coarse = {"DET": "FUNCTION", "CONJ": "FUNCTION", "PUNCT": "FUNCTION"}
    (folder / "map").write_text(
        "".join(f"{t}\t{coarse.get(t, 'CONTENT')}\n" for t in ("NOUN", "VERB", "PROPN", *coarse))
    )
    (folder / "pairs.txt").write_text("cat dog 9\nhouse wall 7\nriver Anna 1\ncat nowhere 5\nsees likes 6\n")
    context = "the <b> cat </b> sees", "a <b> dog </b> likes", "<b> Anna </b> finds"
    rows = [f"{i}\tx\tn\ty\tn\t{context[i]}\t{context[i - 1]}\t{i}.5\t1" for i in range(3)]
    (folder / "scws.txt").write_text("\n".join(rows) + "\n")
    return folder


def test_tagging(run: Run, model: Path, files: Path) -> None:
    names = [files / f"{part}.tsv" for part in ("train", "dev", "test")]
    options = ("--train", names[0], "--dev", names[1], "--test", names[2], "--seeds", 2, "--hidden", 5)
    options = (*options, "--classifier", "local")
    sets = [read_tagged(name) for name in names]
    features = model_features(load(model), recipe="features")
    expected = evaluate_tagging(features, *sets, seeds=2, hidden=5)
    assert expected.rows[0].mean > 80
    found = json.loads(run("evaluate", "tagging", model, *options, "--json", "--quiet").stdout)
    assert found["rows"] == json.loads(json.dumps(expected.to_json()))["rows"]
    assert found["recipe"] == "features"
    table = [line.split() for line in run("evaluate", "tagging", model, *options, "--quiet").stdout.splitlines()]
    assert table[0] == ["tagger", "set", "all", "known", "unknown", "tokens", "seeds"]
    for cells, row in zip(table[1:], expected.rows, strict=True):
        unknown = "–" if math.isnan(row.accuracy.unknown) else f"{row.accuracy.unknown:.2f}"
        assert cells[:5] == [
            "vectors", row.part, f"{row.accuracy.all:.2f}", f"{row.accuracy.known:.2f}", unknown,
        ]  # fmt: skip
        assert cells[-3:] == [f"{row.mean:.2f}", "±", f"{row.spread:.2f}"]


def test_the_tags_asked_for(run: Run, model: Path, files: Path) -> None:
    options = ("evaluate", "tagging", model, "--train", files / "train.conllu", "--dev", files / "dev.conllu", "--json")
    options = (*options, "--classifier", "local")
    names = {sentence_tag for sentence in read_tagged(files / "train.conllu") for sentence_tag in sentence.tags}
    assert json.loads(run(*options, "--quiet").stdout)["tags"] == len(names)
    by_name = run(*options, "--tags", "xpos", "--recipe", "context", "--quiet").stdout
    by_number = run(*options, "--tags", 5, "--recipe", "context", "--quiet").stdout
    assert by_name == by_number
    assert json.loads(run(*options, "--tag-map", files / "map", "--quiet").stdout)["tags"] == 2


def test_tagging_by_the_crf(run: Run, model: Path, files: Path) -> None:
    pytest.importorskip("pycrfsuite")
    options = ("--train", files / "train.tsv", "--dev", files / "dev.tsv", "--recipe", "context")
    by_tagger = run("evaluate", "tagging", model, *options)
    result = run("evaluate", "tagging", model, *options, "--classifier", "crf")
    assert [line.split()[:2] for line in by_tagger.stdout.splitlines()] == [
        line.split()[:2] for line in result.stdout.splitlines()
    ]
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["tagger", "words", "words"]
    assert "tokens are right only with the vectors" in result.stderr


def test_ner(run: Run, model: Path, files: Path) -> None:
    pytest.importorskip("pycrfsuite")
    options = ("--train", files / "train.ner", "--dev", files / "dev.ner", "--test", files / "test.ner")
    by_tagger = json.loads(run("evaluate", "ner", model, *options, "--rounds", 50, "--json", "--quiet").stdout)
    assert [(row["tagger"], row["part"]) for row in by_tagger["rows"]][:2] == [
        ("words", "dev"),
        ("words + vectors", "dev"),
    ]
    options = (*options, "--classifier", "crf")
    result = run("evaluate", "ner", model, *options, "--rounds", 50)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["tagger", "set", "precision", "recall", "F1", "entities"]
    assert len(lines) == 5
    assert "the vectors add" in result.stderr
    found = json.loads(run("evaluate", "ner", model, *options, "--rounds", 50, "--json", "--quiet").stdout)
    assert [(row["tagger"], row["part"]) for row in found["rows"]] == [
        ("words", "dev"), ("words + vectors", "dev"), ("words", "test"), ("words + vectors", "test"),
    ]  # fmt: skip
    assert all(row["f1"] > 80 for row in found["rows"])  # capitals tell names; two side by side are one
    assert found["tests"]["test"]["rounds"] == 50
    wrong = run("evaluate", "ner", model, *options, "--tags", 2, code=1)
    assert "'X' is no tag of an entity" in wrong.stderr


def test_similarity(run: Run, model: Path, files: Path) -> None:
    loaded = load(model)
    words, tokens = (model_features(loaded, recipe=parts) for parts in ("word", "state+word"))
    alone = evaluate_pairs(words, read_pairs(files / "pairs.txt"), loaded.vocabulary)
    pairs = read_scws(files / "scws.txt")
    expected = [alone, evaluate_context_pairs(words, pairs), evaluate_context_pairs(tokens, pairs)]
    options = (files / "pairs.txt", files / "scws.txt", "--recipe", "state+word")
    found = json.loads(run("evaluate", "similarity", model, *options, "--json").stdout)
    assert [row["rho"] for row in found] == [one.rho for one in expected]
    assert [row["vectors"] for row in found] == ["word", "word", "state+word, in context"]
    assert (found[0]["found"], found[0]["pairs"]) == (4, 5)
    table = run("evaluate", "similarity", model, *options).stdout.splitlines()
    assert table[1].split() == ["pairs.txt", "word", f"{alone.rho:.3f}", "4", "5"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("tagging", "--train", "train.tsv", "--dev", "none.tsv"), 1, "there is no file none.tsv"),
        (("tagging", "--train", "train.tsv", "--dev", "dev.tsv", "--recipe", "up"), 1, "'up' is not a recipe"),
        (
            ("tagging", "--train", "train.tsv", "--dev", "dev.tsv", "--tags", "upos"),
            1,
            "the column 'upos' is not one of",
        ),
        (
            ("tagging", "--train", "pairs.txt", "--dev", "dev.tsv", "--format", "conllu"),
            1,
            "pairs.txt, line 1: expected",
        ),
        (("tagging", "--train", "train.tsv"), 2, "--dev"),
        (("tagging", "--train", "train.tsv", "--dev", "dev.tsv", "--classifier", "svm"), 2, "--classifier"),
        (("similarity", "train.tsv"), 1, "train.tsv, line 2: expected two words and a score"),
        (("ner", "--train", "train.tsv", "--dev", "dev.tsv"), 1, "is no tag of an entity"),
    ],
)
def test_mistakes_are_told(
    run: Run, model: Path, files: Path, monkeypatch: pytest.MonkeyPatch, options: tuple, code: int, message: str
) -> None:
    monkeypatch.chdir(files)
    name, *rest = options
    error = run(
        "evaluate", name, model, *rest, code=code, env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    ).stderr
    assert message in error
    assert "Traceback" not in error


def test_quiet_before_the_command_reaches_the_group(run: Run, model: Path, files: Path) -> None:
    options = ("evaluate", "tagging", model, "--train", files / "train.tsv", "--dev", files / "dev.tsv")
    options = (*options, "--classifier", "local")
    assert "Classifier" in run(*options).stderr
    assert run("--quiet", *options).stderr == ""


def test_the_group_lists_its_commands(run: Run) -> None:
    shown = run("evaluate", "--help").stdout
    assert all(name in shown for name in ("tagging", "ner", "similarity"))
