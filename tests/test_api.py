from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

import textlds
from model.worlds import grammar_text
from oracles.counting_twin import corpus_twin
from textlds import CountSettings, FitSettings, TextSettings
from textlds.errors import ArgumentError, CorpusError, CorpusNotFoundError, FormatError, OutputExistsError

SMALL = {"state_size": 4, "iterations": 3, "seed": 1}
TRAIN = {"state_size": 4, "iterations": 3, "settings": FitSettings(seed=1)}
WHITESPACE = TextSettings(tokenizer="whitespace")


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
    counts = textlds.count(texts=texts, max_lag=3, text=WHITESPACE)
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
    expected = textlds.count(texts=texts, text=WHITESPACE)
    tokens = [line.split() for text in texts for line in text.splitlines()]
    for given in (tuple(texts), iter(texts), (text for text in texts), tokens, iter(tokens), map(tuple, tokens)):
        assert textlds.count(texts=given, text=WHITESPACE) == expected
    # a text is not a path, even if there is a file of that name
    assert textlds.count(texts=["README.md pyproject.toml"], max_lag=1, text=WHITESPACE).tokens == 2


def test_options_reach_the_counter(texts):
    counts = textlds.count(
        texts=texts,
        vocab_size=10,
        max_lag=2,
        text=TextSettings(unknown="single", digits="zero", boundaries="document", boundary_token="</s>"),
    )
    assert counts.settings == TextSettings("words", "zero", "single", "document", "</s>")
    assert counts.max_lag == 2
    assert counts.vocabulary.n_types == 10
    rare = textlds.count(texts=["a a a a b b c"], counting=CountSettings(min_count=2, max_lag=1))
    assert rare.vocabulary.words[: rare.vocabulary.n_types] == ("a", "b")


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads(texts, threads):
    assert textlds.count(texts=texts, threads=threads) == textlds.count(texts=texts)


def test_a_given_vocabulary(texts, tmp_path):
    (tmp_path / "words.txt").write_text("dog\nthe\n\nhouse\n")
    expected = textlds.count(texts=texts, vocabulary=tmp_path / "words.txt")
    assert expected.vocabulary.words[: expected.vocabulary.n_types] == ("dog", "the", "house")
    assert textlds.count(texts=texts, vocabulary=str(tmp_path / "words.txt")) == expected
    assert textlds.count(texts=texts, vocabulary=expected.vocabulary) == expected
    assert expected.unigrams[0] == sum(text.split().count("dog") for text in texts)
    with pytest.raises(ArgumentError, match="vocabulary was made for"):
        textlds.count(texts=texts, vocabulary=expected.vocabulary, text=TextSettings(unknown="single"))
    with pytest.raises(CorpusNotFoundError, match="no vocabulary file"):
        textlds.count(texts=texts, vocabulary=tmp_path / "missing.txt")


def test_a_vocabulary_brings_its_settings(texts, tmp_path):
    """Settings other than the defaults need not be given again; only what contradicts them is refused."""
    settings = TextSettings(tokenizer="whitespace", digits="keep", unknown="single")
    first = textlds.count(texts=texts, text=settings)
    first.save(tmp_path / "counts")
    for given in (first.vocabulary, tmp_path / "counts", str(tmp_path / "counts")):
        assert textlds.count(texts=texts, vocabulary=given) == first
        assert textlds.count(texts=texts, vocabulary=given, text=TextSettings(digits="keep")) == first
    with pytest.raises(ArgumentError, match=r"made for digits='keep', not for digits='zero'. Leave digits out"):
        textlds.count(texts=texts, vocabulary=first.vocabulary, text=TextSettings(digits="zero"))
    with pytest.raises(ArgumentError, match="neither a Vocabulary nor the path"):
        textlds.count(texts=texts, vocabulary=["the", "dog"])


def test_counts_go_straight_to_a_folder(files, texts, tmp_path):
    counts = textlds.count(files, output=tmp_path / "counts")
    assert counts == textlds.count(texts=texts)
    textlds.count(files).save(tmp_path / "again")
    for file in (tmp_path / "again").iterdir():
        assert file.read_bytes() == (tmp_path / "counts" / file.name).read_bytes()
    assert textlds.count(files, output=tmp_path / "counts", resume=True) == counts
    with pytest.raises(OutputExistsError, match="exists already"):
        textlds.count(files, output=tmp_path / "counts")
    with pytest.raises(ArgumentError, match="resume=True needs output"):
        textlds.count(files, resume=True)


