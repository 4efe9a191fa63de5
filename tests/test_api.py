from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

import textlds
from model.worlds import grammar_text
from oracles.counting_twin import corpus_twin
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, CorpusError, CorpusNotFoundError, FormatError

SMALL = {"state_size": 4, "iterations": 3, "seed": 1}


def lines(seed, n, width=40):
    """Return a text of n lines."""
    words = grammar_text(seed, n * width // 4)
    return [" ".join(words[i * width : (i + 1) * width]) for i in range(n)]


@pytest.fixture(scope="module")
def texts():
    return ["\n".join(lines(seed, 40 + seed)) + "\n" for seed in range(3)]


@pytest.fixture
def files(texts, tmp_path):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    return sorted(tmp_path.glob("*.txt"))


def bits(model):
    vectors = [s.vectors.tobytes() for s in model.embed(["the dog sees the red house .", "a bank , zzz"])]
    return [*vectors, model.params.A.tobytes(), model.params.C.tobytes(), model.history.log_likelihood]


# Counting


def test_counts_of_texts_against_the_twin(texts):
    counts = textlds.count(texts=texts, max_lag=3, tokenizer="whitespace")
    sources = [[line.split() for line in text.split("\n")] for text in texts]
    unigrams, pairs = corpus_twin(sources, counts.vocabulary.id, 3)
    assert dict(enumerate(counts.unigrams.tolist())) == {row: unigrams[row] for row in range(len(counts.vocabulary))}
    for lag, expected in zip(counts.lags, pairs, strict=True):
        found = lag.tocoo()
        assert (
            dict(zip(zip(found.row.tolist(), found.col.tolist(), strict=True), found.data.tolist(), strict=True))
            == expected
        )


def test_paths_and_texts_give_the_same_counts(files, texts, tmp_path):
    expected = textlds.count(texts=texts)
    assert expected.max_lag == 7
    (tmp_path / "more").mkdir()
    archive = tmp_path / "more" / "all.gz"
    archive.write_bytes(gzip.compress("".join(texts).encode()))
    for paths in (
        files,
        [str(file) for file in files],
        tuple(files),
        (file for file in files),  # a generator of paths holds paths, not texts
        tmp_path.glob("*.txt"),
        str(tmp_path / "*.txt"),
        archive,
        str(archive),
        tmp_path / "more",
    ):
        assert textlds.count(paths) == expected


def test_texts_may_be_any_iterable_of_strings_or_token_lists(texts):
    expected = textlds.count(texts=texts, tokenizer="whitespace")
    tokens = [line.split() for text in texts for line in text.splitlines()]
    for given in (tuple(texts), iter(texts), (text for text in texts), tokens, iter(tokens), map(tuple, tokens)):
        assert textlds.count(texts=given, tokenizer="whitespace") == expected
    # a text is not a path, even if there is a file of that name
    assert textlds.count(texts=["README.md pyproject.toml"], max_lag=1, tokenizer="whitespace").tokens == 2


def test_options_reach_the_counter(texts):
    counts = textlds.count(
        texts=texts,
        vocab_size=10,
        max_lag=2,
        unknown="single",
        digits="zero",
        boundaries="document",
        boundary_token="</s>",
    )
    assert counts.settings == TextSettings("words", "zero", "single", "document", "</s>")
    assert counts.max_lag == 2
    assert counts.vocabulary.n_types == 10
    rare = textlds.count(texts=["a a a a b b c"], min_count=2, max_lag=1)
    assert rare.vocabulary.words[: rare.vocabulary.n_types] == ("a", "b")


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers(texts, workers):
    assert textlds.count(texts=texts, workers=workers) == textlds.count(texts=texts)


def test_a_given_vocabulary(texts, tmp_path):
    (tmp_path / "words.txt").write_text("dog\nthe\n\nhouse\n")
    expected = textlds.count(texts=texts, vocabulary=tmp_path / "words.txt")
    assert expected.vocabulary.words[: expected.vocabulary.n_types] == ("dog", "the", "house")
    assert textlds.count(texts=texts, vocabulary=str(tmp_path / "words.txt")) == expected
    assert textlds.count(texts=texts, vocabulary=expected.vocabulary) == expected
    assert expected.unigrams[0] == sum(text.split().count("dog") for text in texts)
    with pytest.raises(ArgumentError, match="vocabulary was made for"):
        textlds.count(texts=texts, vocabulary=expected.vocabulary, unknown="single")
    with pytest.raises(CorpusNotFoundError, match="no vocabulary file"):
        textlds.count(texts=texts, vocabulary=tmp_path / "missing.txt")


def test_counts_are_saved_and_loaded(texts, tmp_path):
    counts = textlds.count(texts=texts)
    counts.save(tmp_path / "counts")
    assert textlds.LagCounts.load(tmp_path / "counts") == counts
    model = textlds.fit(counts, **SMALL)
    assert bits(textlds.fit(textlds.LagCounts.load(tmp_path / "counts"), **SMALL)) == bits(model)


# Training


def test_training_is_counting_and_fitting(files, texts):
    expected = textlds.fit(textlds.count(texts=texts, max_lag=7), **SMALL)
    assert bits(textlds.train(files, **SMALL)) == bits(expected)
    assert bits(textlds.train(texts=texts, threads=2, **SMALL)) == bits(expected)


def test_options_of_both_reach_them(texts):
    model = textlds.train(
        texts=texts, vocab_size=20, max_lag=5, tokenizer="whitespace", **SMALL,
        count_options={"boundaries": "none", "unknown": "single"},
        fit_options={"ssid_horizon": 3, "em_horizon": 4, "noise": "spherical"},
    )  # fmt: skip
    recorded = model.history.settings
    assert (recorded["max_lag"], recorded["em_horizon"], recorded["noise"], recorded["seed"]) == (5, 4, "spherical", 1)
    assert model.vocabulary.n_types == 20
    assert model.vocabulary.settings == TextSettings("whitespace", "num", "single", "none")


def test_a_model_goes_to_disk_and_back(texts, tmp_path):
    model = textlds.train(texts=texts, **SMALL)
    model.save(tmp_path / "model")
    assert bits(textlds.load(tmp_path / "model")) == bits(model)
    assert bits(textlds.load(str(tmp_path / "model"))) == bits(model)
    textlds.count(texts=texts).save(tmp_path / "counts")
    with pytest.raises(FormatError, match="holds counts, but model is needed"):
        textlds.load(tmp_path / "counts")


def syllables(line):
    """Split after every vowel: a tokeniser that is neither of the built-in ones."""
    return re.findall(r"[^aeiou\s]*[aeiou]|[^aeiou\s]+", line)


def test_a_custom_tokenizer(texts, tmp_path):
    model = textlds.train(texts=texts, tokenizer=syllables, **SMALL)
    assert model.vocabulary.settings.tokenizer == "custom"
    (found,) = model.embed(["the teacher"])
    assert list(found.tokens) == ["the", "te", "a", "che", "r"]
    model.save(tmp_path / "model")
    loaded = textlds.load(tmp_path / "model", tokenizer=syllables)
    (again,) = loaded.embed(["the teacher"])
    np.testing.assert_array_equal(again.vectors, found.vectors)

    without = textlds.load(tmp_path / "model")
    for use in (
        lambda: list(without.embed(["the teacher"])),
        lambda: without.log_likelihood(["the teacher"]),
        lambda: without.posterior("the teacher"),
        lambda: without.similar("te", context="the teacher"),
    ):
        with pytest.raises(
            ArgumentError, match=r"custom tokenizer, which is not stored .* tokenizer=\.\.\. to textlds\.load"
        ):
            use()
    (lists,) = without.embed([["the", "te", "a", "che", "r"]])  # lists need none
    np.testing.assert_array_equal(lists.vectors, found.vectors)


def test_a_custom_tokenizer_that_would_not_be_used(texts, tmp_path):
    textlds.train(texts=texts, **SMALL).save(tmp_path / "model")
    with pytest.raises(ArgumentError, match="a tokenizer was given, but the text settings say tokenizer='words'"):
        textlds.load(tmp_path / "model", tokenizer=syllables)


def test_a_hugging_face_tokenizer(texts, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"the": 0, "dog": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model = textlds.train(texts=texts, tokenizer=tokenizer, state_size=1, iterations=1)
    (found,) = model.embed(["the dog sees"])
    assert list(found.tokens) == ["the", "dog", "[UNK]"]
    model.save(tmp_path / "model")
    (again,) = textlds.load(tmp_path / "model", tokenizer=tokenizer).embed(["the dog sees"])
    np.testing.assert_array_equal(again.vectors, found.vectors)


# Bad input


@pytest.mark.parametrize("function", [textlds.count, textlds.train])
class TestBadInput:
    def test_neither_or_both(self, function, texts):
        for given in ({}, {"paths": ["a.txt"], "texts": texts}):
            with pytest.raises(ArgumentError, match=r"give either paths .* or texts"):
                function(**given)

    def test_no_text(self, function):
        with pytest.raises(ArgumentError, match=r"iterable of texts, such as \[text\], not a single str"):
            function(texts="one text")
        with pytest.raises(ArgumentError, match="not a single int"):
            function(texts=5)
        with pytest.raises(ArgumentError, match="neither a string nor a list of strings"):
            function(texts=["fine", 5])

    def test_an_empty_corpus(self, function, tmp_path):
        (tmp_path / "empty.txt").write_text("\n \n")
        for given in ({"texts": []}, {"texts": ["", " "]}, {"paths": tmp_path / "empty.txt"}):
            with pytest.raises(CorpusError, match="no token"):
                function(**given)
        with pytest.raises(CorpusNotFoundError, match="no corpus"):
            function([])

    def test_a_missing_file(self, function, tmp_path):
        for paths in (tmp_path / "missing.txt", [tmp_path / "missing.txt"], str(tmp_path / "*.missing")):
            with pytest.raises(CorpusNotFoundError, match="missing"):
                function(paths)

    def test_bad_options(self, function, texts):
        for options, message in (
            ({"tokenizer": "letters"}, "tokenizer='letters' is not one of"),
            ({"tokenizer": "custom"}, "give the callable itself"),
            ({"vocab_size": 0}, "vocab_size=0 must be"),
            ({"max_lag": 0}, "max_lag=0 must be"),
        ):
            with pytest.raises(ArgumentError, match=message):
                function(texts=texts, **options)


def test_bad_options_of_counting(texts):
    for options, message in (
        ({"digits": "roman"}, "digits='roman' is not one of"),
        ({"unknown": "guess"}, "unknown='guess' is not one of"),
        ({"boundaries": "page"}, "boundaries='page' is not one of"),
        ({"boundaries": "none", "boundary_token": "</s>"}, "boundary_token needs boundaries"),
        ({"min_count": 0}, "min_count=0 must be"),
        ({"workers": 0}, "workers"),
    ):
        with pytest.raises(ArgumentError, match=message):
            textlds.count(texts=texts, **options)


def test_too_few_lags_for_the_default_fit(texts):
    with pytest.raises(ArgumentError, match="Count with max_lag=7"):
        textlds.train(texts=texts, max_lag=4, **SMALL)
