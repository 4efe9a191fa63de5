"""The page without a server: how fast a browser reads with a model, and how far it is from Python.

    python -m benchmarks.browser MODEL TEXT [--sentences 1000] [--results FOLDER]

`textlds explore` writes the page of MODEL; Chromium (CHROMIUM and CHROMEDRIVER, or what is on the path) opens it and
reads sentences of TEXT, in one thread, once to compile and once by the clock: states alone (filter and smoother), and
states and surprisal. The same packed model reads the same sentences in Python, and the largest differences are given.
The map of words is drawn with 50,000 points on a screen of 1440 x 900 while it is moved and zoomed, a step per frame;
the browser draws without a graphics card.

Writes browser.json and browser.md.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import platform
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inference import some_sentences
from benchmarks.texts import markdown_table
from textlds.serve.packed import packed_reader
from textlds.serve.service import Service
from textlds.serve.static import write_page

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
READ = """
const [texts, done] = arguments;
(async () => {
  const { loadModel } = await import(new URL('engine/model.js', document.baseURI));
  const began = performance.now();
  const model = await loadModel('model.json');
  const loading = (performance.now() - began) / 1000;
  const timed = (read) => {
    texts.slice(0, 200).forEach(read);  // compiled by now
    const began = performance.now();
    const found = texts.map(read);
    return [(performance.now() - began) / 1000, found];
  };
  const [states, read] = timed((text) => model.states(text));
  const [both, bits] = timed((text) => model.bits(model.states(text).read));
  const smooth = read.map((one) => one.read.tokens.map((_, i) => Array.from(one.at(one.smooth, i))));
  return { loading, states, both, bits, smooth, tokens: read.map((one) => one.read.tokens) };
})().then((value) => done({ value: JSON.stringify(value) }), (error) => done({ error: String(error.stack) }));
"""

FRAMES = """
const [n, done] = arguments;
(async () => {
  const { default: map } = await import(new URL('views/map.js', document.baseURI));
  let seed = 1;
  const random = () => (seed = (16807 * seed) % 2147483647) / 2147483647;
  const at = Float32Array.from({ length: 2 * n }, () => 0.7 * (random() + random() + random() - 1.5));
  const words = Array.from({ length: n }, (_, i) => `word${i}`);
  const group = Uint8Array.from({ length: n }, (_, i) => i % 12);
  const host = document.createElement('section');
  host.className = 'view map';
  document.getElementById('main').replaceChildren(host);
  const backend = { map: async () => ({ words, at, group }), neighbours: async () => [] };
  const view = map.make(host, { backend, go() {}, guard: (work) => work, say() {} });
  await view.update({});
  const canvas = host.querySelector('canvas'), box = canvas.getBoundingClientRect();
  const middle = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, cancelable: true };
  const watched = async (act) => {
    const waits = [];
    for (let k = 0, last; k < 130; k++) {
      const now = await new Promise(requestAnimationFrame);
      if (k > 10) waits.push(now - last);
      last = now;
      act(k);
    }
    return waits;
  };
  const moved = await watched((k) => canvas.dispatchEvent(
    new KeyboardEvent('keydown', { key: k % 20 < 10 ? 'ArrowRight' : 'ArrowLeft', cancelable: true })));
  const zoomed = await watched((k) => canvas.dispatchEvent(
    new WheelEvent('wheel', { deltaY: k % 60 < 30 ? -30 : 30, ...middle })));
  return { moved, zoomed };
})().then((value) => done({ value: JSON.stringify(value) }), (error) => done({ error: String(error.stack) }));
"""
POINTS = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder, or the name of an installed model")
    parser.add_argument("text", type=Path)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--results", type=Path, help="folder for browser.json and browser.md")
    arguments = parser.parse_args()
    sentences = some_sentences(arguments.text, arguments.sentences)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page")
        size = write_page(Service.load(arguments.model, threads=1), page)
        with handed_out(page) as address, opened(Path(folder, "profile")) as driver:
            driver.set_window_size(1440, 900)
            driver.get(address)
            found = asked(driver, READ, sentences)
            frames = asked(driver, FRAMES, POINTS)
            version = driver.capabilities["browserVersion"]
        results = {
            "machine": f"{os.cpu_count()} cores, {platform.machine()}", "load": os.getloadavg()[0],
            "browser": f"Chromium {version}", "model": str(arguments.model), "page bytes": size["page"],
            "model bytes": size["model"], "loading, s": found["loading"],
            **figures(page, sentences, found), **fluency(frames),
        }  # fmt: skip
    print(json.dumps(results, indent=1))
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "browser.json").write_text(json.dumps(results, indent=1) + "\n")
        (arguments.results / "browser.md").write_text("\n".join(report(results)), encoding="utf-8")


def asked(driver: Any, script: str, *given: Any) -> Any:
    """Return what a script in the page answers."""
    answer = driver.execute_async_script(script, *given)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return json.loads(answer["value"])


def fluency(frames: dict[str, list[float]]) -> dict[str, float]:
    """Return frames per second while the map moves: of the median frame, and of the slowest in twenty."""
    found = {}
    for name, waits in frames.items():
        found[f"map of {POINTS:,} points {name}, frames per second"] = 1000 / float(np.median(waits))
        found[f"the same, slowest frame in twenty ({name})"] = 1000 / float(np.quantile(waits, 0.95))
    return found


def figures(page: Path, sentences: list[str], found: dict[str, Any]) -> dict[str, float]:
    """Return rates, and the largest differences between the browser's numbers and Python's."""
    reader = packed_reader(page)
    tokens = sum(map(len, found["tokens"]))
    of_states = of_bits = 0.0
    for text, words, smooth, bits in zip(sentences, found["tokens"], found["smooth"], found["bits"], strict=True):
        states = reader.states(text)
        if list(states.text.tokens) != words:
            raise RuntimeError(f"the browser cuts {text!r} into other tokens than Python")
        if words:
            scale = float(np.abs(states.smooth).max())
            of_states = max(of_states, float(np.abs(np.array(smooth) - states.smooth).max()) / scale)
            of_bits = max(of_bits, float(np.abs(np.array(bits) - reader.bits(states.text)).max()))
    return {
        "sentences": len(sentences), "tokens": tokens,
        "states, tokens per second": tokens / found["states"],
        "states and surprisal, tokens per second": tokens / found["both"],
        "largest difference of a state, of its largest number": of_states,
        "largest difference of a surprisal, bits": of_bits,
    }  # fmt: skip


@contextmanager
def handed_out(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine; yield its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()


@contextmanager
def opened(profile: Path) -> Iterator[Any]:
    """Yield a driver of Chromium."""
    from selenium import webdriver

    browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
    driver = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
    if not browser or not driver:
        raise SystemExit("this needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.set_script_timeout(600)
    made.command_executor.client_config.timeout = 660  # of an answer of the driver, which waits for the script
    try:
        yield made
    finally:
        made.quit()


def report(results: dict[str, Any]) -> list[str]:
    """Return the lines of the page."""
    rows = [[name, f"{value:,.0f}" if value > 100 else f"{value:.2g}"] for name, value in results.items()
            if isinstance(value, int | float) and name != "load"]  # fmt: skip
    return [
        "# A model in the browser", "",
        f"By `python -m benchmarks.browser`: the page that `textlds explore` writes, in {results['browser']} on "
        f"{results['machine']}, load {results['load']:.1f}; one thread, plain JavaScript. Differences are to Python "
        "with the same packed model and the same sentences.", "",
        *markdown_table(["", ""], rows),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
