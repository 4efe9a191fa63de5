"""What the README and docs/ say is true: their code runs, their links lead somewhere, their tables match the code.

A fenced block is ``python`` or ``bash``, which run here, or ``text``: a drawing, an equation, output. The Python blocks
of a page share one namespace and one folder, the commands another folder; both hold the files of :func:`materials`.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import io
import itertools
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import textlds
from integrations.hub import running_hub, use_hub
from textlds.cli import _PANELS, build_app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
DRAWING = re.compile("[─│▶◀▼]")
# These need a cluster: tests/integrations/test_dask.py runs them on one.
ELSEWHERE = ("--scheduler", "client=client")


@dataclass(frozen=True)
class Block:
    """A piece of code on a page."""

    kind: str
    line: int
    code: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page; an indented one, which names no language, a line at a time."""
    fence: list[str] | None = None
    kind, start, before = "", 0, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            if fence is None:
                fence, kind, start = [], line[3:].strip(), number
            else:
                yield Block(kind, start, "\n".join(fence))
                fence = None
        elif fence is not None:
            fence.append(line)
        elif line.startswith("    ") and (not before.strip() or before.startswith("    ")):
            code = line.strip()
            drawn = DRAWING.search(code) or any(word in code for word in ELSEWHERE)
            yield Block("text" if drawn else "bash" if code.startswith("textlds ") else "python", number, code)
        before = line
    assert fence is None, f"{page}:{start}: the block does not end"


CLASSES = {"n": 260, "v": 160, "a": 160, "p": 100}
PATTERNS = (
    "The {n} {v} the {n} .", "He {v} on the {a} {n} of the {n} .", "{p} {v} a {a} {n} , and the {n} {v} rates .",
    "He sat on the bank of the {n} .", "The bank raised {a} rates .", "Every {n} by the river {v} {p} .",
)  # fmt: skip


def make_lines(count: int, *, seed: int) -> list[str]:
    """Return sentences of a little grammar with hundreds of words; some are any word, so that nothing is certain."""
    rng = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    shapes = random.Random(0)  # the same words for every seed
    words = {kind: ["".join(shapes.choices(syllables, k=3)) for _ in range(size)] for kind, size in CLASSES.items()}
    words["p"] = [word.capitalize() for word in words["p"]]
    words["n"] += ["bank", "river"] * 5
    known = [word for kind in words.values() for word in kind]
    lines = []
    for _ in range(count):
        pieces = rng.choice(PATTERNS).split()
        chosen = [rng.choice(words[piece[1]]) if piece.startswith("{") else piece for piece in pieces]
        lines.append(" ".join(rng.choice(known) if rng.random() < 0.2 else word for word in chosen))
    return lines


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages speak of."""
    folder = tmp_path_factory.mktemp("materials")
    letters = make_lines(60, seed=1)
    texts = {
        "corpus.txt": make_lines(7000, seed=2),
        "news.txt": make_lines(400, seed=3),
        "letters.txt": letters,
        "reviews.txt": make_lines(20, seed=4),
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    textlds.count([folder / "corpus.txt", folder / "letters.txt"]).save(folder / "all")
    make_labelled(folder)
    return folder


def make_labelled(folder: Path) -> None:
    """Write the labelled files that the page on evaluation speaks of; a word's tag depends on its spelling."""
    tags = {
        ".": "PUNCT",
        ",": "PUNCT",
        "The": "DET",
        "the": "DET",
        "a": "DET",
        "Every": "DET",
        "of": "ADP",
        "on": "ADP",
    }
    for name, (count, seed) in {"train": (120, 5), "dev": (40, 6), "test": (40, 7)}.items():
        rows, entities = [], []
        for line in make_lines(count, seed=seed):
            words = line.split()
            tagged = [
                (w, tags.get(w) or ("PROPN" if w[0].isupper() else "NOUN" if w[-1] in "aei" else "VERB")) for w in words
            ]
            rows += [f"{i}\t{w}\t_\t{tag}\t{tag[:2]}" + "\t_" * 5 for i, (w, tag) in enumerate(tagged, 1)]
            entities += [f"{w} {'I-PER' if tag == 'PROPN' else 'O'}" for w, tag in tagged]
            rows.append("")
            entities.append("")
        (folder / f"{name}.conllu").write_text("\n".join(rows) + "\n")
        (folder / f"entities-{name}.txt").write_text("\n".join(entities) + "\n")
    (folder / "pairs.txt").write_text("bank river 3.5\nbank rates 6\nriver sat 1\nsat raised 4\n")
    contexts = ("He sat on the <b> bank </b> of the river .", "The <b> bank </b> raised rates .", "the <b> river </b>")
    scws = [f"1\tx\tn\ty\tn\t{contexts[i]}\t{contexts[i - 1]}\t{i}.5" for i in range(3)]
    (folder / "scws.txt").write_text("\n".join(scws) + "\n")


