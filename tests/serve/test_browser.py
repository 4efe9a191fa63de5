"""The page in a real browser: with a server, without one, and the two held together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import textlds
from oracles.texts import PARAGRAPHS
from serve.browsing import MISSING, Page, browsing, handed_out, programs
from serve.running import Served
from textlds.corpus.settings import TextSettings
from textlds.serve.packed import pack_model, packed_reader
from textlds.serve.service import Service, model_reader
from textlds.serve.static import write_page

pytest.importorskip("selenium", reason=MISSING)
pytestmark = pytest.mark.skipif(programs() is None, reason=MISSING)

TEXT = "The file is opened for reading. Return the value of an unknownest argument."
UNNAMED = """
return [...document.querySelectorAll('button, input, textarea, select, canvas, svg[role=img]')].filter((e) =>
  e.offsetParent !== null
  && !(e.textContent.trim() || e.ariaLabel || e.closest('label') || e.querySelector?.('title'))).length
"""
VIEWS = ("reading", "filter", "contexts", "map", "transitions", "learning", "search")


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


@pytest.fixture(scope="module", params=["server", "browser"])
def address(request: pytest.FixtureRequest, served: Served) -> str:
    """The page of the server, or the one that needs none."""
    return f"{served.address}/" if request.param == "server" else str(request.getfixturevalue("static_address"))


@pytest.fixture(autouse=True)
def _clean_console(page: Page) -> Iterator[None]:
    page.size(1440)
    page.problems()
    yield
    assert page.problems() == []


def at(address: str, view: str, **state: object) -> str:
    query = "&".join(f"{name}={quote(str(value))}" for name, value in state.items())
    return f"{address}#{view}{'?' + query if query else ''}"


def shown(words: list[str]) -> str:
    """Words in a row as the page shows them."""
    return " · ".join(word.replace("NUM", "#") for word in words)


def test_reading_shows_tokens_by_surprisal_and_walks_along_them(
    page: Page, address: str, model: textlds.TextLDS
) -> None:
    page.open(at(address, "reading", text=TEXT, token=1))
    (expected,) = model.surprisal([TEXT])
    assert page.texts(".reading .tokens .token") == expected.tokens
    tagged = page.run("return [...document.querySelectorAll('.tokens [data-tag]')].map((e) => e.dataset.tag)")
    assert len(tagged) in (0, len(expected.tokens))  # the server has a tagger
    heat = page.run(
        "return [...document.querySelectorAll('.tokens .token')].map((e) => +e.style.getPropertyValue('--heat'))"
    )
    np.testing.assert_allclose(heat, np.minimum(expected.bits / 16, 1), atol=0.02)
    assert page.run("return document.querySelectorAll('.tokens .unknown').length") == expected.unknown.sum()
    page.wait("return document.querySelector('.panel h2')?.textContent === 'file'")
    lists = page.run(
        "return [...document.querySelectorAll('.panel .ranked')].map((list) =>"
        " [...list.querySelectorAll('.word')].map((word) => word.textContent))"
    )
    reader = model_reader(model)
    about = reader.token(TEXT, 1)
    for words, name in zip(lists, ("here", "alone", "expected", "next"), strict=True):
        expected_words = {word.replace("NUM", "#") for word, _ in about[name]}
        assert len(set(words) & expected_words) >= 6  # a packed model may swap the last ones
    page.run("document.querySelectorAll('.tokens .token')[1].focus()")
    page.key("ArrowRight")
    page.wait("return document.querySelector('.panel h2')?.textContent === 'is'")
    assert page.run("return document.activeElement.textContent") == "is"
    assert "token=2" in page.run("return location.hash")
    page.key("End")
    page.wait("return document.querySelector('.panel h2')?.textContent === '.'")
    page.type("#text", "Another text")
    page.wait("return document.querySelectorAll('.tokens .token').length === 2")
    assert "Another+text" in page.run("return location.hash")


def test_the_filter_moves_word_by_word(page: Page, address: str) -> None:
    page.open(at(address, "filter", text=TEXT, token=1))
    first = page.run("return document.querySelector('circle.smoothed').getAttribute('transform')")
    slide = "const r = document.querySelector('.filter input[type=range]'); r.value = 3;"
    page.run(f"{slide} r.dispatchEvent(new Event('input'))")
    page.wait("return document.querySelector('.plane .here').textContent === 'opened'")
    assert page.run("return document.querySelector('circle.smoothed').getAttribute('transform')") != first
    assert page.run("return document.querySelectorAll('.plane .past').length") == 3
    assert page.texts(".filter .token[aria-pressed=true]") == ["opened"]
    page.open(at(address, "filter", text=TEXT, token=999))
    same = page.run(
        "return ['filtered', 'smoothed'].map((k) => document.querySelector('circle.' + k).getAttribute('transform'))"
    )
    assert same[0] == same[1]  # nothing follows the last word


def test_two_contexts_side_by_side(page: Page, address: str, model: textlds.TextLDS) -> None:
    texts = ("The file is opened for reading.", "A file descriptor of the process.")
    page.open(at(address, "contexts", word="file", a=texts[0], b=texts[1]))
    page.wait("return document.querySelectorAll('.contrast section').length === 2")
    reader = model_reader(model)
    one, two = (reader.use(text, "file") for text in texts)
    shown = float(page.texts(".cosine span")[0].replace("−", "-"))
    assert shown == pytest.approx(np.dot(one["vector"], two["vector"]), abs=0.02)
    assert page.texts(".contrast .chosen") == ["file", "file"]
    for side, use in enumerate((one, two)):
        ranking = sorted((pull for pull in use["pulls"] if pull["token"] != 1), key=lambda pull: -pull["shift"])
        script = (
            "return document.querySelectorAll('.contrast section')[arguments[0]].querySelector('tbody b').textContent"
        )
        assert page.run(script, side) in {pull["text"] for pull in ranking[:2]}


def test_the_map_finds_and_marks_a_word(page: Page, address: str, model: textlds.TextLDS) -> None:
    page.open(at(address, "map"))
    page.wait("return document.querySelector('#status').textContent.includes('words on the map')")
    # a picture of many points does not compress to nothing
    picture = "return document.querySelector('canvas').toDataURL().length"
    page.wait(f"{picture} > 20000")
    page.type(".map input[type=search]", "file")
    page.wait("return document.querySelector('.map .panel h2')?.textContent === 'file'")
    shown = page.texts(".map .ranked .word")
    expected = [word for word, _ in model_reader(model).neighbours("file", 20)]
    assert len(set(shown) & set(expected)) >= 16
    assert "word=file" in page.run("return location.hash")
    before = page.run(picture)
    page.press(".map .tools button", 0)
    page.wait(f"{picture} !== {before}")
    page.press(".map .ranked .word", 2)
    page.wait("return document.querySelector('.map .panel h2')?.textContent === arguments[0]", shown[2])
    page.key("Escape")


def test_transitions_open_on_sentences(page: Page, address: str, model: textlds.TextLDS) -> None:
    page.open(at(address, "transitions", text=TEXT))
    page.wait("return document.querySelectorAll('.pairing').length > 3")
    found = model.dynamics(4)
    assert page.texts(".pairing .source")[:4] == [shown(pair.source) for pair in found]
    assert page.texts(".pairing .target")[:4] == [shown(pair.target) for pair in found]
    page.press(".pairing", 1)
    page.wait("return document.querySelectorAll('.pairing')[1].getAttribute('aria-expanded') === 'true'")
    assert page.run("return document.querySelectorAll('#pair-1 mark.source').length") >= 1
    assert "pair=1" in page.run("return location.hash")


def test_learning_shows_the_curve_and_the_spectra(page: Page, address: str, model: textlds.TextLDS) -> None:
    page.open(at(address, "learning"))
    page.wait("return document.querySelectorAll('.charts figure').length === 4")
    points = page.run("return document.querySelector('.curve').getAttribute('points').split(' ').length")
    assert points == len(model.history.log_likelihood) + (model.history.start is not None)
    assert page.run("return document.querySelectorAll('.eigenvalue').length") == 2 * model.state_size
    assert "state size" in page.texts(".settings dt")
    assert f"{model.history.log_likelihood[-1]:.3f}" in page.texts(".charts .strong")


def test_search_by_word_and_context(page: Page, served: Served) -> None:
    page.open(at(f"{served.address}/", "search", word="file", a="The file is opened for reading."))
    page.wait("return document.querySelectorAll('.occurrences mark').length > 2")
    assert {word.lower() for word in page.texts(".search .columns > div .occurrences mark")} == {"file"}


def test_search_without_an_index_says_how(page: Page, static_address: str) -> None:
    page.open(at(static_address, "search"))
    assert "textlds serve model --index index" in page.texts(".search pre")[0]


def test_a_link_gives_the_same_page(page: Page, address: str) -> None:
    page.open(at(address, "reading", text=TEXT, token=3))
    page.wait("return document.querySelector('.panel h2')?.textContent === 'opened'")
    page.run("document.querySelector('nav a[data-view=filter]').click()")
    page.wait("return document.querySelector('.plane .here')")
    link, seen = page.run("return [location.href, document.querySelector('.filter .tokens').textContent]")
    page.run("history.back()")
    page.wait("return document.querySelector('.reading .panel h2')?.textContent === 'opened'")
    page.open(link)
    page.wait("return document.querySelector('.plane .here')")
    assert page.run("return document.querySelector('.filter .tokens').textContent") == seen


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)> <b>bold</b> & <script>alert(2)</script>", "\u202eabc"])
def test_text_from_outside_is_text(page: Page, address: str, text: str) -> None:
    page.open(at(address, "reading", text=text))
    assert page.run("return document.querySelector('.tokens').textContent") == text
    assert page.run("return document.querySelectorAll('main img, main script, .tokens b').length") == 0
    page.open(at(address, "contexts", word="b", a=text + " b", b="b <i>c</i>"))
    assert page.run("return document.querySelectorAll('.contrast img, .contrast i, .contrast script').length") == 0


def test_right_to_left_text(page: Page, address: str) -> None:
    page.open(at(address, "reading", text="كتب الطالب درساً جديداً", token=0))
    assert page.run("return getComputedStyle(document.querySelector('.tokens')).direction") == "rtl"
    left = page.run(
        "return [...document.querySelectorAll('.tokens .token')].map((e) => e.getBoundingClientRect().left)"
    )
    assert left == sorted(left, reverse=True)
    page.run("document.querySelector('.tokens .token').focus()")
    page.key("ArrowLeft")  # onwards, in this script
    page.wait("return document.querySelectorAll('.tokens .token')[1].getAttribute('aria-pressed') === 'true'")


def test_errors_are_shown_and_go_away(page: Page, served: Served, static_address: str) -> None:
    for address in (f"{served.address}/", static_address):
        page.open(at(address, "contexts", word="zebra", a="no such word", b="none here"))
        page.wait("return !document.getElementById('problem').hidden")
        assert "zebra" in page.run("return document.getElementById('problem').textContent")
        page.open(at(address, "contexts", word="file", a="a file", b="the file"))
        page.wait("return document.getElementById('problem').hidden")
    page.driver.get_log("browser")  # the browser itself reports an answer of 422


@pytest.mark.parametrize("width", [1440, 768, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_every_screen(page: Page, static_address: str, width: int, scheme: str) -> None:
    page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    page.size(width, 844)
    for view in VIEWS:
        page.open(at(static_address, view))
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), view
        assert page.run(UNNAMED) == 0, view
        assert contrast(page) >= 4.5, view
    page.prefer(prefers_color_scheme="light")


def contrast(page: Page) -> float:
    """Return the contrast of soft text with its background, by the formula of WCAG."""
    colours = page.run(
        "const s = getComputedStyle(document.body); const p = document.createElement('canvas').getContext('2d');"
        "return ['--soft', '--paper'].map((n) => { p.fillStyle = s.getPropertyValue(n).trim(); return p.fillStyle; })"
    )
    lights = []
    for colour in colours:
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_the_docs_can_be_tried(page: Page, served: Served) -> None:
    page.driver.get(f"{served.address}/docs")
    page.wait("return document.querySelectorAll('.route').length > 10")
    page.run("document.getElementById('embed').open = true")
    page.press("#embed button.main")
    page.wait("return document.querySelector('#embed pre').textContent.startsWith('200')")


def test_a_server_with_a_token_asks_for_it(page: Page, start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder, environment={"TEXTLDS_TOKEN": "s3cret"})
    page.driver.get(f"{server.address}/")
    page.wait("return document.getElementById('ask').open")
    page.type("#token", "s3cret")
    page.press("#ask button")
    page.wait("return document.body.dataset.ready === 'yes'")
    page.settled()
    assert page.texts(".tokens .token")
    page.driver.get_log("browser")  # the browser itself reports the 401
    page.run("sessionStorage.clear()")


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
