"""A small model of real text, and servers that are processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import textlds
from serve.browsing import Page, browsing, handed_out
from serve.running import Served, docstrings, serving
from textlds.serve.service import Service
from textlds.serve.static import write_page
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.tagger import Tagger


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Real sentences: the documentation strings of Python's library."""
    return docstrings()


@pytest.fixture(scope="session")
def model(sentences: list[str]) -> textlds.TextLDS:
    counts = textlds.count(texts=sentences, vocab_size=1500)
    fitted = textlds.fit(counts, state_size=12, iterations=8, threads=1)
    return fitted.with_language_model(sentences, tokens=20_000, threads=1)


@pytest.fixture(scope="session")
def model_folder(model: textlds.TextLDS, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve") / "docs-model"
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def corpus_file(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    file.write_text("\n".join(sentences), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def index_folder(model_folder: Path, corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("faiss")
    from textlds.search import OccurrenceIndex

    folder = tmp_path_factory.mktemp("index") / "index"
    OccurrenceIndex.build(model_folder, [str(corpus_file)], folder, min_count=3, threads=1)
    return folder


@pytest.fixture(scope="session")
def tagger_folder(model_folder: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger that knows capitals from other words."""
    model = textlds.load(model_folder)
    labelled = [
        (tokens, ["UPPER" if token[0].isupper() else "OTHER" for token in tokens])
        for tokens in (model(text).tokens for text in sentences[:150])
    ]
    folder = tmp_path_factory.mktemp("tagger") / "tagger"
    Tagger.train(model_folder, labelled, settings=TaggerSettings(hidden=24, rounds=6)).save(folder, bundle=False)
    return folder


@pytest.fixture(scope="session")
def served(model_folder: Path, index_folder: Path, tagger_folder: Path, corpus_file: Path) -> Iterator[Served]:
    """A server with everything."""
    parts = ("--index", index_folder, "--tagger", tagger_folder, "--text", corpus_file)
    with serving(model_folder, *parts, "--max-tokens", 5000) as server:
        yield server


@pytest.fixture
def start() -> Iterator[Callable[..., Served]]:
    """Start servers that end with the test."""
    with ExitStack() as stack:

        def begin(*arguments: Any, **options: Any) -> Served:
            return stack.enter_context(serving(*arguments, **options))

        yield begin


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def static_folder(model_folder: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "page"
    write_page(Service.load(model_folder, samples=sentences[:300], threads=1), folder)
    return folder


@pytest.fixture(scope="module")
def static_address(static_folder: Path) -> Iterator[str]:
    with handed_out(static_folder) as address:
        yield address
