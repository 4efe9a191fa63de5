"""Recipes: what is read from names and strings, what is refused, and what a model stores."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from model.worlds import random_model, with_meaning
from storage.sealing import edit_config
from textlds.errors import ArgumentError, FormatError
from textlds.model.textlds import TextLDS
from textlds.vectors.recipes import METHODS, PARTS, RECIPES, WEIGHTINGS, Recipe, check_recipe, resolve_recipe

TEXT = ["aaa", "aab", "zzz", "aac", "aaa"]


def test_named_recipes():
    assert dict(RECIPES) == {
        "context": Recipe(("state",), "equal", "smooth"),
        "features": Recipe(("state", "word", "neighbours", "spelling", "word_meaning"), "equal", "smooth"),
        "meaning": Recipe(("sense",), "equal", "smooth"),
        "paper": Recipe(("state",), "fitted", "smooth"),
    }
    for name, recipe in RECIPES.items():
        assert resolve_recipe(name) == recipe


def test_parts_are_given_as_a_string_or_a_sequence():
    for parts in ("state+word", "state, word", " state word ", ["state", "word"], ("state", "word")):
        assert Recipe(parts).parts == ("state", "word")
    assert Recipe("word+state").parts == ("word", "state")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Recipe("state").parts = ("word",)  # type: ignore[misc]


def valid_recipes():
    for n in (1, 2, 3):
        for parts, weighting, method in itertools.product(itertools.permutations(PARTS, n), WEIGHTINGS, METHODS):
            try:
                yield Recipe(parts, weighting, method)
            except ArgumentError:
                assert method == "filter"
                assert {"right_context", "next_word", "neighbours"} & set(parts)


def test_every_recipe_is_read_back_from_its_own_words():
    recipes = list(valid_recipes())
    assert len(recipes) == len(set(recipes)) > 300
    for recipe in recipes:
        assert resolve_recipe(str(recipe)) == resolve_recipe(recipe) == recipe


def test_the_words_of_a_recipe_come_in_any_order():
    expected = Recipe(("state", "word"), "fitted", "filter")
    for words in itertools.permutations(["state+word", "fitted", "filter"]):
        assert resolve_recipe(", ".join(words)) == resolve_recipe(" ".join(words)) == expected
    assert resolve_recipe("fitted") == Recipe("state", "fitted")
    assert resolve_recipe("word") == Recipe("word", "equal", "smooth")
    assert resolve_recipe("filter, context") == Recipe("state", "equal", "filter")
    assert resolve_recipe("paper exact") == Recipe("state", "fitted", "exact")


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("featurs", "'featurs' is not a recipe.* Did you mean 'features'"),
        ("state+left", "'left' is not a recipe .* Did you mean 'left_context'"),
        ("previous-word", "Did you mean 'previous_word'"),
        ("state, word, state", "names 'state' twice"),
        ("state, fitted, equal", "has 2 weightings: 'fitted', 'equal'"),
        ("filter, smooth, state", "has 2 methods"),
        ("paper, context", "has 2 names"),
        ("features+left_context", "'features' has its parts already"),
        ("features, filter", "'neighbours' needs the words to the right"),
        ("context, exact", "weighting='equal' replaces"),
        ("", "is empty; name one of 'context'"),
        (" , +", "is empty"),
        (3, "a string or a textlds.Recipe, not int"),
        (["state", "word"], "not list"),
    ],
)
def test_what_cannot_be_read_is_refused(recipe, message):
    with pytest.raises(ArgumentError, match=message):
        random_model(0).embed([TEXT], recipe=recipe)
    if recipe not in ("featurs", "context, exact"):  # which some model might have, or serve
        with pytest.raises(ArgumentError, match=message):
            check_recipe(recipe)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parts": "up"}, "part='up' is not one of 'state', 'left_context'"),
        ({"parts": ("state", "next")}, "Did you mean 'next_word'"),
        ({"parts": ()}, "parts is empty"),
        ({"parts": ("word", "word")}, "names 'word' twice"),
        ({"weighting": "loud"}, "weighting='loud' is not one of 'equal', 'fitted'"),
        ({"method": "viterbi"}, "method='viterbi' is not one of 'smooth', 'filter', 'exact'"),
        ({"parts": "right_context", "method": "filter"}, "'right_context' needs the words to the right"),
    ],
)
def test_impossible_recipes(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Recipe(**arguments)


def test_a_models_own_recipes(tmp_path):
    plain = random_model(0)
    model = plain.with_recipes(mine="word+state, fitted", context=Recipe("state+word"))
    assert dict(plain.recipes) == dict(RECIPES)
    assert model.recipes["mine"] == Recipe("word+state", "fitted")
    assert model.recipes["features"] == RECIPES["features"]
    model = model.with_recipes(other="mine, filter")
    model.save(tmp_path / "model")
    loaded = TextLDS.load(tmp_path / "model")
    assert dict(loaded.recipes) == dict(model.recipes)
    for some in (model, loaded, loaded.with_tokenizer(None)):
        # another meaning of the default is used by default
        np.testing.assert_array_equal(some(TEXT).vectors, plain(TEXT, recipe="state+word").vectors)
        np.testing.assert_array_equal(
            some(TEXT, recipe="other").vectors, plain(TEXT, recipe="word+state, fitted, filter").vectors
        )
        assert some.dimensions("mine") == 6
    with pytest.raises(ArgumentError, match=r"'mind' is not a recipe.* Did you mean 'mine'"):
        loaded.embed([TEXT], recipe="mind")


def test_only_own_recipes_are_written(tmp_path):
    random_model(0).save(tmp_path / "plain")
    assert "recipes" not in json.loads((tmp_path / "plain" / "config.json").read_text())
    random_model(0).with_recipes(mine="word").save(tmp_path / "own")
    assert json.loads((tmp_path / "own" / "config.json").read_text())["recipes"] == {"mine": "word, equal, smooth"}
    for recipes in ({"mine": "sideways"}, ["mine"], {"mine": 3}):
        edit_config(tmp_path / "own", recipes=recipes)
        with pytest.raises(FormatError, match=r"config\.json is not that of a model"):
            TextLDS.load(tmp_path / "own")


@pytest.mark.parametrize("name", ["paper", "state", "equal", "smooth", "not a name", "a+b"])
def test_names_that_a_recipe_cannot_have(name):
    with pytest.raises(ArgumentError, match="cannot name a recipe of a model"):
        random_model(0).with_recipes(**{name: "word"})


def test_a_word_in_context_is_compared_with_texts_of_one_word():
    model = with_meaning(random_model(2))
    words = model.vocabulary.words[: model.vocabulary.n_types]
    for recipe in ("context", "paper", "context, filter", "state+word", "features", "meaning", "word_meaning+state"):
        table = np.array([model([word], recipe=recipe).vectors[0] for word in words], np.float64)
        asked = model(TEXT, recipe=recipe).vectors[1].astype(np.float64)
        cosines = table @ asked / np.linalg.norm(table, axis=1) / np.linalg.norm(asked)
        found = model.similar("aab", context=TEXT, n=len(words), recipe=recipe)
        assert {word for word, _ in found} == set(words) - {"aab"}
        for word, cosine in found:
            assert cosine == pytest.approx(cosines[words.index(word)], abs=1e-5), recipe
    with pytest.raises(ArgumentError, match="no part that a word has by itself"):
        model.similar("aab", context=TEXT, recipe="previous_word")
