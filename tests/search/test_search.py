"""Search in context: an index holds what it should, and finds what comparing everything finds."""

from __future__ import annotations

import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from counts.texts import make_text
from integrations.limits import files_up_to
from model.worlds import counts_of, fit, grammar_text, random_model, with_meaning
from storage.sealing import alter_arrays, part, reseal_work, seal
from textlds.corpus.reading import texts
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.types import TypeTable
from textlds.errors import (
    ArgumentError,
    CorpusError,
    FormatError,
    MissingExtraError,
    OutputExistsError,
    UnknownWordError,
)
from textlds.search import IndexSettings, OccurrenceIndex, building, vectors
from textlds.search.sampling import NONE, Plan, select
from textlds.search.senses import clusters, silhouette
from textlds.search.texts import TextReader, TextWriter
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import CONFIG

faiss = pytest.importorskip("faiss")

WORDS = ["river", "bank", "money", "The", "water", "loan", "sat", "raised", "rates", "fish", "Bank", "on", "of", "the"]
MODEL = with_meaning(random_model(1, V=len(WORDS) + 1, h=4, words=WORDS, settings=TextSettings(unknown="single")))


def make_sentences(n, *, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(4, 12))) + f" {number}." for number in range(n)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(make_sentences(300)) + "\n")
    return path


@pytest.fixture(scope="module")
def index(corpus, tmp_path_factory):
    return OccurrenceIndex.build(MODEL, [corpus], tmp_path_factory.mktemp("index") / "index", per_word="all")


def senses_of(model, text):
    """The tokens of a text with the vectors that the index is to hold; tests/vectors/test_meaning.py checks them."""
    found = model(text, recipe="meaning")
    return found.tokens, found.vectors


@pytest.mark.parametrize("per_word", [None, 1, 3, 1000])
@pytest.mark.parametrize("min_count", [1, 12])
def test_the_sample_is_a_sample(per_word, min_count):
    """Every kept row belongs to one token of the right word, however the text is cut; no word has more than its due."""
    rng = np.random.default_rng(0)
    shares = {"bank": 0.3, "Bank": 0.1, "a": 0.2, "b": 0.2, "river": 0.1, "NUM": 0.07, "rare": 0.03}
    tokens = [str(token) for token in rng.choice(list(shares), 200, p=list(shares.values()))]
    table = TypeTable()
    types = table.add(tokens)
    plan = Plan(words="all", min_count=min_count, per_word=per_word, seed=3)
    chosen = select(table, MODEL.vocabulary, plan)
    counts = collections.Counter(token.lower() for token in tokens if token != "NUM")
    assert chosen.words == sorted(word for word, count in counts.items() if count >= min_count)
    counter, whole = chosen.counter(), chosen.counter()
    rows = np.concatenate([counter.rows(part) for part in np.split(types, [1, 1, 7, 120])])
    np.testing.assert_array_equal(rows, whole.rows(types))
    assert sorted(rows[rows != NONE].tolist()) == list(range(len(chosen)))
    for number, word in enumerate(chosen.words):
        its = range(chosen.starts[number], chosen.starts[number + 1])
        assert len(its) == min(counts[word], per_word or 10**9)
        places = [int(np.flatnonzero(rows == row)[0]) for row in its]
        assert places == sorted(places)
        assert {tokens[place].lower() for place in places} == {word}
    assert (np.diff(chosen.keys) > 0).all()


def test_samples_are_drawn_evenly():
    table = TypeTable()
    types = table.add(["bank"] * 10)
    hits = np.zeros(10)
    for seed in range(400):
        chosen = select(table, MODEL.vocabulary, Plan("all", 1, 3, seed))
        hits += chosen.counter().rows(types) != NONE
    assert hits.sum() == 1200
    assert np.abs(hits - 120).max() < 40  # four standard deviations


