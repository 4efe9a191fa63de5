"""Recipes: what a token's vector is made of.

A recipe names the parts of a vector, how much each word counts (:mod:`textlds.vectors.weighting`) and which words of
the text are used (:mod:`textlds.inference.engine`). It can be given by name, spelled out, or as an object:

    "features"                   a name: one of RECIPES, or one that is stored with the model
    "state+word, fitted"         spelled out, in any order; what is left out has its default
    Recipe("state+word")         the object

A new part needs its name in ``Part`` here and its vectors in :mod:`textlds.vectors.of_words` or
:mod:`textlds.vectors.of_context`; a new named recipe needs a line in RECIPES.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from textlds.errors import ArgumentError, check_choice
from textlds.inference.engine import Method

Part = Literal[
    "state", "left_context", "right_context", "word", "previous_word", "next_word", "neighbours", "spelling", "sense",
    "word_meaning", "topic",
]  # fmt: skip
Weighting = Literal["equal", "fitted"]
PARTS: tuple[Part, ...] = get_args(Part)
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
METHODS: tuple[Method, ...] = get_args(Method)
MEANING_PARTS: tuple[Part, ...] = ("sense", "word_meaning", "topic")  # which need no state
_LATER: set[str] = {"neighbours", "spelling"}  # parts that older models may have a recipe of the name of
_RIGHT: tuple[Part, ...] = ("right_context", "next_word", "neighbours")  # parts that need the words to the right


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,+]+", text) if word]


def _nearest(word: str, options: Iterable[str]) -> str:
    close = difflib.get_close_matches(word.lower().replace("-", "_"), list(options), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


@dataclass(frozen=True, init=False)
class Recipe:
    """What a token's vector is made of.

    Attributes:
        parts: Side by side, in this order. Each but ``"neighbours"`` is a vector of length one, with as many numbers as
            the state has, or as the vectors of meaning have (``"sense"``, ``"word_meaning"``, ``"topic"``).
            ``"state"``: the word in its context; ``"left_context"``: what the words to its left predict;
            ``"right_context"``: what the words to its right add; ``"word"``, ``"previous_word"``, ``"next_word"``: the
            word, the one before and the one after, each by itself; ``"neighbours"``: a quarter of the numbers of the
            one before and of the one after, those that tell the most words apart; ``"spelling"``: what the spelling of
            the word alone says; ``"sense"``: what the word is about in its passage; ``"word_meaning"``: what it is
            about by itself; ``"topic"``: what the passage is about.
        weighting: ``"equal"``: every word has the same weight, its vector comes from the lexicon, and an unknown word's
            from its spelling; ``"fitted"``: the gains of the fitted model, as in the paper.
        method: ``"smooth"``: the whole text is used; ``"filter"``: only a token and the words to its left;
            ``"exact"``: as smooth, without the steady-state approximation at the start of a text.
    """

    parts: tuple[Part, ...]
    weighting: Weighting
    method: Method

    def __init__(self, parts: str | Sequence[str] = "state", weighting: str = "equal", method: str = "smooth") -> None:
        """Check what is given; ``parts`` is a sequence of names, or a string such as ``"state+word"``."""
        named = tuple(_words(parts)) if isinstance(parts, str) else tuple(parts)
        if not named:
            raise ArgumentError(f"parts is empty; name at least one of {', '.join(map(repr, PARTS))}.")
        for name in named:
            check_choice("part", name, PARTS)
            if named.count(name) > 1:
                raise ArgumentError(f"parts={parts!r} names {name!r} twice; name each part once.")
        check_choice("weighting", weighting, WEIGHTINGS)
        check_choice("method", method, METHODS)
        if method == "filter" and (right := [part for part in _RIGHT if part in named]):
            raise ArgumentError(
                f"the part {right[0]!r} needs the words to the right, which method='filter' does not use. "
                f"Leave it out, or use method='smooth'."
            )
        for field, value in zip(fields(self), (named, weighting, method), strict=True):
            object.__setattr__(self, field.name, value)

    def __str__(self) -> str:
        """Return the recipe spelled out."""
        return f"{'+'.join(self.parts)}, {self.weighting}, {self.method}"


RecipeLike = str | Recipe


def part_size(part: Part, state_size: int, meaning_size: int) -> int:
    """Return how many numbers a part has."""
    if part == "neighbours":
        return 2 * leading(state_size)
    return meaning_size if part in MEANING_PARTS else state_size


def leading(size: int) -> int:
    """Return how many numbers of a word's vector stand in ``"neighbours"``: those that tell the most words apart."""
    return -(-size // 4)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "context": Recipe("state"),  # the default for vectors in context
        # the default wherever a classifier is fed; of a model that has no spelling or meaning, without these
        "features": Recipe("state+word+neighbours+spelling+word_meaning"),
        "meaning": Recipe("sense"),  # the default for search: what the word is about in its passage
        "paper": Recipe("state", weighting="fitted"),  # the vectors of the paper
    }
)


