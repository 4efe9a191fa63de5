"""Servers as processes, and real text to ask them about."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

_MODULES = ("argparse", "logging", "subprocess", "pathlib", "asyncio", "email", "http", "unittest", "random", "typing")


def docstrings() -> list[str]:
    """Return sentences of the documentation strings of some modules of the standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    found: list[str] = []
    for name in _MODULES:
        files = sorted((library / name).rglob("*.py")) if (library / name).is_dir() else [library / f"{name}.py"]
        for file in files:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    text = ast.get_docstring(node) or ""
                    paragraphs = re.split(r"\n\s*\n", text)
                    found += [line for line in (" ".join(p.split()) for p in paragraphs) if 20 < len(line) < 500]
    return list(dict.fromkeys(found))


@dataclass
class Served:
    """A server that runs.

    Attributes:
        address: Where.
        process: Its process.
        client: Asks it.
        log: What it wrote to standard error.
    """

    address: str
    process: subprocess.Popen[str]
    client: httpx.Client
    log: Path

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """Send JSON, or what ``content`` gives."""
        return self.client.post(path, **options) if body is None else self.client.post(path, json=body, **options)

    def metric(self, name: str) -> int:
        """Return a counter."""
        found = re.search(rf"^{name} (\d+)$", self.client.get("/metrics").text, re.M)
        assert found is not None
        return int(found[1])

    def ended(self, signal_number: int = signal.SIGTERM) -> int:
        """End the server and return its exit code."""
        self.process.send_signal(signal_number)
        return self.process.wait(60)


@contextmanager
def serving(*arguments: Any, environment: dict[str, str] | None = None) -> Iterator[Served]:
    """Run ``textlds serve`` on a free port until the block ends."""
    command = [
        sys.executable,
        "-m",
        "textlds",
        "serve",
        *map(str, arguments),
        "--port",
        "0",
        "--json",
        "--threads",
        "1",
    ]
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as errors:
        log = Path(errors.name)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **(environment or {})}
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text()
            address = json.loads(line)["address"]
            with httpx.Client(base_url=address, timeout=900, trust_env=False) as client:
                yield Served(address, process, client, log)
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            if process.stdout is not None:
                process.stdout.close()
