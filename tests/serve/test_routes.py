"""What each route answers, held to the library."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import textlds
from oracles.texts import PARAGRAPHS
from serve.running import Served
from textlds.tagging.tagger import Tagger

TEXTS = ["The file is opened for reading.", "Return the value of an unknownest argument.", ""]
ARROW, NPY = "application/vnd.apache.arrow.stream", "application/x-npy"


def test_embed_all_gives_the_vectors_of_the_library(served: Served, model: textlds.TextLDS) -> None:
    answer = served.post("/embed_all", {"inputs": TEXTS})
    assert answer.status_code == 200
    expected = [text.vectors for text in model.embed(TEXTS)]
    assert [len(text) for text in answer.json()] == [len(vectors) for vectors in expected]
    for found, vectors in zip(answer.json(), expected, strict=True):
        np.testing.assert_allclose(np.array(found).reshape(vectors.shape), vectors, atol=2e-6)


def test_one_text_or_tokens_will_do(served: Served, model: textlds.TextLDS) -> None:
    one = served.post("/embed_all", {"inputs": TEXTS[0]}).json()
    tokens = served.post("/embed_all", {"inputs": [model(TEXTS[0]).tokens]}).json()
    np.testing.assert_allclose(one, tokens, atol=1e-6)
    assert len(one) == 1


def test_arrow_and_npy_hold_the_same_numbers(served: Served, model: textlds.TextLDS) -> None:
    expected = [text.vectors for text in model.embed(TEXTS)]
    arrow = served.post("/embed_all", {"inputs": TEXTS}, headers={"Accept": ARROW})
    assert arrow.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(arrow.content).read_all()
    npy = served.post("/embed_all", {"inputs": TEXTS}, headers={"Accept": f"text/html;q=0.9, {NPY}"})
    lengths = [int(n) for n in npy.headers["Textlds-Lengths"].split(",")]
    rows = np.split(np.load(io.BytesIO(npy.content), allow_pickle=False), np.cumsum(lengths)[:-1])
    for column, row, vectors in zip(table["vectors"].to_pylist(), rows, expected, strict=True):
        # a batch of another size may round differently in the last bits
        np.testing.assert_allclose(np.array(column, np.float32).reshape(vectors.shape), vectors, atol=1e-6)
        np.testing.assert_allclose(row, vectors, atol=1e-6)


def test_embed_pools_and_normalises(served: Served, model: textlds.TextLDS) -> None:
    pooled = model.encode(TEXTS)
    raw = np.array(served.post("/embed", {"inputs": TEXTS, "normalize": False}).json())
    np.testing.assert_allclose(raw, pooled, atol=2e-6)
    unit = np.array(served.post("/embed", {"inputs": TEXTS}).json())
    np.testing.assert_allclose(unit[:2], pooled[:2] / np.linalg.norm(pooled[:2], axis=1, keepdims=True), atol=2e-6)
    assert not unit[2].any()  # a text without tokens
    table = pa.ipc.open_stream(served.post("/embed", {"inputs": TEXTS}, headers={"Accept": ARROW}).content).read_all()
    np.testing.assert_allclose(table["vectors"].to_pylist(), unit, atol=1e-6)


def test_fewer_dimensions_keep_most_of_the_cosines(served: Served, sentences: list[str]) -> None:
    texts = sentences[:60]
    full, short, all_axes = (
        np.array(served.post("/embed", {"inputs": texts, "dimensions": d}).json()) for d in (None, 6, 12)
    )
    assert short.shape == (60, 6)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(all_axes @ all_axes.T, full @ full.T, atol=1e-5)
    pairs = np.triu_indices(60, 1)
    first = np.array([vector[:6] / np.linalg.norm(vector[:6]) for vector in full])
    kept = np.corrcoef((short @ short.T)[pairs], (full @ full.T)[pairs])[0, 1]
    cut = np.corrcoef((first @ first.T)[pairs], (full @ full.T)[pairs])[0, 1]
    assert kept > max(cut, 0.6)  # better than leaving out the last numbers


@pytest.mark.parametrize("text", [*PARAGRAPHS, "a 𝒳 b", "e\u0301 – ok"])
def test_tokens_say_where_they_stand_in_characters(served: Served, model: textlds.TextLDS, text: str) -> None:
    ((*tokens,), _) = served.post("/tokenize", {"inputs": [text, "another text"]}).json()
    assert [text[token["start"] : token["stop"]] for token in tokens] == [token["text"] for token in tokens]
    assert [token["text"] for token in tokens] == model(text).tokens
    assert [token["id"] for token in tokens] == model.vocabulary.ids(
        [token["text"] for token in tokens]
    ).tolist() or any(not token["text"].isascii() for token in tokens)


def test_similarity_is_the_cosine_of_pooled_vectors(served: Served, model: textlds.TextLDS) -> None:
    asked = {"inputs": {"source_sentence": TEXTS[0], "sentences": TEXTS[:2]}}
    pooled = model.encode(TEXTS[:2])
    unit = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    np.testing.assert_allclose(served.post("/similarity", asked).json(), unit @ unit[0], atol=1e-5)


def test_similar_words(served: Served, model: textlds.TextLDS) -> None:
    found = served.post("/v1/similar", {"word": "file", "n": 4}).json()
    assert [(item["word"], round(item["cosine"], 4)) for item in found["similar"]] == [
        (word, round(cosine, 4)) for word, cosine in model.similar("file", n=4)
    ]
    context = "The file is opened for reading."
    found = served.post("/v1/similar", {"word": "file", "context": context, "n": 4}).json()
    assert [item["word"] for item in found["similar"]] == [
        word for word, _ in model.similar("file", context=context, n=4)
    ]


def test_surprisal_and_next_word(served: Served, model: textlds.TextLDS) -> None:
    answers = served.post("/v1/surprisal", {"inputs": TEXTS}).json()
    for found, text in zip(answers, model.surprisal(TEXTS), strict=True):
        assert found["tokens"] == text.tokens
        np.testing.assert_allclose(found["bits"], text.bits, atol=1e-3)
        assert found["unknown"] == text.unknown.tolist()
    found = served.post("/v1/next_word", {"context": "Return the", "n": 3}).json()
    expected = model.next_word("Return the")
    assert [item["word"] for item in found["words"]] == [word for word, _ in expected.top(3)]
    assert found["entropy"] == pytest.approx(expected.entropy, rel=1e-4)


def test_find_in_the_index(served: Served) -> None:
    found = served.post("/v1/find", {"word": "file", "context": TEXTS[0], "n": 3}).json()["occurrences"]
    assert len(found) == 3
    assert all(o["sentence"][o["start"] :].lower().startswith("file") for o in found)
    assert found[0]["score"] >= found[1]["score"]
    assert all("/" not in o["file"] for o in found)  # where files lie on the server is no client's business


def test_senses_of_a_word(served: Served) -> None:
    found = served.post("/v1/senses", {"word": "file", "n": 2}).json()
    assert len(found) == 2
    assert found[0]["size"] >= found[1]["size"]
    assert all("file" in o["sentence"].lower() for sense in found for o in sense["examples"])


def test_tags(served: Served, tagger_folder: Path) -> None:
    texts = ["The file is open. Return the Value.", "nothing", ""]
    tagged = list(Tagger.load(tagger_folder).tag(texts))
    first, second, empty = served.post("/v1/tag", {"inputs": texts}).json()
    assert [texts[0][start:stop] for start, stop in first["spans"]] == first["tokens"]
    expected = [tag for sentence in tagged if sentence.text == 0 for tag in sentence.tags]
    assert first["tags"] == expected
    assert set(expected) == {"UPPER", "OTHER"}
    assert (second["tokens"], empty["tokens"]) == (["nothing"], [])
    shown = served.post("/explore/read", {"text": texts[0]}).json()["tokens"]
    assert [token["tag"] for token in shown] == expected


def test_a_server_without_tagger_and_index_says_how_to_get_them(
    start: Callable[..., Served], model_folder: Path
) -> None:
    server = start(model_folder)
    for path, body, option in (
        ("/v1/tag", {"inputs": "x"}, "--tagger"),
        ("/v1/find", {"word": "a", "context": "a"}, "--index"),
        ("/v1/find", {"word": "a"}, "--index"),  # before the field that is missing as well
        ("/v1/senses", {}, "--index"),
        ("/v1/senses", {"word": "a"}, "--index"),
    ):
        answer = server.post(path, body)
        assert answer.status_code == 404
        assert option in answer.json()["error"]


def test_info_health_and_metrics(served: Served, model: textlds.TextLDS) -> None:
    info = served.client.get("/info").json()
    assert (info["model_id"], info["dimensions"]) == ("docs-model", model.dimensions())
    assert info["max_batch_tokens"] == 5000
    assert served.client.get("/health").json() == {"status": "ok"}
    before = served.metric("textlds_tokens_total")
    served.post("/embed_all", {"inputs": TEXTS[0]})
    assert served.metric("textlds_tokens_total") - before == len(model(TEXTS[0]).tokens)
    text = served.client.get("/metrics").text
    assert 'textlds_requests_total{route="/embed_all",status="200"}' in text
    assert re.search(r'textlds_request_seconds_bucket\{route="/embed_all",le="\+Inf"\} [1-9]', text)


def test_the_docs_describe_every_route_and_need_no_other_host(served: Served) -> None:
    description = served.client.get("/openapi.json").json()
    assert description["openapi"].startswith("3.")
    for path, verbs in description["paths"].items():
        for verb, about in verbs.items():
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {})
            answer = served.client.request(verb.upper(), path, json=body.get("example"))
            assert answer.status_code in (200, 404, 422), (path, answer.text)
            for name in body.get("schema", {}).get("required", []):
                missing = {key: value for key, value in body["example"].items() if key != name}
                refused = served.client.request(verb.upper(), path, json=missing)
                assert refused.status_code == 422
                assert name in refused.json()["error"]
    for path in ("/", "/docs", "/app.js", "/docs.js", "/style.css", "/views/map.js"):
        answer = served.client.get(path)
        assert answer.status_code == 200
        assert not re.findall(r"(?:src|href|url|import|fetch)\W{1,3}https?://", answer.text)
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_a_file_that_did_not_change_is_not_sent_again(served: Served) -> None:
    tag = served.client.get("/style.css").headers["etag"]
    assert served.client.get("/style.css", headers={"If-None-Match": tag}).status_code == 304
