"""Equal weighting: the gains by hand, the smoother by brute force, the whitening over the training text."""

from __future__ import annotations

import numpy as np
import pytest

from model.worlds import counts_of, fit, markov_sentence, random_model, rows_of, with_meaning
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, NotFiniteError
from textlds.lexicon.features import spelling_features
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.unknown import SHRINKAGE, shrunk
from textlds.model.textlds import TextLDS
from textlds.vectors.recipes import RECIPES, Recipe
from textlds.vectors.weighting import MEMORY

TEXT = ["aaa", "aab", "zzz", "aac", "aaa", "aaa", "aah", "aad", "aab", "aab"]


def test_class_rows_are_the_rows_of_the_words_were_they_unknown():
    words = ["running", "Paris", "1990s", "the", "NATO", "happily", "well-known"]
    vocabulary = Vocabulary.from_words(words, TextSettings())
    without = Vocabulary.from_words([], TextSettings())
    found = [vocabulary.words[row] for row in vocabulary.class_rows()]
    assert found == [without.words[without.id(word)] for word in words]
    assert len(set(found)) == len(words)


def test_a_rare_word_is_shrunk():
    rng = np.random.default_rng(0)
    table, towards, frequencies = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), rng.dirichlet(np.ones(5))
    expected = np.empty_like(table)
    for row in range(5):
        g = table[row].copy()
        if row < 4:
            g += SHRINKAGE / (frequencies[row] * 5 + SHRINKAGE) * towards[row]
        expected[row] = g / np.linalg.norm(g)
    np.testing.assert_allclose(shrunk(table, towards, frequencies), expected, atol=1e-12)


def with_lexicon(model, *, seed=5, empty=0):
    """Return the model with a random lexicon, whose last columns may be empty."""
    rng = np.random.default_rng(seed)
    V, h = model.params.C.shape
    lexicon = Lexicon(*(rng.standard_normal((n, h)).astype(np.float32) for n in (V, 1024)))
    if empty:
        for table in (lexicon.profiles, lexicon.spelling):
            table[:, -empty:] = 0
    return TextLDS(model.params, model.vocabulary, model.frequencies, model.moments, lexicon=lexicon)


def unit(vector):
    return vector / np.linalg.norm(vector)


def spelt_by_hand(lexicon, word):
    _, indices = spelling_features([word], len(lexicon.spelling))
    return unit(sum(lexicon.spelling[i].astype(float) for i in indices))


def words_by_hand(model):
    """l(w) of every row: its profile, a rare word's with a share of what its spelling predicts."""
    rows = []
    for row, word in enumerate(model.vocabulary.words):
        vector = model.lexicon.profiles[row].astype(float)
        if row < model.vocabulary.n_types:
            share = SHRINKAGE / (model.frequencies[row] * len(model.vocabulary) + SHRINKAGE)
            vector = vector + share * spelt_by_hand(model.lexicon, word)
        rows.append(unit(vector))
    return np.array(rows)


def gains_by_hand(model):
    """k' of a model without a lexicon."""
    gains, known = model.spaces.engine("float64").gains, model.vocabulary.n_types
    equal = []
    for row in range(len(gains)):
        vector = gains[row].copy()
        if row < known:  # the only class is the last row
            vector += SHRINKAGE / (model.frequencies[row] * len(gains) + SHRINKAGE) * gains[-1]
        equal.append(unit(vector))
    return np.array(equal) - np.average(equal, axis=0, weights=model.frequencies)


def carried_by_hand(model, extra=()):
    """k' of a model with a lexicon, and of words besides: the least squares by QR of what the weights' roots scale."""
    mu, words = model.frequencies, words_by_hand(model)
    mean = np.average(words, axis=0, weights=mu)
    weights = mu[:, None] ** 0.25  # each row's, so that its square counts with the weight μ^½
    M = np.linalg.lstsq(weights * (words - mean), weights * gains_by_hand(model), rcond=None)[0]
    gains = np.array([unit((word - mean) @ M) for word in (*words, *extra)])
    return gains - np.average(gains[: len(mu)], axis=0, weights=mu)


