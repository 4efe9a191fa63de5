"""Many processes and threads at once: on a model that is replaced, spawned ones, and a cluster that loses a worker."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import textlds
from benchmarks.attacks.targets import TARGETS, TEXT, TEXTS, use_model
from textlds.errors import TextLDSError


class Crowd:
    """Readers of a model that a writer keeps replacing, and clusters whose workers die.

    Args:
        folder: For the models.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model"
        TARGETS["model"].make(self.path)
        self._model = textlds.load(self.path)
        self._right = use_model(self.path)
        self._text = folder.with_name(folder.name + "-text.txt")
        self._text.write_text((TEXT + "\n") * 20)

    def attack(self, seed: int) -> str | None:
        """Go through one of the three; return what is wrong, or None."""
        return (self._replaced, self._spawned, self._bereaved)[seed % 3](seed)

    def _replaced(self, seed: int) -> str | None:
        """Read in processes and threads while another process replaces the folder."""
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

    def _spawned(self, seed: int) -> str | None:
        """Load and use the model in processes that are spawned, not forked."""
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            found = pool.map(_vectors, [str(self.path)] * 4)
        return None if set(found) == {_vectors(str(self.path))} else "spawned processes give other vectors"

    def _bereaved(self, seed: int) -> str | None:
        """Count on a cluster, a worker of which is killed meanwhile."""
        import distributed

        options = {"vocab_size": 60, "max_lag": 3}
        right = textlds.count(self._text, threads=1, **options)
        local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
            victim = random.Random(seed).choice(sorted(client.run(os.getpid).values()))
            killing = threading.Timer(random.Random(seed).random() * 2, os.kill, (victim, signal.SIGKILL))
            killing.start()
            found = textlds.count(self._text, client=client, **options)
            killing.join()
        return None if found == right else "a cluster that lost a worker counts otherwise"


def _vectors(path: str) -> bytes:
    return b"".join(text.vectors.tobytes() for text in textlds.load(path).embed(TEXTS, threads=1))
