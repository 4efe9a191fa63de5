"""Kernels compile wherever Python runs: with a cache, with none, and with a damaged one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import textlds

PROGRAM = """
import warnings
warnings.simplefilter("always")
import textlds.corpus.tokens.tokenizer, textlds.counts.kernels, textlds.inference.kernels
from textlds.corpus.reading.sources import find_invalid
print(find_invalid(b"abc"), find_invalid(b"ab\\xff"))
from textlds.linalg.sparse import SparseMatrix
import numpy as np, scipy.sparse as sp
print(SparseMatrix.from_scipy(sp.csr_array(np.eye(2))).matmat(np.ones((2, 1))).sum())
"""


KEPT = """
import sys
import numpy as np
from textlds.linalg.quantized import RowTable
table = RowTable(np.array([[3, 4], [6, 8]], np.int8), np.ones(2, np.float32))
print(table.rows(np.array([1])).tolist(), "numba.np.linalg" in sys.modules)
if len(sys.argv) > 1:  # another signature, which is compiled after one that was kept
    print(table.rows(np.array([0], np.int32)).tolist(), "numba.np.linalg" in sys.modules)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which no __pycache__ can be made, whoever the user is: a file is in its place."""
    home = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(textlds.__file__).parent, home / "textlds", ignore=ignored)
    for folder in [home / "textlds", *(p for p in (home / "textlds").rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("not a folder")
    return home


def run(package: Path, program: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *program],
        env={**kept, "PYTHONPATH": str(package), **environment},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def nowhere(package: Path) -> dict[str, str]:
    below_a_file = str(package / "textlds" / "_version.py" / "folder")
    return {"HOME": below_a_file, "XDG_CACHE_HOME": below_a_file, "NUMBA_CACHE_DIR": below_a_file}


def test_where_nothing_can_be_kept_kernels_compile_in_memory_and_one_warning_says_so(package: Path) -> None:
    done = run(package, ["-c", PROGRAM], **nowhere(package))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["-1", "2", "2.0"]
    assert done.stderr.count("compiled code cannot be kept") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


def test_a_command_that_compiles_nothing_does_not_mention_the_cache(package: Path) -> None:
    done = run(package, ["-m", "textlds", "--version"], **nowhere(package))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    imported = run(package, ["-c", "import textlds.corpus.reading.sources"], **nowhere(package))
    assert imported.stderr == ""


def test_a_damaged_cache_costs_time_only(package: Path, tmp_path: Path) -> None:
    program = ["-c", "from textlds.corpus.reading.sources import find_invalid as f; print(f(b'ab\\xff'))"]
    home = {"HOME": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(package, program, **home).stdout == "2\n"
    files = [file for file in tmp_path.rglob("*") if file.suffix in (".nbi", ".nbc")]
    assert len(files) >= 2
    for file in files:  # as a power cut leaves files that were never flushed
        file.write_bytes(b"")
    done = run(package, program, **home)
    assert done.stdout == "2\n", done.stderr
    assert done.stderr == ""
    assert all(file.stat().st_size for file in files)  # and it was mended


def test_what_is_kept_is_used_without_making_ready_to_compile_which_still_works_afterwards(
    package: Path, tmp_path: Path
) -> None:
    home = {"HOME": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(package, ["-c", KEPT], **home).stdout == "[[6.0, 8.0]] True\n"
    done = run(package, ["-c", KEPT, "more"], **home)
    assert done.stdout == "[[6.0, 8.0]] False\n[[3.0, 4.0]] True\n", done.stderr