@pytest.mark.parametrize("by_lexicon", [False, True])
@pytest.mark.parametrize("method", ["smooth", "filter"])
def test_states_are_those_of_the_forgetful_recursion(method, by_lexicon):
    model = random_model(2, V=12, h=3)
    if by_lexicon:
        model = with_lexicon(model)
        every = carried_by_hand(model, [spelt_by_hand(model.lexicon, "zzz")])
        rows = [12 if token == "zzz" else model.vocabulary.id(token) for token in TEXT]
    else:
        every, rows = gains_by_hand(model), rows_of(model, TEXT)
    plain, gains = model.spaces.engine("float64"), every[rows]
    A, F = plain.system.A, MEMORY * plain.system.shrink[:, None] * plain.system.A
    filt = [gains[0]]
    for k in gains[1:]:
        filt.append(F @ filt[-1] + k)
    smooth = [filt[-1]]
    for x in reversed(filt[:-1]):
        smooth.append(x + F.T @ (smooth[-1] - A @ x))
    means = np.array(filt if method == "filter" else smooth[::-1])
    white = means @ model.spaces.space("float64", "equal").whitener("filter" if method == "filter" else "state")
    (found,) = model.embed([TEXT], recipe=Recipe("state", "equal", method), dtype="float64")
    expected = white / np.linalg.norm(white, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors, expected, atol=1e-5 if by_lexicon else 1e-9)  # spelling is float32
    # the same in a batch of many texts, and online
    many = list(model.embed([TEXT[:3], TEXT, [], TEXT[2:]], recipe=Recipe("state", "equal", method)))
    np.testing.assert_allclose(many[1].vectors, expected, atol=1e-5)
    if method == "filter":
        stream = model.stream()
        np.testing.assert_allclose([stream.push(token) for token in TEXT], expected, atol=1e-5)


def test_the_parts_of_a_word_alone_are_what_the_lexicon_says():
    plain = random_model(2, V=12, h=3)
    model = with_lexicon(plain)
    every = [*words_by_hand(model), spelt_by_hand(model.lexicon, "zzz")]
    words = np.array([every[12 if token == "zzz" else model.vocabulary.id(token)] for token in TEXT])
    (found,) = model.embed([TEXT], recipe="previous_word+word+next_word")
    before, word, after = np.split(found.vectors, 3, axis=1)
    np.testing.assert_allclose(word, words, atol=1e-6)
    np.testing.assert_allclose(before, np.vstack([np.zeros(3), words[:-1]]), atol=1e-6)
    np.testing.assert_allclose(after, np.vstack([words[1:], np.zeros(3)]), atol=1e-6)
    stream = model.stream(recipe="previous_word+word")
    pushed = np.array([stream.push(token) for token in TEXT])
    np.testing.assert_allclose(pushed, np.hstack([np.vstack([np.zeros(3), words[:-1]]), words]), atol=1e-6)


@pytest.mark.parametrize("many", [False, True])
def test_neighbours_and_spelling_are_what_the_lexicon_says(many, monkeypatch):
    if many:  # with a table of what the spelling of the most frequent words says, and others beside it
        monkeypatch.setattr("textlds.vectors.of_words._SEVERAL", 1)
        monkeypatch.setattr("textlds.vectors.of_words._COMMON", 5)
    model = with_lexicon(random_model(2, V=12, h=6))
    every = np.array([*words_by_hand(model), spelt_by_hand(model.lexicon, "zzz")])
    words = every[[12 if token == "zzz" else model.vocabulary.id(token) for token in TEXT]]
    spellings = np.array([spelt_by_hand(model.lexicon, token) for token in TEXT])
    nothing = np.zeros(2)
    beside = [np.vstack([nothing, words[:-1, :2]]), np.vstack([words[1:, :2], nothing])]
    packed = model.quantized("float32")
    for some in (model, packed):
        np.testing.assert_allclose(some(TEXT, recipe="neighbours").vectors, np.hstack(beside), atol=1e-6)
        np.testing.assert_allclose(some(TEXT, recipe="spelling").vectors, spellings, atol=1e-6)
        stream = some.stream(recipe="spelling")
        np.testing.assert_allclose([stream.push(token) for token in TEXT], spellings, atol=1e-6)
    both = list(model.embed([TEXT, [], TEXT[:4]], recipe="spelling+neighbours", dtype="float64"))
    np.testing.assert_allclose(both[0].vectors, np.hstack([spellings, *beside]), atol=1e-6)
    assert model.dimensions("spelling+neighbours") == 6 + 2 * 2


def test_features_leave_out_what_a_model_does_not_have():
    plain = random_model(2, V=12, h=6)
    model = with_lexicon(plain)
    for asked in (plain, plain.quantized("float32")):
        with pytest.raises(ArgumentError, match=r"'spelling' needs a model that knows words .* Leave the part out"):
            asked.recipe("state+spelling")
    with pytest.raises(ArgumentError, match=r"'spelling' needs .* weighting='equal'\. Leave 'fitted' out"):
        model.dimensions("spelling, fitted")
    assert plain.recipe("features").parts == ("state", "word", "neighbours")
    assert model.recipe("features").parts == ("state", "word", "neighbours", "spelling")
    assert model.recipe("features, fitted").parts == ("state", "word", "neighbours")
    assert with_meaning(model).recipe("features") == RECIPES["features"]
    packed = with_meaning(model).quantized("float32")
    assert packed.recipe("features") == RECIPES["features"]
    assert plain.quantized("float32").recipe("features").parts == ("state", "word", "neighbours")
    for some in (plain, model, packed):
        assert some(TEXT, recipe="features").vectors.shape == (len(TEXT), some.dimensions("features"))
    # a recipe of a model's own keeps what the model has when it is named; what it spells out must be served
    assert model.with_recipes(mine="features, fitted").recipe("mine") == model.recipe("features, fitted")
    own = model.with_recipes(features="state+sense")
    assert own.recipe("features").parts == ("state", "sense")
    with pytest.raises(ArgumentError, match="has no meaning vectors"):
        own(TEXT, recipe="features")


