"""The benchmarks run from end to end on small text; what they measure there means nothing."""

from __future__ import annotations

import importlib
import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import textlds

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text of a few thousand lines with Zipfian words, some grammar, and the words that the studies ask for."""
    rng = np.random.default_rng(0)
    nouns = ["river", "bank", "Paris", "friend", "rates", *(f"noun{chr(97 + i)}" for i in range(26))]
    verbs = ["raised", "sat", "born", *(f"verb{chr(97 + i)}" for i in range(26))]
    weights = {len(words): 1 / np.arange(1, len(words) + 1) for words in (nouns, verbs)}

    def pick(words):
        return str(rng.choice(words, p=weights[len(words)] / weights[len(words)].sum()))

    lines = []
    for _ in range(1500):
        clauses = [f"the {pick(nouns)} {pick(verbs)} {rng.choice(['a', 'its'])} {pick(nouns)}" for _ in range(3)]
        lines.append(". ".join(clauses) + ".")
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """The benchmarks are no part of the installed package."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a benchmark's main() with arguments; returns the JSON it wrote."""

    def main(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments), "--results", str(tmp_path)])
        importlib.import_module(f"benchmarks.{name}").main()
        return json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))

    return main


def test_learning(run, text, tmp_path):
    options = ("--vocab-size", 50, "--state-size", 4, "--threads", 1)
    found = run("learning", text, "--sections", "spmm", "relaxation", "sketch", *options)
    assert found["spmm"]["float32, 128 columns"]["textlds M X GFlop/s"] > 0
    for goal in ("50", "100"):
        assert found["relaxation"][goal]["least gain"] >= 0
    assert found["sketch"]["none"]["log-likelihood"] == pytest.approx(
        found["sketch"]["auto"]["log-likelihood"], rel=0.2
    )


def test_inference(run, text, tmp_path, monkeypatch):
    import textlds

    model = textlds.train(text, state_size=4, iterations=2, vocab_size=60)
    model.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "gensim.models", None)  # the peers are not what is tested here
    monkeypatch.setitem(sys.modules, "model2vec", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    found = run("inference", text, "--model", tmp_path / "model", "--sentences", 300)
    assert found["peers"] == {}
    assert found["textlds"]["from raw text, 1 thread"] > 0
    assert set(found["growth"]) == {"50", "100", "200", "400"}


def test_meaning(run, text, tmp_path):
    """Against correlations that are worked out here."""
    from benchmarks.meaning import chosen_on
    from scipy.stats import spearmanr

    import textlds

    counts = textlds.count([text], vocab_size=60)
    counts.save(tmp_path / "counts")
    textlds.fit(counts, state_size=4, iterations=1).save(tmp_path / "model")
    nouns = [word for word in counts.vocabulary.words if word.startswith("noun")]
    rng = np.random.default_rng(0)
    pairs = [(str(a), str(b), float(rng.random())) for a, b in (rng.choice(nouns, 2) for _ in range(60))]
    lines = "".join(f"{a} {b} {score}\n" for a, b, score in [*pairs, ("nounxyz", nouns[0], 0.5)])
    for name in ("SIMLEX", "WS-353-ALL", "MEN", "RW", "SimVerb"):
        (tmp_path / f"EN-{name}.txt").write_text(lines)
    (tmp_path / "questions-words.txt").write_text(f": kinds\n{' '.join(nouns[:4])}\n")
    options = ("--model", tmp_path / "model", "--counts", tmp_path / "counts", "--similarity", tmp_path, "--peers")
    sections = ("similarity", "analogies", "ambiguous", "new words", "cost")
    found = run(
        "meaning", text, *options, "--held-out", text, "--work", tmp_path / "work", "--windows", "1,0.5",
        "--sections", *sections
    )  # fmt: skip
    (words,) = found["words"].values()
    of = textlds.load(tmp_path / "model").words
    rho = 100 * spearmanr([score for *_, score in pairs], [of.similarity(a, b) for a, b, _ in pairs]).statistic
    assert words["similarity"]["meaning"]["sets"]["MEN"]["rho of the whole set"] == pytest.approx(rho, abs=0.06)
    held_out = [pair for pair in pairs if not chosen_on(*pair[:2])]
    scores = np.array([score for *_, score in held_out])
    own, use = ([space.similarity(a, b) for a, b, _ in held_out] for space in (of, of.use))
    samples = [rng.integers(len(scores), size=len(scores)) for _ in range(400)]
    above = [
        spearmanr(scores[i], np.array(own)[i]).statistic > spearmanr(scores[i], np.array(use)[i]).statistic
        for i in samples
    ]
    share = words["similarity"]["use"]["sets"]["MEN"]["samples in which meaning is above"]
    assert share == pytest.approx(np.mean(above), abs=0.12)
    assert "meaning, window 1,0.5" in words["similarity"]
    assert sum(row["words"] for row in found["new words"]) > 20
    assert all(row["processor seconds"] > 0 for costs in found["cost"].values() for row in costs.values())
    assert "unknown words by their spelling" in (tmp_path / "meaning.md").read_text()


def test_documents(run, text, tmp_path, monkeypatch):
    import textlds

    textlds.train(text, state_size=4, iterations=1, vocab_size=60).save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "model2vec.distill", None)
    lines = text.read_text(encoding="utf-8").splitlines()[:240]
    for number, part in enumerate(("train", "dev", "test")):
        rows = []
        for i, line in enumerate(lines[number::3]):
            genre, mark = ("email", "postage") if i % 2 else ("weblog", "entries")
            rows.append(f"# sent_id = {genre}-{i}\n# text = {mark} {line}\n1\tx\n")
        (tmp_path / f"en-{part}.conllu").write_text("\n".join(rows))
    found = run("documents", tmp_path, "--model", tmp_path / "model", "--labels", 40, "--draws", 1)
    assert found["sentences"] == {"train": 80, "dev": 80, "test": 80}
    assert found["accuracy"]["TF-IDF"]["80"] > 80
    assert set(found["accuracy"]) == {"TF-IDF", "pooled states", "pooled meaning", "TF-IDF and meaning"}


