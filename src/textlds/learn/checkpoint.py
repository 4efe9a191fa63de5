"""The parts of an unfinished fit: the sketch and the lexicon, made once, and the last step of EM.

Continuing from them gives the same bits as never having stopped. Parts that are damaged are made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from textlds.lds.noise import NoiseKind, noise_from_arrays
from textlds.lds.params import LDSParams
from textlds.learn.history import History
from textlds.learn.moments import Moments
from textlds.learn.sketch import Sketch
from textlds.lexicon.lexicon import Lexicon
from textlds.linalg.operators import DenseOperator
from textlds.linalg.types import Array, Vector
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import read_json, write_json
from textlds.storage.parts import Parts

LEXICON, SKETCH, STEP = "lexicon", "sketch", "step"
_ARRAYS, _FACTS = "arrays.safetensors", "facts.json"


@dataclass(frozen=True)
class SavedStep:
    """Where an interrupted fit stands.

    Attributes:
        params: The model, in the coordinates of the phase.
        phase: 0 for the iterations on the sketch, or all if there is none; 1 for those that polish the result.
        done: Iterations done in this phase.
        relaxation: η of the next iteration.
        history: What happened so far.
    """

    params: LDSParams
    phase: int
    done: int
    relaxation: float
    history: History


class Checkpoint:
    """The parts of a fit among those of unfinished work."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def save_sketch(self, sketch: Sketch) -> None:
        """Keep the basis and the projected moments."""
        arrays: dict[str, Array] = {f"M{k}": lag.to_dense() for k, lag in enumerate(sketch.moments.lags, start=1)}
        arrays |= {"basis": sketch.basis, "rank": np.array([sketch.moments.rank])}
        self._parts.keep(SKETCH, lambda path: write_arrays(path, arrays))

    def load_sketch(self, *, threads: int) -> Sketch | None:
        """Return the sketch if it was finished."""
        arrays = self._arrays(SKETCH)
        if arrays is None:
            return None
        lags = [DenseOperator(arrays[f"M{k}"]) for k in range(1, len(arrays) - 1)]
        return Sketch(arrays["basis"], Moments(lags, None, int(arrays["rank"][0]), threads=threads))

    def save_lexicon(self, lexicon: Lexicon) -> None:
        """Keep what words are like by themselves."""
        self._parts.keep(LEXICON, lambda path: write_arrays(path, lexicon.arrays()))

    def load_lexicon(self) -> Lexicon | None:
        """Return the lexicon if it was finished."""
        arrays = self._arrays(LEXICON)
        return None if arrays is None else Lexicon.from_arrays(arrays)

    def save_step(self, step: SavedStep) -> None:
        """Replace the last step."""
        params = step.params
        arrays = {"A": params.A, "C": params.C, "Q": params.Q}
        arrays |= {f"noise.{name}": array for name, array in params.noise.arrays().items()}
        facts = {"noise": params.noise.kind, "phase": step.phase, "done": step.done, "relaxation": step.relaxation}

        def write(folder: Path) -> None:
            folder.mkdir()
            write_arrays(folder / _ARRAYS, arrays)
            write_json(folder / _FACTS, {**facts, "history": step.history.to_json()}, indent=None)

        self._parts.keep(STEP, write)

    def load_step(self, null: Vector) -> SavedStep | None:
        """Return the last step if one was finished."""
        arrays, folder = self._arrays(STEP, _ARRAYS), self._parts.find(STEP)
        if arrays is None or folder is None:
            return None
        facts = read_json(folder / _FACTS)
        kind: NoiseKind = facts["noise"]
        own = {name.removeprefix("noise."): array for name, array in arrays.items() if name.startswith("noise.")}
        params = LDSParams(arrays["A"], arrays["C"], arrays["Q"], noise_from_arrays(kind, own, null))
        history = History.from_json(facts["history"])
        return SavedStep(params, int(facts["phase"]), int(facts["done"]), float(facts["relaxation"]), history)

    def _arrays(self, name: str, file: str = "") -> dict[str, Array] | None:
        path = self._parts.find(name)
        return None if path is None else {key: np.array(array) for key, array in read_arrays(path / file).items()}


def steps_done(parts: Parts) -> list[float]:
    """Return the log-likelihoods of the iterations that are done."""
    folder = parts.find(STEP)
    return [] if folder is None else list(read_json(folder / _FACTS)["history"]["log_likelihood"])
