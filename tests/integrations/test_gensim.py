"""Word vectors in gensim and in files: what gensim reads back is what the model holds."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from integrations.limits import files_up_to
from model.worlds import counts_of, fit, markov_sentence, random_model, with_meaning
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, FormatError, MissingExtraError, OutputExistsError
from textlds.integrations.gensim import FORMATS, keyed_vectors, save_vectors
from textlds.model.static import KINDS, word_vectors

models = pytest.importorskip("gensim.models")

# gensim leaves the file open that it reads a first time to count lines, where there is no header
pytestmark = pytest.mark.filterwarnings("ignore:.*words.glove:pytest.PytestUnraisableExceptionWarning")

SMALL = with_meaning(random_model(0, V=30, h=4, settings=TextSettings(tokenizer="whitespace", unknown="single")))
READ = {"word2vec": {}, "word2vec-binary": {"binary": True}, "glove": {"no_header": True}}


@pytest.fixture(scope="module")
def model():
    return fit(counts_of([markov_sentence(0, 5000, V=40)]), state_size=4, iterations=5)


def test_neighbours_are_those_of_the_model(model):
    words = keyed_vectors(model, classes="drop")
    for word in words.index_to_key[:10]:
        found, wanted = words.most_similar(word, topn=5), model.similar(word, n=5)
        assert [name for name, _ in found] == [name for name, _ in wanted]
        np.testing.assert_allclose([c for _, c in found], [c for _, c in wanted], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_for_every_word_and_class(kind):
    words = keyed_vectors(SMALL, vectors=kind)
    assert words.index_to_key == list(SMALL.vocabulary.words)
    assert words["<unk>"].dtype == np.float32
    np.testing.assert_array_equal(words.vectors, word_vectors(SMALL, kind).vectors)
    assert "<unk>" not in keyed_vectors(SMALL, vectors=kind, classes="drop")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
def test_files_come_back_in_gensim_to_the_last_bit(model, tmp_path, format, kind):
    table = save_vectors(model, tmp_path / f"words.{format}", format=format, vectors=kind)
    words = models.KeyedVectors.load_word2vec_format(tmp_path / f"words.{format}", **READ[format])
    assert words.index_to_key == table.words
    np.testing.assert_array_equal(words.vectors, table.vectors)
    direct = keyed_vectors(model, vectors=kind)
    for word in table.words[:5]:
        assert words.most_similar(word, topn=5) == direct.most_similar(word, topn=5)
    assert os.listdir(tmp_path) == [f"words.{format}"]


def test_the_binary_file_is_the_one_that_gensim_writes(tmp_path):
    save_vectors(SMALL, tmp_path / "ours", format="word2vec-binary")
    keyed_vectors(SMALL).save_word2vec_format(tmp_path / "theirs", binary=True, sort_attr=None)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_only_word2vec_has_a_header(tmp_path):
    for format in ("word2vec", "glove"):
        save_vectors(SMALL, tmp_path / format, format=format, classes="drop")
    header, body = (tmp_path / "word2vec").read_text().split("\n", 1)
    assert header == f"29 {SMALL.meaning_size}"
    assert (tmp_path / "glove").read_text() == body


def test_words_of_every_alphabet(tmp_path):
    letters = ["naïve", "город", "東京", "😀", "a\u200bb", "%s", '"']
    settings = TextSettings(tokenizer="whitespace", unknown="single")
    model = with_meaning(random_model(0, V=8, h=2, settings=settings, words=letters))
    for format in FORMATS:
        save_vectors(model, tmp_path / f"words.{format}", format=format, classes="drop")
        found = models.KeyedVectors.load_word2vec_format(tmp_path / f"words.{format}", **READ[format])
        assert found.index_to_key == letters


@pytest.mark.parametrize("word", ["New York", "a\u00a0b", "x\ty"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_word_with_white_space_is_refused(tmp_path, format, word):
    settings = TextSettings(tokenizer="custom", unknown="single")
    model = with_meaning(random_model(0, V=4, h=2, settings=settings, words=["a", word, "b"]))
    with pytest.raises(ArgumentError, match=r"white space.*Use the format spacy"):
        save_vectors(model, tmp_path / "words", format=format)
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(keyed_vectors(model)[word], word_vectors(model).vectors[1])


def test_a_model_may_be_a_path(tmp_path):
    SMALL.save(tmp_path / "model")
    np.testing.assert_array_equal(keyed_vectors(tmp_path / "model").vectors, keyed_vectors(SMALL).vectors)
    with pytest.raises(FormatError, match="does not exist"):
        keyed_vectors(tmp_path / "absent")
    with pytest.raises(ArgumentError, match="not list"):
        keyed_vectors(["model"])


@pytest.mark.parametrize("format", FORMATS)
def test_a_write_that_fails_loses_nothing(tmp_path, format):
    save_vectors(SMALL, tmp_path / "words", format=format)
    before = (tmp_path / "words").read_bytes()
    other = with_meaning(random_model(1, V=30, h=4))
    with files_up_to(100), pytest.raises(OSError, match="File too large"):
        save_vectors(other, tmp_path / "words", format=format, force=True)
    with files_up_to(100), pytest.raises(OSError, match="File too large"):
        save_vectors(other, tmp_path / "new", format=format)
    assert os.listdir(tmp_path) == ["words"]
    assert (tmp_path / "words").read_bytes() == before


def test_an_output_that_exists_is_refused(tmp_path):
    (tmp_path / "words").write_text("precious")
    with pytest.raises(OutputExistsError, match="exists already"):
        save_vectors(SMALL, tmp_path / "words")
    assert (tmp_path / "words").read_text() == "precious"
    save_vectors(SMALL, tmp_path / "words", force=True)


@pytest.mark.parametrize("wrong", [{"format": "text"}, {"vectors": "both"}, {"classes": "hide"}])
def test_wrong_arguments_are_told_before_anything_is_written(tmp_path, wrong):
    with pytest.raises(ArgumentError, match="is not one of"):
        save_vectors(SMALL, tmp_path / "words", **wrong)
    assert not list(tmp_path.iterdir())


def test_without_gensim(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'textlds\[gensim\]'"):
        keyed_vectors(SMALL)
    save_vectors(SMALL, tmp_path / "words")  # needs no library
