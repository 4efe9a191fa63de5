"""Text that is no running text is said to be none, in whichever file it is; running text is not."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import textlds
from counts.texts import make_text
from textlds import TextSettings
from textlds.counts.noticing import not_running_text

NAMES = ["river", "old", "house", "field", "green", "teacher", "boat", "song"]


def lines(pattern, n=60, seed=0):
    """Return n different lines; {} is a word, {n} a number."""
    rng = np.random.default_rng(seed)
    made = [pattern.replace("{n}", str(k)) for k in range(n)]
    while any("{}" in line for line in made):
        made = [line.replace("{}", rng.choice(NAMES), 1) for line in made]
    return "\n".join(made) + "\n"


CONLLU = "\n".join(
    f"# sent_id = {k}\n1\tThe{k}\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tboat\tboat\tNOUN\tNN\t_\t0\troot\t_\t_\n"
    for k in range(40)
)
ODD = [
    ("<p>The <b>river</b> is old</p> <br/>\n" * 100, "markup"),
    ("<!DOCTYPE html>\n<title>Boats\n", "markup"),
    (lines("<p>{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}</p>"), "markup"),
    ('{"id": "a", "title": "river", "note": "old"}\n' * 100, "JSON records"),
    (lines('{"id": {n}, "text": "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}"}'), "JSON records"),
    (json.dumps([{"id": k, "text": "old house"} for k in range(60)], indent=1), "looks like JSON,"),
    ("river,old,green,3,house;field\n" * 100, "a table"),
    (lines("{n},{},{} {}"), "a table"),
    (lines('{n},"{}, {}, and {} {} {} {} {} {}"'), "a table"),
    (lines("{n};{};{} {} {} {} {} {}"), "a table"),
    (lines("{}\t{n}\t{} {} {} {} {} {} {}"), "a table"),
    (lines("{} {} {} {n}\tpositive"), "a table"),
    (lines("{}{n}\tNOUN"), "a table of words and their tags"),
    (CONLLU, "a table of words and their tags"),
    ("river\nold\nhouse\nfield\n" * 60, "one word on each line"),
]
SOUND = [
    make_text(0, 5000),
    'He said: "No, not the {old} one, <please>", and left; she, too, left.\n' * 100,
    lines("{} {}, {} {} {n}, and {} {}."),
    lines("“{} {},” said {}, {n} {},"),
    lines("<s> {} {} <unk> {} {n} </s>"),
    lines("\t{} {} {n} {}"),
    "中文没有空格，词语之间没有标记。\n" * 300,
    "a <\n" * 5,
    "",
]


@pytest.mark.parametrize(("text", "message"), ODD)
def test_what_is_no_running_text_is_recognised(text, message):
    assert message in not_running_text(text.encode())


@pytest.mark.parametrize("text", SOUND)
def test_running_text_is_not(text):
    assert not_running_text(text.encode()) is None


def test_lines_of_one_word_are_odd_only_where_contexts_end_with_them(caplog):
    textlds.count(texts=[["river"], ["old"]] * 200)
    assert "The text has about one word on each line" in caplog.text
    caplog.clear()
    textlds.count(texts=["river\nold"] * 200, text=TextSettings(boundaries="document"))
    assert not caplog.text


def test_every_file_is_looked_at(tmp_path, caplog):
    sound = lines("{} {}, {} {} {n}, and {} {}.")
    (tmp_path / "a.txt").write_text(sound)
    (tmp_path / "b.txt").write_text(ODD[0][0])
    (tmp_path / "c.txt").write_text(ODD[0][0])
    (tmp_path / "d.txt").write_text(lines("{n},{},{} {}"))
    textlds.count([tmp_path], threads=1)
    assert f"{tmp_path / 'b.txt'} (and 1 more) looks like markup" in caplog.text
    assert f"{tmp_path / 'd.txt'} looks like a table" in caplog.text
    assert "a.txt" not in caplog.text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.csv", "a table"),
        ("a.tsv.gz", "a table"),
        ("a.JSON", "looks like JSON,"),
        ("a.html", "markup"),
        ("a.htm", "markup"),
        ("a.xml", "markup"),
        ("a.conllu", "words and their tags"),
    ],
)
def test_the_name_of_a_file_tells(tmp_path, caplog, name, message):
    data = b"the old boat\nand the river\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "the old boat"}))
    textlds.count([tmp_path])
    assert message in caplog.text
    assert "b.jsonl" not in caplog.text
    assert len(caplog.records) == 1
