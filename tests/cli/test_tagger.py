"""``textlds tagger``: train, tag and evaluate, as people and scripts run them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.runs import Run, make_lines
from storage.sealing import edit_config
from textlds import Tagger
from textlds.corpus.reading.tagged import read_tagged
from textlds.storage.folders import CONFIG, read_json
from textlds.tagging import training

TAGS = {"the": "DET", "a": "DET", "every": "DET", ".": "PUNCT", ",": "PUNCT", "and": "CONJ"}
OPTIONS = ("--hidden", 8, "--rounds", 2, "--quiet")


def tag(word: str) -> str:
    return TAGS.get(word) or ("PROPN" if word[0].isupper() else "VERB" if word.endswith("s") else "NOUN")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    for name, (n, seed) in {"train": (120, 11), "dev": (30, 12), "test": (30, 13)}.items():
        sentences = [line.split() for line in make_lines(n, seed=seed)]
        rows = (
            "\n".join(f"{i}\t{w}\t_\t{tag(w)}\t{tag(w)[:2]}" + "\t_" * 5 for i, w in enumerate(words, 1))
            for words in sentences
        )
        (folder / f"{name}.conllu").write_text("\n\n".join(rows) + "\n")
        ner = "\n\n".join(
            "\n".join(f"{word} X {'I-PER' if tag(word) == 'PROPN' else 'O'}" for word in words) for words in sentences
        )
        (folder / f"{name}.ner").write_text("-DOCSTART- X O\n\n" + ner + "\n")
    (folder / "text.txt").write_text("the cat sees Anna. The dog likes the river.\nBen finds a tall tree .\n")
    return folder


@pytest.fixture(scope="module")
def tagger(run: Run, model: Path, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tagger") / "tagger"
    run(
        "tagger",
        "train",
        model,
        "--train",
        files / "train.conllu",
        "--dev",
        files / "dev.conllu",
        "-o",
        path,
        *OPTIONS,
        "--rounds",
        8,
    )
    return path


@pytest.fixture(scope="module")
def finder(run: Run, model: Path, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finder") / "finder"
    sets = ("--train", files / "train.ner", "--dev", files / "dev.ner")
    run(
        "tagger",
        "train",
        model,
        *sets,
        "--entities",
        "--bundle",
        "-o",
        path,
        "--hidden",
        16,
        "--rounds",
        12,
        "--dropout",
        0,
        "--quiet",
    )
    return path


def test_train_says_what_it_reached(run: Run, model: Path, files: Path, tmp_path: Path) -> None:
    options = ("tagger", "train", model, "--train", files / "train.conllu", "--column", "xpos", "-o", tmp_path / "t")
    result = run(*options, "--hidden", 8, "--rounds", 2, "--json")
    report = json.loads(result.stdout)
    assert report["dev"] > 80
    assert "on 12 sentences set aside" in result.stderr
    assert Tagger.load(tmp_path / "t").names == tuple(
        sorted({tag(w)[:2] for w in " ".join(make_lines(120, seed=11)).split()})
    )
    assert not list(tmp_path.glob("*.work"))
    assert "exists already" in run(*options, *OPTIONS, code=1).stderr
    run(*options, *OPTIONS, "--force")


@pytest.mark.parametrize("suffix", ["conllu", "jsonl", "tsv", "parquet"])
def test_all_formats_hold_the_same(run: Run, tagger: Path, files: Path, tmp_path: Path, suffix: str) -> None:
    expected = [(s.tokens, s.tags) for s in Tagger.load(tagger).tag((files / "text.txt").read_text().splitlines())]
    output = tmp_path / f"tagged.{suffix}"
    run("tagger", "tag", tagger, files / "text.txt", "-o", output, "--quiet")
    if suffix == "jsonl":
        found = [(row["tokens"], row["tags"]) for row in map(json.loads, output.read_text().splitlines())]
    elif suffix == "parquet":
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(output).to_pylist()
        found = [(row["tokens"], row["tags"]) for row in rows]
    else:
        found = [
            (list(s.tokens), list(s.tags)) for s in read_tagged(output, column="upos" if suffix == "conllu" else 2)
        ]
    assert found == expected
    assert len(expected) == 3


def test_text_tokens_and_conllu_from_standard_input(run: Run, tagger: Path, files: Path) -> None:
    text = run("tagger", "tag", tagger, "--to", "tsv", input="the cat sees Anna .\n").stdout
    tokens = run("tagger", "tag", tagger, "-", "--to", "tsv", "--input", "tokens", input="the cat sees Anna .\n").stdout
    rows = "".join(f"{i}\t{w}" + "\t_" * 8 + "\n" for i, w in enumerate(["the", "cat", "sees", "Anna", "."], 1))
    conllu = run("tagger", "tag", tagger, "-", "--to", "tsv", "--input", "conllu", input=rows + "\n").stdout
    assert text == tokens == conllu
    assert [line.split("\t")[0] for line in text.splitlines() if line] == ["the", "cat", "sees", "Anna", "."]


def test_conllu_says_how_it_stood(run: Run, tagger: Path, files: Path) -> None:
    lines = run("tagger", "tag", tagger, files / "text.txt").stdout.splitlines()
    assert lines[:2] == ["# newdoc", "# text = the cat sees Anna."]
    anna = next(line for line in lines if "\tAnna\t" in line).split("\t")
    assert len(anna) == 10
    assert "SpaceAfter=No" in anna[9]
    assert sum(line == "# newdoc" for line in lines) == 2


def test_conllu_keeps_what_it_was(run: Run, tagger: Path, finder: Path, tmp_path: Path) -> None:
    rows = [
        "# newdoc id = a", "# sent_id = a-1", "# text = the cat sees Anna.",
        "1\tthe\tthe\t_\tDT\tDefinite=Def\t2\tdet\t2:det\tGloss=x|Confidence=0.1",
        "2-3\tcat sees\t_\t_\t_\t_\t_\t_\t_\t_",
        "2\tcat\tcat\tX\tNN\t_\t3\tnsubj\t3:nsubj\t_",
        "3\tsees\tsee\tX\tVBZ\t_\t0\troot\t0:root\tNER=B-ORG",
        "3.1\tsees\tsee\tVERB\t_\t_\t_\t_\t_\t_",
        "4\tAnna\tAnna\tX\tNNP\t_\t3\tobj\t3:obj\tSpaceAfter=No",
        "5\t.\t.\tX\t.\t_\t3\tpunct\t3:punct\t_",
        "", "# sent_id = a-2", "1\tBen\t_\t_\t_\t_\t_\t_\t_\t_", "", "",
    ]  # fmt: skip
    file = tmp_path / "given.conllu"
    file.write_text("\n".join(rows))
    (tmp_path / "more.txt").write_text("the dog walks .\n")
    tagged = run("tagger", "tag", tagger, tmp_path / "more.txt", file, tmp_path / "more.txt").stdout.split("\n")
    found = tagged[tagged.index(rows[0]) :][: len(rows) - 1]
    assert [line for line in found if "# " in line] == [line for line in rows if "# " in line]
    for before, after in zip(rows, found, strict=False):
        if before.split("\t")[0].isdigit():
            cells, changed = before.split("\t"), after.split("\t")
            assert cells[:3] + cells[4:9] == changed[:3] + changed[4:9]
            assert changed[3] == tag(cells[1])
            assert changed[9].count("Confidence=") == 1
        else:
            assert after == before
    assert "Gloss=x|Confidence=" in found[3]
    assert "SpaceAfter=No|Confidence=" in found[8]
    assert sum("# text = the dog walks ." in line for line in tagged) == 2
    names = run("tagger", "tag", finder, file).stdout.split("\n")
    assert names[6].split("\t")[:9] == rows[6].split("\t")[:9]
    assert "NER" not in names[6]
    assert "NER=B-PER" in names[8]


@pytest.mark.parametrize(("column", "place"), [("XPOS", 4), ("5", 4), ("xpos", 4), ("misc:Kind", 9)])
def test_tags_go_where_they_were_learnt_from(
    run: Run, model: Path, files: Path, tmp_path: Path, column: str, place: int
) -> None:
    train = tmp_path / "train.conllu"
    rows = [line.split("\t") for line in (files / "train.conllu").read_text().splitlines()]
    train.write_text("".join("\t".join([*row[:9], f"Kind={row[4]}"] if len(row) == 10 else row) + "\n" for row in rows))
    run("tagger", "train", model, "--train", train, "--column", column, "-o", tmp_path / "t", *OPTIONS)
    found = run("tagger", "tag", tmp_path / "t", train).stdout.splitlines()
    cells = [line.split("\t") for line in found if line[:1].isdigit()]
    given = [row for row in rows if len(row) == 10]
    assert [row[3] for row in cells] == [row[3] for row in given]
    shown = [row[place].partition("Kind=")[2].partition("|")[0] if place == 9 else row[place] for row in cells]
    assert sum(a == row[4] for a, row in zip(shown, given, strict=True)) > 0.8 * len(given)


def test_entities_in_parquet(run: Run, finder: Path, files: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    output = tmp_path / "names.parquet"
    run("tagger", "tag", finder, files / "text.txt", "-o", output, "--quiet")
    rows = pyarrow.parquet.read_table(output).to_pylist()
    expected = list(Tagger.load(finder).tag((files / "text.txt").read_text().splitlines()))
    assert [[one["text"] for one in row["entities"]] for row in rows] == [
        [one.text for one in sentence.entities] for sentence in expected
    ]
    anna = rows[0]["entities"][0]
    assert (anna["kind"], anna["text"], anna["start_char"], anna["end_char"]) == ("PER", "Anna", 13, 17)


def test_entities(run: Run, finder: Path, files: Path) -> None:
    line = run("tagger", "tag", finder, "--to", "jsonl", input="the dog sees Anna .\n").stdout
    row = json.loads(line)
    (anna,) = row["entities"]
    assert (anna["kind"], anna["text"], anna["start_char"], anna["end_char"]) == ("PER", "Anna", 13, 17)
    conllu = run("tagger", "tag", finder, input="the dog sees Anna .\n").stdout
    assert "NER=B-PER" in conllu
    sure = run("tagger", "tag", finder, "--to", "jsonl", "--min-confidence", 1, input="the dog sees Anna .\n").stdout
    assert json.loads(sure)["entities"] == []


def test_evaluate(run: Run, tagger: Path, finder: Path, files: Path) -> None:
    score = json.loads(run("tagger", "evaluate", tagger, files / "test.conllu", "--json").stdout)
    assert score["accuracy"]["all"] > 90
    table = run("tagger", "evaluate", tagger, files / "test.conllu").stdout.split()
    assert table[:4] == ["all", "known", "unknown", "tokens"]
    assert table[4] == f"{score['accuracy']['all']:.2f}"
    found = json.loads(run("tagger", "evaluate", finder, files / "test.ner", "--json").stdout)
    assert found["entities"]["f1"] > 90
    assert run("tagger", "evaluate", finder, files / "test.ner").stdout.split()[:3] == ["precision", "recall", "F1"]


def test_info(run: Run, tagger: Path) -> None:
    facts = json.loads(run("info", tagger, "--json").stdout)
    assert (facts["kind"], facts["task"]) == ("tagger", "tags")
    assert facts["tags"] == list(Tagger.load(tagger).names)
    assert "a tagger" in run("info", tagger).stdout


def test_tags_never_seen_are_named(run: Run, tagger: Path, files: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.conllu"
    odd.write_text((files / "test.conllu").read_text().replace("PROPN", "ODD"))
    assert "never saw, scored as wrong: ODD (" in run("tagger", "evaluate", tagger, odd).stderr
    assert "another tag set" in run("tagger", "evaluate", tagger, odd, "--column", "xpos", code=1).stderr


def test_wrong_columns_and_files(run: Run, model: Path, files: Path, tmp_path: Path) -> None:
    command = ("tagger", "train", model, "--train", files / "train.conllu", "-o", tmp_path / "t", *OPTIONS)
    assert "'upos', 'xpos'" in run(*command, "--column", "nothing", code=1).stderr
    assert "those with something in them are id, form, upos, xpos" in run(*command, "--column", "lemma", code=1).stderr
    assert "is no tag of an entity" in run(*command, "--entities", code=1).stderr
    (tmp_path / "empty.conllu").write_text("")
    empty = run("tagger", "train", model, "--train", tmp_path / "empty.conllu", "-o", tmp_path / "t", code=1)
    assert "holds no tagged sentence" in empty.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.conllu"]


def test_inconsistent_entities_are_repaired_and_counted(run: Run, model: Path, files: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.ner"
    bad.write_text("Anna B-PER\nBen I-PER\nsees O\nEva I-PER\n\n" + "the O\ndog O\n\n" * 3)
    result = run(
        "tagger", "train", model, "--train", bad, "--dev", bad, "--entities", "-o", tmp_path / "t", "--rounds", 1
    )
    assert "1 entity tags continued nothing" in result.stderr


def test_clusters_of_counts(run: Run, model: Path, counts: Path, files: Path, tmp_path: Path) -> None:
    command = ("tagger", "train", model, "--train", files / "train.conllu", "-o", tmp_path / "t", *OPTIONS)
    run(*command, "--counts", counts)
    assert Tagger.load(tmp_path / "t").design.clusters.shape[1] == 4
    assert "but counts are needed here" in run(*command, "--counts", model, "--force", code=1).stderr
    (tmp_path / "few.txt").write_text("the cat sees Anna .\n" * 9)
    run("count", tmp_path / "few.txt", "-o", tmp_path / "few", "--quiet")
    assert "Give the counts that the model was" in run(*command, "--counts", tmp_path / "few", "--force", code=1).stderr
    assert Tagger.load(tmp_path / "t")  # what was there before is still there


def test_a_tagger_without_its_model(run: Run, model: Path, tagger: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(tagger, tmp_path / "tagger")
    there = read_json(alone / CONFIG)["model"]
    edit_config(alone, model={**there, "path": "nowhere", "absolute": None})
    assert "is missing" in run("tagger", "tag", alone, input="a\n", code=1).stderr
    assert run("tagger", "tag", alone, "--model", model, input="a dog\n").stdout


@pytest.mark.parametrize("networks", [1, 2])  # the second network is interrupted
def test_interrupted_training_resumes_with_the_same_bits(
    run: Run, model: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, networks: int
) -> None:
    sets = ("--train", files / "train.conllu", "--dev", files / "dev.conllu")
    command = ("tagger", "train", model, *sets, *OPTIONS, "--networks", networks)
    run(*command, "-o", tmp_path / "whole")
    monkeypatch.setattr(training, "_SAVED_EVERY", -1.0)
    real = training._Run.note
    seen: list[training._Run] = []  # one after the other; kept, so that none has the address of one before

    def stop(self, score):
        seen.append(self)
        if len({id(one) for one in seen}) == networks and sum(one is self for one in seen) == 2:
            raise KeyboardInterrupt
        real(self, score)

    monkeypatch.setattr(training._Run, "note", stop)
    run(*command, "-o", tmp_path / "t", code=130)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.work", "whole"]
    monkeypatch.setattr(training._Run, "note", real)
    assert "--resume" in run(*command, "-o", tmp_path / "t", code=1).stderr
    assert "belongs to another job" in run(*command, "-o", tmp_path / "t", "--resume", "--seed", 3, code=1).stderr
    other = run(*command, "-o", tmp_path / "t", "--resume", "--patience", 9, code=1).stderr
    assert "(patience: 4 then, 9 now)" in " ".join(other.split())
    run(*command, "-o", tmp_path / "t", "--resume")
    names = ("tagger.safetensors", "words.json")
    assert [(tmp_path / "t" / n).read_bytes() for n in names] == [(tmp_path / "whole" / n).read_bytes() for n in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t", "whole"]
