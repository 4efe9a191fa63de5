"""The description of all routes in the OpenAPI format; ``/docs`` draws it."""

from __future__ import annotations

from typing import Any

from textlds._version import __version__
from textlds.serve.answers import ARROW, JSON, LENGTHS, NPY

_TEXT = {"type": "string"}
_TEXTS = {
    "description": "A text, or a list of texts; each a string or a list of tokens.",
    "oneOf": [_TEXT, {"type": "array", "items": {"oneOf": [_TEXT, {"type": "array", "items": _TEXT}]}}],
}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10, "description": "How many."}
_CONTEXT = {"type": "string", "description": "A text that holds the word."}
_WORD = {"type": "string", "description": "A word."}
_DIMENSIONS = {"type": "integer", "minimum": 1, "description": "Keep this many leading principal axes of the vectors."}
_VECTOR = {"type": "array", "items": {"type": "number"}}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_NUMBER, _INTEGER = {"type": "number"}, {"type": "integer"}
_SCORED = _list(_object(["word"], word=_WORD, cosine=_NUMBER))
_OCCURRENCE = _object(
    ["word", "score", "sentence"], word=_WORD, score=_NUMBER, sentence=_TEXT, start=_INTEGER, file=_TEXT, line=_INTEGER
)  # fmt: skip
_TOKEN = _object(["id", "text"], id=_INTEGER, text=_TEXT, special={"type": "boolean"}, start=_INTEGER, stop=_INTEGER)