@pytest.mark.parametrize("weighting", ["equal", "fitted"])
def test_neighbours_of_a_model_without_lexicon_are_along_the_principal_axes_of_words(weighting):
    model = random_model(2, V=12, h=6)
    words = np.array([model([word], recipe=f"word, {weighting}").vectors[0] for word in model.vocabulary.words])
    scaled = np.sqrt(model.frequencies)[:, None] * (words - model.frequencies @ words)
    axes = np.linalg.svd(scaled)[2][:2].T
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), [0, 1]])
    text = [token for token in TEXT if token != "zzz"]
    mine = words[[model.vocabulary.id(token) for token in text]] @ axes
    nothing = np.zeros(2)
    beside = np.hstack([np.vstack([nothing, mine[:-1]]), np.vstack([mine[1:], nothing])])
    np.testing.assert_allclose(model(text, recipe=f"neighbours, {weighting}").vectors, beside, atol=1e-5)


def test_numbers_that_are_not_finite_are_found_in_either_neighbour():
    packed = with_lexicon(random_model(2, V=12, h=6)).quantized("float32")
    word = packed.vocabulary.words[3]
    packed.tables.words.values[3] = np.nan
    for text in ([word, "aaa"], ["aaa", word]):
        with pytest.raises(NotFiniteError, match="vectors"):
            packed(text, recipe="neighbours")


def test_the_papers_vectors_are_what_they_were():
    plain = random_model(2, V=12, h=3)
    model = with_lexicon(plain)
    for recipe in ("paper", "left_context+word+right_context, fitted", "paper, exact"):
        mine, theirs = model(TEXT, recipe=recipe), plain(TEXT, recipe=recipe)
        assert mine.vectors.tobytes() == theirs.vectors.tobytes()


def test_a_lexicon_with_empty_columns():
    """A vocabulary smaller than h leaves columns of zeros, which say nothing."""
    model = with_lexicon(random_model(2, V=12, h=3), empty=1)
    found = model.spaces.engine("float64", "equal").gains
    np.testing.assert_allclose(found, carried_by_hand(model), atol=1e-6)


def test_unknown_words_in_every_shape_of_text():
    """Numbers become NUM before they are spelt, the name of a class is the class, boundaries come between."""
    words = ["the", "dog", "."]
    settings = TextSettings(boundary_token=".")
    V = len(Vocabulary.from_words(words, settings))
    model = with_lexicon(random_model(3, V=V, h=4, settings=settings, words=words))
    text = "the 12th dog\nthe hound <unk:digit>\nbarks"
    (found,) = model.embed([text], recipe="word")
    expected = {
        "the": words_by_hand(model)[0],
        "12th": spelt_by_hand(model.lexicon, "NUMth"),
        "hound": spelt_by_hand(model.lexicon, "hound"),
        "barks": spelt_by_hand(model.lexicon, "barks"),
    }
    for token, vector in zip(found.tokens, found.vectors, strict=True):
        if token in expected:
            np.testing.assert_allclose(vector, expected.pop(token), atol=1e-6, err_msg=token)
            expected |= {"the": words_by_hand(model)[0]}
    assert list(expected) == ["the"]
    row = model.vocabulary.id("<unk:digit>")
    assert row >= model.vocabulary.n_types
    (named,) = model.embed([["the", "<unk:digit>"]], recipe="word")
    np.testing.assert_allclose(named.vectors[1], words_by_hand(model)[row], atol=1e-6)
    np.testing.assert_allclose(model.stream(recipe="word").push("<unk:digit>"), named.vectors[1], atol=1e-6)


def test_vectors_are_whitened_over_the_training_text():
    """The second moments come from the model alone; here the smoother is run over the text."""
    text = markov_sentence(1, 15_000, V=30)
    model = fit(counts_of([text], max_lag=20), em_horizon=20, state_size=4, iterations=8, pseudocount=0.0)
    engine, space = model.spaces.engine("float64", "equal"), model.spaces.space("float64", "equal")
    states = np.empty((len(text), 4))

    def take(posterior, rows, places):
        states[places] = posterior.smooth[rows]

    engine.run(rows_of(model, text).astype(np.int32), np.array([0, len(text)]), "smooth", take)
    white = states @ space.whitener("state")
    np.testing.assert_allclose(white.T @ white / len(text), np.eye(4), atol=0.08)
    assert np.abs(states.T @ states / len(text) - np.eye(4)).max() > 0.3


def test_weighting_changes_the_state():
    model = random_model(1)
    assert np.abs(model(TEXT, recipe="paper").vectors - model(TEXT, recipe="context").vectors).max() > 1e-2
