"""Labelled sentences: what is accepted, repaired, set aside, and which tags may follow which."""

from __future__ import annotations

import itertools

import pytest

from textlds.corpus.reading.tagged import Tagged
from textlds.errors import ArgumentError, CorpusError
from textlds.tagging.entities import convert_tags, entities
from textlds.tagging.labels import TagSet, documents_of, inconsistencies, labelled_sentences, prepared, set_aside


def test_pairs_and_tagged_and_files(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tX\nb\tY\n")
    expected = [Tagged(("a", "b"), ("X", "Y"))]
    assert labelled_sentences(path) == labelled_sentences([(["a", "b"], ["X", "Y"])]) == expected
    assert labelled_sentences([*expected, Tagged((), ())]) == expected


@pytest.mark.parametrize(
    "wrong",
    [[("a b",)], [3], [(["a", "b"], ["X"])], [("ab", ["X", "Y"])], [(["a"], "X")], [(["a"], [3])], [([None], ["X"])]],
)
def test_what_is_no_labelled_sentence(wrong):
    with pytest.raises(ArgumentError, match="number 0"):
        labelled_sentences(wrong)


def test_nothing_to_learn_from():
    with pytest.raises(CorpusError, match="no sentence"):
        labelled_sentences([])
    with pytest.raises(ArgumentError, match="one tag only, 'X'"):
        TagSet.of([Tagged(("a", "b"), ("X", "X"))])


def test_entities_become_bioes_and_repairs_are_counted():
    tags = ("B-PER", "I-PER", "I-LOC", "O", "I-PER", "B-LOC", "B-LOC")
    found, repaired = prepared([Tagged(tuple("abcdefg"), tags)], "entities", "train")
    assert found[0].tags == ("B-PER", "E-PER", "S-LOC", "O", "S-PER", "S-LOC", "S-LOC")
    assert repaired == inconsistencies(tags) == 2


def test_iob1_needs_no_repair():
    tags = ("I-PER", "I-PER", "I-LOC", "O", "I-PER", "B-PER")
    found, repaired = prepared([Tagged(tuple("abcdef"), tags)], "entities", "train")
    assert repaired == 0
    assert entities(found[0].tags) == entities(tags)


def test_parts_of_speech_are_no_entities():
    with pytest.raises(ArgumentError, match="'NOUN' is no tag of an entity"):
        prepared([Tagged(("a",), ("NOUN",))], "entities", "train")
    with pytest.raises(ArgumentError, match="task='chunks'"):
        prepared([Tagged(("a",), ("NOUN",))], "chunks", "train")


def test_transitions_are_those_of_valid_sequences():
    names = ("O", *(f"{p}-{k}" for k in ("A", "B") for p in "BIES"))
    tags = TagSet(names)
    allowed = ~tags.forbidden("entities")
    seen = set()
    for sequence in itertools.product(names, repeat=4):
        if convert_tags(sequence, "bioes") == sequence:  # a sequence that says what it is read as
            seen |= set(itertools.pairwise(sequence))
    expected = {(a, b) for i, a in enumerate(names) for j, b in enumerate(names) if allowed[i, j]}
    # B-A alone at the end is read as S-A, so that no valid sequence ends inside; inside, all pairs are there
    assert seen == expected
    assert not tags.forbidden("tags").any()


def test_a_tag_set_is_another_one_if_most_tokens_have_its_tags():
    tags = TagSet(("A", "B", "SYM"))
    assert tags.check([Tagged(tuple("abcd"), ("A", "C", "D", "B"))], "dev") == {"C": 1, "D": 1}
    with pytest.raises(ArgumentError, match=r"dev: 3 of 4 tokens .* \(C, D; it had A, B, SYM"):
        tags.check([Tagged(tuple("abcd"), ("SYM", "C", "D", "C"))], "dev")


def test_documents_and_a_tenth_set_aside():
    sentences = [Tagged((str(i),), ("X",), i // 2) for i in range(40)] + [Tagged(("z",), ("X",))] * 2
    documents = documents_of(sentences)
    assert [len(d) for d in documents] == [2] * 20 + [1, 1]
    kept, held = set_aside(sentences, seed=3)
    assert len(held) in (3, 4)
    assert sorted(map(str, kept + held)) == sorted(map(str, sentences))
    assert not {s.document for s in kept if s.document is not None} & {
        s.document for s in held if s.document is not None
    }
    assert set_aside(sentences, seed=3) == (kept, held)
    one_document = [Tagged((str(i),), ("X",), 0) for i in range(30)]
    kept, held = set_aside(one_document, seed=3)
    assert (len(kept), len(held)) == (27, 3)  # a file that is one document is cut between sentences
    assert set_aside(sentences[:1], seed=0) == (sentences[:1], sentences[:1])