def test_which_words():
    table = TypeTable.from_words(["bank", "the", ",", "Loan", "NUM", "NUMst", "café"], [5] * 7)
    frequent = ["the", *map("".join, itertools.product("abcdefghij", repeat=2))]
    model = random_model(0, V=len(frequent) + 1, words=frequent, settings=TextSettings(unknown="single"))

    def words(which):
        return select(table, model.vocabulary, Plan(which, 1, None, 0)).words

    assert words("all") == ["bank", "café", "loan", "numst", "the"]  # a number is no word; all ordinals are one
    assert words("content") == ["bank", "café", "loan", "numst"]
    assert words(["LOAN", "gone", "bank"]) == ["bank", "loan"]


def test_texts_come_back_from_their_blocks(tmp_path):
    from textlds.search.texts import Place

    given = [f"{i} " + "ä long line " * (i % 50) for i in range(2000)] + [["a", "list of"], "", [""]]
    with (tmp_path / "blocks").open("wb") as file:
        writer = TextWriter(file)
        assert [writer.add(text, Place(i % 3, i)) for i, text in enumerate(given)] == list(range(len(given)))
        arrays = writer.finish()
    assert len(arrays["block_starts"]) > 3
    reader = TextReader(arrays, np.fromfile(tmp_path / "blocks", np.uint8), tmp_path)
    assert [reader.text(i) for i in range(len(given))] == given
    assert reader.place(7) == Place(1, 7)
    assert (tmp_path / "blocks").stat().st_size < sum(len(str(text)) for text in given) / 5


