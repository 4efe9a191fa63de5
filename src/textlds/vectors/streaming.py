"""Online filtering: one token in, one vector out, constant memory."""

from __future__ import annotations

import numpy as np

from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import ArgumentError, check_finite
from textlds.inference.engine import Engine
from textlds.linalg.sphere import on_sphere
from textlds.linalg.types import Array
from textlds.vectors.recipes import MEANING_PARTS, Recipe
from textlds.vectors.space import EmbeddingSpace


class TokenStream:
    """A filter that is fed token by token.

    The vectors are those of ``embed`` with the filter form of the recipe, of the tokens pushed so far.
    """

    def __init__(self, engine: Engine, space: EmbeddingSpace, vocabulary: Vocabulary, recipe: Recipe) -> None:
        self._engine, self._space, self._vocabulary, self._parts = engine, space, vocabulary, recipe.parts
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next token begins a new text."""
        self._pred = np.zeros(len(self._engine.A), self._engine.dtype)
        self._previous = np.zeros(self._space.size, self._engine.dtype)  # the previous word, by itself
        about = set(MEANING_PARTS) & set(self._parts)
        self._topic = np.zeros(self._space.meaning.size if about else 0, np.float32)  # of the words so far

    def push(self, token: str) -> Array:
        """Take one token and return its vector, (d,) float32."""
        if not isinstance(token, str):
            raise ArgumentError(f"{token!r:.100} is not a token; push one string at a time.")
        alone = "word" in self._parts or "previous_word" in self._parts
        gain, word = self._space.of_token(token, self._vocabulary, alone=alone)
        filt = self._engine.shrink * self._pred + gain
        vectors = []
        about = self._about(token) if set(MEANING_PARTS) & set(self._parts) else {}
        for part in self._parts:
            if part in about:
                vectors.append(about[part])
            elif part == "spelling":
                vectors.append(self._space.spellings.of(token))
            elif part in ("word", "previous_word"):
                vectors.append(word if part == "word" else self._previous)
            else:
                name, mean = ("filter", filt) if part == "state" else ("left_context", self._pred)
                vectors.append(on_sphere((mean @ self._space.whitener(name))[None])[0])
        self._pred = self._engine.A @ filt
        self._previous = word
        vector: Array = np.concatenate(vectors)
        check_finite(vector, "vectors")
        return vector

    def _about(self, token: str) -> dict[str, Array]:
        """Return the parts about meaning, and take the token into the topic."""
        space = self._space.meaning
        word, added = space.added(token)
        topic = on_sphere(self._topic[None])
        self._topic = space.leaked(self._topic, added)
        own = word[None]
        return {"word_meaning": on_sphere(own)[0], "topic": topic[0], "sense": space.mixed(own, topic)[0]}