def test_records(run, text, tmp_path):
    found = run(
        "records", "--ptb", text, "--ptb-held-out", text, "--wikipedia", text,
        "--iterations", 8, "--state-sizes", 4, 4, "--threads", 1,
    )  # fmt: skip
    assert len(found["ptb"]["curves"]["random"]) == 9
    assert np.min(np.diff(found["ptb"]["curves"]["subspace"])) > -1e-9
    page = (tmp_path / "records.md").read_text(encoding="utf-8")
    assert "| σ | from | to |" in page
    assert (tmp_path / "records.png").stat().st_size > 10_000


def test_tradeoff(run, text, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="the classifier of this study needs torch")
    pytest.importorskip("gensim", reason="this study compares with gensim")
    monkeypatch.setitem(sys.modules, "transformers", None)
    lines = text.read_text(encoding="utf-8").splitlines()[:200]
    rows = []
    for line in lines:
        tokens = line.replace(".", " .").split()
        rows += [f"{i}\t{token}\t_\t{'VERB' if token.startswith('verb') else 'X'}" for i, token in enumerate(tokens, 1)]
        rows.append("")
    treebank = tmp_path / "small.conllu"
    treebank.write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = ("--sizes", 4, "--iterations", 3, "--epochs", 1, "--vocab-size", 60, "--threads", 1)
    found = run("tradeoff", text, "--train", treebank, "--dev", treebank, *options)
    assert {row["family"] for row in found["rows"]} >= {"word2vec", "textlds, state"}
    assert all(row["accuracy"] > 60 for row in found["rows"])


def test_poison_and_amounts(run, text, tmp_path):
    rows = []
    for line in text.read_text(encoding="utf-8").splitlines()[:60]:
        words = line.replace(".", " .").split()
        tags = ["VERB" if word.startswith("verb") else "X" for word in words]
        rows += [
            "\t".join([str(i), *pair, *"_" * 6])
            for i, pair in enumerate(zip(words, "_" * len(words), tags, strict=True), 1)
        ]
        rows.append("")
    for part in ("train", "dev"):
        (tmp_path / f"{part}.conllu").write_text("\n".join(rows) + "\n")
    treebank = ("--train", tmp_path / "train.conllu", "--dev", tmp_path / "dev.conllu", "--threads", 1)
    rows = run("poison", text, "--tokens", 20_000, *treebank)
    assert [(row["observations"], row["text"]) for row in rows] == [
        (kind, name) for kind in ("profiles", "words") for name in ("clean", "poisoned")
    ]
    assert "| the paper's | poisoned |" in (tmp_path / "poison.md").read_text()
    asked = ("amounts", text, "--tokens", 3_000, 9_000, "--more", text, *treebank)
    rows = run(*asked)
    assert [row["tokens"] for row in rows] == sorted(row["tokens"] for row in rows)
    assert run(*asked) == rows  # what is there is kept


