"""The server as a process: start, end, reload; and the clients people have."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import openai
import pytest

import textlds
from cli.runs import process
from serve.running import Served

TEXTS = ["The file is opened for reading.", "Return the value of the argument."]


def test_a_port_that_is_taken(model_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = process(["serve", model_folder, "--port", port])
    assert done.returncode == 1
    assert f"port {port}".encode() in done.stderr
    assert b"--port" in done.stderr


def test_an_address_of_another_machine(model_folder: Path) -> None:
    for host in ("192.0.2.1", "no-such-host.invalid"):  # addresses that nobody has
        done = process(["serve", model_folder, "--host", host, "--port", 0])
        assert done.returncode == 1
        assert b"address of this machine with --host" in done.stderr


def test_a_model_that_is_missing_or_broken(model_folder: Path, tmp_path: Path) -> None:
    missing = process(["serve", tmp_path / "nothing", "--port", 0])
    assert missing.returncode == 1
    assert b"does not exist" in missing.stderr
    broken = shutil.copytree(model_folder, tmp_path / "broken")
    with (broken / "model.safetensors").open("r+b") as file:
        file.seek(2000)
        file.write(b"damage")
    done = process(["serve", broken, "--port", 0])
    assert done.returncode == 1
    assert b"model.safetensors" in done.stderr


def test_an_index_of_another_model(index_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    other = textlds.fit(textlds.count(texts=sentences[:400], vocab_size=300), state_size=5, iterations=2, threads=1)
    other.save(tmp_path / "other")
    done = process(["serve", tmp_path / "other", "--index", index_folder, "--port", 0])
    assert done.returncode == 1
    assert b"another model" in done.stderr


def test_a_tagger_of_another_model(tagger_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    """Its vectors are as long, and mean something else."""
    other = textlds.fit(textlds.count(texts=sentences[:400], vocab_size=300), state_size=12, iterations=2, threads=1)
    other.save(tmp_path / "other")
    done = process(["serve", tmp_path / "other", "--tagger", tagger_folder, "--port", 0])
    assert done.returncode == 1
    assert b"is not the model that the tagger" in done.stderr


def test_an_empty_token_is_no_token(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    done = process(["serve", model_folder, "--token-file", tmp_path / "token", "--port", 0])
    assert done.returncode == 1
    assert b"token is empty" in done.stderr


def test_what_is_in_flight_is_answered_before_the_end(start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder)
    body = {"inputs": TEXTS * 500}

    def ask(_: int) -> httpx.Response:
        return httpx.post(f"{server.address}/v1/surprisal", json=body, timeout=900, trust_env=False)

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ask, number) for number in range(8)]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if server.metric("textlds_requests_in_flight") >= 9 or any(answer.done() for answer in answers):
                break
        assert server.ended(signal.SIGTERM) == 0
        assert [answer.result().status_code for answer in answers] == [200] * 8
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/health", trust_env=False)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_model_replaced_on_disk_is_read_again(
    start: Callable[..., Served], model: textlds.TextLDS, sentences: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    model.save(folder)
    server = start(folder)
    other = textlds.fit(textlds.count(texts=sentences[:800], vocab_size=500), state_size=7, iterations=2, threads=1)
    stop = False
    failures = []

    def keep_asking() -> int:
        asked = 0
        with httpx.Client(base_url=server.address, timeout=900, trust_env=False) as client:
            while not stop:
                answer = client.post("/embed", json={"inputs": TEXTS})
                asked += 1
                if answer.status_code != 200 or {len(vector) for vector in answer.json()} not in ({12}, {7}):
                    failures.append(answer.text)
        return asked

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(keep_asking) for _ in range(4)]
        try:
            other.save(folder, force=True)
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: server.metric("textlds_reloads_total") == 1)
            assert server.client.get("/info").json()["state_size"] == 7
            (folder / "vocabulary.json").write_text("{}")  # a model that cannot be read
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "old one stays" in server.log.read_text())
            assert server.client.get("/info").json()["state_size"] == 7
        finally:
            stop = True
        assert all(asked.result() > 0 for asked in asking)
    assert not failures
    vectors = server.post("/embed_all", {"inputs": TEXTS[0]}).json()[0]
    np.testing.assert_allclose(vectors, other(TEXTS[0]).vectors, atol=2e-6)


def wait_until(true: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_client_of_openai(served: Served, model: textlds.TextLDS) -> None:
    client = openai.OpenAI(base_url=f"{served.address}/v1", api_key="none", http_client=httpx.Client(trust_env=False))
    pooled = model.encode(TEXTS)
    unit = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    for options in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
        answer = client.embeddings.create(model="docs", input=TEXTS, **options)  # type: ignore[call-overload]
        vectors = [item.embedding for item in answer.data]
        if options.get("encoding_format") == "base64" and isinstance(vectors[0], str):
            import base64

            vectors = [np.frombuffer(base64.b64decode(vector), "<f4") for vector in vectors]
        np.testing.assert_allclose(vectors, unit, atol=2e-6)
        assert answer.usage.prompt_tokens == sum(len(model(text).tokens) for text in TEXTS)
        assert [item.index for item in answer.data] == [0, 1]
    assert len(client.embeddings.create(model="docs", input="a", dimensions=4).data[0].embedding) == 4
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.embeddings.create(model="docs", input=[1, 2])
    assert "Token ids" in str(refused.value.body)
    assert [one.id for one in client.models.list()] == ["docs-model"]
    client.close()


NODE = """
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "none" });
const answer = await client.embeddings.create({ model: "docs", input: JSON.parse(process.argv[3]) });
console.log(JSON.stringify(answer.data.map((item) => Array.from(item.embedding))));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_client_of_openai_for_javascript(served: Served, model: textlds.TextLDS, tmp_path: Path) -> None:
    folder = Path(os.environ.get("TEXTLDS_NODE_MODULES", "node_modules"))
    if not (folder / "openai").is_dir():
        pytest.skip("the openai package for node is not installed: npm install openai, or set TEXTLDS_NODE_MODULES")
    (tmp_path / "node_modules").symlink_to(folder.resolve())
    (tmp_path / "ask.mjs").write_text(NODE)
    command = ["node", "ask.mjs", served.address, json.dumps(TEXTS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    pooled = model.encode(TEXTS)
    np.testing.assert_allclose(
        json.loads(done.stdout), pooled / np.linalg.norm(pooled, axis=1, keepdims=True), atol=2e-6
    )


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(served: Served) -> None:
    command = ["curl", "--noproxy", "*", "-sS", f"{served.address}/embed", "-d", '{"inputs": "The file."}']
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    assert len(json.loads(done.stdout)[0]) == 12
