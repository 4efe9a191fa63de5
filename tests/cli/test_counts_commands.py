from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from counts.texts import count_corpus, make_text
from textlds.cli import count, merge, prune, subtract
from textlds.cli.output import guarded
from textlds.corpus.settings import TextSettings
from textlds.counts.lagcounts import LagCounts


@pytest.fixture(scope="module")
def app():
    app = typer.Typer()
    for module in (count, merge, subtract, prune):
        app.command(module.__name__.rpartition(".")[2])(guarded(module.command))
    return app


@pytest.fixture
def run(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate("ab"):
        Path(f"{name}.txt").write_text(make_text(seed, 3000), encoding="utf-8")

    def run(line, code=0):
        result = CliRunner().invoke(app, line.split())
        assert result.exit_code == code, result.output
        return result

    return run


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def test_count_is_a_shim_over_the_function(run):
    result = run("count a.txt b.txt -o counts --vocab-size 300 --max-lag 3 --json --threads 1 --memory 500MB")
    facts = json.loads(result.stdout)
    assert facts["max_lag"] == 3
    counts = LagCounts.load("counts")
    assert facts["tokens"] == counts.tokens
    assert counts == count_corpus(["a.txt", "b.txt"], vocab_size=300, max_lag=3)
    assert "Wrote counts" in result.stderr


def test_text_options(run):
    run(
        "count a.txt -o counts -q --tokenizer whitespace --digits zero --unknown single --boundaries document "
        "--boundary-token </s> --min-count 2"
    )
    expected = TextSettings("whitespace", "zero", "single", "document", "</s>")
    assert LagCounts.load("counts") == count_corpus("a.txt", text=expected, min_count=2)


def test_merge_and_subtract_are_exact(run):
    run("count a.txt b.txt -o all --vocab-size 300 --max-lag 2 --digits keep -q")
    run("count a.txt -o a --vocab all --max-lag 2 -q")  # the folder brings its settings
    run("count b.txt -o b --vocab all --max-lag 2 --digits keep -q")
    run("merge a b -o both")
    run("subtract all b -o rest")
    assert files("both") == files("all")
    assert files("rest") == files("a")
    run("merge a b -o weighted --weight 2 --weight 0.5")
    assert LagCounts.load("weighted").tokens == 2 * LagCounts.load("a").tokens + LagCounts.load("b").tokens / 2
    assert "as many weights" in run("merge a b -o x --weight 2", code=1).stderr
    assert "would have the count" in run("subtract a all -o x", code=1).stderr
    assert "Leave digits out" in run("count b.txt -o x --vocab all --digits zero", code=1).stderr
    assert not Path("x").exists()


def test_different_repeats(run):
    line = "the river saw every old house and some quiet teacher\n"
    Path("a.txt").write_text(Path("a.txt").read_text() + 20 * line)
    result = run("count a.txt -o once --repeats 1")
    assert "lines repeat others and are left out" in result.stderr
    run("count a.txt -o every --vocab once -q")
    run("count b.txt -o b --vocab once --repeats 1 -q")
    assert "different repeats (1 and 'all')" in run("merge once every -o mixed").stderr
    assert "--repeats 1" in run("subtract once every -o x", code=1).stderr
    assert "different repeats" not in run("merge once b -o both").stderr
    run("subtract both b -o rest -q")
    assert files("rest") == files("once")
    record, sums = (json.loads(Path(name, "config.json").read_text())["repeats"] for name in ("once", "both"))
    assert record["kept"] == sums["kept"] == 1
    assert 0 < record["units_left_out"] <= sums["units_left_out"]


def test_finished_counts_with_other_settings_are_not_taken_for_these(run):
    run("count a.txt -o counts -q --min-count 2 --repeats 1")
    run("count a.txt -o counts -q --min-count 2 --repeats 1 --resume")
    for options, message in (
        ("--min-count 2", "repeats: 1 then, 'all' now"),
        ("--min-count 2 --repeats 2", "repeats: 1 then, 2 now"),
        ("--min-count 3 --repeats 1", "min_count: 2 then, 3 now"),
        ("--repeats 1", "min_count: 2 then, 1 now"),
        ("--min-count 2 --repeats 1 --vocab-size 10", "then, 10 now"),
        ("--min-count 2 --repeats 1 --max-lag 3", "max_lag: 7 then, 3 now"),
    ):
        result = run(f"count a.txt -o counts --resume {options}", code=1)
        assert "belongs to another job" in result.stderr
        assert message in result.stderr
    run("count b.txt -o b -q")
    assert "other words" in run("count a.txt -o b --resume --vocab counts", code=1).stderr


def test_union_is_announced(run):
    run("count a.txt -o a --vocab-size 30 -q")
    run("count b.txt -o b --vocab-size 40 -q")
    assert "approximation" in run("merge a b -o both").stderr
    assert "--vocab a" in run("subtract a b -o x", code=1).stderr


def test_words_of_a_file(run):
    Path("words.txt").write_text("the\nof\n")
    run("count a.txt -o counts --vocab words.txt --unknown single")
    assert LagCounts.load("counts").vocabulary.words == ("the", "of", "<unk>")
    assert "no vocabulary file" in run("count a.txt -o x --vocab missing.txt", code=1).stderr


def test_prune_says_what_was_dropped(run):
    run("count a.txt b.txt -o counts --vocab-size 300 --max-lag 3 -q")
    result = run("prune counts -o small --min-count 2 --vocab-size 100 --max-lag 2")
    assert "1 lags and" in result.stderr
    assert "200 words folded" in result.stderr
    assert len(result.stdout.splitlines()) >= 3
    facts = json.loads(run("prune counts -o again --min-count 2 --vocab-size 100 --max-lag 2 --json").stdout)
    counts = LagCounts.load("counts").truncate(2).shrink(100)
    pruned = counts.prune(2)
    assert [lag["dropped_pairs"] for lag in facts["lags"]] == list(pruned.dropped_pairs)
    assert LagCounts.load("again") == LagCounts.load("small") == pruned.counts


def test_errors_are_messages(run):
    assert "there is no file or folder" in run("count missing.txt -o counts", code=1).stderr
    Path("counts").mkdir()
    Path("counts/precious").write_text("")
    assert "exists already" in run("count a.txt -o counts", code=1).stderr
    assert "did not write; choose another" in run("count a.txt -o counts --force", code=1).stderr
    assert "not a textlds folder" in run("prune counts -o x", code=1).stderr
    assert "--memory lots" in run("count a.txt -o x --memory lots", code=1).stderr


@pytest.mark.parametrize("compiled", [False, True])
def test_interrupted_work_is_resumed(run, monkeypatch, compiled):
    from textlds.counts import counting

    def interrupted(*arguments, **options):
        if compiled:  # as the interpreter does where a signal arrives while compiled code returns
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(counting, "learn_vocabulary", interrupted)
        assert "--resume" in run("count a.txt -o counts", code=130).stderr
    assert "--resume" in run("count a.txt -o counts", code=1).stderr
    run("count a.txt -o counts --resume")
    assert "finished already" in run("count a.txt -o counts --resume").stderr
    assert sorted(path.name for path in Path().iterdir()) == ["a.txt", "b.txt", "counts"]
    assert LagCounts.load("counts") == count_corpus("a.txt")