def resolve_recipe(recipe: RecipeLike, named: Mapping[str, Recipe] = RECIPES) -> Recipe:
    """Return a recipe that is given by name, spelled out, or as an object.

    Args:
        recipe: For example ``"features"``, ``"state+word, fitted, filter"``, ``"paper, exact"``.
        named: The recipes that have names.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str):
        raise ArgumentError(f"recipe is a string or a textlds.Recipe, not {type(recipe).__name__}.")
    options = {"name": tuple(named), "part": PARTS, "weighting": WEIGHTINGS, "method": METHODS}
    found: dict[str, list[str]] = {kind: [] for kind in options}
    for word in _words(recipe):
        kinds = [kind for kind, words in options.items() if word in words]
        if not kinds:
            known = [word for words in options.values() for word in words]
            raise ArgumentError(
                f"recipe={recipe!r}: {word!r} is not a recipe or a word of one.{_nearest(word, known)} Name one of "
                f"{_listed(named)}, or spell it out, such as 'state+word, equal, smooth' (parts: {', '.join(PARTS)})."
            )
        found[kinds[0]].append(word)
    for kind in ("name", "weighting", "method"):
        if len(found[kind]) > 1:
            raise ArgumentError(f"recipe={recipe!r} has {len(found[kind])} {kind}s: {_listed(found[kind])}. Keep one.")
    if not any(found.values()):
        raise ArgumentError(f"recipe={recipe!r} is empty; name one of {_listed(named)}.")
    if found["name"] and found["part"]:
        raise ArgumentError(
            f"recipe={recipe!r}: {found['name'][0]!r} has its parts already. Give a name, or parts, not both."
        )
    changes: dict[str, Any] = {kind: found[kind][0] for kind in ("weighting", "method") if found[kind]}
    if found["part"]:
        changes["parts"] = found["part"]
    return replace(named[found["name"][0]] if found["name"] else Recipe(), **changes)


def is_named(recipe: RecipeLike, *, but: Container[str] = ()) -> bool:
    """Tell whether a recipe is given by one of the names of RECIPES, but for some that mean something else."""
    return isinstance(recipe, str) and any(word in RECIPES and word not in but for word in _words(recipe))


def check_recipe(recipe: RecipeLike) -> None:
    """Refuse a recipe that no model can read. A single word may name one of a model that is not read yet."""
    if not (isinstance(recipe, str) and recipe.isidentifier()):
        resolve_recipe(recipe)


def own_recipes(
    recipes: Mapping[str, RecipeLike], named: Mapping[str, Recipe], *, stored: bool = False
) -> dict[str, Recipe]:
    """Return the recipes that are to be stored with a model, checked.

    Args:
        recipes: By name. ``context`` and ``features`` may be given another meaning; ``paper`` may not.
        named: Names that they may refer to.
        stored: Whether they were read from a folder, which may have been written before some parts had names.
    """
    reserved = {"paper", *PARTS, *WEIGHTINGS, *METHODS} - (_LATER if stored else set())
    for name in recipes:
        if not name.isidentifier() or name in reserved:
            raise ArgumentError(
                f"{name!r} cannot name a recipe of a model: use letters, digits and underscores, and none of "
                f"{_listed(sorted(reserved))}."
            )
    return {name: resolve_recipe(recipe, named) for name, recipe in recipes.items()}
