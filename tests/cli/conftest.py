"""One small corpus, its counts and a model of it, made once by the commands themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.runs import Run, make_lines
from textlds.cli import build_app


@pytest.fixture(scope="session")
def run() -> Run:
    """Run the command line in this process."""
    app, runner = build_app(), CliRunner()

    def invoke(*arguments: object, code: int = 0, **options: Any) -> Any:
        result = runner.invoke(app, [str(argument) for argument in arguments], **options)
        assert result.exit_code == code, f"{result.exit_code}: {result.stdout}{result.stderr}{result.exception!r}"
        return result

    return invoke


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text("\n".join(make_lines(4000)) + "\n")
    return path


@pytest.fixture(scope="session")
def counts(run: Run, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counts") / "counts"
    run("count", corpus, "-o", path, "--quiet")
    return path


@pytest.fixture(scope="session")
def model(run: Run, counts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model"
    run("fit", counts, "-o", path, "--state-size", 6, "--iterations", 4, "--quiet")
    return path
