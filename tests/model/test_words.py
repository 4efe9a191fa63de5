"""model.words: a mapping with neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from lexicon.test_meaning import TOPICS, topical
from model.worlds import counts_of, fit, random_model, with_meaning
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, UnknownWordError


@pytest.fixture(scope="module")
def model():
    return fit(counts_of(topical()), state_size=3, iterations=2)


def test_it_is_a_mapping(model):
    words = model.words
    known = list(model.vocabulary.words[: model.vocabulary.n_types])
    assert list(words) == known
    assert len(words) == len(known)
    assert dict(words).keys() == set(known)
    np.testing.assert_array_equal(np.asarray(words), words.vectors)
    np.testing.assert_array_equal(words["bax"], words.vectors[words.row("bax")])
    np.testing.assert_array_equal(words["bax"], model(["bax"], recipe="word_meaning").vectors[0])
    np.testing.assert_array_equal(words.use["bax"], model(["bax"], recipe="word").vectors[0])
    assert words.use is words.use.use
    assert np.asarray(words, np.float64).dtype == np.float64
    assert "kind='use'" in repr(words.use)
    with pytest.raises(ValueError, match="read-only"):
        words.vectors[0] = 0
    assert words.get("gone") is None
    assert words == model.words != words.use
    assert words in {model.words}


def test_case_and_unknown_words(model):
    words = model.words
    for form in ("bax", "Bax", "BAX"):
        assert form in words
        np.testing.assert_array_equal(words[form], words["bax"])
    assert "gone" not in words
    assert 3 not in words
    with pytest.raises(UnknownWordError, match=r"'baxx' is not among the 26 words.* Close to it: bax"):
        words["baxx"]
    with pytest.raises(UnknownWordError, match="It is several words: give one word"):
        model.similar("bax kox")
    with pytest.raises(ArgumentError, match="several words: give one word"):
        model.similar("bax kox", context="the bax kox")


def test_similarity_and_neighbours_are_cosines(model):
    words = model.words
    X = words.vectors.astype(float)
    assert words.similarity("bax", "kox") == pytest.approx(X[words.row("bax")] @ X[words.row("kox")], abs=1e-6)
    found = words.most_similar("bax", n=5)
    assert {word for word, _ in found} == set(TOPICS[0]) - {"bax"}
    cosines = X @ (X[words.row("bax")] + X[words.row("kow")] - X[words.row("the")])
    cosines /= np.linalg.norm(X[words.row("bax")] + X[words.row("kow")] - X[words.row("the")])
    for word, cosine in words.most_similar(positive=["bax", "kow"], negative=["the"], n=30):
        assert word not in ("bax", "kow", "the")
        assert cosine == pytest.approx(cosines[words.row(word)], abs=1e-5)


def test_only_one_spelling_need_be_known():
    """The first that differs in case, whatever its capitals."""
    lines = [*topical(), ["McBax", "kox", "MCBAX", "McBax"] * 5]
    words = [*dict.fromkeys(word for line in lines for word in line)]
    model = fit(counts_of(lines, words=words), state_size=3, iterations=1)
    for form in ("mcbax", "MCbax", "Mcbax"):
        np.testing.assert_array_equal(model.words[form], model.words["McBax"])
    assert model.words.row("MCBAX") != model.words.row("McBax")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positive": []}, "no word is given"),
        ({"positive": "bax", "n": 0}, "n=0 must be"),
        ({"positive": "bax", "n": 2.5}, "n=2.5 must be at least 1, and an integer"),
        ({"positive": "bax", "min_count": -1}, "min_count=-1"),
        ({"positive": ["bax"], "negative": ["Bax"]}, "has length 0"),
        ({"positive": 3}, "3 is neither a word or text nor a list"),
        ({"positive": [3]}, "3 is not among the 26 words"),
    ],
)
def test_neighbours_of_nothing(model, arguments, message):
    with pytest.raises((ArgumentError, UnknownWordError), match=message):
        model.words.most_similar(**arguments)


@pytest.mark.parametrize(
    ("vector", "message"),
    [(np.ones(2), r"shape \(2,\); those of these words have \(3,\)"), (np.zeros(3), "length 0"),
     ([1, np.nan, 0], "length nan")],
)  # fmt: skip
def test_vectors_without_a_direction(model, vector, message):
    assert model.words.nearest([1, 0, 0], n=1)
    with pytest.raises(ArgumentError, match=message):
        model.words.nearest(vector)


def test_several_words_at_once(model):
    words = model.words
    for given in (["bax", "Kox"], ("bax", "Kox"), np.array(["bax", "Kox"])):
        np.testing.assert_array_equal(words[given], [words["bax"], words["kox"]])
    assert words[[]].shape == (0, 3)
    with pytest.raises(UnknownWordError, match="'gone' is not among"):
        words[["bax", "gone"]]


def test_neighbours_of_vectors(model):
    words = model.words
    bax, kow = words["bax"], words["kow"]
    assert words.most_similar(bax, n=5) == words.nearest(bax, n=5)
    assert words.most_similar(bax, n=1)[0][0] == "bax"  # a vector has no word to leave out
    total, row = bax + kow - words["the"], words.row("kow")
    for positive, negative, without in (
        ([bax, "kow"], words["the"], [row]),
        (np.stack([bax, kow]), [words["the"]], []),
        (bax, [words["the"], -kow], []),
    ):
        found, wanted = words.most_similar(positive, negative, n=4), words.nearest(total, n=4, without=without)
        assert [word for word, _ in found] == [word for word, _ in wanted]
        np.testing.assert_allclose([cosine for _, cosine in found], [cosine for _, cosine in wanted], atol=1e-5)
    with pytest.raises(ArgumentError, match=r"shape \(2,\); those of words have \(3,\)"):
        words.most_similar(np.ones(2))


def test_arguments_of_other_libraries(model):
    with pytest.raises(ArgumentError, match="has no topn: give n=5"):
        model.words.most_similar("bax", topn=5)
    with pytest.raises(ArgumentError, match=r"kind='use' is not an argument.*model\.words\.use\.most_similar"):
        model.words.most_similar("bax", kind="use")
    with pytest.raises(ArgumentError, match=r"of use\. Use model\.words\.most_similar"):
        model.words.use.most_similar("bax", kind="meaning")
    with pytest.raises(TypeError, match="unexpected keyword argument 'restrict_vocab'"):
        model.words.most_similar("bax", restrict_vocab=5)


def test_a_recipe_is_for_contexts(model):
    with pytest.raises(ArgumentError, match="recipe='state' is that of a word in a context, and no context is given"):
        model.similar("bax", recipe="state")


def test_words_that_are_several_tokens():
    words = ["ca", "n't", "aac", "aad", "aae", "aaf", "aag", "aah"]
    model = with_meaning(random_model(0, words=words, settings=TextSettings(unknown="single")))
    with pytest.raises(UnknownWordError, match="reads it as 2 tokens, ca n't: give one of them"):
        model.similar("can't")
    with pytest.raises(UnknownWordError, match=r"No word of it is spelled alike\. Give a context"):
        model.similar("qqqqqq")
    with pytest.raises(UnknownWordError, match=r"infer\(word, contexts=\[...\]\) gives its vector"):
        model.words["qqqqqq"]
    for nothing in ("", " "):
        with pytest.raises(UnknownWordError, match="It is empty: give a word"):
            model.similar(nothing)


def test_rare_words_and_other_spellings_are_left_out():
    lines = [*topical(), ["bax", "rarex", "kox", "Bax"] * 2]
    counts = counts_of(lines)
    model = fit(counts, state_size=3, iterations=1)
    np.testing.assert_allclose(model.words.counts, counts.unigrams[: counts.vocabulary.n_types], atol=1e-2)
    found = [word for word, _ in model.words.most_similar("bax", n=100, min_count=20)]
    assert "rarex" not in found
    assert "Bax" not in found
    assert "rarex" in [word for word, _ in model.words.most_similar("kox", n=100, min_count=2)]
    assert len(with_meaning(random_model(0)).similar("aaa", n=100)) == 7


def test_neighbours_in_context_are_those_that_fit_there():
    """A word of two topics."""
    lines = [[*line[:6], "both", *line[6:]] if i % 4 < 2 else line for i, line in enumerate(topical())]
    model = fit(counts_of(lines), state_size=3, iterations=1)
    for topic in TOPICS[:2]:
        context = [*topic[:2], "both", *topic[2:4]]
        found = model.similar("both", context=context, n=2)
        assert {word for word, _ in found} <= set(topic) - set(context)
        assert model.similar("BOTH", context=[*topic[:2], "Both", *topic[2:4]], n=2) == found
        # the sum of the word's meaning and its topic
        word, about = np.split(model([*topic[:2], "both", *topic[2:4]], recipe="word_meaning+topic").vectors[2], 2)
        assert found == model.words.nearest(word + about, n=2, without=[model.words.row(token) for token in context])


def test_a_new_word_is_inferred_from_its_contexts(model):
    for topic in TOPICS:
        contexts = [["the", "Quuq", *topic[:2]], [topic[2], "quuq", topic[3], "of"]]
        vector = model.words.infer("quuq", contexts=contexts)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        more = model.words.infer("quuq", contexts=contexts * 20)
        nearest = [word for word, _ in model.words.nearest(more, n=6) if word not in ("the", "of")]  # of every topic
        assert set(nearest[:4]) <= set(topic)


@pytest.mark.parametrize(
    ("word", "contexts", "message"),
    [
        ("quuq", [], "at least one text"),
        ("", ["a text"], "needs a word, not ''"),
        (3, ["a text"], "needs a word, not 3"),
        ("quuq", 3, "3 is neither"),
        ("quuq", [3], "a text is a string or a list of strings, not 3"),
        ("quuq", "the quuq", "single string"),
        ("quuq", ["the bax"], "not a token of a context"),
        ("quuq", [""], "a context is empty; give texts that hold the word 'quuq'"),
        ("guinea pig", ["a guinea pig"], "is several tokens: give texts as lists of tokens to keep it whole"),
        ("quuq", ["quuq"], "nothing but the word"),
    ],
)
def test_contexts_that_say_nothing(model, word, contexts, message):
    with pytest.raises(ArgumentError, match=message):
        model.words.infer(word, contexts=contexts)
    with pytest.raises(ArgumentError, match="for meaning"):
        model.words.use.infer("quuq", contexts=["the quuq"])


def test_bad_kinds(model):
    with pytest.raises(ArgumentError, match="kind='sense' is not one of 'meaning', 'use'"):
        model.similar("bax", kind="sense")


def test_numbers_are_found_as_they_are_counted():
    words = ["NUM", "aab", "aac", "aad", "aae", "aaf", "aag", "aah"]
    settings = TextSettings(tokenizer="whitespace", unknown="single")
    model = with_meaning(random_model(0, words=words, settings=settings))
    assert "1984" in model.words
    np.testing.assert_array_equal(model.words["1984"], model.words["NUM"])
