"""The demonstration: its corpus, and that it runs from beginning to end."""

from __future__ import annotations

import ast
import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from textlds.demo import corpus, run
from textlds.demo.corpus import docstrings, installed_libraries, is_prose, paragraphs, read_corpus, source_files
from textlds.demo.run import run_demo, sparkline
from textlds.errors import OutputExistsError

SOURCE = '''
"""The module does a thing
that takes two lines.

    >>> doctest(1)
    1
"""
class A:
    """A class with a heading for itself.

    Parameters
    ----------
    x : int
        The number of things to do.
    """
    def method(self):
        """See https://example.org/page for all of the details."""
    async def other(self):
        "Return first release of version 3 here."
add_newdoc("numpy", "thing", ("part", """
    Compiled code has documentation as well.
    """))
raise RuntimeError("nothing of this may ever run")
'''


def test_docstrings_are_read_in_order_without_running_the_source() -> None:
    found = [paragraphs(text) for text in docstrings(ast.parse(SOURCE))]
    assert found == [
        ["The module does a thing that takes two lines."],
        ["A class with a heading for itself.", "The number of things to do."],
        ["See for all of the details."],
        ["Return first release of version 3 here."],
        ["Compiled code has documentation as well."],
    ]


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("Return the number of elements.", True),
        ("See Also", False),
        ("x = f(y) + 3 * g(z) ** 2", False),
        ("[[1, 2], [3, 4]] a b", False),
    ],
)
def test_prose(text: str, prose: bool) -> None:
    assert is_prose(text) is prose


def test_a_paragraph_is_taken_once_whatever_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""Copyright of the year 2001 by us.\n\nOnly here is this sentence."""')
    (tmp_path / "b.py").write_text('"""Copyright of the year 2002 by us."""')
    (tmp_path / "c.py").write_text('"""This is not valid Python')
    (tmp_path / "d.py").write_text("no_documentation = 1")
    done: list[int] = []
    files = sorted(tmp_path.iterdir())
    found = list(read_corpus([*files, tmp_path / "absent.py"], on_files=done.append))
    assert found == ["Copyright of the year 2001 by us.\nOnly here is this sentence."]
    assert sum(done) == 5


def test_processes_do_not_change_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_BATCH", 3)
    for i in range(10):
        word = chr(ord("a") + i) * 5
        (tmp_path / f"{i}.py").write_text(f'"""This is the text of the module {word}."""')
    files = sorted(tmp_path.iterdir())
    assert list(read_corpus(files, processes=2)) == list(read_corpus(files))


def test_the_files_are_those_of_python_and_of_what_textlds_needs() -> None:
    files = source_files()
    assert files == source_files()
    names = {"/".join(file.parts[-2:]) for file in files}
    assert {"email/message.py", "numpy/__init__.py", "scipy/__init__.py", "rich/console.py"} <= names
    assert not any("tests" in file.parts for file in files)
    libraries = installed_libraries()
    assert {"numpy", "scipy", "numba", "llvmlite", "pygments"} <= set(libraries)
    assert "pytest" not in libraries  # an extra


def test_libraries_of_a_source_tree_that_is_not_installed() -> None:
    assert "numpy" in installed_libraries("a-name-that-nobody-installed")


def test_nothing_is_imported(tmp_path: Path) -> None:
    before = set(sys.modules)
    (tmp_path / "x.py").write_text(SOURCE)
    assert list(read_corpus([tmp_path / "x.py"]))
    assert set(sys.modules) - before == set()


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The documentation of a few packages of the standard library: a hundredth of the corpus."""
    chosen = {"email", "logging", "unittest", "asyncio", "json", "http", "concurrent", "multiprocessing", "tkinter"}
    files = [file for file in source_files() if file.parent.name in chosen and "site-packages" not in file.parts]
    monkeypatch.setattr(run, "source_files", lambda: files)
    monkeypatch.setattr(run, "VOCAB_SIZE", 1000)


@pytest.mark.usefixtures("few_files")
def test_the_demo_shows_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "ENGLISH", "not-installed")
    screen = io.StringIO()
    model = run_demo(state_size=10, iterations=3, threads=1, console=Console(file=screen, width=100))
    text = screen.getvalue()
    for title in ("1. Text", "2. Learning", "3. Words", "4. Words in context", "5. Transitions", "6. Speed"):
        assert title in text
    assert "because" in text
    assert "▁" in text
    assert "tokens per second on 1 thread." in text
    assert "textlds train your-text.txt -o model" in text
    assert model.state_size == 10
    assert model.history.iterations == 3
    assert not list(tmp_path.iterdir())  # nothing is written unless asked


@pytest.mark.usefixtures("few_files")
def test_the_demo_keeps_the_model_if_asked(tmp_path: Path) -> None:
    screen = Console(file=io.StringIO())
    run_demo(state_size=5, iterations=1, threads=1, output=tmp_path / "m", console=screen)
    assert (tmp_path / "m" / "config.json").exists()
    with pytest.raises(OutputExistsError):
        run_demo(output=tmp_path / "m", console=screen)


def test_sparkline() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert len(sparkline(list(range(1000)), width=60)) <= 61
    assert sparkline(list(range(1000)), width=60)[-1] == "█"


def test_the_demonstration_begins_with_an_installed_model(tmp_path, monkeypatch) -> None:
    from model.worlds import random_model, with_meaning

    examples = (("bank", "They walked along the bank of the river .", "The bank raised its interest rates ."),)
    monkeypatch.setattr(run, "ENGLISH_IN_CONTEXT", examples)
    words = [word for text in run.ENGLISH_IN_CONTEXT for line in text for word in line.split()]
    model = with_meaning(random_model(0, V=len(set(words)) + 1, h=3, words=list(dict.fromkeys(words))))
    model.quantized().save(tmp_path / "model")
    out = io.StringIO()
    show = run._Show(Console(file=out, width=200))
    monkeypatch.setattr(run, "ENGLISH", str(tmp_path / "model"))
    assert run._installed(show)
    assert "raised its interest rates" in out.getvalue()
    assert "zorbium" in out.getvalue()  # whose vector is from its spelling
    monkeypatch.setattr(run, "ENGLISH", str(tmp_path / "nothing"))
    assert not run._installed(show)
    assert out.getvalue().count("A model of English") == 1