def everything(model, path):
    """All tokens with their lines and vectors, by brute force."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        tokens, senses = senses_of(model, line)
        rows += [(token, number, line, vector) for token, vector in zip(tokens, senses, strict=True)]
    return rows


@pytest.fixture(scope="module")
def rows(corpus):
    return everything(MODEL, corpus)


def test_every_occurrence_is_there_with_its_sentence(index, rows, corpus):
    for word in ("bank", "river", "the"):
        wanted = sorted((number, line) for token, number, line, _ in rows if token.lower() == word)
        found = index.find(word, f"on {word} of", n=10_000)
        assert sorted((o.line, o.sentence) for o in found) == wanted
        assert index.count(word) == len(wanted)
        for occurrence in found:
            assert occurrence.word.lower() == word
            assert occurrence.sentence[occurrence.start :].startswith(occurrence.word)
            assert occurrence.marked("<", ">").replace("<", "").replace(">", "") == occurrence.sentence
            assert occurrence.file == str(corpus)
    assert len(index) == sum(any(c.isalpha() for c in token) and token != "NUM" for token, *_ in rows)


def test_the_same_word_is_compared_exactly(index, rows):
    """Cosines after the (shrunken) mean is taken off, up to a byte a number."""
    context = "The bank raised rates on the loan ."
    tokens, senses = senses_of(MODEL, context)
    its = [(number, vector) for token, number, _, vector in rows if token.lower() == "bank"]
    mean = sum(vector for _, vector in its) / (len(its) + 10)
    asked = senses[tokens.index("bank")] - mean
    wanted = sorted((-(v - mean) @ asked / np.linalg.norm(v - mean) / np.linalg.norm(asked), n) for n, v in its)
    found = index.find("bank", context, n=20)
    np.testing.assert_allclose([o.score for o in found], [-score for score, _ in wanted[:20]], atol=0.02)
    assert {o.line for o in found} <= {number for score, number in wanted if -score > -wanted[19][0] - 0.03}


@pytest.mark.parametrize("cells", ["none", "some"])
def test_any_word_is_found(rows, corpus, tmp_path, monkeypatch, cells):
    if cells == "some":
        monkeypatch.setattr(vectors, "_FLAT", 500)
    index = OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", per_word="all")
    config = json.loads((tmp_path / "i" / "config.json").read_text())
    assert (config["vectors"]["cells"] > 0) == (cells == "some")
    lettered = [row for row in rows if any(c.isalpha() for c in row[0]) and row[0] != "NUM"]
    X = np.array([vector for *_, vector in lettered])
    hits = total = 0
    for line in make_sentences(20, seed=9):
        tokens, senses = senses_of(MODEL, line)
        if [token.lower() for token in tokens].count(tokens[0].lower()) > 1:
            continue  # the mean of several would be asked for
        products = X @ senses[0]
        best = np.argsort(-products)[:10]
        found = index.find(tokens[0], line, n=10, match="any")
        assert found[0].score == pytest.approx(products[best[0]], abs=0.03)
        wanted = {(lettered[i][1], lettered[i][0]) for i in best}
        hits += len(wanted & {(o.line, o.word) for o in found})
        total += len(wanted)
    assert total > 50
    assert hits / total > 0.85


def test_rows_are_given_back_whatever_the_structure(tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32)

    class Nothing:
        def advance(self, amount=1.0, note=""):
            pass

    for limit in (10_000, 100):
        monkeypatch.setattr(vectors, "_FLAT", limit)
        vectors.write_vectors(tmp_path / "v", X, seed=0, threads=1, task=Nothing())
        read = vectors.VectorIndex(tmp_path / "v", 3000, 8)
        assert len(read) == 3000
        for n, d in ((2999, 8), (3000, 7)):
            with pytest.raises(FormatError, match="3,000 vectors of 8 numbers instead of"):
                vectors.VectorIndex(tmp_path / "v", n, d)
        np.testing.assert_allclose(read.rows(1200, 1210), X[1200:1210], atol=0.05)


def test_senses_are_told_apart(tmp_path):
    """ "bank" is a noun and a verb of the little grammar: occurrences of the same kind come first."""
    text = grammar_text(0, 4000)
    model = fit(counts_of([text]), state_size=8, iterations=10)
    clauses = re.findall(r"[^.!;]+[.!;]", " ".join(grammar_text(1, 3000)))
    kinds = {clause.strip(): clause.split().index("bank") for clause in clauses if clause.split().count("bank") == 1}
    before = {"the", "a", "this", "every", "some", "red", "tall", "quiet", "old", "rapid", "green"}
    noun = {clause: clause.split()[at - 1] in before for clause, at in kinds.items()}
    index = OccurrenceIndex.build(model, iter(clauses), tmp_path / "i", words=["bank"], recipe="context")
    for context, is_noun in (("the old bank moves .", True), ("the teacher bank often .", False)):
        found = index.find("bank", context, n=10)
        share = np.mean([noun[o.sentence] == is_noun for o in found if o.sentence in noun])
        chance = np.mean([value == is_noun for value in noun.values()])
        assert share > 0.85
        assert chance < 0.7


def test_groups_are_found_again():
    """Three directions with noise, of different sizes, beside what all have in common."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 30, 12])
    points = np.eye(8)[labels] + 0.15 * rng.standard_normal((len(labels), 8)) + 3 * np.eye(8)[7]
    for n in (None, 3):
        found = clusters(points.astype(np.float32), n, seed=0)
        assert [len(cluster.members) for cluster in found] == [60, 30, 12]
        for number, cluster in enumerate(found):
            assert set(labels[cluster.members]) == {number}
            assert (np.diff(cluster.scores) <= 0).all()
            assert cluster.centre.argmax() in (number, 7)
    (one,) = clusters(rng.standard_normal((100, 50)).astype(np.float32), None, seed=0)
    assert sorted(one.members) == list(range(100))
    same = clusters(np.ones((3, 4), np.float32), 2, seed=0)
    assert sum(len(cluster.members) for cluster in same) == 3
    cosines = np.array([[1.0, 0.0], [0.5, 0.75]], np.float32)
    assert silhouette(cosines) == pytest.approx((1 + 0.5) / 2)


