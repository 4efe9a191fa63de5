"""Many processes and threads on one model folder while it is replaced; each sees the one model or the other, whole."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import textlds
from benchmarks.attacks.damage import TARGETS, TEXTS, use_model
from textlds.errors import TextLDSError


class Crowd:
    """Readers of a model that a writer keeps replacing.

    Args:
        folder: For the models.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model"
        TARGETS["model"].make(self.path)
        self._model = textlds.load(self.path)
        self._right = use_model(self.path)

    def attack(self, seed: int) -> str | None:
        """Read in processes and threads while another process replaces the folder; return what is wrong."""
        writer = os.fork()
        if writer == 0:
            while True:  # until it is killed, in the middle of a replacement
                self._model.save(self.path, force=True)
        readers = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if self._read(2.0) is None else 1)
            readers.append(pid)
        time.sleep(0.1)
        with ThreadPoolExecutor(4) as pool:
            wrong = [found for found in pool.map(lambda _: self._read(1.5), range(4)) if found]
        wrong += [f"a reading process ended with {status}" for pid in readers if (status := os.waitpid(pid, 0)[1])]
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        try:
            if use_model(self.path) != self._right:
                wrong.append("other results after the writer was killed")
            self._model.save(self.path, force=True)  # clears what the dead writer left
        except TextLDSError as error:
            wrong.append(f"after the writer was killed: {error}")
        left = [file.name for file in self.path.parent.iterdir() if file.name != "model"]
        if left:
            wrong.append(f"left over: {left[:3]}")
        return "; ".join(wrong) or None

    def _read(self, seconds: float) -> str | None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if use_model(self.path) != self._right:
                    return "other results"
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        return None


def spawned(path: Path) -> str | None:
    """Load and use a model in a process that was spawned, not forked."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(_vectors, [str(path)] * 4)
    return None if len(set(found)) == 1 else "processes differ"


def _vectors(path: str) -> bytes:
    return b"".join(text.vectors.tobytes() for text in textlds.load(path).embed(TEXTS, threads=1))
