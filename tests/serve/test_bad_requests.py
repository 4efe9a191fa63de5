"""Requests that get no answer, and clients that mean no good."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve.running import Served

DEEP = b'{"inputs":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("path", "content", "status", "fragment"),
    [
        ("/embed", b"{", 422, "not JSON"),
        ("/embed", b"", 422, "not JSON"),
        ("/embed", b'"text"', 422, "string; send an object"),
        ("/embed", b"[1]", 422, "list; send an object"),
        ("/embed", b"{}", 422, "'inputs' is missing"),
        ("/embed", b'{"inputs": 3}', 422, "'inputs' is a JSON number"),
        ("/embed", b'{"inputs": null}', 422, "'inputs' is a JSON null"),
        ("/embed", b'{"inputs": []}', 422, "empty list"),
        ("/embed", b'{"inputs": ["a", {"b": 1}]}', 422, "'inputs[1]'"),
        ("/embed", b'{"inputs": [["a", null]]}', 422, "'inputs[0][1]'"),
        ("/embed", b'{"inputs": "a", "normalize": "yes"}', 422, "'normalize'"),
        ("/embed", b'{"inputs": "a", "dimensions": 0}', 422, "'dimensions' is 0"),
        ("/embed", b'{"inputs": "a", "dimensions": 2.5}', 422, "'dimensions'"),
        ("/embed", b'{"inputs": "a", "dimensions": 13}', 422, "from 1 to 12"),
        ("/embed", b'{"inputs": "\xff"}', 422, "not UTF-8"),
        ("/embed", DEEP, 422, "deep"),
        ("/v1/embeddings", b'{"input": [[1, 2, 3]]}', 422, "Token ids"),
        ("/v1/embeddings", b'{"input": "a", "encoding_format": "hex"}', 422, "'encoding_format' is 'hex'"),
        ("/v1/similar", b'{"word": "qwertyuiop"}', 422, "not among"),
        ("/v1/similar", b'{"word": "file", "context": "no such word"}', 422, "not a token"),
        ("/v1/similar", b'{"word": "file", "n": true}', 422, "'n'"),
        ("/v1/next_word", b'{"context": ["a"]}', 422, "'context'"),
        ("/v1/find", b'{"word": "file", "context": "a file", "match": "some"}', 422, "'match'"),
        ("/similarity", b'{"inputs": "a"}', 422, "source_sentence"),
        ("/similarity", b'{"inputs": {"source_sentence": "a"}}', 422, "'sentences' is missing"),
        ("/explore/token", b'{"text": "a b", "token": 7}', 422, "token=7"),
        ("/explore/use", b'{"text": "a b", "word": "c"}', 422, "'c'"),
        ("/nothing", b"{}", 404, "/nothing"),
        ("/../../etc/passwd", b"{}", 404, "no route"),
        ("/views/../app.py", b"{}", 404, "no route"),
        ("/health", b"{}", 405, "POST"),
    ],
)  # fmt: skip
def test_every_error_has_the_same_shape_and_names_what_is_wrong(
    served: Served, path: str, content: bytes, status: int, fragment: str
) -> None:
    answer = served.client.post(path, content=content)
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "error_type"}
    assert fragment in answer.json()["error"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("text", ["a\x00b", "\ud800 lone", "x" * 4999, "\u202e\u0639\u0631\u0628 \u2066", " \n\n "])
def test_odd_texts_are_read(served: Served, text: str) -> None:
    content = json.dumps({"inputs": text})
    for path in ("/embed_all", "/embed", "/tokenize", "/v1/surprisal"):
        assert served.client.post(path, content=content).status_code == 200
    for path in ("/explore/read", "/explore/path"):
        assert served.client.post(path, content=json.dumps({"text": text})).status_code == 200


def test_too_many_tokens_texts_or_bytes(served: Served) -> None:
    million = served.post("/embed", {"inputs": "word " * 1_000_000})
    assert (million.status_code, million.json()["error_type"]) == (413, "Validation")
    assert "1,000,000 tokens; the limit is 5,000" in million.json()["error"]
    source = {"source_sentence": "word " * 6000, "sentences": ["a"]}
    assert served.post("/similarity", {"inputs": source}).status_code == 413
    many = served.post("/embed", {"inputs": ["a"] * 5000})
    assert many.status_code == 413
    assert "5,000 texts; the limit is 4,096" in many.json()["error"]
    huge = served.post("/embed", content=b'{"inputs": "' + b"x" * (17 << 20) + b'"}')
    assert huge.status_code == 413
    assert served.post("/embed", {"inputs": "word " * 4999}).status_code == 200


def test_an_encoded_body_is_refused_by_name(served: Served) -> None:
    content = gzip.compress(b'{"inputs": "a"}')
    answer = httpx.post(f"{served.address}/embed", content=content, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert set(answer.json()) == {"error", "error_type"}
    assert "gzip" in answer.json()["error"]
    plain = httpx.post(f"{served.address}/embed", content=b'{"inputs": "a"}', headers={"Content-Encoding": "identity"})
    assert plain.status_code == 200


def test_an_accept_header_that_cannot_be_served(served: Served) -> None:
    answer = served.post("/embed", {"inputs": "a"}, headers={"Accept": "image/png"})
    assert answer.status_code == 406
    assert "application/json" in answer.json()["error"]


def test_a_full_queue_says_when_to_come_back(start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder, "--max-queue", 2)
    body = {"inputs": ["Return the value of the argument."] * 2000}

    def ask(_: int) -> httpx.Response:
        return httpx.post(f"{server.address}/v1/surprisal", json=body, timeout=900, trust_env=False)

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, range(24)))
    refused = [answer for answer in answers if answer.status_code == 429]
    answered = [answer for answer in answers if answer.status_code == 200]
    assert refused
    assert answered
    assert len(refused) + len(answered) == 24
    assert refused[0].json()["error_type"] == "Overloaded"
    assert int(refused[0].headers["retry-after"]) >= 1
    assert len({answer.content for answer in answered}) == 1  # whatever was computed beside them


def test_the_token_is_asked_for(start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder, environment={"TEXTLDS_TOKEN": "s3cret"})
    for path in ("/info", "/metrics", "/openapi.json"):
        assert server.client.get(path).status_code == 401
    wrong = server.post("/embed", {"inputs": "a"}, headers={"Authorization": "Bearer s3cre"})
    assert (wrong.status_code, wrong.json()["error_type"]) == (401, "Unauthorized")
    assert wrong.headers["www-authenticate"] == "Bearer"
    assert server.post("/embed", {"inputs": "a"}, headers={"Authorization": "Basic s3cret"}).status_code == 401
    assert server.post("/embed", {"inputs": "a"}, headers={"Authorization": "Bearer s3cret"}).status_code == 200
    assert server.client.get("/health").status_code == 200
    assert server.client.get("/").status_code == 200  # the page asks for the token itself


def test_a_name_of_another_site_is_refused(served: Served) -> None:
    assert served.client.get("/info", headers={"Host": "evil.example"}).status_code == 421
    assert served.client.get("/info", headers={"Host": "localhost:8080"}).status_code == 200


def connected(server: Served) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=900)


def test_slow_and_half_closed_clients_do_not_stop_others(start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder, "--body-timeout", 2)

    def seconds_of_requests() -> float:
        began = time.monotonic()
        for _ in range(20):
            assert server.post("/embed", {"inputs": "The file."}).status_code == 200
        return time.monotonic() - began

    alone = seconds_of_requests()
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    idle = [connected(server) for _ in range(300)]
    slow = [connected(server) for _ in range(20)]
    for number, client in enumerate(slow):
        client.sendall(head + b'{"inputs"' if number % 2 else head[:20])
    half = connected(server)
    half.sendall(head)
    half.shutdown(socket.SHUT_WR)
    assert seconds_of_requests() < 20 + 10 * alone  # if they waited for every slow one, 40 more
    answers = [client.recv(1 << 16) for client in slow]
    assert all(b"408" in answer for answer in answers[1::2])
    assert not any(answers[::2])  # a request that never came: closed without an answer
    assert idle[0].recv(10) == b""
    for client in [*idle, *slow, half]:
        client.close()
    assert server.post("/embed", {"inputs": "The file."}).status_code == 200


def test_clients_that_leave_are_forgotten(served: Served) -> None:
    body = json.dumps({"inputs": ["The file is open."] * 900}).encode()
    for _ in range(20):
        client = connected(served)
        client.sendall(b"POST /embed_all HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        client.close()
    assert served.post("/embed", {"inputs": "The file."}).status_code == 200
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and served.metric("textlds_requests_in_flight") > 1:
        time.sleep(0.1)
    assert served.metric("textlds_requests_in_flight") == 1  # the one that asks


def test_nothing_of_a_request_is_logged(start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder)
    server.post("/embed", {"inputs": "confidential words"})
    server.client.get("/confidential")
    assert server.ended() == 0
    assert "confidential" not in server.log.read_text()


def test_requests_are_logged_if_asked_for(start: Callable[..., Served], model_folder: Path) -> None:
    server = start(model_folder, "--log-requests")
    server.post("/embed", {"inputs": "confidential words"})
    server.ended()
    log = server.log.read_text()
    assert "POST /embed" in log
    assert "confidential" not in log


@pytest.fixture(autouse=True)
def _quick_sockets(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("TEXTLDS_TOKEN", raising=False)