def test_senses_of_a_word(tmp_path):
    """ "bank" among words of two topics that never meet."""
    rng = np.random.default_rng(0)
    topics = [["river", "water", "fish", "sat"], ["money", "loan", "raised", "rates"]]
    lines = [[str(w) for w in rng.choice(topics[i % 3 == 0], 8)] for i in range(900)]
    for line in lines:
        line.insert(4, "bank")
    model = fit(counts_of(lines), state_size=2, iterations=1)
    index = OccurrenceIndex.build(model, iter(lines[:300]), tmp_path / "i")
    first, second = index.senses("Bank")
    assert (first.size, second.size) == (200, 100)
    assert first.share == pytest.approx(2 / 3)
    for sense, words in ((first, topics[0]), (second, topics[1])):
        assert set(sense.words[:4]) == set(words)
        assert len(sense.examples) == 3
        for occurrence in sense.examples:
            assert set(occurrence.sentence.split()) - {"bank"} <= set(words)
    assert [sense.size for sense in index.senses("bank", n=1, examples=0)] == [300]
    for options in ({"n": 0}, {"examples": -1}):
        with pytest.raises(ArgumentError):
            index.senses("bank", **options)
    for typo in ("banks", "bnak"):
        with pytest.raises(UnknownWordError, match=r"Close to it: bank\. Build an index with it\.$"):
            index.senses(typo)
    with pytest.raises(UnknownWordError, match=r"words of the index\. Build an index with it"):
        index.senses("zzzq")
    with pytest.raises(UnknownWordError, match=r"Close to it: bank\. Ask for any word .*--match any"):
        index.find("bnak", "the bnak")


@pytest.mark.parametrize("often", ["bank", "Bank"])
def test_the_most_frequent_spelling_says_what_a_sense_is_about(tmp_path, often):
    """Whatever capitals are asked for."""
    lines = [line.replace("Bank", "bank").replace("bank", often) for line in make_sentences(60)]
    rare = {"bank": "Bank", "Bank": "bank"}[often]
    index = OccurrenceIndex.build(MODEL, iter([*lines, f"The {rare} raised rates"]), tmp_path / "i")
    found = {word: [sense.words for sense in index.senses(word, n=2)] for word in ("bank", "Bank", "BANK")}
    assert found["bank"] == found["Bank"] == found["BANK"]
    assert index._spelling(*index._range("bank")) == often


def test_a_packed_model_is_indexed(corpus, tmp_path):
    """As the English model that is installed: its occurrences are those of the model it was packed from."""
    model = fit(counts_of([sentence.split() for sentence in make_sentences(300)]), state_size=4, iterations=2)
    indexes = [
        OccurrenceIndex.build(each, [corpus], tmp_path / name, per_word="all")
        for each, name in ((model, "whole"), (model.quantized("float32"), "packed"))
    ]
    assert len(indexes[0]) == len(indexes[1])
    found = [
        OccurrenceIndex.load(tmp_path / name).find("bank", "money in the bank", n=5) for name in ("whole", "packed")
    ]
    np.testing.assert_allclose([o.score for o in found[0]], [o.score for o in found[1]], atol=0.01)


@pytest.mark.parametrize("size", [2, 6])
def test_senses_are_not_spellings(tmp_path, size):
    """Capitals that occur in one line of two, whatever its topic."""
    rng = np.random.default_rng(1)
    topics = [["river", "water", "fish", "sat", "boat"], ["money", "loan", "raised", "rates", "debt"]]
    lines = [[str(w) for w in rng.choice(topics[i % 2], 8)] for i in range(900)]
    for i, line in enumerate(lines):
        line.insert(4, "Bank" if i % 4 < 2 else "bank")
    model = fit(counts_of(lines), state_size=size, iterations=1)
    index = OccurrenceIndex.build(model, iter(lines[:200]), tmp_path / "i")
    for sense in index.senses("bank", n=2, examples=100):
        assert sense.size == 100
        assert {occurrence.word for occurrence in sense.examples} == {"bank", "Bank"}
        about = {word for occurrence in sense.examples for word in occurrence.sentence.split()} - {"bank", "Bank"}
        assert about in [set(topic) for topic in topics]


