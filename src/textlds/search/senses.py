"""The vector of an occurrence of a word: how it is used there, and what is being talked about.

Two parts of length one, side by side. The first is the smoothed state, which knows the grammar of the place and the
words next to it. The second is the topic: the "word" parts of the words around, rare ones counting more, the word
itself not,

    topic_t = Σ_{0 < |j − t| ≤ 50} ( α / (α + f_j) · word_j − μ )        μ: the mean of what is summed, by frequency

(Arora, Liang & Ma 2017 weigh sentences so). The state forgets within some words and is blind to what a paragraph is
about; the topic is blind to order. Two meanings of a noun differ by topic more than by state; a noun and a verb of the
same form the other way round. `benchmarks/search.py` measures both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Text
from textlds.errors import ArgumentError
from textlds.model.textlds import TextLDS
from textlds.vectors.recipes import Recipe, RecipeLike

Vectors = NDArray[np.float32]

TOPIC = 0.5  # how much the topic counts beside the state, unless a question says otherwise
_REACH = 50  # words on either side that make a topic
_ALPHA = 1e-3  # the frequency at which a word counts half as much as a rare one


@dataclass(frozen=True)
class Sense:
    """A text with a vector for each of its tokens.

    Attributes:
        tokens: The n tokens.
        vectors: (n, 2 h): state, and topic scaled by √TOPIC, so that products of two of them weigh it by TOPIC.
    """

    tokens: list[str]
    vectors: Vectors


def usual_recipe(model: TextLDS) -> str:
    """Return the recipe of occurrences: the paper's, or that of a context where profiles are observed."""
    return "paper" if model.observations == "words" else "context"


class SenseSpace:
    """Gives the occurrences of words their vectors.

    Args:
        model: The model.
        recipe: Of the first part; it must have the part "state" alone. The topic has the same weighting.
    """

    def __init__(self, model: TextLDS, *, recipe: RecipeLike | None = None) -> None:
        self.model = model
        chosen = model.recipe(usual_recipe(model) if recipe is None else recipe)
        if chosen.parts != ("state",):
            raise ArgumentError(
                f"recipe={str(recipe)!r} has the parts {'+'.join(chosen.parts)}; an index of occurrences has 'state' "
                f"alone, beside the topic. Use 'context' or 'paper'."
            )
        self._recipe = Recipe(("state", "word"), chosen.weighting, chosen.method)
        self.dimensions = 2 * model.state_size
        self._weights = (_ALPHA / (_ALPHA + model.frequencies)).astype(np.float32)
        known = model.spaces.space("float32", chosen.weighting).words
        self._mean: Vectors = (model.frequencies * self._weights).astype(np.float32) @ known

    def embed(self, texts: Iterable[Text], *, threads: int | None = None) -> Iterator[Sense]:
        """Yield the vectors of every token of each text."""
        h = self.model.state_size
        for text in self.model.embed(texts, recipe=self._recipe, threads=threads):
            rows = self.model.vocabulary.ids(text.tokens) if len(text) else np.empty(0, np.int32)
            vectors = text.vectors.copy()
            vectors[:, h:] = self._topics(vectors[:, h:] * self._weights[rows, None] - self._mean)
            yield Sense(text.tokens, vectors)

    def _topics(self, summands: Vectors) -> Vectors:
        """Return the topics of all positions of a text, from what each of its words adds. O(n h)."""
        n = len(summands)
        sums = np.concatenate([np.zeros((1, summands.shape[1])), np.cumsum(summands, axis=0, dtype=np.float64)])
        places = np.arange(n)
        around = sums[np.minimum(places + _REACH + 1, n)] - sums[np.maximum(places - _REACH, 0)] - summands
        lengths = np.linalg.norm(around, axis=1, keepdims=True)
        # a word without others around it has no topic
        topics: Vectors = (np.sqrt(TOPIC) * around / np.where(lengths > 1e-6, lengths, np.inf)).astype(np.float32)
        return topics


def reweighted(vectors: Vectors, topic: float) -> Vectors:
    """Return vectors whose products weigh the topic by ``topic`` instead of TOPIC, where both sides are reweighted."""
    result = vectors.copy()
    result[..., vectors.shape[-1] // 2 :] *= np.float32(np.sqrt(topic / TOPIC))
    return result