def test_counts_are_saved_and_loaded(texts, tmp_path):
    counts = textlds.count(texts=texts)
    counts.save(tmp_path / "counts")
    assert textlds.LagCounts.load(tmp_path / "counts") == counts
    model = textlds.fit(counts, **SMALL)
    assert bits(textlds.fit(textlds.LagCounts.load(tmp_path / "counts"), **SMALL)) == bits(model)


# Training


def test_training_is_counting_and_fitting(files, texts):
    expected = textlds.fit(textlds.count(texts=texts, max_lag=7), **SMALL)
    assert bits(textlds.train(files, **TRAIN)) == bits(expected)
    assert bits(textlds.train(texts=texts, threads=2, **TRAIN)) == bits(expected)


def test_options_of_both_reach_them(texts):
    model = textlds.train(
        texts=texts, vocab_size=20, state_size=4, iterations=3,
        text=TextSettings(tokenizer="whitespace", boundaries="none", unknown="single"),
        counting=CountSettings(max_lag=5),
        settings=FitSettings(seed=1, ssid_horizon=3, em_horizon=4, noise="spherical", observations="words"),
    )  # fmt: skip
    recorded = model.history.settings
    assert (recorded["max_lag"], recorded["em_horizon"], recorded["noise"], recorded["seed"]) == (5, 4, "spherical", 1)
    assert model.vocabulary.n_types == 20
    assert model.vocabulary.settings == TextSettings("whitespace", "num", "single", "none")


def test_a_model_goes_to_disk_and_back(texts, tmp_path):
    model = textlds.train(texts=texts, **TRAIN)
    model.save(tmp_path / "model")
    assert bits(textlds.load(tmp_path / "model")) == bits(model)
    assert bits(textlds.load(str(tmp_path / "model"))) == bits(model)
    textlds.count(texts=texts).save(tmp_path / "counts")
    with pytest.raises(FormatError, match="is counts, but a model is needed"):
        textlds.load(tmp_path / "counts")


def syllables(line):
    """Split after every vowel: a tokeniser that is neither of the built-in ones."""
    return re.findall(r"[^aeiou\s]*[aeiou]|[^aeiou\s]+", line)


def test_a_custom_tokenizer(texts, tmp_path):
    model = textlds.train(texts=texts, text=TextSettings(tokenizer=syllables), **TRAIN)
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
    textlds.train(texts=texts, **TRAIN).save(tmp_path / "model")
    with pytest.raises(ArgumentError, match="a tokenizer was given, but the text settings say tokenizer='words'"):
        textlds.load(tmp_path / "model", tokenizer=syllables)


def test_a_hugging_face_tokenizer(texts, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"the": 0, "dog": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model = textlds.train(texts=texts, text=TextSettings(tokenizer=tokenizer), state_size=1, iterations=1)
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
            ({"text": TextSettings(tokenizer="custom")}, "tokenizer='custom' needs the callable"),
            ({"text": "whitespace"}, r"text must be TextSettings\(\.\.\.\), not 'whitespace'"),
            ({"vocab_size": 0}, "vocab_size=0 must be"),
            ({"tokenizer": "whitespace"}, r"give it as text=TextSettings\(tokenizer=\.\.\.\)"),
            ({"text_column": "body"}, r"give it as counting=CountSettings\(text_column=\.\.\.\)"),
            ({"vocabsize": 3}, "has no 'vocabsize'. Did you mean 'vocab_size'?"),
        ):
            with pytest.raises(ArgumentError, match=message):
                function(texts=texts, **options)


