"""What the page shows of a whole model: its transitions, and how it was learnt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from textlds.lds.steady import steady_state
from textlds.linalg.types import Matrix
from textlds.model.directions import Directions
from textlds.model.packed import PackedModel
from textlds.model.textlds import TextLDS
from textlds.serve.reading import Reader, gaps

EXAMPLES = 5  # sentences per transition
_TEXTS = 2000  # that are looked at for examples
_LONGEST = 400  # characters of a text shown as an example


def passages(reader: Reader, found: Directions, texts: Iterable[str]) -> list[list[dict[str, Any]]]:
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


def passing(found: Directions, smooth: Matrix) -> Matrix:
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
        **(_packed_spectra(model) if isinstance(model, PackedModel) else _spectra(model)),
    }


def _packed_spectra(model: PackedModel) -> dict[str, Any]:
    """Return what does not depend on coordinates: eigenvalues; and the singular values of F where Σ_filt = I."""
    A = model.tables.small["A"].astype(np.float64)
    F = model.tables.small["shrink"].astype(np.float64)[:, None] * A
    return {
        "singular_values": {"F": np.linalg.svd(F, compute_uv=False).tolist()},
        "eigenvalues": {"A": _points(A), "F": _points(F)},
    }


def _points(matrix: Matrix) -> list[list[float]]:
    return [[value.real, value.imag] for value in np.linalg.eigvals(matrix).astype(complex).tolist()]


def _spectra(model: TextLDS) -> dict[str, Any]:
    """Return the spectra of A, F and J in coordinates with Q = I; J has the eigenvalues of F."""
    params = model.params.normalised()
    steady = steady_state(params)
    return {
        "singular_values": {
            name: np.linalg.svd(matrix, compute_uv=False).tolist()
            for name, matrix in (("A", params.A), ("F", steady.F), ("J", steady.J))
        },
        "eigenvalues": {"A": _points(params.A), "F": _points(steady.F)},
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
