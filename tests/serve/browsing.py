"""A real browser, if the machine has one."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

MISSING = (
    "the browser tests need Chromium and its driver: apt-get install chromium chromium-driver "
    "(or set CHROMIUM and CHROMEDRIVER), and pip install selenium"
)
TEXT = "The file is opened for reading. Return the value of an unknownest argument."
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--disable-dev-shm-usage",
)  # fmt: skip


def programs() -> tuple[str, str] | None:
    """Return the browser and its driver, or None."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    driver = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Page:
    """A page in the browser.

    Attributes:
        driver: What drives it.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Open an address and wait until the page is ready."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait("return document.body.dataset.ready === 'yes'")
        self.settled()

    def settled(self) -> None:
        """Wait until nothing is busy."""
        time.sleep(0.15)
        self.wait("return !document.querySelector('[aria-busy]')")

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def later(self, script: str, *given: Any) -> Any:
        """Run the body of an async function and return what it returns."""
        wrapped = (
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            f"(async (...given) => {{ {script} }})(...given)"
            ".then((value) => done({ value }), (error) => done({ error: String(error.stack) }));"
        )
        answer = self.driver.execute_async_script(wrapped, *given)
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def wait(self, script: str, *given: Any, seconds: float = 600) -> Any:
        """Wait until a script returns something true."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(script, *given)):
            assert time.monotonic() < deadline, f"{script}\n{self.run('return document.body.innerText')}"
            time.sleep(0.05)
        return value

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector finds."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def press(self, selector: str, number: int = 0) -> None:
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, number)

    def type(self, selector: str, text: str) -> None:
        self.run(
            "const e = document.querySelector(arguments[0]); e.focus(); e.value = arguments[1];"
            "e.dispatchEvent(new Event('input', { bubbles: true }))",
            selector, text,
        )  # fmt: skip

    def key(self, name: str) -> None:
        """Press a key where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": name, "code": name})

    def problems(self) -> list[str]:
        """Return what the console says since the last call, and the problem that the page shows."""
        found = [entry["message"] for entry in self.driver.get_log("browser")]
        shown = self.run("const p = document.getElementById('problem'); return p && !p.hidden ? p.textContent : ''")
        return found + ([shown] if shown else [])

    def size(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )

    def prefer(self, **features: str) -> None:
        """Emulate preferences such as prefers_color_scheme='dark'."""
        media = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})


@contextmanager
def browsing(profile: Path) -> Iterator[Page]:
    """Start a browser with an empty profile."""
    from selenium import webdriver

    found = programs()
    assert found is not None, MISSING
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
    try:
        driver.set_script_timeout(900)
        # pages behave as if a person looked at them, also where no window has the focus
        driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        yield Page(driver)
    finally:
        driver.quit()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def handed_out(folder: Path) -> Iterator[str]:
    """Hand out a folder as any web server does; yields its address."""
    make: Callable[..., Any] = functools.partial(_Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), make) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def at(address: str, view: str, **state: object) -> str:
    """Return the address of a view in a state."""
    query = "&".join(f"{name}={quote(str(value))}" for name, value in state.items())
    return f"{address}#{view}{'?' + query if query else ''}"