# path: summary, what it does, the body, an example of it, the answer, whether vectors may come in binary
_POSTS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any], bool]] = {
    "/embed_all": (
        "A vector for every token",
        "One list per text, one vector per token, as in text-embeddings-inference.",
        _object(["inputs"], inputs=_TEXTS),
        {"inputs": ["The bank raised its rates."]},
        _list(_list(_VECTOR)),
        True,
    ),
    "/embed": (
        "A vector for every text",
        "The mean of the vectors of its tokens, of length one unless normalize is false.",
        _object(["inputs"], inputs=_TEXTS, normalize={"type": "boolean", "default": True}, dimensions=_DIMENSIONS),
        {"inputs": ["The bank raised its rates.", "He sat on the bank."]},
        _list(_VECTOR),
        True,
    ),
    "/tokenize": (
        "The tokens of texts",
        "id is the row of the vocabulary, start and stop count characters.",
        _object(["inputs"], inputs=_TEXTS),
        {"inputs": "The bank raised its rates."},
        _list(_list(_TOKEN)),
        False,
    ),
    "/similarity": (
        "Cosines of one text with others",
        "Of their vectors as /embed gives them.",
        _object(["inputs"], inputs=_object(["source_sentence", "sentences"], source_sentence=_TEXT, sentences=_TEXTS)),
        {"inputs": {"source_sentence": "A bank.", "sentences": ["A river.", "A loan."]}},
        _VECTOR,
        False,
    ),
    "/v1/embeddings": (
        "OpenAI's embeddings",
        "As clients of OpenAI send it. The model's name in the request is not looked at. Token ids are refused.",
        _object(
            ["input"],
            input=_TEXTS,
            model=_TEXT,
            encoding_format={"enum": ["float", "base64"], "default": "float"},
            dimensions=_DIMENSIONS,
        ),
        {"input": "The bank raised its rates.", "model": "textlds", "encoding_format": "float"},
        _object(["data"], object=_TEXT, data=_list({"type": "object"}), model=_TEXT, usage={"type": "object"}),
        False,
    ),
    "/v1/similar": (
        "Similar words",
        "The words most similar to a word, by itself or as it is used in a context.",
        _object(["word"], word=_WORD, context=_CONTEXT, n=_COUNT),
        {"word": "bank", "context": "He sat on the bank of the river.", "n": 5},
        _object(["similar"], word=_WORD, context=_CONTEXT, similar=_SCORED),
        False,
    ),
    "/v1/surprisal": (
        "How surprising each token is",
        "−log₂ of its probability given what precedes it in its text, in bits.",
        _object(["inputs"], inputs=_TEXTS),
        {"inputs": "The bank raised its rates."},
        _list(_object(["tokens", "bits"], tokens=_list(_TEXT), bits=_VECTOR, unknown=_list({"type": "boolean"}))),
        False,
    ),
    "/v1/next_word": (
        "The words that may follow",
        "With their probabilities, and the entropy of all words in bits.",
        _object(["context"], context={"type": "string"}, n=_COUNT),
        {"context": "The United States of", "n": 5},
        _object(["words"], words=_list(_object(["word"], word=_WORD, probability=_NUMBER)), entropy=_NUMBER),
        False,
    ),
    "/v1/tag": (
        "Tags",
        "The tags and entities of a tagger. Needs a server that was started with --tagger.",
        _object(["inputs"], inputs=_TEXTS),
        {"inputs": "The bank raised its rates."},
        _list(_object(["tokens", "tags"], tokens=_list(_TEXT), tags=_list(_TEXT), confidences=_VECTOR)),
        False,
    ),
    "/v1/find": (
        "Where a word is used like this",
        "Occurrences in a corpus, most alike first. Needs a server that was started with --index.",
        _object(["word", "context"], word=_WORD, context=_CONTEXT, n=_COUNT, match={"enum": ["same", "any"]}),
        {"word": "bank", "context": "He sat on the bank of the river."},
        _object(["occurrences"], word=_WORD, context=_CONTEXT, occurrences=_list(_OCCURRENCE)),
        False,
    ),
    "/v1/senses": (
        "The senses of a word",
        "Its occurrences in a corpus, in clusters. Needs a server that was started with --index.",
        _object(
            ["word"],
            word=_WORD,
            n={
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "description": "How many; by default as many as there are.",
            },
        ),
        {"word": "bank", "n": 2},
        _list(
            _object(["size", "examples"], size=_INTEGER, share=_NUMBER, words=_list(_WORD), examples=_list(_OCCURRENCE))
        ),
        False,
    ),
}
_GETS = {
    "/info": ("What is served", "The model, its limits, and whether there are a tagger and an index."),
    "/v1/models": ("OpenAI's list of models", "The model that is served, the only one."),
    "/health": ("Whether the server answers", "Needs no token."),
    "/metrics": ("Counters", "In the text format of Prometheus."),
}
_ERROR = {"$ref": "#/components/schemas/Error"}
_ERRORS = {
    "401": "The token is missing or wrong.",
    "408": "The body took too long to arrive.",
    "413": "The body, the number of texts or their tokens exceed a limit.",
    "415": "The body has a Content-Encoding.",
    "422": "The body is not JSON, or a field is missing or wrong; the error names it.",
    "429": "Too many requests are waiting. Retry-After says when to try again.",
    "504": "No answer in time.",
}


def description(name: str) -> dict[str, Any]:
    """Return the OpenAPI document."""
    errors = {
        status: {"description": about, "content": {JSON: {"schema": _ERROR}}} for status, about in _ERRORS.items()
    }
    paths: dict[str, Any] = {}
    for path, (summary, about, body, example, result, binary) in _POSTS.items():
        content: dict[str, Any] = {JSON: {"schema": result}}
        if binary:
            raw = {"type": "string", "format": "binary"}
            content |= {ARROW: {"schema": raw}, NPY: {"schema": raw}}
            about += f" Accept {ARROW} or {NPY} for binary answers; the latter gives the lengths in {LENGTHS}."
        paths[path] = {
            "post": {
                "summary": summary,
                "description": about,
                "requestBody": {"required": True, "content": {JSON: {"schema": body, "example": example}}},
                "responses": {"200": {"description": "The answer.", "content": content}, **errors},
            }
        }
    for path, (summary, about) in _GETS.items():
        paths[path] = {
            "get": {"summary": summary, "description": about, "responses": {"200": {"description": "The answer."}}}
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"textlds: {name}", "version": __version__, "description": "Vectors of words in context."},
        "paths": paths,
        "components": {
            "schemas": {"Error": _object(["error", "error_type"], error=_TEXT, error_type=_TEXT)},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