def test_trials(run, text, tmp_path):
    folders = {"ewt": tmp_path / "data" / "ud-english-ewt", "ptb": tmp_path / "data" / "ptb-sample"}
    lines = [line.replace(".", " .").split() for line in text.read_text(encoding="utf-8").splitlines()[:120]]
    kinds = {"noun": "NOUN", "verb": "VERB"}
    for name, some in (("train", lines[:80]), ("dev", lines[80:])):
        tagged = [[(word, kinds.get(word[:4], "X")) for word in words] for words in some]
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        columns = "{0}\t{1}\t_\t{2}\t{2}" + "\t_" * 5
        conllu = ["\n".join(columns.format(i, *row) for i, row in enumerate(rows, 1)) for rows in tagged]
        (folders["ewt"] / f"{name}.conllu").write_text("\n\n".join(conllu) + "\n\n", encoding="utf-8")
        tsv = ["\n".join("\t".join(row) for row in rows) for rows in tagged]
        (folders["ptb"] / f"{name}.tsv").write_text("\n\n".join(tsv) + "\n", encoding="utf-8")
    (folders["ptb"] / "en.map").write_text("NOUN\tNOUN\nVERB\tVERB\nX\tX\n", encoding="utf-8")
    counts = textlds.count([text], vocab_size=60, threads=1)
    counts.save(tmp_path / "counts")
    textlds.fit(counts, state_size=4, iterations=2, threads=1).save(tmp_path / "model")
    base = "state, three words"
    names = [base, "state", f"{base}, spelling", f"{base}, states of both neighbours"]
    options = (tmp_path / "model", "--data", tmp_path / "data", "--work", tmp_path / "work", "--only", *names)
    rows = run("trials", *options)
    assert [row["trial"] for row in rows] == names
    assert [row["numbers"] for row in rows] == [16, 4, 20, 24]
    tasks = [row["tasks"][f"{bank} universal"] for row in rows for bank in ("ewt", "ptb")]
    measured = [np.load(tmp_path / "work" / "state,-three-words.npz")[f"{bank} universal"] for bank in ("ewt", "ptb")]
    hits, folds = measured
    # the first of blocks of fifty sentences is measured, and of the sample one block after the other
    assert hits.shape == (1, sum(map(len, lines[:50])))
    assert folds.shape == (1, sum(map(len, lines)))
    assert tasks[0]["accuracy"] == pytest.approx(100 * hits.mean())
    assert tasks[2]["above"] == pytest.approx(tasks[2]["accuracy"] - tasks[0]["accuracy"])
    assert run("trials", *options) == rows  # what is there is kept
    assert f"| {base} | 16 | {tasks[0]['accuracy']:.2f} (1) |" in (tmp_path / "trials.md").read_text()


def test_language(run, text, tmp_path):
    lines = text.read_text(encoding="utf-8").replace(".", " .").splitlines()
    for name, some in (("train", lines[:1000]), ("valid", lines[1000:1250]), ("test", lines[1250:])):
        (tmp_path / f"ptb.{name}.txt").write_text("\n".join(some) + "\n", encoding="utf-8")
    options = ("--ptb", tmp_path, "--work", tmp_path / "work", "--pseudocounts", 5, "--tuning-tokens", 5000)
    found = run("language", "--observations", "words", "--state-sizes", 3, 5, *options)
    assert found["tokens"]["test"] == sum(len(line.split()) + 1 for line in lines[1250:])
    assert len(found["trials"]) == 2
    rows = {tuple(row["parts"]): row for row in found["rows"]}
    bigram, trigram, unigram = rows["KN bigram",], rows["KN trigram",], rows["unigram",]
    assert trigram["test"] < bigram["test"] < unigram["test"]
    both = rows["unigram", "state", "lag 1", "lag 2"]
    assert (
        both["dev"] <= rows["unigram", "lag 1", "lag 2"]["dev"] + 0.01
    )  # more parts never do worse where weights are chosen
    assert both["test"] < unigram["test"]
    shares = [row["share"] for row in found["adds"]]
    assert sum(shares[:3]) == pytest.approx(shares[3]) == pytest.approx(1)
    page = (tmp_path / "language.md").read_text(encoding="utf-8")
    assert f"| Kneser–Ney trigram | {trigram['dev']:.1f} | {trigram['test']:.1f} |" in page
    # the state of the default model beside it; what does not depend on the model is the same
    both = run("language", "--observations", "profiles", "--state-sizes", 4, *options)
    assert {name: both[name] for name in found} == found
    other = {tuple(row["parts"]): row for row in both["profiles"]["rows"]}
    assert other["KN trigram",] == trigram
    page = (tmp_path / "language.md").read_text(encoding="utf-8")
    ours = [rows["unigram", "state"], other["unigram", "state"]]
    shown = " | ".join(f"{row[part]:.1f}" for row in ours for part in ("dev", "test"))
    assert f"| log-linear readout of the state | {shown} |" in page
    assert ours[0] != ours[1]


