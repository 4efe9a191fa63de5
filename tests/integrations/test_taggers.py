"""Taggers in spaCy pipelines, scikit-learn and data frames: the tags are those of the tagger itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tagging.worlds import entity_sentences, small_model, tagged_sentences
from textlds import Tagger
from textlds.errors import ArgumentError, FormatError
from textlds.tagging.classifier import ChainClassifier
from textlds.tagging.settings import TaggerSettings

TEXT = "the cat sees Anna. Ben works !\nthe dog walks the river ."


@pytest.fixture(scope="module")
def tagger():
    return Tagger.train(small_model(), tagged_sentences(100), settings=TaggerSettings(hidden=8, rounds=3))


@pytest.fixture(scope="module")
def finder():
    settings = TaggerSettings(hidden=16, rounds=8, dropout=0.0)
    return Tagger.train(small_model(), entity_sentences(300), task="entities", settings=settings)


@pytest.fixture(scope="module")
def folders(tagger, finder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("taggers")
    tagger.save(folder / "tags")
    finder.save(folder / "entities")
    return folder


# spaCy


def pipeline(path, **config):
    spacy = pytest.importorskip("spacy")
    import textlds.integrations.spacy_tagger  # noqa: F401  # an installed package has an entry point for it

    nlp = spacy.blank("en")
    nlp.add_pipe("textlds_tagger", config={"tagger": str(path), **config})
    return nlp


def test_universal_tags_are_parts_of_speech(tagger, folders):
    doc = pipeline(folders / "tags")(TEXT)
    words = [token for token in doc if not token.is_space]
    expected = [tag for s in tagger.tag([TEXT]) for tag in s.tags]
    assert [token.pos_ for token in words] == expected
    assert not any(token.tag_ for token in doc)
    other = pipeline(folders / "tags", assign="tag")(TEXT)
    assert [token.tag_ for token in other if not token.is_space] == expected
    assert all(not token.tag_ for token in other if token.is_space)


def test_sentences_of_the_document_count(tagger, folders):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("textlds_tagger", config={"tagger": str(folders / "tags")})
    doc = nlp(TEXT)
    tokens = [[t.text for t in sentence if not t.is_space] for sentence in doc.sents]
    expected = [tag for s in tagger.tag([tokens]) for tag in s.tags]
    assert [t.pos_ for t in doc if not t.is_space] == expected


def test_entities_become_spans(finder, folders):
    nlp = pipeline(folders / "entities")
    texts = ["Mr Anna Ben . the dog sees Anna Ben .", "near Clara .", "  "]
    found = [[(e.text, e.label_, e.start_char) for e in doc.ents] for doc in nlp.pipe(texts)]
    documents = [[["Mr", "Anna", "Ben", "."], ["the", "dog", "sees", "Anna", "Ben", "."]], [["near", "Clara", "."]], []]
    # "the" in lower case begins no sentence
    documents[0] = [[token for sentence in documents[0] for token in sentence]]
    expected = [[] for _ in documents]
    for sentence in finder.tag(documents):
        expected[sentence.text] += [(e.text, e.kind, e.start_char) for e in sentence.entities]
    assert found == expected
    assert ("Anna Ben", "PER", 3) in found[0]


def test_a_saved_pipeline_needs_no_folder(folders, tmp_path):
    spacy = pytest.importorskip("spacy")
    nlp = pipeline(folders / "tags")
    expected = [token.pos_ for token in nlp(TEXT)]
    nlp.to_disk(tmp_path / "pipeline")
    assert [token.pos_ for token in spacy.load(tmp_path / "pipeline")(TEXT)] == expected
    again = spacy.blank("en")
    again.add_pipe("textlds_tagger")
    again.from_bytes(nlp.to_bytes())
    assert [token.pos_ for token in again(TEXT)] == expected


def test_wrong_configurations(folders):
    with pytest.raises(ArgumentError, match="assign='all'"):
        pipeline(folders / "tags", assign="all")
    with pytest.raises(FormatError, match="does not exist"):
        pipeline("nowhere")
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("textlds_tagger")
    with pytest.raises(ArgumentError, match="no tagger was named"):
        nlp("a")


# scikit-learn


def test_the_network_as_a_token_classifier():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    from textlds.integrations.sklearn import TokenClassifier, TokenEmbedder

    train, test = tagged_sentences(100), tagged_sentences(30, seed=1)
    X, y = [list(s.tokens) for s in train], [list(s.tags) for s in train]
    X_test, y_test = [list(s.tokens) for s in test], [list(s.tags) for s in test]
    pipe = make_pipeline(TokenEmbedder(small_model()), TokenClassifier(seed=1))
    assert pipe.fit(X, y).score(X_test, y_test) > 0.9
    found = pipe.predict([*X_test, []])
    assert [len(tags) for tags in found] == [*map(len, X_test), 0]
    shares = pipe.predict_proba(X_test)
    np.testing.assert_allclose(np.concatenate(shares).sum(axis=1), 1)
    again = pickle.loads(pickle.dumps(pipe[-1]))
    matrices = pipe[0].transform(X_test)
    assert [a.tolist() for a in again.predict(matrices)] == [a.tolist() for a in found[:-1]]
    twin = clone(pipe[-1]).fit(pipe[0].transform(X), y)
    assert [a.tolist() for a in twin.predict(matrices)] == [a.tolist() for a in found[:-1]]


def test_one_label_is_none():
    with pytest.raises(ArgumentError, match="two at least"):
        ChainClassifier().fit([np.ones((2, 3))], [["A", "A"]])


# Data frames


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tags_in_a_frame(tagger, library):
    module = pytest.importorskip(library)
    from textlds.integrations.tags import add_tags

    texts = [TEXT, None, "", "Ben works ."]
    make = module.table if library == "pyarrow" else module.DataFrame
    frame = make({"text": texts, "n": [1, 2, 3, 4]})
    found = add_tags(frame, tagger, threads=1)
    rows = (
        found.to_pylist()
        if library == "pyarrow"
        else found.to_dict("records")
        if library == "pandas"
        else found.to_dicts()
    )
    expected = [[tag for s in tagger.tag([text]) for tag in s.tags] for text in (TEXT, "Ben works .")]
    assert [rows[0]["tags"], rows[3]["tags"]] == expected
    assert rows[1]["tags"] is None
    assert rows[2]["tags"] == []
    assert len(rows[0]["tokens"]) == len(rows[0]["confidences"]) == len(rows[0]["tags"])
    with pytest.raises(ArgumentError, match="no column 'body'; it has 'text', 'n'"):
        add_tags(frame, tagger, column="body")
    with pytest.raises(ArgumentError, match="column 'tokens' already"):
        add_tags(found, tagger)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_entities_in_a_frame(finder, library):
    module = pytest.importorskip(library)
    from textlds.integrations.tags import add_tags

    make = module.table if library == "pyarrow" else module.DataFrame
    cells = add_tags(make({"text": [TEXT, None, ""]}), finder)["entities"]
    found = cells.to_pylist() if library == "pyarrow" else cells.to_list()
    assert found[1] is None
    assert found[2] == []
    sentences = list(finder.tag([TEXT]))
    tokens = [token for sentence in sentences for token in sentence.tokens]
    assert [one["text"] for one in found[0]] == [one.text for sentence in sentences for one in sentence.entities]
    assert {"Anna", "Ben"} <= {one["text"] for one in found[0]}  # Ben is in the second sentence
    for one in found[0]:
        assert tokens[one["start"] : one["end"]] == one["text"].split()
        assert TEXT[one["start_char"] : one["end_char"]] == one["text"]


def test_no_frame(tagger):
    from textlds.integrations.tags import add_tags

    with pytest.raises(ArgumentError, match="type dict"):
        add_tags({"text": ["a"]}, tagger)


def test_batches_of_any_framework(tagger, folders):
    from textlds.integrations.tags import COLUMNS, BatchTagger

    batches = pickle.loads(pickle.dumps(BatchTagger(folders / "tags")))
    expected = [tag for s in tagger.tag([TEXT]) for tag in s.tags]
    assert batches([TEXT, None])["tags"] == [expected, None]
    found = batches({"id": np.arange(2), "text": np.array([TEXT, "the cat"], object)})
    assert list(found["tags"][0]) == expected
    assert set(found) == {"id", "text", *COLUMNS}
    pa = pytest.importorskip("pyarrow")
    assert batches(pa.table({"text": [TEXT]}))["tags"].to_pylist() == [expected]
    with pytest.raises(ArgumentError, match=r"give the path of a folder"):
        BatchTagger(tagger)
    with pytest.raises(ArgumentError, match="single string"):
        batches(TEXT)
    with pytest.raises(ArgumentError, match="no column 'text'"):
        batches({"body": [TEXT]})
    with pytest.raises(ArgumentError, match="'tags' already"):
        batches({"text": [TEXT], "tags": [[]]})