@pytest.fixture
def here(materials: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the materials."""
    folder = tmp_path / "work"
    shutil.copytree(materials, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in of the Hugging Face Hub, for the pages that push to it."""
    with running_hub() as running:
        use_hub(monkeypatch, running.url, tmp_path / "hub")
        monkeypatch.setenv("HF_TOKEN", running.token)
        yield


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("here")
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # within the client of the Hub
def test_python_runs(name: str, request: pytest.FixtureRequest) -> None:
    if "push_to_hub" in (ROOT / name).read_text(encoding="utf-8"):
        request.getfixturevalue("hub")
    namespace: dict[str, Any] = {"__name__": "page", "textlds": textlds}
    printed = ""
    for block in blocks(ROOT / name):
        if block.kind == "python":
            code = compile("\n" * block.line + block.code, str(ROOT / name), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(code, namespace)
            printed = stdout.getvalue()
        elif block.kind == "bash":
            printed = ""
        elif block.kind == "output" and printed:
            check_output_block(block, printed, f"{name}:{block.line}")


def check_output_block(block: Block, printed: str, place: str) -> None:
    """Hold what a page shows to what was printed: the same words, and numbers up to rounding on another processor."""
    shown, found = block.code.split(), printed.split()
    assert len(shown) == len(found), f"{place}\n{printed}"
    for one, other in zip(shown, found, strict=True):
        if re.fullmatch(r"-?\d+\.\d+", one):
            assert float(other) == pytest.approx(float(one), abs=0.02), f"{place}\n{printed}"
        else:
            assert one == other, f"{place}\n{printed}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("here")
def test_commands_run(name: str) -> None:
    printed = ""
    for block in blocks(ROOT / name):
        if block.kind == "bash":
            printed = ""
            for command in block.code.replace("\\\n", " ").splitlines():
                printed += run_command(command, f"{name}:{block.line}: {command}")
        elif block.kind == "python":
            printed = ""
        elif block.kind == "output" and printed:
            check_output_block(block, printed, f"{name}:{block.line}")


def run_command(command: str, place: str) -> str:
    """Run a command and return what it printed, in this process if it is a plain one, which saves a second."""
    words = shlex.split(command, comments=True)
    if not words:
        return ""
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), place
    elif words[:2] == ["pip", "install"]:
        assert all(re.fullmatch(r"textlds(\[\w+\])?", word) for word in words[2:]), place
    elif set(words) & {"|", ">", "&&"}:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        run = ["bash", "-euo", "pipefail", "-c", command]
        result = subprocess.run(run, env={**os.environ, "PATH": path}, capture_output=True, check=False, timeout=900)
        assert result.returncode == 0, f"{place}\n{result.stderr.decode()}"
    else:
        assert words[0] == "textlds", f"{place}: only commands of textlds, make and pip install can be checked"
        if "--resume" in words:  # as after an interruption: nothing is there yet
            shutil.rmtree(words[words.index("-o") + 1], ignore_errors=True)
        # a demonstration takes a minute, a server never ends, and both have their own tests: only options are read here
        arguments = [*words[1:], "--help"] if words[1] in ("demo", "serve") else words[1:]
        outcome = CliRunner().invoke(build_app(), arguments)
        assert outcome.exit_code == 0, f"{place}\n{outcome.output}\n{outcome.exception!r}"
        return outcome.stdout
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_every_block_says_what_it_is(name: str) -> None:
    for block in blocks(ROOT / name):
        assert block.kind in ("python", "bash", "text", "output"), f"{name}:{block.line}: {block.kind!r}"


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """Return the names under which the headings of a page can be linked."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the tables whose first heading is this one."""
    found: list[list[str]] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")] if line.startswith("|") else []
        if cells and cells[0] == heading:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(line) <= set("|-"):
            found.append(cells)
    return found


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [row[0] for row in rows(ROOT / "README.md", "extra")] == [f"`textlds[{extra}]`" for extra in extras]


def test_the_command_line_page_has_every_command() -> None:
    commands = {name for names in _PANELS.values() for name in names}
    assert {row[0].strip("`").split()[0] for row in rows(ROOT / "docs" / "cli.md", "command")} == commands


def test_the_options_named_on_the_command_line_page_exist() -> None:
    runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
    for row in rows(ROOT / "docs" / "cli.md", "command"):
        name = list(itertools.takewhile(str.islower, row[0].strip("`").split()))  # `evaluate ner MODEL`: a group's
        shown = runner.invoke(build_app(), [*name, "--help"]).output
        for option in re.findall(r"`(-[-\w]+)`", row[2] if len(row) > 2 else ""):
            assert option in shown, f"{name} {option}"


def test_the_notation_is_that_of_the_code() -> None:
    table = rows(ROOT / "docs" / "notation.md", "symbol")
    assert len(table) > 60
    for symbol, code, _, _, where, *_ in table:
        sources = "".join(source_of(module) for module in modules(where))
        assert sources, f"{symbol}: no module"
        for name in re.findall(r"`([^`]+)`", code):
            last = re.sub(r"\[.*|\(.*", "", name).split(".")[-1]
            assert re.search(rf"\b{re.escape(last)}\b", sources), f"{symbol}: {name} is not in {where}"


@pytest.mark.parametrize("layer", ["linalg", "lds", "lexicon", "learn", "inference", "vectors", "language", "model"])
def test_every_letter_of_the_code_is_in_the_notation(layer: str) -> None:
    table = rows(ROOT / "docs" / "notation.md", "symbol")
    everywhere = {name for row in table for name in re.findall(r"\w+", row[1])}
    for file in sorted((ROOT / "src" / "textlds" / layer).glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        # at the top of a file stand type variables and constants
        inner = [node for top in tree.body if not isinstance(top, ast.Assign) for node in ast.walk(top)]
        stored = {node.id for node in inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        letters = {name for name in stored if re.fullmatch(r"[A-Z]{1,2}[01]?", name)}
        assert letters <= everywhere, f"{file.name}: {sorted(letters - everywhere)}"


def modules(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def source_of(module: str) -> str:
    spec = importlib.util.find_spec(f"textlds.{module}")
    assert spec is not None, module
    assert spec.origin is not None, module
    return Path(spec.origin).read_text(encoding="utf-8")


def test_the_modules_named_in_the_mathematics_exist() -> None:
    text = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
    assert named
    for name in named:
        assert (ROOT / "src" / "textlds" / name).exists(), name


def test_the_changelog_begins_with_this_version() -> None:
    first = re.search(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None
    assert first[1] == textlds.__version__


def test_an_indented_line_is_code_too(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        textwrap.dedent("""\
        Text.

            textlds info counts      # a comment
            a ─▶ b
            counts = textlds.count(["a"])
        - item

              continued
        ```python
        x = 1
        ```
        """)
    )
    assert [(block.kind, block.line) for block in blocks(page)] == [
        ("bash", 3), ("text", 4), ("python", 5), ("python", 8), ("python", 9),
    ]  # fmt: skip
