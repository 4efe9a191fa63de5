"""A full disk at every step of writing: each call that can fail fails once, and nothing is lost."""

from __future__ import annotations

import builtins
import contextlib
import errno
import functools
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
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.tagger import Tagger


class Faults:
    """Counts the calls that write, and lets one of them fail."""

    def __init__(self, failing: int | None, folder: Path) -> None:
        self.calls, self.failing, self._folder = 0, failing, str(folder)

    def step(self) -> None:
        self.calls += 1
        if self.calls == self.failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def ours(self, path: Any) -> bool:
        return isinstance(path, int) or str(path).startswith(self._folder)


class File:
    """A file whose writes are counted, and may fail."""

    def __init__(self, file: Any, state: Faults) -> None:
        self._file, self._state = file, state

    def write(self, data: Any) -> int:
        self._state.step()
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> File:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)


@contextlib.contextmanager
def faults(failing: int | None, folder: Path) -> Iterator[Faults]:
    """Wrap every way in which files are written below a folder; the call of that number fails."""
    state = Faults(failing, folder)
    saved: list[tuple[Any, str, Any]] = []

    def wrap(owner: Any, name: str, concerns: Callable[..., bool]) -> None:
        original = getattr(owner, name)
        saved.append((owner, name, original))

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not concerns(*args, **kwargs):
                return original(*args, **kwargs)
            state.step()
            if name == "fsync":  # the disk itself is not on trial
                return None
            made = original(*args, **kwargs)
            return File(made, state) if name == "open" and owner is not os else made

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


def place_for(folder: Path) -> Path:
    """Make a folder with texts in it."""
    folder.mkdir()
    (folder / "text.txt").write_text(make_text(0, 300))
    (folder / "short.txt").write_text("aaa aab\naab\n")
    return folder


def outputs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@functools.cache
def few_counts() -> textlds.LagCounts:
    return textlds.count(texts=[make_text(0, 300)], vocab_size=30, max_lag=3, threads=1)


def save_model(folder: Path) -> None:
    random_model(1).save(folder / "out", force=True)


def save_counts(folder: Path) -> None:
    few_counts().save(folder / "out", force=True)


def save_tagger(folder: Path) -> None:
    few_tags().save(folder / "out", force=True)


@functools.cache
def few_tags() -> Tagger:
    return Tagger.train(random_model(1), [(["a", "b"], ["A", "B"])] * 20, settings=TaggerSettings(hidden=2, rounds=1))


def count(folder: Path) -> None:
    settings = CountSettings(vocab_size=30, max_lag=2)
    textlds.count(folder / "text.txt", counting=settings, threads=1, output=folder / "out", resume=True)


def fit(folder: Path) -> None:
    settings = FitSettings(state_size=2, iterations=2, ssid_horizon=2, em_horizon=2)
    textlds.fit(few_counts(), settings=settings, threads=1, output=folder / "out", resume=True)


def index(folder: Path) -> None:
    pytest.importorskip("faiss")
    from textlds.search import OccurrenceIndex

    OccurrenceIndex.build(
        random_model(1), folder / "short.txt", folder / "out", recipe="paper", resume=True, force=True, threads=1
    )


WRITERS: dict[str, Callable[[Path], None]] = {
    "model": save_model, "counts": save_counts, "tagger": save_tagger, "count": count, "fit": fit, "index": index,
}  # fmt: skip
REPLACING = ("model", "counts", "tagger")  # an output of an earlier day


def content(folder: Path) -> dict[str, bytes]:
    """Return every file of an output, but for the times in a history and what depends on them."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in ("history.json", "config.json")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("name", WRITERS)
def test_whichever_write_fails_the_output_is_whole_or_not_there_and_a_second_try_succeeds(
    name: str, tmp_path: Path
) -> None:
    write = WRITERS[name]
    right = place_for(tmp_path / "right")
    with faults(None, right) as counted:
        write(right)
    expected = content(right / "out")
    assert counted.calls > 5
    for failing in range(1, counted.calls + 1):
        place = place_for(tmp_path / str(failing))
        if name in REPLACING:
            random_model(0).save(place / "out")
            before = content(place / "out")
        with faults(failing, place), contextlib.suppress(OSError):
            write(place)
        if name in REPLACING:
            assert content(place / "out") in (before, expected), failing
        elif (place / "out").exists():
            assert content(place / "out") == expected, failing
        with faults(None, place):
            write(place)
        assert content(place / "out") == expected, failing
        assert set(outputs(place)) <= {"out", "text.txt", "short.txt"}, failing
