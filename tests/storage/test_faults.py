"""A full disk at every step of writing: each call that can fail fails once, and nothing is lost."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import textlds
from counts.texts import make_text
from model.worlds import random_model
from textlds.corpus.settings import CountSettings
from textlds.learn.settings import FitSettings

CALLS = ("replace", "rename", "fsync", "mkdir", "open", "chmod", "write")


class Faults:
    """Counts the calls that write, and lets one of them fail."""

    def __init__(self, failing: int | None, folder: Path) -> None:
        self.calls, self.failing, self._folder = 0, failing, str(folder)

    def step(self, *paths: Any) -> None:
        self.calls += 1
        if self.calls == self.failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def ours(self, path: Any) -> bool:
        return isinstance(path, int) or str(path).startswith(self._folder)


@contextlib.contextmanager
def faults(failing: int | None, folder: Path) -> Iterator[Faults]:
    """Wrap every way in which files are written below a folder; the call of that number fails."""
    state = Faults(failing, folder)
    saved: list[tuple[Any, str, Any]] = []

    def wrap(owner: Any, name: str, concerns: Callable[..., bool]) -> None:
        original = getattr(owner, name)
        saved.append((owner, name, original))

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if concerns(*args, **kwargs):
                state.step(*args)
            return original(*args, **kwargs)

        setattr(owner, name, wrapped)

    def writing(path: Any, mode: str = "r", *_: Any, **__: Any) -> bool:
        return state.ours(path) and any(letter in mode for letter in "wax+")

    for name in ("replace", "rename", "mkdir"):
        wrap(os, name, lambda path, *_, **__: state.ours(path))
    wrap(os, "fsync", lambda _: True)
    wrap(os, "open", lambda path, flags, *_, **__: state.ours(path) and bool(flags & (os.O_WRONLY | os.O_RDWR)))
    wrap(io, "open", writing)
    wrap(builtins, "open", writing)
    try:
        yield state
    finally:
        for owner, name, original in reversed(saved):
            setattr(owner, name, original)


def outputs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def save_model(folder: Path) -> None:
    random_model(1).save(folder / "out", force=True)


def save_counts(folder: Path) -> None:
    textlds.count(texts=[make_text(0, 300)], vocab_size=30, max_lag=2, threads=1).save(folder / "out", force=True)


def count(folder: Path) -> None:
    settings = CountSettings(vocab_size=30, max_lag=2)
    (folder / "text.txt").exists() or (folder / "text.txt").write_text(make_text(0, 300))
    textlds.count(folder / "text.txt", counting=settings, threads=1, output=folder / "out", resume=True)


def fit(folder: Path) -> None:
    counts = textlds.count(texts=[make_text(0, 300)], vocab_size=30, max_lag=3, threads=1)
    settings = FitSettings(state_size=2, iterations=2, ssid_horizon=2, em_horizon=2)
    textlds.fit(counts, settings=settings, threads=1, output=folder / "out", resume=True)


WRITERS: dict[str, Callable[[Path], None]] = {"model": save_model, "counts": save_counts, "count": count, "fit": fit}


def content(folder: Path) -> dict[str, bytes]:
    """Return every file of an output, but for the times in a history and what depends on them."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in ("history.json", "config.json")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("name", WRITERS)
def test_whichever_write_fails_the_output_is_whole_or_not_there_and_a_second_try_succeeds(
    name: str, tmp_path: Path
) -> None:
    write = WRITERS[name]
    right = tmp_path / "right"
    right.mkdir()
    with faults(None, right) as counted:
        write(right)
    expected = content(right / "out")
    assert counted.calls > 5
    for failing in range(1, counted.calls + 1):
        place = tmp_path / str(failing)
        place.mkdir()
        if name in ("model", "counts"):  # an output of an earlier day, to be replaced
            random_model(0).save(place / "out") if name == "model" else save_counts(place)
            before = content(place / "out")
        with faults(failing, place), contextlib.suppress(OSError):
            write(place)
        if name in ("model", "counts"):
            assert content(place / "out") in (before, expected), failing
        elif (place / "out").exists():
            assert content(place / "out") == expected, failing
        write(place)
        assert content(place / "out") == expected, failing
        assert set(outputs(place)) <= {"out", "text.txt"}, failing
