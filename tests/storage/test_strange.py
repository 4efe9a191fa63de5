"""Things in the place of files that have no end or lead elsewhere: pipes, devices, links. Nobody waits or follows."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import textlds
from textlds.errors import FormatError, OutputExistsError
from textlds.storage.arrays import read_arrays
from textlds.storage.folders import check_output, read_json
from textlds.storage.work import Work

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes pipes and links")

JOB = {"job": "a"}


@pytest.fixture(autouse=True)
def _end_of_waiting() -> Iterator[None]:
    """A test that waits for a pipe would wait for ever."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


STRANGE = [pipe, device]


def unfinished(output: Path) -> Path:
    """Leave work for an output behind; return its folder."""
    with contextlib.suppress(KeyboardInterrupt), Work(output, JOB) as work:
        work.parts.keep("one", lambda path: path.write_text("1") and None)
        work.parts.keep("two", lambda path: path.write_text("2") and None)
        raise KeyboardInterrupt
    return work.folder


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("name", ["lock", "manifest.json", "parts.log"])
@pytest.mark.parametrize("options", [{}, {"resume": True}, {"force": True}])
def test_work_with_something_strange_in_it_is_refused(
    name: str, make: Callable[[Path], None], options: dict[str, bool], tmp_path: Path
) -> None:
    folder = unfinished(tmp_path / "out")
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(OutputExistsError, match=f"holds {name}, which textlds did not put there"):
        Work(tmp_path / "out", JOB, **options)


@pytest.mark.parametrize("make", STRANGE)
def test_a_part_that_became_strange_is_made_again(make: Callable[[Path], None], tmp_path: Path) -> None:
    folder = unfinished(tmp_path / "out")
    (folder / "parts" / "one.1").unlink()
    make(folder / "parts" / "one.1")
    with Work(tmp_path / "out", JOB, resume=True) as work:
        assert work.parts.find("one") is None
        assert work.parts.find("two") is not None


@pytest.mark.parametrize("options", [{"resume": True}, {"force": True}])
def test_parts_that_are_elsewhere_are_neither_used_nor_removed(options: dict[str, bool], tmp_path: Path) -> None:
    folder, precious = unfinished(tmp_path / "out"), tmp_path / "precious"
    shutil.rmtree(folder / "parts")
    precious.mkdir()
    (precious / "letter.txt").write_text("dear")
    (folder / "parts").symlink_to(precious)
    with pytest.raises(OutputExistsError, match="holds parts, which textlds did not put there"):
        Work(tmp_path / "out", JOB, **options)
    assert (precious / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("make", STRANGE)
def test_json_and_arrays_are_read_from_files_only(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "strange")
    for read in (read_json, read_arrays):
        with pytest.raises(FormatError, match="strange is missing"):
            read(tmp_path / "strange")


@pytest.mark.parametrize("make", STRANGE)
def test_an_output_whose_config_is_strange_is_not_ours_to_replace(make: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    make(tmp_path / "out" / "config.json")
    with pytest.raises(OutputExistsError, match="did not write"):
        check_output(tmp_path / "out", force=True)


@pytest.mark.parametrize("make", STRANGE)
def test_a_folder_with_something_strange_in_it_is_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    textlds.count(texts=["a b c a b d a c"], max_lag=1, threads=1).save(tmp_path / "counts")
    for file in sorted((tmp_path / "counts").iterdir()):
        shutil.copytree(tmp_path / "counts", tmp_path / "altered")
        (tmp_path / "altered" / file.name).unlink()
        make(tmp_path / "altered" / file.name)
        with pytest.raises(FormatError):
            textlds.LagCounts.load(tmp_path / "altered")
        shutil.rmtree(tmp_path / "altered")


@pytest.mark.parametrize("make", STRANGE)
def test_leftovers_that_are_strange_keep_nobody_waiting(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / ".counts.abc.partial")
    textlds.count(texts=["a b c a b d a c"], max_lag=1, threads=1).save(tmp_path / "counts")
    assert textlds.LagCounts.load(tmp_path / "counts").tokens == 8
