"""Hugging Face data sets as corpora: what is counted is what the texts themselves give."""

from __future__ import annotations

import re
import tracemalloc

import pytest

import textlds
from counts.texts import make_text
from textlds import CountSettings
from textlds.errors import ArgumentError, CorpusError

datasets = pytest.importorskip("datasets")

# foreign: multiprocess warns of threads, and some versions leave a cache file open
pytestmark = pytest.mark.filterwarnings("default")

TEXTS = make_text(0, 5000).split("\n\n")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def data():
    return datasets.Dataset.from_dict({"body": [*TEXTS, None], "stars": [*range(len(TEXTS)), 0]})


@pytest.fixture(scope="module")
def wanted():
    return textlds.count(texts=TEXTS)


@pytest.mark.parametrize(
    "form",
    [
        lambda data: data,
        lambda data: data.to_iterable_dataset(),
        lambda data: data.with_format("numpy"),
        lambda data: data["body"],
        lambda data: data.to_iterable_dataset()["body"],
        lambda data: datasets.IterableDataset.from_generator(lambda: ({"body": text} for text in TEXTS)),
    ],
    ids=["on disk", "iterable", "formatted", "column", "column of an iterable", "generator"],
)
def test_a_data_set_is_a_corpus(data, form, wanted):
    assert textlds.count(form(data), counting=CountSettings(text_column="body")) == wanted
    assert textlds.count(texts=form(data), counting=CountSettings(text_column="body")) == wanted


def test_token_lists(data):
    tokens = [text.split() for text in TEXTS]
    given = datasets.Dataset.from_dict({"words": tokens})
    assert textlds.count(given, counting=CountSettings(text_column="words")) == textlds.count(texts=tokens)


def test_training(data):
    model = textlds.train(data, counting=CountSettings(text_column="body"), state_size=3, iterations=2)
    same = textlds.train(texts=TEXTS, state_size=3, iterations=2)
    assert model.history.log_likelihood == same.history.log_likelihood


def test_a_stream_from_a_file(tmp_path, wanted):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    stream = datasets.load_dataset("text", data_files=str(path), split="train", streaming=True)
    assert textlds.count(stream).tokens == wanted.tokens


def test_a_stream_is_not_held():
    """Texts are counted as they come: 30 MB more of them take a few MB more memory, for the tokens."""
    line = "the cat sees the dog near the river . " * 200

    def peak(n):
        stream = datasets.IterableDataset.from_generator(lambda: ({"text": f"{i} {line}"} for i in range(n)))
        tracemalloc.start()
        textlds.count(stream, counting=CountSettings(memory="100MB"), vocab_size=1000, threads=1)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(12_000) - peak(8000) < 0.25 * 4000 * len(line)


def test_mappings_are_records(wanted):
    assert textlds.count(texts=({"body": text} for text in TEXTS), counting=CountSettings(text_column="body")) == wanted
    with pytest.raises(CorpusError, match=re.escape("item 0 of the iterable has no 'text'; it has 'body'")):
        textlds.count(texts=[{"body": "a b"}])


def test_faults(data):
    with pytest.raises(CorpusError, match=re.escape("the data set has no 'text'; it has 'body', 'stars'")):
        textlds.count(data)
    generated = datasets.IterableDataset.from_generator(lambda: iter([{"body": "a b"}]))
    with pytest.raises(CorpusError, match="the data set has no 'text'; it has 'body'"):
        textlds.count(generated)
    with pytest.raises(ArgumentError, match="has the splits 'train', 'test'; give one"):
        textlds.count(datasets.DatasetDict({"train": data, "test": data}))
    with pytest.raises(ArgumentError, match="neither a string nor a list of strings"):
        textlds.count(data, counting=CountSettings(text_column="stars"))