def test_taggers(run, text, tmp_path):
    import textlds

    textlds.train([text], state_size=4, iterations=2, vocab_size=60, threads=1).save(tmp_path / "model")
    lines = [line.replace(".", " .").split() for line in text.read_text(encoding="utf-8").splitlines()[:120]]
    for name, some in (("train", lines[:80]), ("dev", lines[80:])):
        rows = ["\n".join(f"{word}\t{word[:2]}" for word in words) for words in some]
        (tmp_path / f"{name}.tsv").write_text("\n\n".join(rows) + "\n", encoding="utf-8")
    sets = ("--train", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv")
    options = (tmp_path / "model", *sets, "--only", "textlds", "CRFsuite")
    found = run("taggers", *options, "--raw", text, "--raw-tokens", 2000)["taggers"]
    ours, crf = found["rows"]
    assert ours["value"] > 90
    assert crf["tokens_per_second"] > 0
    assert set(crf["against textlds"]) == {"only_first", "only_second", "p"}
    again = run("taggers", *options, "--curve", 5, "--draws", 2, "--name", "few")
    assert [(row["name"], len(row["values"])) for row in again["few"]["curve"]] == [("textlds", 2), ("CRFsuite", 2)]
    assert again["taggers"] == found


def test_scale(run, text, tmp_path):
    textlds.train(text, vocab_size=60, state_size=4, iterations=1, threads=1).save(tmp_path / "model")
    sizes = ("--tokens", 3000, 60_000, "--vocab-size", 60, "--threads", 1)
    found = run("scale", text, *sizes, "--model", tmp_path / "model")
    small, large = found["growth"]
    assert not small["repeated"]
    assert large["repeated"]
    assert large["counting"]["core seconds"] > 0
    assert found["embedding"]["context, tokens per core second"] > 0
    scale = importlib.import_module("benchmarks.scale")
    costs = scale.costs(found)
    assert costs["1e+12"]["counting core hours"] == pytest.approx(1000 * costs["1e+09"]["counting core hours"])
    assert (tmp_path / "scale.png").stat().st_size > 1000
    page = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert "0M, repeated |" in page
    assert "| 0.06M | counting |" in page


def test_scale_predicts_runs_that_it_was_not_fitted_to(tmp_path):
    """Rates of the smaller runs; the largest is what they are tried on."""
    scale = importlib.import_module("benchmarks.scale")

    def row(tokens, repeated=False, factor=1.0):
        stages = {"counting": 1 + 2e-7 * tokens, "fitting": 10 + 100 * tokens**0.8 / 1e6}
        seconds = {name: {"seconds": s, "core seconds": factor * s, "peak bytes": 1e9} for name, s in stages.items()}
        return {"tokens": tokens, "repeated": repeated, "load": 1, "busy": 1, "counts bytes": tokens**0.8, **seconds}

    embedding = {"context, tokens per core second": 1e5, "state size": 200}
    results = {"growth": [row(5e6), row(20e6), row(75e6), row(330e6, factor=2.0)], "vocab_size": 200_000}
    results |= {"state_size": 200, "threads": 2, "embedding": embedding, "peers_tokens": 1e6}
    results["peers"] = {"gensim, CBOW, an epoch": 1.5, scale.FASTTEXT: 16.0}
    (_, first, predicted, measured), (_, second, *fitting) = scale.tried(results)
    assert (first, second) == ("counting", "fitting")
    assert (predicted, measured) == (pytest.approx(67), pytest.approx(134))
    assert fitting[1] == pytest.approx(2 * fitting[0])
    assert scale.costs(results)["1e+12"]["counting core hours"] == pytest.approx((1 + 2e5) / 3600)
    results["growth"].append(row(1e9, repeated=True))
    assert [tokens for tokens, *_ in scale.tried(results)] == [1e9, 1e9]
    results["fastText set-up, core seconds"] = 10.0
    assert scale.peer_rates(results) == {"gensim, CBOW, an epoch": (0.0, 1.5), scale.FASTTEXT: (10.0, 6.0)}
    scale.write(results, tmp_path)
    page = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert "e+" not in page
    assert "| 1,910 |" in page
    assert "fitting, core hours" in page
    stored = json.loads((Path(scale.__file__).parents[1] / "docs" / "results" / "scale.json").read_text())
    assert all(0.5 < measured / predicted < 2 for _, _, predicted, measured in scale.tried(stored))


def test_frameworks(run, text, tmp_path):
    textlds.train(text, vocab_size=60, state_size=4, iterations=1, threads=1).save(tmp_path / "model")
    options = ("--tokens", 3000, "--processes", 1, "--only", "Dask", "Hugging Face datasets")
    rows = run("frameworks", tmp_path / "model", text, *options)["rows"]
    assert set(rows) == {"the library, one process", "Dask", "Hugging Face datasets"}
    assert all(row["difference"] == 0 and row["tokens per second"] > 0 for row in rows.values())
    assert "| Dask |" in (tmp_path / "frameworks.md").read_text(encoding="utf-8")


def catalogue(path, messages):
    """Write a gettext catalogue: a table of offsets of originals, one of translations, and the texts."""
    pairs = [("", "Content-Type: text/plain; charset=UTF-8\n"), *sorted((f"id{i}", m) for i, m in enumerate(messages))]
    ids, texts = ([one[k].encode() for one in sorted(pairs)] for k in (0, 1))
    start = 28 + 16 * len(pairs)
    table, data = [], b""
    for group in (ids, texts):
        for text in group:
            table += [len(text), start + len(data)]
            data += text + b"\0"
    header = [0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0]
    path.parent.mkdir(parents=True)
    path.write_bytes(struct.pack(f"<{len(header) + len(table)}I", *header, *table) + data)


def test_languages(run, text, tmp_path):
    lines = text.read_text(encoding="utf-8").splitlines()
    catalogue(
        tmp_path / "locale" / "xx" / "LC_MESSAGES" / "a.mo", [f"{line} Wort{i:x}" for i, line in enumerate(lines)]
    )
    catalogue(tmp_path / "locale" / "yy" / "LC_MESSAGES" / "a.mo", lines[:20])
    found = run("languages", "--folders", tmp_path / "locale", "--languages", "xx", "yy", "zz")
    assert list(found) == ["xx"]
    assert found["xx"]["messages"] == len(lines)
    assert found["xx"]["unknown, per cent"] > 0
    assert "| xx | Latin |" in (tmp_path / "languages.md").read_text(encoding="utf-8")


def test_trials_tell_differences_of_pairs(tmp_path):
    from benchmarks.trials import FEATURES, report, summary
    from benchmarks.trials_network import Bank, measured

    from textlds.corpus.reading.tagged import Tagged

    # both taggers are right of 60 words, the second of 30 more: the error of the difference is that of a share of 0.3
    first, second = np.arange(100) < 60, np.arange(100) < 90
    tasks = [f"{bank} {tags}" for bank in ("ewt", "ptb") for tags in ("universal", "ptb")]
    np.savez(tmp_path / "state,-three-words.npz", numbers=3, **dict.fromkeys(tasks, first[None]))
    np.savez(tmp_path / "more-numbers.npz", numbers=4, **dict.fromkeys(tasks, second[None]))
    rows = [summary(tmp_path, name) for name in ("state, three words", "more numbers")]
    assert summary(tmp_path, "not run") is None
    found = rows[1]["tasks"]["ptb universal"]
    assert found["accuracy"] == pytest.approx(90)
    assert found["above"] == pytest.approx(30)
    assert found["error"] == pytest.approx(100 * np.sqrt(0.3 * 0.7 / 100))
    assert "on both treebanks: more numbers." in report(rows)
    assert "90.00 (+30.00 ± 4.58, 1)" in report(rows)
    assert "*features* over" not in report(rows)

    # the recipe features is compared with word2vec, too, word by word
    for place, hits in (("features:-these,-spelling-and-meaning", second), ("word2vec-±-1,-spelling", first)):
        np.savez(tmp_path / f"{place}.npz", numbers=5, **dict.fromkeys(tasks, hits[None]))
    rows.append(summary(tmp_path, FEATURES))
    assert "*features* over *word2vec ± 1, spelling*: UD English EWT, universal tags +30.00 ± 4.58," in report(rows)

    # a network for both sets of tags learns what the vectors say
    rng = np.random.default_rng(0)
    words = [[f"w{rng.integers(40)}" for _ in range(8)] for _ in range(300)]
    kinds = [[Tagged(tuple(s), tuple(f"{int(w[1:]) % n}" for w in s)) for s in words] for n in (2, 4)]
    bank = Bank(kinds, pieces=3, folds=2)

    def features(sentences):
        return np.array([np.eye(4, dtype=np.float32)[int(w[1:]) % 4] for s in sentences for w in s])

    numbers, hits = measured(features, bank, 1)
    assert numbers == 4
    assert min(some.mean() for some in hits) > 0.99
