"""Inference in JavaScript, held to Python in a real browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import textlds
from oracles.texts import PARAGRAPHS
from serve.browsing import MISSING, TEXT, Page, at, handed_out, programs
from textlds.corpus.settings import TextSettings
from textlds.serve.packed import pack_model, packed_reader
from textlds.serve.service import Service, model_reader
from textlds.serve.static import write_page

pytest.importorskip("selenium", reason=MISSING)
pytestmark = pytest.mark.skipif(programs() is None, reason=MISSING)


READ = """
const { loadModel } = await import(new URL('engine/model.js', document.baseURI));
const model = await loadModel('model.json');
const texts = JSON.parse(given[0]);
for (const text of texts.slice(0, 100)) model.bits(model.states(text).read);  // compiled by now
const began = performance.now();
const answers = texts.map((text) => { const states = model.states(text); return [states, model.bits(states.read)]; });
const seconds = (performance.now() - began) / 1000;
const table = (states, name) => states.read.tokens.map((_, i) => Array.from(states.at(states[name], i)));
return { seconds, texts: JSON.stringify(answers.map(([states, bits]) => ({
  tokens: states.read.tokens, ids: states.read.ids, starts: states.read.starts,
  before: states.read.before, tail: states.read.tail,
  bits, pred: table(states, 'pred'), filt: table(states, 'filt'), smooth: table(states, 'smooth') }))) };
"""


def compared(page: Page, folder: Path, texts: list[str]) -> float:
    """Read texts in the browser and in Python, hold the two together, and return tokens per second of the browser."""
    answer = page.later(READ, json.dumps(texts))  # as JSON: the driver refuses lone surrogates
    reader = packed_reader(folder)
    tokens = 0
    for text, found in zip(texts, json.loads(answer["texts"]), strict=True):
        states = reader.states(text)
        assert found["tokens"] == list(states.text.tokens)
        assert found["ids"] == states.text.ids.tolist()
        assert found["starts"] == states.text.starts.tolist()
        gaps = "".join(gap + token for gap, token in zip(found["before"], found["tokens"], strict=True))
        assert gaps + found["tail"] == text.encode("utf-8", "replace").decode()
        tokens += len(found["tokens"])
        if found["tokens"]:
            for name in ("pred", "filt", "smooth"):
                np.testing.assert_allclose(found[name], getattr(states, name), atol=1e-3 * np.abs(states.smooth).max())
            np.testing.assert_allclose(found["bits"], reader.bits(states.text), atol=1e-3)
    return tokens / float(answer["seconds"])


def test_javascript_equals_python(page: Page, static_folder: Path, static_address: str, sentences: list[str]) -> None:
    page.open(static_address)
    odd = [
        *PARAGRAPHS,
        "\n".join(PARAGRAPHS),
        "İstanbul ΣΊΣΥΦΟΣ ﬁne DŽungla Ⅻ ⓐ x" * 3,
        "a" * 200,
        "NUM <unk> <unk:lower>",
        "\ud800",
    ]
    rate = compared(page, static_folder, [*sentences[:1000], *odd])
    assert rate > 5000


@pytest.mark.parametrize(
    "settings",
    [
        {"boundaries": "sentence", "boundary_token": "</s>", "digits": "zero"},
        {"boundaries": "sentence", "unknown": "single", "digits": "keep"},
        {"boundaries": "document", "tokenizer": "whitespace"},
        {"boundaries": "none", "tokenizer": "whitespace"},
    ],
    ids=str,
)
def test_javascript_equals_python_for_other_settings(
    page: Page, settings: dict[str, str], sentences: list[str], tmp_path: Path, static_folder: Path
) -> None:
    counts = textlds.count(texts=[*sentences[:400], *PARAGRAPHS], vocab_size=300, text=TextSettings(**settings))  # type: ignore[arg-type]
    small = textlds.fit(counts, state_size=5, iterations=2, threads=1)  # without a language model: the clipped link
    folder = tmp_path / "page"
    shutil.copytree(static_folder, folder)
    packed = pack_model(small, model_reader(small))
    packed.facts["about"] = {"name": "small", "vocabulary_size": 300, "state_size": 5}
    packed.write(folder)
    with handed_out(folder) as address:
        page.open(address)
        compared(page, folder, [*PARAGRAPHS, "\n\n".join(PARAGRAPHS), *sentences[:40]])


def test_javascript_equals_python_for_a_model_that_was_packed_before(
    page: Page, model: textlds.TextLDS, sentences: list[str], tmp_path: Path
) -> None:
    """Its vectors are shorter than its state, and one matrix makes the weights of words from their vectors."""
    small = model.quantized("int8", dimensions=8).with_language_model(sentences, tokens=20_000, threads=1)
    write_page(Service(small, "small", samples=sentences[:50]), tmp_path / "page")
    with handed_out(tmp_path / "page") as address:
        page.open(address)
        compared(page, tmp_path / "page", [*PARAGRAPHS, *sentences[:100]])
        page.open(at(address, "reading", text=TEXT, token=1))
        page.wait("return document.querySelector('.panel h2')?.textContent === 'file'")
        assert "NaN" not in page.run("return document.body.innerText")
        page.open(at(address, "transitions", pair=0))
        assert page.texts(".pairing .source")


def test_javascript_explains_as_python_does(page: Page, static_folder: Path, static_address: str) -> None:
    page.open(static_address)
    reader = packed_reader(static_folder)
    script = """
    const { loadModel } = await import(new URL('engine/model.js', document.baseURI));
    const model = await loadModel('model.json');
    return JSON.stringify([model.token(given[0], 3), model.use(given[0], 'value'), model.path(given[0])]);
    """
    token, use, path = json.loads(page.later(script, TEXT))
    expected = reader.token(TEXT, 3)
    for name in ("here", "alone", "expected", "next"):
        assert [word for word, _ in token[name]] == [word for word, _ in expected[name]]
        np.testing.assert_allclose([x for _, x in token[name]], [x for _, x in expected[name]], atol=1e-4)
    assert token["rank"] == expected["rank"]
    for name, part in expected["parts"].items():
        assert token["parts"][name]["share"] == pytest.approx(part["share"], abs=1e-4)
    other = reader.use(TEXT, "value")
    for name, words in expected["moves"].items():
        assert [word for word, _ in token["moves"][name]] == [word for word, _ in words]
    for mine, pull in zip(use["pulls"], other["pulls"], strict=True):
        assert mine["shift"] == pytest.approx(pull["shift"], abs=1e-4)
        assert mine["share"] == pytest.approx(pull["share"], abs=1e-4)
        assert mine["toward"] == pull["toward"]
    for name in ("pred", "filt", "smooth"):
        np.testing.assert_allclose(path[name], reader.path(TEXT)[name], atol=1e-3)