RAW = [
    "Dr. Ang met the river at noon. The bank of the river was wet! “Loan?” she said.",
    "",
    "Überall naïve 🙂 bank notes; the Bank raised 3,000 rates",
]


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("\n".join(RAW) + "\n", encoding="utf-8")
    return path


def test_the_sentence_is_cut_out_of_the_line(raw, tmp_path):
    index = OccurrenceIndex.build(MODEL, [raw], tmp_path / "i")
    found = {(o.line, o.word): o for o in index.find("bank", "the bank", n=10)}
    assert found[1, "bank"].sentence == "The bank of the river was wet!"
    assert found[1, "bank"].marked() == "The [bank] of the river was wet!"
    assert found[3, "bank"].marked("*", "*") == "Überall naïve 🙂 *bank* notes; the Bank raised 3,000 rates"
    assert found[3, "Bank"].start == RAW[2].index("Bank")
    (noon,) = index.find("noon", "noon")
    assert noon.sentence == "Dr. Ang met the river at noon."


def test_records_lists_and_several_files(raw, tmp_path):
    records = [{"text": ["the", "bank", "raised", "rates"]}, {"text": "The river.\nThe bank sat."}, {"text": ""}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    index = OccurrenceIndex.build(MODEL, [raw, tmp_path / "r.jsonl"], tmp_path / "i", words=["bank", "rates"])
    found = {(os.path.basename(o.file), o.line, o.sentence) for o in index.find("bank", "a bank", n=10)}
    assert ("r.jsonl", 1, "the bank raised rates") in found
    assert ("r.jsonl", 2, "The bank sat.") in found
    assert ("raw.txt", 1, "The bank of the river was wet!") in found
    assert index.words == ["bank", "rates"]


def test_a_stream_and_repeated_sentences(tmp_path):
    index = OccurrenceIndex.build(MODEL, iter(["the bank sat on the river"] * 5 + ["a bank of rates"]), tmp_path / "i")
    found = index.find("bank", "the bank sat", n=5)
    assert sorted((o.sentence, o.file, o.line) for o in found) == [
        ("a bank of rates", "the iterable", 6), ("the bank sat on the river", "the iterable", 1),
    ]  # fmt: skip
    assert index.count("bank") == 6


def test_a_tokenizer_of_ones_own(tmp_path):
    settings = TextSettings(tokenizer="custom", unknown="single")
    model = with_meaning(random_model(1, V=len(WORDS) + 1, h=4, words=WORDS, settings=settings))
    lines = ["the|bank|sat. The|bank|raised|rates."]
    with pytest.raises(ArgumentError, match="custom tokenizer"):
        OccurrenceIndex.build(model, iter(lines), tmp_path / "i")
    lists = OccurrenceIndex.build(model, iter([["the", "bank", "sat"]]), tmp_path / "lists")
    assert lists.find("bank", ["a", "bank"])[0].marked() == "the [bank] sat"
    split = lambda line: line.split("|")  # noqa: E731
    index = OccurrenceIndex.build(model.with_tokenizer(split), iter(lines), tmp_path / "i")
    assert index.find("bank", "a|bank")[0].marked().count("[bank]") == 1
    assert len(OccurrenceIndex.load(tmp_path / "i", tokenizer=split).find("bank", "a|bank")) == 2
    flaky = iter(range(100))
    with pytest.raises(ArgumentError, match="always give the same tokens"):
        OccurrenceIndex.build(
            model.with_tokenizer(lambda line: line.split("|") + ["x"] * next(flaky)), iter(lines), tmp_path / "j"
        )


def test_it_is_the_same_from_disk_and_elsewhere(index, tmp_path):
    shutil.copytree(index.path, tmp_path / "moved")
    moved = OccurrenceIndex.load(tmp_path / "moved")
    asked = ("river", "on the river of water")
    assert moved.find(*asked) == index.find(*asked)
    assert repr(moved) == repr(index)
    assert "BANK" in moved
    assert "gone" not in moved


def test_the_same_seed_and_any_threads_give_the_same(corpus, tmp_path):
    def occurrences(name, **options):
        OccurrenceIndex.build(MODEL, corpus, tmp_path / name, per_word=5, **options)
        return (tmp_path / name / "occurrences.safetensors").read_bytes()

    one = occurrences("a", threads=1)
    assert one == occurrences("b", threads=2)
    assert one != occurrences("c", settings=IndexSettings(seed=1))


FORKS = """
import os, sys
from pathlib import Path
from textlds.search import OccurrenceIndex

index, corpus, output = sys.argv[1:]
searched = OccurrenceIndex.load(index)
searched.find("bank", "The river bank", n=3, match="any")  # OpenMP's threads are there from now on
child = os.fork()
if not child:
    again = OccurrenceIndex.load(index).find("bank", "The river bank", n=3)
    OccurrenceIndex.build(searched.model, [corpus], Path(output), threads=2)
    os._exit(len(again) != 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_searches_and_builds(index, corpus, tmp_path):
    """OpenMP's pool of threads is not forked: whoever waits for it waits for ever."""
    words = [sys.executable, "-c", FORKS, str(index.path), str(corpus), str(tmp_path / "index")]
    assert subprocess.run(words, timeout=900).returncode == 0
    assert (tmp_path / "index" / CONFIG).exists()


def test_a_build_that_fails_leaves_what_was_there(corpus, tmp_path):
    OccurrenceIndex.build(MODEL, iter(["the bank sat"]), tmp_path / "i")
    before = {path.name: path.read_bytes() for path in (tmp_path / "i").iterdir() if path.is_file()}
    big = "\n".join(make_sentences(3000))
    # the vectors are the largest file: in scratch as float16, at last as bytes
    for limit in (2_000, 60_000, 165_000):
        with pytest.raises(OSError), files_up_to(limit):
            OccurrenceIndex.build(MODEL, iter(big.split("\n")), tmp_path / "i", per_word="all", force=True)
    assert os.listdir(tmp_path) == ["i"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "i").iterdir() if path.is_file()} == before

    def broken():
        yield "the bank sat"
        raise ValueError("the source is gone")

    with pytest.raises(ValueError, match="gone"):
        OccurrenceIndex.build(MODEL, broken(), tmp_path / "j")
    assert os.listdir(tmp_path) == ["i"]


