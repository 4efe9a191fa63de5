"""The documentation site is built without a warning and without the network, and every page is in its menu."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import textlds
from serve import browsing

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site") / "site"
    # nothing may be fetched: a proxy that is not there
    offline = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    run = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, **offline, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    return folder


def tool(name: str) -> ModuleType:
    """Return a script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_every_page_is_built_and_in_the_menu(site: Path) -> None:
    menu = re.search(r'<nav class="md-nav md-nav--primary.*?</nav>\s*</div>', (site / "index.html").read_text(), re.S)
    assert menu is not None
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    for page in [*pages, Path("changelog.html"), Path("contributing.html"), Path("figures.html")]:
        assert (site / page).is_file(), page
        assert f'href="{page.as_posix()}"' in menu[0], page


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?//([^/"]+)', page.read_text())
        assert not loaded, f"{page.name}: {loaded}"


def test_the_search_has_an_index_that_needs_no_server(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = {")
    for page in (site / "index.html", site / "reference" / "functions.html"):
        assert 'iframe-worker.js">' in page.read_text()


@pytest.mark.skipif(browsing.programs() is None, reason=browsing.MISSING)
def test_opened_from_disk_the_search_finds_and_code_is_not_cut(site: Path, tmp_path: Path) -> None:
    pytest.importorskip("selenium")
    with browsing.browsing(tmp_path) as page:
        page.size(1280)
        page.driver.get((site / "quickstart.html").as_uri())
        page.type(".md-search__input", "pseudocount")
        page.wait("return document.querySelectorAll('.md-search-result__item').length > 2")
        for name in ("quickstart", "mathematics", "cli", "explanation"):
            page.driver.get((site / f"{name}.html").as_uri())
            wide = "e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1"
            cut = page.run(f"return [...document.querySelectorAll('pre > code')].filter((e) => {wide}).length")
            assert cut == 0, name


def test_the_reference_has_every_public_name(site: Path) -> None:
    reference = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    for name in set(textlds.__all__) - {"__version__"}:
        owner = "textlds.errors" if name == "TextLDSError" else "textlds"
        assert f'id="{owner}.{name}"' in reference, name
    for method in [name for name in vars(textlds.TextLDS) if not name.startswith("_")]:
        assert f'id="textlds.TextLDS.{method}"' in reference, method
    assert not re.search(r":(class|func|meth|mod|data|attr):", reference)  # marks of another markup


def test_the_files_at_the_root_become_pages_with_links_that_lead_somewhere() -> None:
    text = tool("site_pages").for_site("[a](docs/notation.md#x), [b](CHANGELOG.md), [c](https://example.org/d.md)")
    assert text == "[a](notation.md#x), [b](changelog.md), [c](https://example.org/d.md)"


def test_the_figures_of_the_readme_are_a_page(site: Path) -> None:
    text = tool("site_pages").section("# a\n\n## Figures\n\n1\n\n### b\n\n2\n\n## Files\n\n3\n", "Figures")
    assert text == "# Figures\n\n1\n\n### b\n\n2\n"
    page = (site / "figures.html").read_text()
    assert all(f"<code>{name}.py</code>" in page for name in ("counting", "learning", "inference"))
    assert 'src="results/learning.png"' in page


def test_the_pictures_are_those_of_the_script(tmp_path: Path) -> None:
    pictures = tool("make_pictures")
    assert (ROOT / "docs" / "pictures" / "flow.svg").read_text() == pictures.flow()
    pictures.draw_tracking(tmp_path / "tracking.svg")
    assert (tmp_path / "tracking.svg").read_text().startswith("<?xml")


def test_the_picture_of_filter_and_smoother_is_true() -> None:
    """Both equal conditioning the joint Gaussian law of all states on what was seen."""
    a, q, d, length = 0.92, 0.15, 0.8, 12
    found = tool("make_pictures").track(length, a=a, q=q, d=d, seed=3)
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    prior = q / (1 - a * a) * a**apart
    for t in range(length):
        for seen, mean, var in (
            (t + 1, found.mean_filt, found.var_filt),
            (length, found.mean_smooth, found.var_smooth),
        ):
            gain = np.linalg.solve(prior[:seen, :seen] + d * np.eye(seen), prior[:seen, t])
            np.testing.assert_allclose(mean[t], gain @ found.seen[:seen], atol=1e-12)
            np.testing.assert_allclose(var[t], prior[t, t] - gain @ prior[:seen, t], atol=1e-12)
