"""Labelled files are read as their formats say, and faults are told with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from textlds.corpus.reading.tagged import Tagged, read_tag_map, read_tagged, tags_of, tokens_of
from textlds.errors import ArgumentError, CorpusError, CorpusNotFoundError, EncodingError
from textlds.evaluation.data import ContextPair, Pair, Place, is_scws, read_pairs, read_scws

CONLLU = """\
# sent_id = 1
# text = I don't.
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t2:x\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# sent_id = 2
1\tNew York\tNew York\tPROPN\tNNP\t_\t0\troot\t_\t_
"""

CONLL = """\
-DOCSTART- -X- O O

U.N. NNP I-NP I-ORG
official NN I-NP O

-DOCSTART- -X- O O

# NN I-NP O
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_conllu_skips_comments_ranges_and_empty_nodes(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", CONLLU)
    expected = [
        Tagged(("I", "do", "n't", "."), ("PRON", "AUX", "PART", "PUNCT")),
        Tagged(("New York",), ("PROPN",)),
    ]
    assert read_tagged(path) == expected
    assert read_tagged(path, column="xpos")[0].tags == ("PRP", "VBP", "RB", ".")
    assert read_tagged(path, column=5) == read_tagged(path, column="XPOS")
    assert read_tagged(path, column="deprel")[1].tags == ("root",)


def test_conll_takes_the_last_column_and_numbers_documents(tmp_path: Path) -> None:
    path = write(tmp_path, "eng.train", CONLL)
    assert read_tagged(path) == [Tagged(("U.N.", "official"), ("I-ORG", "O"), 0), Tagged(("#",), ("O",), 1)]
    assert read_tagged(path, column=2)[0].tags == ("NNP", "NN")
    assert read_tagged(path, column="last") == read_tagged(path)


def test_tsv_keeps_what_stands_between_tabs(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "New York\tNNP\n\x85\tSYM\n\n\n#\t#\n")
    # a next-line character is a token here, not the end of a line
    assert read_tagged(path) == [Tagged(("New York", "\x85"), ("NNP", "SYM")), Tagged(("#",), ("#",))]


@pytest.mark.parametrize("name", ["mystery", "mystery.txt"])
def test_formats_are_recognised_by_their_looks(tmp_path: Path, name: str) -> None:
    assert len(read_tagged(write(tmp_path, name, CONLLU))[0]) == 4
    assert read_tagged(write(tmp_path, name, CONLL))[0].tags == ("I-ORG", "O")
    assert read_tagged(write(tmp_path, name, "a b\tX\n"))[0].tokens == ("a b",)


def test_windows_line_ends_byte_order_marks_and_compression(tmp_path: Path) -> None:
    plain = read_tagged(write(tmp_path, "a.conllu", CONLLU))
    assert read_tagged(write(tmp_path, "b.conllu", "\ufeff" + CONLLU.replace("\n", "\r\n"))) == plain
    (tmp_path / "c.conllu.gz").write_bytes(gzip.compress(CONLLU.encode()))
    assert read_tagged(tmp_path / "c.conllu.gz") == plain
    assert read_tagged(write(tmp_path, "d.conllu", CONLLU.rstrip("\n"))) == plain


def test_tags_are_mapped(tmp_path: Path) -> None:
    tag_map = read_tag_map(write(tmp_path, "map", "PRP\tPRON\nVBP\tVERB\n\nRB\tADV\n.\t.\nNNP NOUN\n"))
    path = write(tmp_path, "a.conllu", CONLLU)
    assert list(tags_of(read_tagged(path, column="xpos", tag_map=tag_map))) == ["PRON", "VERB", "ADV", ".", "NOUN"]
    del tag_map["RB"]
    with pytest.raises(CorpusError, match=r"a\.conllu, line 6: the tag 'RB' is not in the tag map"):
        read_tagged(path, column="xpos", tag_map=tag_map)
    with pytest.raises(CorpusError, match="line 1: expected a tag and what it becomes"):
        read_tag_map(write(tmp_path, "bad", "A B C\n"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1\tI\tPRON\n", {"format": "conllu"}, r"f, line 1: expected the 10 tab-separated columns of CoNLL-U, found 3"),
        (CONLLU.replace("4\t.", "x\t."), {"format": "conllu"}, r"f, line 8: expected the number of a token, found 'x'"),
        ("a X\n\nb\n", {}, r"f, line 3: expected a word and its tag, found 'b'"),
        ("a X\nb Y\n", {"column": 3}, r"f, line 1: there is no tag in column 3; the columns are 1 .'a'., 2"),
        ("a\tX\nb\t\n", {}, r"f, line 2: there is no tag"),
        ("\n \n", {}, "holds no tagged sentence"),
        ("", {}, "holds no tagged sentence"),
        ("He sat .\nHe sat there .\nThe bank of the river .\nIt was late in the day .\n", {}, "3 to 7 columns"),
        ("a _\nb _\n", {}, "has no tags in the column"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path: Path, text: str, options: dict, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_tagged(write(tmp_path, "f", text), **options)


def test_wrong_arguments_and_files(tmp_path: Path) -> None:
    path = write(tmp_path, "f", "a X\n")
    with pytest.raises(ArgumentError, match="format='xml' is not one of 'auto', 'conllu', 'conll', 'tsv'"):
        read_tagged(path, format="xml")
    with pytest.raises(ArgumentError, match="the column 'upos' is not one of 'last', nor a number from 1"):
        read_tagged(path, column="upos")
    with pytest.raises(ArgumentError, match="the column 0 is not one of"):
        read_tagged(path, column=0)
    with pytest.raises(CorpusNotFoundError, match="no file"):
        read_tagged(tmp_path / "none")
    (tmp_path / "latin").write_bytes("é X\n".encode("latin-1"))
    with pytest.raises(EncodingError, match="not UTF-8"):
        read_tagged(tmp_path / "latin")


@pytest.mark.parametrize(
    "text",
    [
        "tiger\tcat\t7.35\nOPEC\toil\t8.59\n",
        "# a comment\ntiger cat 7.35\n\nOPEC oil 8.59 1 2\n",
        "Word 1,Word 2,Human (mean)\r\ntiger,cat,7.35\r\nOPEC,oil,8.59\r\n",
        "word1\tword2\tPOS\tSimLex999\ntiger\tcat\tN\t7.35\t1\nOPEC\toil\tN\t8.59\t2\n",
    ],
)
def test_pairs(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, "pairs", text)
    assert read_pairs(path) == [Pair("tiger", "cat", 7.35), Pair("OPEC", "oil", 8.59)]
    assert not is_scws(path)


def test_bad_pairs(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"line 2: expected two words and a score, found 'cat dog'"):
        read_pairs(write(tmp_path, "pairs", "tiger cat 7\ncat dog\n"))
    with pytest.raises(CorpusError, match="no pair"):
        read_pairs(write(tmp_path, "pairs", "word word score\n"))


def test_pairs_in_context(tmp_path: Path) -> None:
    row = "1\tbank\tn\tmoney\tn\tthe <b> bank </b> of it\t<b> money </b> talks\t4.5\t4\t5\n"
    path = write(tmp_path, "scws", row)
    assert is_scws(path)
    expected = ContextPair(Place(("the", "bank", "of", "it"), 1), Place(("money", "talks"), 0), 4.5)
    assert read_scws(path) == [expected]
    assert expected.first.word == "bank"
    with pytest.raises(CorpusError, match="line 1: expected one word of the context between <b> and </b>"):
        read_scws(write(tmp_path, "scws", row.replace("<b> bank </b>", "bank")))
    with pytest.raises(CorpusError, match="line 1: expected at least 8"):
        read_scws(write(tmp_path, "scws", "1\ta\tb\n"))


def test_tokens_and_tags_in_order() -> None:
    sentences = [Tagged(("a", "b"), ("X", "Y")), Tagged(("c",), ("Z",))]
    assert list(tokens_of(sentences)) == ["a", "b", "c"]
    assert list(tags_of(sentences)) == ["X", "Y", "Z"]


def test_documents_and_values_in_misc(tmp_path: Path) -> None:
    row = "{}\t{}\t_\tX\t_\t_\t_\t_\t_\t{}".format
    first = ["# newdoc", row(1, "Anna", "NER=B-PER|A=1"), row(2, "sees", "_"), ""]
    rows = [*first, "# sent_id = 2", row(1, "Ben", "A=1"), "", "# newdoc id = b", row(1, ".", "_"), ""]
    path = write(tmp_path, "a.conllu", "\n".join(rows))
    found = read_tagged(path, column="misc:NER")
    assert [(s.tags, s.document) for s in found] == [(("B-PER", "O"), 0), (("O",), 0), (("O",), 1)]
    assert read_tagged(write(tmp_path, "b.conllu", "\n".join(rows[1:])), column="upos")[0].document == 0


def test_a_key_that_is_not_in_misc_names_those_that_are(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", "1\ta\t_\tX\t_\t_\t_\t_\t_\tSpaceAfter=No|A=1\n2\tb\t_\tX\t_\t_\t_\t_\t_\t_\n")
    with pytest.raises(CorpusError, match=r"no 'NER' in the column MISC; what is there: A, SpaceAfter\."):
        read_tagged(path, column="misc:NER")
    assert read_tagged(path, column="misc:A")[0].tags == ("1", "O")


def test_an_empty_column_names_the_others(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", "1\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_\n")
    with pytest.raises(CorpusError, match=r"those with something in them are id, form, upos\."):
        read_tagged(path, column="xpos")
