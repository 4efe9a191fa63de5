"""A corpus that is on every machine: the documentation strings of Python and of the libraries textlds installs.

They are read from the source files with ``ast``; nothing is imported or run. The same installation gives the same text
in the same order.
"""

from __future__ import annotations

import ast
import gc
import inspect
import multiprocessing
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path

_TESTS = frozenset({"test", "tests", "testing", "idle_test", "__pycache__", "site-packages", "dist-packages"})
_URL = re.compile(r"<?https?://\S+")
_LETTERS = re.compile(r"[A-Za-z]+")
_WORD = re.compile(r"\w")
_DIGITS = re.compile(r"\d+")
_SESSION = (">>>", "... ", "```", "$ ")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SPARSE = 10_000  # bytes of source for each """; what has fewer is tables, a tenth of all bytes
_BATCH = 64  # files that a process parses at a time, about a megabyte

# What textlds requires, for a source tree that was never installed and so has no metadata.
_REQUIRED = ("numpy", "scipy", "numba", "safetensors", "threadpoolctl", "typer", "rich")


def read_corpus(
    files: Sequence[Path], *, processes: int = 1, on_files: Callable[[int], object] = lambda n: None
) -> Iterator[str]:
    """Yield the documents of source files, in their order: one a docstring, a paragraph per line.

    A paragraph that occurs in many places (licences, parameters that functions share) is taken once: a model would
    learn it by heart.

    Args:
        files: Python files.
        processes: How many parse at a time.
        on_files: Called with the number of files done since the last call.

    Cost: about 0.13 s a megabyte of source, divided among the processes.
    """
    seen: set[str] = set()
    for number, documents in _parsed(files, processes):
        for document in documents:
            fresh = []
            for paragraph in document:
                key = _DIGITS.sub("0", paragraph)
                if key not in seen:
                    seen.add(key)
                    fresh.append(paragraph)
            if fresh:
                yield "\n".join(fresh)
        on_files(number)


def _parsed(files: Sequence[Path], processes: int) -> Iterator[tuple[int, list[list[str]]]]:
    batches = [files[i : i + _BATCH] for i in range(0, len(files), _BATCH)]
    sizes = [len(batch) for batch in batches]
    if processes == 1 or len(batches) < 2:
        yield from zip(sizes, map(_documents, batches), strict=True)
        return
    # spawn: a fork would copy the locks of threads that do not come with it
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from zip(sizes, pool.map(_documents, batches), strict=True)


def source_files() -> list[Path]:
    """Return the Python files of the standard library and of what textlds depends on, without their tests."""
    standard = Path(sysconfig.get_path("stdlib"))
    files = sorted(file for file in standard.rglob("*.py") if not _TESTS & set(file.relative_to(standard).parts))
    for name in installed_libraries():
        found = metadata.distribution(name).files or []
        files += sorted(
            Path(str(file.locate())) for file in found if file.suffix == ".py" and not _TESTS & set(file.parts)
        )
    return files


def installed_libraries(root: str = "textlds") -> list[str]:
    """Return the distributions that ``root`` needs, directly or not, that are installed, sorted."""
    try:
        todo = list(metadata.requires(root) or [])
    except metadata.PackageNotFoundError:
        todo = list(_REQUIRED)
    found: set[str] = set()
    while todo:
        requirement, _, marker = todo.pop().partition(";")
        match = _NAME.match(requirement)
        if match is None or "extra" in marker:
            continue
        name = match.group().lower().replace("_", "-")
        if name in found:
            continue
        try:
            todo += metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another system or version of Python
            continue
        found.add(name)
    return sorted(found)


def _documents(files: Sequence[Path]) -> list[list[str]]:
    """Return the paragraphs of every docstring of some files; templates that are not valid Python have none."""
    documents = []
    # a syntax tree has no garbage until it is dropped whole: collecting would double the time
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            for file in files:
                try:
                    source = file.read_bytes()
                    quotes = source.count(b'"""') + source.count(b"'''")
                    if len(source) < _SPARSE * quotes:
                        documents += [text for raw in docstrings(ast.parse(source)) if (text := paragraphs(raw))]
                except (SyntaxError, ValueError, OSError):
                    continue
    finally:
        if collecting:
            gc.enable()
    return documents


def docstrings(tree: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the docstrings of a module in the order in which they occur, those it adds to compiled code included."""
    own = ast.get_docstring(tree, clean=False)
    if own:
        yield own
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from docstrings(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _added(node.value)


def _added(call: ast.Call) -> Iterator[str]:
    """Yield what NumPy and SciPy document compiled functions with: add_newdoc(place, name, text or (name, text))."""
    if not isinstance(call.func, ast.Name) or call.func.id != "add_newdoc":
        return
    for argument in call.args:
        for part in argument.elts if isinstance(argument, ast.Tuple) else [argument]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and "\n" in part.value:
                yield part.value


def paragraphs(docstring: str) -> list[str]:
    """Return the English of a docstring, a paragraph a string.

    A paragraph ends at a blank line or a rule, and where the indentation changes, as between a parameter and its
    description.
    Interactive sessions, formulas, tables and headings are left out: see :func:`is_prose`.
    """
    found: list[str] = []
    lines: list[str] = []
    indentation = 0
    for line in [*inspect.cleandoc(docstring).split("\n"), ""]:
        words = " ".join(_URL.sub("", line).split()) if _WORD.search(line) else ""
        indented = len(line) - len(line.lstrip())
        if lines and (not words or indented != indentation):
            found.append(" ".join(lines))
            lines = []
        if words and not words.startswith(_SESSION):
            lines.append(words)
        indentation = indented
    return [text for text in found if is_prose(text)]


def is_prose(text: str) -> bool:
    """Tell whether a paragraph is English: at least three words, and four fifths of it letters and spaces."""
    words = _LETTERS.findall(text)
    return len(words) >= 3 and text.count(" ") + sum(map(len, words)) >= 0.8 * len(text)
