"""What the page shows of a whole model: its transitions, and how it was learnt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from textlds.lds.steady import steady_state
from textlds.linalg.psd import sqrt_and_inverse
from textlds.linalg.types import Matrix
from textlds.model.packed import PackedModel
from textlds.model.textlds import TextLDS
from textlds.serve.reading import Reader, gaps

TRANSITIONS, WORDS = 20, 9
EXAMPLES = 5  # sentences per transition
_TEXTS = 2000  # that are looked at for examples
_LONGEST = 400  # characters of a text shown as an example


@dataclass(frozen=True, eq=False)
class Transitions:
    """The strongest singular vector pairs of A, (u, σ, v).

    Attributes:
        pairs: With ``strength``, and the words of ``source`` and ``target``.
        source: What a state says of v: x · source[i], (n, h), x in the coordinates of inference.
        target: What it says of u.
    """

    pairs: list[dict[str, Any]]
    source: Matrix
    target: Matrix


def transitions(model: TextLDS, reader: Reader, n: int = TRANSITIONS) -> Transitions:
    """Return the strongest transitions of a model."""
    found = model.dynamics(n, words=WORDS)
    params = model.params.normalised()
    U, _, Vt = np.linalg.svd(params.A)
    # x_Q = Q^-½ x and x_canonical = T x, so that v · x_Q = v Q^-½ T⁻¹ · x_canonical
    carry = sqrt_and_inverse(model.params.Q)[1] @ np.linalg.inv(reader.engine.system.T)
    source, target = Vt[: len(found)] @ carry, U.T[: len(found)] @ carry
    for i, pair in enumerate(found):  # the sign is the one under which the words shown stand out
        rows = [model.vocabulary.id(word) for word in pair.source]
        after = [model.vocabulary.id(word) for word in pair.target]
        gains = reader.engine.gains
        if (gains[rows] @ source[i]).sum() + (gains[after] @ target[i]).sum() < 0:
            source[i], target[i] = -source[i], -target[i]
    pairs = [{"strength": pair.strength, "source": pair.source, "target": pair.target} for pair in found]
    return Transitions(pairs, source, target)


def passages(reader: Reader, found: Transitions, texts: Iterable[str]) -> list[list[dict[str, Any]]]:
    """Return, for each transition, the texts with the strongest passage through it.

    A passage is a pair of neighbouring tokens with (x̄_t · source)(x̄_{t+1} · target) large, both positive.
    """
    best: list[list[tuple[float, str, int]]] = [[] for _ in found.pairs]
    for number, text in enumerate(texts):
        if number >= _TEXTS:
            break
        if not text.strip() or len(text) > _LONGEST:
            continue
        states = reader.states(text)
        scores = passing(found, states.smooth)
        for pair, column in enumerate(scores.T):
            if len(column):
                place = int(column.argmax())
                best[pair].append((float(column[place]), text, place))
    shown = []
    for ranked in best:
        ranked.sort(key=lambda item: -item[0])
        shown.append([_passage(reader, text, place, score) for score, text, place in ranked[:EXAMPLES] if score > 0])
    return shown


def passing(found: Transitions, smooth: Matrix) -> Matrix:
    """Return how much each pair of neighbouring tokens goes through each transition, (n − 1, transitions)."""
    before, after = smooth[:-1] @ found.source.T, smooth[1:] @ found.target.T
    scores: Matrix = np.maximum(before, 0) * np.maximum(after, 0)
    return scores


def _passage(reader: Reader, text: str, place: int, score: float) -> dict[str, Any]:
    encoded = reader.encoder.encode(text)
    before, tail = gaps(text, encoded)
    return {"tokens": list(encoded.tokens), "before": before, "tail": tail, "at": place, "score": score}


def learning(model: TextLDS) -> dict[str, Any]:
    """Return how a model was learnt: the likelihood, the spectra, the settings."""
    history = model.history
    return {
        "start": history.start,
        "log_likelihood": history.log_likelihood,
        "seconds": history.seconds,
        "settings": {name: value for name, value in history.settings.items() if _is_plain(value)},
        **({"singular_values": {}, "eigenvalues": {}} if isinstance(model, PackedModel) else _spectra(model)),
    }


def _spectra(model: TextLDS) -> dict[str, Any]:
    """Return the spectra of A, F and J in coordinates with Q = I; J has the eigenvalues of F."""
    params = model.params.normalised()
    steady = steady_state(params)
    return {
        "singular_values": {
            name: np.linalg.svd(matrix, compute_uv=False).tolist()
            for name, matrix in (("A", params.A), ("F", steady.F), ("J", steady.J))
        },
        "eigenvalues": {
            name: [[value.real, value.imag] for value in np.linalg.eigvals(matrix).astype(complex).tolist()]
            for name, matrix in (("A", params.A), ("F", steady.F))
        },
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
