"""The parts of an unfinished fit: the sketch and the lexicon, made once, and the last step of EM.

Continuing from them gives the same bits as never having stopped. Parts that are damaged are made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from textlds.errors import FormatError
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
    """How far an interrupted fit got.

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

        def read(path: Path) -> Sketch:
            arrays = _arrays(path)
            p = arrays["M1"].shape[0]
            names = [f"M{k}" for k in range(1, len(arrays) - 1)]
            _expect(arrays, {**dict.fromkeys(names, (p, p)), "basis": (len(arrays["basis"]), p), "rank": (1,)})
            lags = [DenseOperator(arrays[name]) for name in names]
            return Sketch(arrays["basis"], Moments(lags, None, int(arrays["rank"][0]), threads=threads))

        return self._parts.read(SKETCH, read)

    def save_lexicon(self, lexicon: Lexicon) -> None:
        """Keep what words are like by themselves."""
        self._parts.keep(LEXICON, lambda path: write_arrays(path, lexicon.arrays()))

    def load_lexicon(self, rows: int, size: int, about: int) -> Lexicon | None:
        """Return the lexicon of so many words, numbers per word, and numbers of its meaning, if it was finished."""

        def read(path: Path) -> Lexicon:
            arrays = _arrays(path)
            buckets = len(arrays["spelling"])
            if buckets < 1 or buckets & (buckets - 1):
                raise FormatError(f"spelling has {buckets} rows, which is not a power of two")
            shapes = {"profiles": (rows, size), "spelling": (buckets, size)}
            if "meaning.vectors" in arrays:
                own = {"vectors": (rows, about), "spelling": (buckets, about), "contexts": (about, about)}
                shapes |= {f"meaning.{name}": shape for name, shape in own.items()}
            _expect(arrays, shapes)
            return Lexicon.from_arrays(arrays)

        return self._parts.read(LEXICON, read)

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

        def read(folder: Path) -> SavedStep:
            arrays, facts = _arrays(folder / _ARRAYS), read_json(folder / _FACTS)
            kind: NoiseKind = facts["noise"]
            n, h = arrays["C"].shape
            shapes: dict[str, tuple[int, ...]] = {"A": (h, h), "C": (n, h), "Q": (h, h)}
            if kind == "full":
                shapes["noise.M"] = (h, h)
            elif kind != "bohning":
                shapes["noise.d"] = (n,) if kind == "diagonal" else (1,)
            _expect(arrays, shapes)
            own = {name.removeprefix("noise."): array for name, array in arrays.items() if name.startswith("noise.")}
            params = LDSParams(arrays["A"], arrays["C"], arrays["Q"], noise_from_arrays(kind, own, null))
            history = History.from_json(facts["history"])
            phase, done, relaxation = int(facts["phase"]), int(facts["done"]), float(facts["relaxation"])
            if phase not in (0, 1) or not 0 <= done <= history.iterations or not 0 < relaxation < np.inf:
                raise FormatError(f"phase {phase}, {done} iterations done, relaxation {relaxation}")
            if not isinstance(history.settings["iterations"], int):
                raise FormatError(f"iterations {history.settings['iterations']!r:.40}")
            return SavedStep(params, phase, done, relaxation, history)

        return self._parts.read(STEP, read)


def steps_done(parts: Parts) -> list[float]:
    """Return the log-likelihoods of the iterations that are done."""
    found = parts.read(STEP, lambda folder: History.from_json(read_json(folder / _FACTS)["history"]))
    return [] if found is None else list(found.log_likelihood)


def _arrays(path: Path) -> dict[str, Array]:
    return {key: np.array(array) for key, array in read_arrays(path).items()}


def _expect(arrays: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise FormatError unless these arrays are there, with these shapes and finite numbers, and no others."""
    found = {name: array.shape for name, array in arrays.items()}
    if found != dict(shapes):
        raise FormatError(f"arrays {found} instead of {dict(shapes)}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise FormatError(f"{name} holds numbers that are not finite")
