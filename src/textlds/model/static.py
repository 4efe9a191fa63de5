"""One vector per word, for tools that know no context.

    meaning  what the word is about: those of ``model.words``
    use      how the word is used: those of ``model.words.use``

    input    k(w), column w of K W: what the word tells about the state. Whitened and of length one, as the part
             ``"word"`` with fitted weighting.
    output   row w of W C: how likely a state makes the word. In the coordinates of the part
             ``"left_context"`` with fitted weighting, so that the product with a token's ``"left_context"`` vector
             ranks the words expected at its place:

                 (W C p)_w = output_w · E[p pᵀ]^-½ p        relative excess of the probability of w over its frequency

With full or spherical noise K is a linear map of Cᵀ, and the two tables differ by their metric alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from textlds.errors import check_choice
from textlds.linalg.elementwise import inverse_or_zero
from textlds.model.textlds import TextLDS

VectorKind = Literal["meaning", "use", "input", "output"]
ClassRows = Literal["keep", "drop"]
KINDS: tuple[VectorKind, ...] = get_args(VectorKind)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words with a vector each.

    Attributes:
        words: The n words, most frequent first; then the unknown classes, if kept, under their names: <unk>, ...
        vectors: (n, h) float32.
    """

    words: list[str]
    vectors: NDArray[Any]

    def __len__(self) -> int:
        return len(self.words)


def word_vectors(model: TextLDS, kind: VectorKind = "meaning", *, classes: ClassRows = "keep") -> WordVectors:
    """Return one vector for each word. O(V h²).

    A word that the model knows nothing of (a frequency of zero, after counts were subtracted) has no vector.

    Args:
        model: A fitted model.
        kind: ``"meaning"``, ``"use"``, ``"input"`` or ``"output"``.
        classes: ``"keep"`` or ``"drop"`` the classes of unknown words.
    """
    for name, value, options in (("vectors", kind, KINDS), ("classes", classes, get_args(ClassRows))):
        check_choice(name, value, options)
    vectors = _output(model) if kind == "output" else _words(model, kind)
    rows = np.flatnonzero(vectors.any(axis=1))
    if classes == "drop":
        rows = rows[rows < model.vocabulary.n_types]
    return WordVectors([model.vocabulary.words[row] for row in rows], vectors[rows])


def _words(model: TextLDS, kind: VectorKind) -> NDArray[Any]:
    if kind == "meaning":
        return model.spaces.space("float32", "equal").meaning.words
    return model.spaces.space("float32", "equal" if kind == "use" else "fitted").words


def _output(model: TextLDS) -> NDArray[Any]:
    engine = model.spaces.engine("float32")
    whitener = model.spaces.space("float32").whitener("left_context").astype(np.float64)
    params = model.params
    root = np.sqrt(model.frequencies)
    weights = inverse_or_zero(root)
    # x_left = E[p pᵀ]^-½ T x, so C x = C T⁻¹ E[p pᵀ]^½ x_left
    C = np.linalg.solve((whitener @ engine.system.T).T, params.C.T).T
    return np.asarray(weights[:, None] * C, np.float32)
