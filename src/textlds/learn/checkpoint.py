"""EM that was interrupted and goes on: a folder with the last finished iteration.

The folder holds a job description (what is being fitted, with which settings), the lexicon and the sketch, written
once, and the last step, replaced whole at each save. Going on from it gives the same bits as never having stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textlds.errors import ArgumentError, FormatError
from textlds.lds.noise import NoiseKind, noise_from_arrays
from textlds.lds.params import LDSParams
from textlds.learn.history import History
from textlds.learn.moments import Moments
from textlds.learn.sketch import Sketch
from textlds.lexicon.lexicon import Lexicon
from textlds.linalg.operators import DenseOperator
from textlds.linalg.types import Vector
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import new_folder, read_config, read_json, write_config, write_json

_JOB, _LEXICON, _SKETCH, _STEP = "job", "lexicon", "sketch", "step"


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
    """A folder that an interrupted fit can go on from."""

    def __init__(self, path: str | os.PathLike[str], job: dict[str, Any], *, resume: bool) -> None:
        self.path = Path(path)
        self._job = json.loads(json.dumps(job))
        if self.path.exists() and not self.path.is_dir():
            raise ArgumentError(f"{self.path} is a file; a checkpoint is a folder. Give the name of a new one.")
        if not (self.path / _JOB).exists():  # new, or killed before anything was done
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_job()
        elif resume:
            self._check_job()
        else:
            raise ArgumentError(
                f"{self.path} is left from an interrupted fit. Go on from it with resume=True (--resume), "
                f"or delete it to start anew."
            )

    def discard(self) -> None:
        """Remove the folder: the model is written."""
        shutil.rmtree(self.path, ignore_errors=True)

    def save_sketch(self, sketch: Sketch) -> None:
        """Keep the basis and the projected moments."""
        arrays = {f"M{k}": lag.to_dense() for k, lag in enumerate(sketch.moments.lags, start=1)}
        with new_folder(self.path / _SKETCH, force=True) as folder:
            write_arrays(folder / "arrays.safetensors", {"basis": sketch.basis, **arrays})
            write_config(folder, kind="sketch", content={"rank": sketch.moments.rank})

    def load_sketch(self, *, threads: int) -> Sketch | None:
        """Return the sketch if it was finished."""
        if not (self.path / _SKETCH).exists():
            return None
        config = read_config(self.path / _SKETCH, kind="sketch")
        arrays = read_arrays(self.path / _SKETCH / "arrays.safetensors")
        lags = [DenseOperator(np.array(arrays[f"M{k}"])) for k in range(1, len(arrays))]
        return Sketch(np.array(arrays["basis"]), Moments(lags, None, int(config["rank"]), threads=threads))

    def save_lexicon(self, lexicon: Lexicon) -> None:
        """Keep what words are like by themselves."""
        with new_folder(self.path / _LEXICON, force=True) as folder:
            arrays = {"profiles": lexicon.profiles, "spelling": lexicon.spelling}
            write_arrays(folder / "arrays.safetensors", arrays)
            write_config(folder, kind="lexicon", content={})

    def load_lexicon(self) -> Lexicon | None:
        """Return the lexicon if it was finished."""
        if not (self.path / _LEXICON).exists():
            return None
        read_config(self.path / _LEXICON, kind="lexicon")
        arrays = read_arrays(self.path / _LEXICON / "arrays.safetensors")
        return Lexicon(np.array(arrays["profiles"]), np.array(arrays["spelling"]))

    def save_step(self, step: SavedStep) -> None:
        """Replace the last step."""
        params = step.params
        arrays = {"A": params.A, "C": params.C, "Q": params.Q}
        arrays |= {f"noise.{name}": array for name, array in params.noise.arrays().items()}
        content = {"noise": params.noise.kind, "phase": step.phase, "done": step.done, "relaxation": step.relaxation}
        with new_folder(self.path / _STEP, force=True) as folder:
            write_arrays(folder / "arrays.safetensors", arrays)
            write_json(folder / "history.json", step.history.to_json())
            write_config(folder, kind="step", content=content)

    def load_step(self, null: Vector) -> SavedStep | None:
        """Return the last step if one was finished."""
        folder = self.path / _STEP
        if not folder.exists():
            return None
        config = read_config(folder, kind="step")
        arrays = {name: np.array(array) for name, array in read_arrays(folder / "arrays.safetensors").items()}
        kind: NoiseKind = config["noise"]
        own = {name.removeprefix("noise."): array for name, array in arrays.items() if name.startswith("noise.")}
        params = LDSParams(arrays["A"], arrays["C"], arrays["Q"], noise_from_arrays(kind, own, null))
        history = History.from_json(read_json(folder / "history.json"))
        return SavedStep(params, int(config["phase"]), int(config["done"]), float(config["relaxation"]), history)

    def _write_job(self) -> None:
        with new_folder(self.path / _JOB) as folder:
            write_config(folder, kind="job", content={"job": self._job})

    def _check_job(self) -> None:
        job = read_config(self.path / _JOB, kind="job").get("job")
        if not isinstance(job, dict):
            raise FormatError(f"{self.path} is not the checkpoint of a fit. Delete it to start anew.")
        changed = [f"{n}: {job.get(n)!r} then, {value!r} now" for n, value in self._job.items() if job.get(n) != value]
        if changed:
            raise ArgumentError(
                f"{self.path} belongs to another fit ({'; '.join(changed)}). "
                f"Use the same counts and settings, or delete it to start anew."
            )