def test_bad_settings(texts):
    for kind, options, message in (
        (TextSettings, {"tokenizer": "letters"}, "tokenizer='letters' is not one of 'words', 'whitespace'"),
        (TextSettings, {"tokenizer": 5}, "tokenizer=5 is not one of"),
        (TextSettings, {"digits": "roman"}, "digits='roman' is not one of"),
        (TextSettings, {"unknown": "guess"}, "unknown='guess' is not one of"),
        (TextSettings, {"boundaries": "page"}, "boundaries='page' is not one of"),
        (TextSettings, {"boundaries": "none", "boundary_token": "</s>"}, "boundary_token needs boundaries"),
        (TextSettings, {"digit": "num"}, "TextSettings has no 'digit'. Did you mean 'digits'?"),
        (CountSettings, {"min_count": 0}, "min_count=0 must be"),
        (CountSettings, {"max_line_bytes": 0}, "max_line_bytes=0 must be"),
        (FitSettings, {"statesize": 3}, "FitSettings has no 'statesize'. Did you mean 'state_size'?"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(message)):
            kind(**options)
    with pytest.raises(ArgumentError, match="threads=0"):
        textlds.count(texts=texts, threads=0)
    with pytest.raises(ArgumentError, match="Did you mean 'noise'"):
        FitSettings().replace(noize="full")


def test_a_setting_is_given_once(texts):
    counts = textlds.count(texts=texts)
    with pytest.raises(ArgumentError, match=r"state_size=3 and settings=FitSettings\(state_size=4\) contradict"):
        textlds.fit(counts, state_size=3, settings=FitSettings(state_size=4))
    with pytest.raises(ArgumentError, match=r"max_lag=3 and counting=.* contradict"):
        textlds.count(texts=texts, max_lag=3, counting=CountSettings(max_lag=4))
    model = textlds.fit(
        counts, state_size=3, settings=FitSettings(state_size=3, iterations=1, noise="spherical", observations="words")
    )
    assert (model.state_size, model.params.noise.kind) == (3, "spherical")
    with pytest.raises(ArgumentError, match=r"noise is a setting: give it as settings=FitSettings\(noise="):
        textlds.fit(counts, noise="spherical")
    with pytest.raises(ArgumentError, match=r"settings must be FitSettings\(\.\.\.\), not"):
        textlds.fit(counts, settings={"noise": "full"})


def test_texts_taken_for_paths():
    with pytest.raises(CorpusNotFoundError, match=r"If these are texts and not paths, pass texts=\[\.\.\.\]"):
        textlds.count(["The cat sat.", "The dog barked."])


def test_a_line_may_be_longer_if_it_is_said(tmp_path):
    (tmp_path / "long.txt").write_text("a b c d " * 50)
    with pytest.raises(CorpusError, match=r"raise max_line_bytes \(--max-line-bytes\)"):
        textlds.count(tmp_path / "long.txt", counting=CountSettings(max_line_bytes=100))
    assert textlds.count(tmp_path / "long.txt", counting=CountSettings(max_line_bytes=1000)).tokens == 200


def test_training_into_a_folder_is_the_same_and_can_be_resumed(files, tmp_path, monkeypatch):
    """Interrupted while counting, then while fitting."""
    import textlds.counts.counting as counting_module
    import textlds.learn.run as run_module

    expected = bits(textlds.train(files, **TRAIN))
    output = tmp_path / "model"

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for module, name in ((counting_module, "learn_vocabulary"), (run_module, "make_lexicon")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                textlds.train(files, output=output, resume=True, **TRAIN)
        assert (tmp_path / "model.work").exists()
    assert (tmp_path / "model.work" / "counts" / "config.json").exists()
    with monkeypatch.context() as patch:
        patch.setattr(counting_module, "learn_vocabulary", lambda *_, **__: pytest.fail("it was counted"))
        assert bits(textlds.train(files, output=output, resume=True, **TRAIN)) == expected
    assert bits(textlds.load(output)) == expected
    assert not (tmp_path / "model.work").exists()


def test_damaged_counts_of_unfinished_work_are_made_again(files, tmp_path, monkeypatch):
    import textlds.learn.run as run_module

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "make_lexicon", interrupt)
        with pytest.raises(KeyboardInterrupt):
            textlds.train(files, output=tmp_path / "model", **TRAIN)
    victim = tmp_path / "model.work" / "counts" / "lag03-values.safetensors"
    victim.write_bytes(victim.read_bytes()[:-4])
    model = textlds.train(files, output=tmp_path / "model", resume=True, **TRAIN)
    assert bits(model) == bits(textlds.train(files, **TRAIN))


def test_too_few_lags_for_the_default_fit(texts):
    settings = FitSettings(observations="words")
    with pytest.raises(ArgumentError, match="Count with max_lag=7"):
        textlds.train(texts=texts, counting=CountSettings(max_lag=4), **{**TRAIN, "settings": settings})
