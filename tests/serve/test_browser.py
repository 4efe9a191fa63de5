"""The page in a real browser: with a server, without one, and the two held together."""

from __future__ import annotations

import gzip
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import textlds
from serve.browsing import MISSING, TEXT, Page, at, handed_out, programs
from serve.running import Served
from textlds.serve.service import model_reader

pytest.importorskip("selenium", reason=MISSING)
pytestmark = pytest.mark.skipif(programs() is None, reason=MISSING)

UNNAMED = """
return [...document.querySelectorAll('button, input, textarea, select, canvas, svg[role=img]')].filter((e) =>
  e.offsetParent !== null
  && !(e.textContent.trim() || e.ariaLabel || e.closest('label') || e.querySelector?.('title'))).length
"""
VIEWS = ("reading", "filter", "contexts", "map", "transitions", "learning", "search")


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
    assert page.run("return document.querySelector('.drawing').hidden")  # shown only while words are laid out
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
    page.wait("return document.querySelector('.plane .here')?.textContent === 'opened'")  # the token stays chosen
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
    page.open(at(address, "filter", text="كتب الطالب درساً جديداً", token=0))
    assert page.run("return document.querySelector('.filter input[type=range]').dir") == "rtl"


def test_errors_are_shown_and_go_away(page: Page, served: Served, static_address: str) -> None:
    for address in (f"{served.address}/", static_address):
        page.open(at(address, "contexts", word="zebra", a="no such word", b="none here"))
        page.wait("return !document.getElementById('problem').hidden")
        assert "zebra" in page.run("return document.getElementById('problem').textContent")
        page.open(at(address, "contexts", word="file", a="a file", b="the file"))
        page.wait("return document.getElementById('problem').hidden")
    page.driver.get_log("browser")  # the browser itself reports an answer of 422


def test_a_text_that_is_too_long_leaves_the_page_ready(page: Page, served: Served) -> None:
    page.open(at(f"{served.address}/", "reading", text="word " * 5001))  # waits until nothing is busy
    assert "5,000" in page.run("return document.getElementById('problem').textContent")
    page.driver.get_log("browser")  # the browser itself reports an answer of 413
    page.open(at(f"{served.address}/", "reading", text=TEXT))
    assert page.texts(".tokens .token")


def test_a_mark_stays_on_the_line_of_its_word(page: Page, static_address: str) -> None:
    page.size(390, 844)
    page.open(
        at(static_address, "reading", text="The file (opened here) is closed again, and read. " * 8 + "a" * 90 + ".")
    )
    script = "return [...document.querySelectorAll('.tokens .token')].map((e) => [e.textContent, e.offsetTop])"
    tokens = page.run(script)
    assert len({top for _, top in tokens}) > 5
    for (before, above), (token, top) in itertools.pairwise(tokens[:-2]):
        if token in ").," or before == "(":
            assert above == top, (before, token)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")


def test_a_model_that_arrives_unpacked_or_cut(page: Page, static_folder: Path, tmp_path: Path) -> None:
    """Some servers say that a .gz file is encoded, and the browser unpacks it before the page sees it."""
    folder = tmp_path / "page"
    shutil.copytree(static_folder, folder)
    file = folder / "model.safetensors.gz"
    content = file.read_bytes()
    for given in (gzip.decompress(content), content[:-100], content):
        file.write_bytes(given)
        with handed_out(folder) as address:  # a new address each time: nothing comes from a cache
            if len(given) < len(content):
                page.driver.get(address)
                page.wait("return !document.getElementById('problem').hidden")
                assert "did not arrive whole" in page.run("return document.getElementById('problem').textContent")
            else:
                page.open(at(address, "reading", text=TEXT))
                assert page.texts(".tokens .token")


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
    page.type("#token", "wrong")
    page.press("#ask button")
    page.wait("return document.querySelector('#ask label').textContent.includes('refused')")
    page.wait("return document.getElementById('ask').open")
    page.type("#token", "s3cret")
    page.press("#ask button")
    page.wait("return document.body.dataset.ready === 'yes'")
    page.settled()
    assert page.texts(".tokens .token")
    page.run("sessionStorage.clear()")
    page.driver.get(f"{server.address}/#learning")
    page.driver.refresh()
    page.wait("return document.getElementById('ask').open")
    page.run("document.getElementById('ask').close()")  # as Escape does
    page.wait("return document.getElementById('problem').textContent.includes('Reload the page')")
    page.driver.get("about:blank")
    page.driver.get_log("browser")  # the browser itself reports the 401
