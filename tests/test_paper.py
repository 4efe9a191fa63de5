"""The studies of the paper run from end to end on a tiny corpus; what they measure there means little."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

NOUNS = [f"noun{chr(97 + i)}" for i in range(12)]
VERBS = [f"verb{chr(97 + i)}" for i in range(12)]
PEOPLE, PLACES = ["Ann", "Bob", "Cid", "Dora"], ["Rome", "Oslo", "Lima", "Kiev"]
TAGS = {"the": "DET", "a": "DET", "its": "DET", ".": "PUNCT", "in": "ADP"}
PTB = {"DET": "DT", "PUNCT": ".", "ADP": "IN", "NOUN": "NN", "VERB": "VBD", "PROPN": "NNP"}


def sentence(rng):
    """A sentence as (word, universal tag, entity tag)."""

    def pick(words):
        weights = 1 / np.arange(1, len(words) + 1)
        return str(rng.choice(words, p=weights / weights.sum()))

    person, place = rng.random() < 0.5, rng.random() < 0.5
    words = [pick(PEOPLE)] if person else ["the", pick(NOUNS)]
    words += [pick(VERBS), str(rng.choice(["a", "its"])), pick(NOUNS)]
    words += ["in", pick(PLACES)] if place else []
    return [(word, universal(word), entity(word)) for word in [*words, "."]]


def universal(word):
    kinds = {"noun": "NOUN", "verb": "VERB"}
    return TAGS.get(word) or kinds.get(word[:4]) or "PROPN"


def entity(word):
    return "I-PER" if word in PEOPLE else "I-LOC" if word in PLACES else "O"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of data sets in the layout of --data."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)

    def write(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def rows(n, line, head=""):
        sentences = [sentence(rng) for _ in range(n)]
        return head + "".join("\n".join(line(i, *row) for i, row in enumerate(some, 1)) + "\n\n" for some in sentences)

    for name in ("wikipedia/text.txt", "reuters21578/reuters21578.txt"):
        write(name, "\n".join(" ".join(word for word, *_ in sentence(rng)) for _ in range(1200)) + "\n")
    for part, n in (("train", 120), ("dev", 60), ("test", 60)):
        conllu = rows(n, lambda i, w, t, e: f"{i}\t{w}\t_\t{t}\t{PTB[t]}" + "\t_" * 5)
        write(f"ud-english-ewt/en_tiny-ud-{part}.conllu", conllu)
        write(f"ptb-sample/{part}.tsv", rows(n, lambda i, w, t, e: f"{w}\t{PTB[t]}"))
    write("ptb-sample/en-ptb.map", "".join(f"{fine}\t{coarse}\n" for coarse, fine in PTB.items()))
    for part, n in (("train", 120), ("testa", 60), ("testb", 60)):
        head = "-DOCSTART- -X- -X- O\n\n"
        write(f"conll2003/eng.{part}", rows(n, lambda i, w, t, e: f"{w} {PTB[t]} O {e}", head))
    words = NOUNS[:6] + VERBS[:6]
    pairs = [(a, b, 9.0 if a[:4] == b[:4] else 1.0) for i, a in enumerate(words) for b in words[i + 1 :]]
    for name in ("EN-SIMLEX-999.txt", "EN-WS-353-ALL.txt", "EN-MEN-TR-3k.txt", "EN-RW-STANFORD.txt"):
        write(f"similarity/{name}", "".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs))
    contexts = ((i, a, b, f"the <b> {a} </b> .", f"a <b> {b} </b> in", s) for i, (a, b, s) in enumerate(pairs))
    scws = "".join(f"{i}\t{a}\tn\t{b}\tn\t{c}\t{d}\t{s}\t{s}\n" for i, a, b, c, d, s in contexts)
    write("similarity/scws.ratings.txt", scws)
    return folder


@pytest.fixture(scope="module", autouse=True)
def small():
    """Keep the study of tags small: short word vectors, few trials and epochs, no transformer."""
    from benchmarks.paper import pos, settings

    from textlds.evaluation.network import NetworkSettings

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "WORD2VEC", {"size": 8, "window": 3, "epochs": 2})
        for name, some in {"WINDOWS": (3, 2), "EPOCHS": (3,), "SCALES": (0.3,)}.items():
            patch.setattr(pos, name, some)
        patch.setattr(pos, "GRID", (NetworkSettings(epochs=8, learning_rate=1e-2),))
        patch.setattr(pos, "_has_transformer", lambda: False)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def run(data, place):
    """Run studies; returns what they stored."""
    from benchmarks.paper.__main__ import main

    def studies(names, *arguments):
        given = ["--data", str(data), "--work", str(place / "work"), "--results", str(place / "results"), "--quiet"]
        assert main([*given, "--scale", "tiny", "--seeds", "2", "--only", names, *arguments]) == 0
        return json.loads((place / "results" / "paper" / f"{names.split(',')[0]}.json").read_text(encoding="utf-8"))

    return studies


def test_dynamics(run):
    cells = run("dynamics")["cells"]
    assert set(cells) >= {"EM / seed 0", "EM / seed 1", "subspace identification / seed 1", "random words"}
    found = cells["EM / seed 0"]["figures"]
    assert len(found["singular_values"]) == len(found["pairs"]) == len(found["stays"]) == 4
    assert found["singular_values"] == sorted(found["singular_values"], reverse=True)
    assert all(0 <= value <= 1 for value in found["stays"])
    assert found["purity"] == pytest.approx(np.mean(found["purities"]))
    # a list of one kind of word is purer than words drawn at random
    assert found["purity"] > cells["random words"]["figures"]["purity"]


def test_ner(run):
    cells = run("ner")["cells"]
    # the entities of this grammar are a closed list: words alone find all of them
    assert cells["Lex / seed 0"]["figures"]["test"] == pytest.approx(100)
    assert set(cells) >= {f"Lex + {name} / seed 0" for name in ("Brown", "word2vec", "LDS")}
    test = cells["Lex + LDS against Lex"]["figures"]["test"]
    assert test["p"] == 1.0
    assert test["difference"] == 0.0
    # of the default model, the development set chooses between the state, it and three words, and the recipe features
    tried = {cell["settings"]["kind"]: cell["figures"]["f1"] for key, cell in cells.items() if "dev / Lex + def" in key}
    assert len(tried) == 3
    final = cells["Lex + default / seed 0"]["figures"]
    assert tried[final["kind"]] == max(tried.values()) == final["dev"]


def test_pos(run):
    from benchmarks.paper.pos import BEST

    cells = run("pos")["cells"]
    local = ["word2vec", "SSID", "EM", "EM, left + word + right", BEST, "word2vec ± 1", "word2vec ± 1, spelling"]
    for bank in ("ewt", "ptb"):
        for column in local:
            for seed in (0, 1):
                found = cells[f"{bank} / {column} / seed {seed}"]["figures"]["scores"]
                assert set(found) == {"universal, 25", "ptb, 25"} | ({"universal, 128"} if seed == 0 else set())
                assert found["universal, 25"]["test"]["all"] > 60
        # the words of this grammar have one tag each, and all of them stand in the training part
        lexical = cells[f"{bank} / Lex / seed 0"]["figures"]["scores"]["ptb"]["test"]
        assert lexical["all"] == lexical["known"] == pytest.approx(100)
        assert f"{bank} / Lex / seed 1" not in cells
        assert f"{bank} / Lex + EM / seed 1" not in cells
        tests = cells[f"{bank} / tests"]["figures"]
        both = tests["universal, 25"]["word2vec ± 1 against word2vec"]
        first, second = (
            cells[f"{bank} / {column} / seed 0"]["figures"]["scores"]["universal, 25"]["test"]
            for column in ("word2vec", "word2vec ± 1")
        )
        gained = (second["all"] - first["all"]) * first["tokens"] / 100
        assert both["only_second"] - both["only_first"] == pytest.approx(gained)
        # the default model, and word2vec measured in the same run: both tag sets, every test of pairs
        beside = cells[f"{bank} / tests, 128 units"]["figures"]
        for tags in ("universal, 128", "ptb, 128"):
            first, second = (
                cells[f"{bank} / {column} / 128 units"]["figures"]["scores"][tags]["test"]
                for column in ("word2vec", "default, state")
            )
            found = beside[tags]["default, state against word2vec"]
            gained = (second["all"] - first["all"]) * first["tokens"] / 100
            assert found["only_second"] - found["only_first"] == pytest.approx(gained)
        assert f"{bank} / default, state / seed 0" not in cells
    # what was searched is what the columns use
    trials = {key: cell for key, cell in cells.items() if key.startswith("search / EM / ")}
    best = max(trials.values(), key=lambda cell: cell["figures"]["dev"])
    assert cells["ewt / EM / seed 1"]["settings"]["iteration"] == best["settings"]["iteration"]
    assert cells["ewt / SSID / seed 0"]["settings"].get("iteration") is None


def test_likelihood(run):
    cells = run("likelihood")["cells"]
    for start in ("subspace", "random", "profiles, neighbours", "profiles, subspace", "profiles, random"):
        found = cells[f"{start} / seed 0"]["figures"]
        assert len(found["log_likelihood"]) == 5
        assert np.min(np.diff(found["log_likelihood"])) > -1e-9  # EM never loses
        assert set(found["accuracy"]) == {"0", "2", "4"}
        assert all(0 < value <= 100 for value in found["accuracy"].values())


def test_ablations(run):
    cells = run("ablations")["cells"]
    groups = {cell["settings"]["group"] for cell in cells.values()}
    assert groups == {
        "base", "noise", "start", "horizon of subspace identification", "horizon of EM", "pseudocount", "state size",
        "text", "unknown words", "boundaries", "inference",
    }  # fmt: skip
    base = cells["base / seed 0"]
    for key, cell in cells.items():  # each row changes something, and no more than one thing
        changed = [name for name in base["settings"] if cell["settings"][name] != base["settings"][name]]
        assert key.startswith("base / ") or len(set(changed) - {"group", "name"}) <= 2, key


def test_similarity(run):
    cells = run("similarity")["cells"]
    assert set(cells) == {f"{name} / seed {seed}" for name in ("default", "LDS", "word2vec") for seed in (0, 1)}
    assert set(cells["default / seed 0"]["figures"]) >= {
        "MEN",
        "MEN / use",
        "SCWS, meaning",
        "SCWS, meaning in context",
    }
    found = cells["LDS / seed 0"]["figures"]
    assert found["MEN"]["found"] == found["MEN"]["pairs"] == 66
    # words of a kind stand in the same places here, which is all that the scores of the test know
    assert found["MEN"]["rho"] > 0.5
    assert {name for name in found if name.startswith("SCWS")} >= {
        "SCWS, word", "SCWS, state", "SCWS, state, equal evidence", "SCWS, left + word + right",
    }  # fmt: skip


def test_report(run, place, capsys):
    run("dynamics,pos,ner,likelihood,ablations,similarity")
    capsys.readouterr()
    run("dynamics,pos,ner,likelihood,ablations,similarity")
    printed = capsys.readouterr().out
    assert printed.count("(there already") == len(re.findall(r"^\w+ \d+/\d+: ", printed, re.MULTILINE)) > 50
    page, html = ((place / "results" / name).read_text(encoding="utf-8") for name in ("paper.md", "paper/paper.html"))
    for name in ("dynamics", "pos", "ner", "likelihood", "ablations", "similarity"):
        content = json.loads((place / "results" / "paper" / f"{name}.json").read_text(encoding="utf-8"))
        assert f"## {content['title']}" in page
        assert f"](paper/{name}.png)" in page
        for total in content["data"].values():
            assert total[:16] in page
    assert html.count("<img ") == html.count('src="data:image/png;base64,') == 7
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html)
    found = json.loads((place / "results" / "paper" / "ner.json").read_text(encoding="utf-8"))["cells"]
    assert f"| test | {found['Lex / seed 0']['figures']['test']:.2f} |" in page
    assert "89.34" in page  # the paper's own
    assert "| the paper, universal tags | 95.00 | 89.26 | 96.44 |" in page
    assert "read twice" not in page
    assert "| log-likelihood, neighbours start |" in page


def test_a_report_says_that_test_sets_were_read_before(run, place):
    run("pos,ner")
    kept = place / "results" / "paper" / "earlier.json"
    kept.write_text(
        json.dumps(
            {
                "pos": {"Some column": {"universal, 25": {"ewt": 91.5, "ptb": 96.25}}},
                "pos, default": {"Another": {"ptb, 128": {"ewt": 93.5, "ptb": 96.75}}},
                "ner": {"kind": "some kind", "test": 85.125},
                "ner, default": {"kind": "another kind", "test": 86.125},
            }
        )
    )
    try:
        run("pos,ner")
        page = (place / "results" / "paper.md").read_text(encoding="utf-8")
    finally:
        kept.unlink()
    assert "Some column, universal tags, 25 units: 91.50 / 96.25." in page
    assert "Another, PTB tags, 128 units: 93.50 / 96.75." in page
    assert "the kind chosen then (some kind) had a test F1 of 85.12." in page
    assert "the kind chosen then (another kind) had 86.12." in page


def test_missing_data_leaves_studies_out(data, tmp_path, capsys):
    from benchmarks.paper.__main__ import main

    arguments = ["--text", str(data / "wikipedia" / "text.txt"), "--data", str(tmp_path), "--only", "ner"]
    assert main([*arguments, "--work", str(tmp_path), "--scale", "tiny", "--quiet"]) == 1
    assert "ner: left out, it needs --reuters and --conll" in capsys.readouterr().err


def test_unknown_study(capsys):
    from benchmarks.paper.__main__ import main

    with pytest.raises(SystemExit):
        main(["--only", "poss"])
    assert "'poss' is not one of dynamics, pos, ner" in capsys.readouterr().err