class Interruption(BaseException):
    pass


@pytest.mark.parametrize("stage", ["_embed", "write_vectors", "write_config"])
def test_interrupted_work_is_resumed_and_damaged_parts_are_made_again(corpus, tmp_path, monkeypatch, stage):
    def files(folder):
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    def interrupt(*_, **__):
        raise Interruption

    options = {"per_word": 5, "threads": 1}
    OccurrenceIndex.build(MODEL, corpus, tmp_path / "whole", **options)
    with monkeypatch.context() as patch:
        patch.setattr(building, stage, interrupt)
        with pytest.raises(Interruption):
            OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", **options)
    assert not (tmp_path / "i").exists()
    with pytest.raises(OutputExistsError, match="unfinished work"):
        OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", **options)
    with pytest.raises(ArgumentError, match="belongs to another job"):
        OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", resume=True, per_word=6)
    saved = tmp_path / "saved"
    shutil.copytree(tmp_path / "i.work", saved)
    with monkeypatch.context() as patch:
        patch.setattr(building, "_read", lambda *_, **__: pytest.fail("it was read"))
        OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", resume=True, **options)
    assert files(tmp_path / "i") == files(tmp_path / "whole")
    victims = [path.relative_to(saved) for path in (saved / "parts").rglob("*") if path.is_file()]
    assert len(victims) >= 3
    for number, victim in enumerate(victims):
        output = tmp_path / f"i{number}"
        shutil.copytree(saved, tmp_path / f"i{number}.work")
        data = (tmp_path / f"i{number}.work" / victim).read_bytes()
        changed = data[: len(data) // 2] if number % 2 else data[:-3] + bytes([data[-3] ^ 4]) + data[-2:]
        (tmp_path / f"i{number}.work" / victim).write_bytes(changed)
        OccurrenceIndex.build(MODEL, corpus, output, resume=True, **options)
        assert files(output) == files(tmp_path / "whole"), victim
    finished = OccurrenceIndex.build(MODEL, corpus, output, resume=True, **options)
    assert len(finished) > 0
    assert not list(tmp_path.glob("*.work"))


def test_forged_types_of_unfinished_work_are_read_again(corpus, tmp_path, monkeypatch):
    """Sums are right: whoever alters a folder may put them right."""

    def interrupt(*_, **__):
        raise Interruption

    with monkeypatch.context() as patch:
        patch.setattr(building, "select", interrupt)
        with pytest.raises(Interruption):
            OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", threads=1)
    work = tmp_path / "i.work"

    def spoilt(types):
        types[0] = 0xFF
        return types

    alter_arrays(part(work, "copy") / "arrays.safetensors", types=spoilt)
    reseal_work(work)
    found = OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", resume=True, threads=1)
    assert found.words == OccurrenceIndex.build(MODEL, corpus, tmp_path / "whole", threads=1).words


def test_faiss_that_cannot_write(tmp_path):
    X = np.zeros((2000, 8), np.float32)

    class Nothing:
        def advance(self, amount=1.0, note=""):
            pass

    with pytest.raises(OSError, match="faiss could not write"), files_up_to(1000):
        vectors.write_vectors(tmp_path / "v", X, seed=0, threads=1, task=Nothing())


def test_outputs_are_not_overwritten(corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    for force in (False, True):
        with pytest.raises(OutputExistsError):
            OccurrenceIndex.build(MODEL, corpus, tmp_path / "mine", force=force)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_altered_folders_are_refused(index, tmp_path):
    for name in ("occurrences.safetensors", "texts.safetensors", "vectors.faiss", "words.json"):
        copy = tmp_path / name
        shutil.copytree(index.path, copy)
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data[:-10])
        with pytest.raises(FormatError, match="truncated or altered"):
            OccurrenceIndex.load(copy)
        (copy / name).unlink()
        with pytest.raises(FormatError, match="is missing"):
            OccurrenceIndex.load(copy)
    copy = tmp_path / "garbage"
    shutil.copytree(index.path, copy)
    (copy / "vectors.faiss").write_bytes(b"x" * (copy / "vectors.faiss").stat().st_size)
    with pytest.raises(FormatError, match=r"vectors.faiss was altered: its SHA-256"):
        OccurrenceIndex.load(copy)
    seal(copy)
    with pytest.raises(FormatError, match="cannot be read by faiss"):
        OccurrenceIndex.load(copy)


WRONG_ARRAYS = {
    "starts": (None, "never decrease"), "text": (lambda a: a + 10**6, "between 0 and"),
    "position": (lambda a: -a - 1, "0"),
    "text_file": (lambda a: a + 9, "between 0 and"), "text_line": (lambda a: a[:-1], "instead of int64"),
    "text_starts": (lambda a: a[::-1], "never decrease"), "block_starts": (lambda a: a * 2, "is not as long as"),
    "block_raw_starts": (lambda a: a.astype(np.int32), "instead of int64"), "text_is_list": (None, "is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_arrays_that_do_not_belong_together_are_refused(index, tmp_path, name):
    change, message = WRONG_ARRAYS[name]
    copy = tmp_path / "copy"
    shutil.copytree(index.path, copy)
    arrays = {key: np.array(value) for key, value in read_arrays(copy / "occurrences.safetensors").items()}
    before = arrays.pop(name)
    if name == "starts":
        arrays[name] = np.concatenate([before[:1], before[:0:-1]])
    elif change is not None:
        arrays[name] = np.ascontiguousarray(change(before))
    write_arrays(copy / "occurrences.safetensors", arrays)
    seal(copy)
    with pytest.raises(FormatError, match=message):
        OccurrenceIndex.load(copy)


def test_a_text_that_was_altered_is_an_error_when_it_is_read(index, tmp_path):
    hits = index.find(index.words[0], " ".join(index.words), n=1)
    assert hits
    for damage in (lambda blocks: blocks * 0, lambda blocks: np.roll(blocks, 1)):
        copy = tmp_path / "copy"
        shutil.copytree(index.path, copy)
        blocks = np.array(read_arrays(copy / "texts.safetensors")["blocks"])
        write_arrays(copy / "texts.safetensors", {"blocks": damage(blocks)})
        seal(copy)
        with pytest.raises(FormatError, match=r"texts.safetensors: block \d+ is damaged"):
            OccurrenceIndex.load(copy).find(index.words[0], " ".join(index.words), n=1)
        shutil.rmtree(copy)


def test_another_model_does_not_fit(index, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(index.path, copy)
    random_model(7, V=9, h=4).save(copy / "model", force=True)
    with pytest.raises(FormatError, match="not the one that the index was made with"):
        OccurrenceIndex.load(copy)
    MODEL.save(tmp_path / "model")
    with pytest.raises(FormatError, match="is a model, but an index is needed here"):
        OccurrenceIndex.load(tmp_path / "model")


def test_questions_that_cannot_be_answered(index):
    with pytest.raises(ArgumentError, match="'bank' is not a token of the context"):
        index.find("bank", "the river")
    with pytest.raises(
        UnknownWordError, match=re.escape("'rivers' is not among the 12 words of the index. Close to it: river.")
    ):
        index.find("rivers", "the rivers")
    assert index.find("rivers", "the rivers", match="any", n=2)
    for options in ({"n": 0}, {"match": "all"}):
        with pytest.raises(ArgumentError):
            index.find("river", "the river", **options)


def test_arguments_of_building(corpus, tmp_path):
    for options in ({"words": "some"}, {"words": []}, {"words": [3]}, {"min_count": 0}, {"per_word": 0}):
        with pytest.raises(ArgumentError):
            OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", **options)
    with pytest.raises(ArgumentError, match=r"no meaning vectors.*recipe='context'"):
        OccurrenceIndex.build(random_model(1), corpus, tmp_path / "i")
    with pytest.raises(ArgumentError, match="not int"):
        OccurrenceIndex.build(3, corpus, tmp_path / "i")
    with pytest.raises(CorpusError, match="none of the"):
        OccurrenceIndex.build(MODEL, corpus, tmp_path / "i", words=["zebra"])
    with pytest.raises(CorpusError):
        OccurrenceIndex.build(MODEL, iter([]), tmp_path / "i")
    assert not list(tmp_path.iterdir())


def test_without_faiss(corpus, tmp_path, index, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    for ask in (lambda: OccurrenceIndex.build(MODEL, corpus, tmp_path / "i"), lambda: OccurrenceIndex.load(index.path)):
        with pytest.raises(MissingExtraError, match=re.escape("textlds[search]")):
            ask()


def test_memory_does_not_grow_with_the_text(tmp_path, monkeypatch):
    """Beside 29 bytes per text, and what the kept occurrences take."""
    monkeypatch.setattr(building, "_WINDOW", 1000)
    monkeypatch.setattr(texts, "_CHUNK_BYTES", 4096)
    lines = [" ".join(make_text(seed, 500).split()) for seed in range(10)]

    def peak(times):
        corpus = (line for _ in range(times) for line in lines)
        tracemalloc.start()
        OccurrenceIndex.build(MODEL, corpus, tmp_path / f"{times}", words=["the"], per_word=20, threads=1)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1)
    assert peak(200) - peak(20) < 0.05 * 180 * sum(map(len, lines))
