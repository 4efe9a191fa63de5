"""The routes of the server."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from textlds.errors import TextLDSError
from textlds.linalg.types import Array
from textlds.serve.answers import JSON, accepted, base64_vector, encoded, json_bytes
from textlds.serve.batching import Batcher
from textlds.serve.exploring import explore_routes
from textlds.serve.files import PageFile, page_files
from textlds.serve.metrics import Metrics
from textlds.serve.openapi import description
from textlds.serve.requests import Body, Limits, RequestError, invalid
from textlds.serve.service import Service

Handler = Callable[[Body, Request], Awaitable[Response]]

_LARGE = 50_000  # numbers whose encoding would hold up other requests
_OPEN = frozenset({"/health"})  # besides the page: what needs no token
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'self'",
}


class App:
    """The application: a service, the queue in front of it, and what was counted.

    Args:
        service: What answers.
        limits: How much a client may ask for.
        token: Clients must send it as ``Authorization: Bearer``; None for no such thing.
        hosts: Names that a Host header may have; None for any. A page of another site whose name was pointed at this
            machine (DNS rebinding) sends its own.
    """

    def __init__(
        self,
        service: Service,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        hosts: Sequence[str] | None = None,
    ) -> None:
        self.service = service
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self._token = None if token is None else token.encode()
        self._hosts = None if hosts is None else _LOCAL | {host.lower() for host in hosts}
        self._files: dict[str, PageFile] = page_files()
        self.batcher: Batcher | None = None
        self._drawing = asyncio.Lock()

    def asgi(self) -> Starlette:
        """Return the ASGI application."""
        posts: dict[str, Handler] = {
            "/embed_all": self._embed_all,
            "/embed": self._embed,
            "/tokenize": self._tokenize,
            "/similarity": self._similarity,
            "/v1/embeddings": self._openai,
            "/v1/similar": self._similar,
            "/v1/surprisal": self._surprisal,
            "/v1/next_word": self._next_word,
            "/v1/tag": self._tag,
            "/v1/find": self._find,
            "/v1/senses": self._senses,
            **{path: self._explored(answer) for path, answer in explore_routes().items()},
        }
        routes = [Route(path, self._post(handler), methods=["POST"]) for path, handler in posts.items()]
        routes += [
            Route("/health", self._health, methods=["GET"]),
            Route("/info", self._info, methods=["GET"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/explore/map", self._map, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
            *(Route(path, self._file(file), methods=["GET"]) for path, file in self._files.items()),
        ]
        app = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={TextLDSError: _refused, HTTPException: _http, Exception: _failed},
        )
        app.add_middleware(_Guard, owner=self)
        return app

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.batcher = Batcher(self.limits, self.metrics)
        await self.batcher.start()
        yield
        await self.batcher.stop()

    def permitted(self, path: str, authorization: str) -> bool:
        """Tell whether a request may be answered: it has the token, or its path needs none."""
        if self._token is None or path in _OPEN or path in self._files:
            return True
        scheme, _, given = authorization.partition(" ")
        return hmac.compare_digest(given.strip().encode(), self._token) and scheme.lower() == "bearer"

    def knows_host(self, header: str) -> bool:
        """Tell whether a Host header names this machine."""
        name = header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header
        return self._hosts is None or name.strip("[]").lower() in self._hosts

    def _post(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await handler(Body(await self._body(request)), request)

        return endpoint

    async def _body(self, request: Request) -> bytes:
        coding = request.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":
            message = f"the body is encoded ({coding[:40]}); send it as it is, without Content-Encoding."
            raise RequestError(415, "Validation", message, {"Connection": "close"})
        limit = self.limits.body_bytes
        message = f"the body is larger than {limit:,} bytes, the limit. Send fewer or shorter texts."
        larger = RequestError(413, "Validation", message, {"Connection": "close"})  # the rest is not waited for
        if int(request.headers.get("content-length") or 0) > limit:
            raise larger
        chunks, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limit:
                        raise larger
                    chunks.append(chunk)
        except TimeoutError as error:
            raise RequestError(
                408, "Timeout", f"the body did not arrive within {self.limits.body_seconds:g} seconds.",
                {"Connection": "close"},
            ) from error  # fmt: skip
        return b"".join(chunks)

    async def _run(self, kind: str, work: Callable[[Sequence[Any]], Sequence[Any]], texts: Sequence[Any]) -> Any:
        """Let the engine work on texts, together with those of other requests."""
        assert self.batcher is not None
        size = sum(map(len, texts))
        results = await self.batcher.run((kind, id(self.service)), work, texts, size)
        self.metrics.texts += len(texts)
        return results

    async def _alone(self, work: Callable[[], Any], size: int = 0) -> Any:
        """Let the engine work on something that cannot be batched."""
        assert self.batcher is not None
        (result,) = await self.batcher.run(object(), lambda _: [work()], [None], size)
        return result

    async def _texts(self, body: Body, name: str) -> list[Any]:
        """Return the texts of a request, which are not too many tokens."""
        return await self._checked(body.texts(name, self.limits))

    async def _checked(self, texts: list[Any]) -> list[Any]:
        if sum(map(len, texts)) > self.limits.tokens:
            await run_in_threadpool(self.service.check, texts, self.limits.tokens)
        return texts

    async def _vectors(self, vectors: Sequence[Array], request: Request) -> Response:
        kind = accepted(request.headers.get("accept"))
        if kind == JSON and sum(vector.size for vector in vectors) > _LARGE:
            content, headers = await run_in_threadpool(encoded, vectors, kind)
        else:
            content, headers = encoded(vectors, kind)
        return Response(content, media_type=kind, headers=headers)

    async def _embed_all(self, body: Body, request: Request) -> Response:
        accepted(request.headers.get("accept"))
        vectors = await self._run("vectors", self.service.vectors, await self._texts(body, "inputs"))
        self.metrics.tokens += sum(map(len, vectors))
        return await self._vectors(vectors, request)

    async def _pooled(self, texts: Sequence[Any], *, dimensions: int | None, normalize: bool) -> tuple[Array, int]:
        service = self.service
        found = await self._run("pooled", service.pooled, texts)
        tokens = sum(n for _, n in found)
        self.metrics.tokens += tokens
        vectors = np.stack([vector for vector, _ in found])
        if dimensions is not None:
            vectors = await run_in_threadpool(service.shortened, vectors, dimensions)
        if normalize:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return vectors, tokens

    def _dimensions(self, body: Body) -> int | None:
        if body.fields.get("dimensions") is None:
            return None
        return body.integer("dimensions", 0, high=self.service.dimensions)

    async def _embed(self, body: Body, request: Request) -> Response:
        accepted(request.headers.get("accept"))
        texts = await self._texts(body, "inputs")
        normalize = body.flag("normalize", True)
        vectors, _ = await self._pooled(texts, dimensions=self._dimensions(body), normalize=normalize)
        return await self._vectors(list(vectors), request)

    async def _tokenize(self, body: Body, request: Request) -> Response:
        service = self.service
        return answer(await self._run("tokens", service.tokens, await self._texts(body, "inputs")))

    async def _similarity(self, body: Body, request: Request) -> Response:
        inputs = body.required("inputs")
        if not isinstance(inputs, dict):
            raise invalid("the field 'inputs' must be an object with 'source_sentence' and 'sentences'.")
        inner = Body(b"{}")
        inner.fields = inputs
        texts = await self._checked([inner.text("source_sentence"), *inner.texts("sentences", self.limits)])
        vectors, _ = await self._pooled(texts, dimensions=None, normalize=True)
        return answer(vectors[1:] @ vectors[0])

    async def _openai(self, body: Body, request: Request) -> Response:
        texts = await self._texts(body, "input")
        form = body.choice("encoding_format", "float", ("float", "base64"))
        vectors, tokens = await self._pooled(texts, dimensions=self._dimensions(body), normalize=True)
        data = [
            {
                "object": "embedding",
                "index": number,
                "embedding": base64_vector(vector) if form == "base64" else np.ascontiguousarray(vector),
            }
            for number, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return answer({"object": "list", "data": data, "model": self.service.name, "usage": usage})

    async def _similar(self, body: Body, request: Request) -> Response:
        service, word = self.service, body.text("word")
        context = None if body.fields.get("context") is None else await self._context(body)
        n = body.integer("n", 10)
        found = await self._alone(lambda: service.similar(word, context, n), len(context or ""))
        return answer({"word": word, "context": context, "similar": found})

    async def _context(self, body: Body) -> str:
        text = body.text("context")
        await self._texts(body, "context")
        return text

    async def _surprisal(self, body: Body, request: Request) -> Response:
        service = self.service
        return answer(await self._run("surprisal", service.surprisal, await self._texts(body, "inputs")))

    async def _next_word(self, body: Body, request: Request) -> Response:
        service, context, n = self.service, await self._context(body), body.integer("n", 10)
        return answer(await self._alone(lambda: service.next_word(context, n), len(context)))

    async def _tag(self, body: Body, request: Request) -> Response:
        service = self.service
        return answer(await self._run("tag", service.tag, await self._texts(body, "inputs")))

    async def _find(self, body: Body, request: Request) -> Response:
        self.service.searched()
        service, word, context = self.service, body.text("word"), await self._context(body)
        n, match = body.integer("n", 10), body.choice("match", "same", ("same", "any"))
        found = await self._alone(lambda: service.find(word, context, n, match), len(context))
        return answer({"word": word, "context": context, "occurrences": found})

    async def _senses(self, body: Body, request: Request) -> Response:
        self.service.searched()
        service, word = self.service, body.text("word")
        n = None if body.fields.get("n") is None else body.integer("n", 0, high=20)
        return answer(await self._alone(lambda: service.senses(word, n)))

    def _explored(self, work: Callable[[Service, Body, Limits], Any]) -> Handler:
        async def handler(body: Body, request: Request) -> Response:
            service, limits = self.service, self.limits
            result = await self._alone(lambda: work(service, body, limits), len(str(body.fields.get("text", ""))))
            return result if isinstance(result, Response) else answer(result)

        return handler

    async def _map(self, request: Request) -> Response:
        async with self._drawing:  # beside the engine: the first map takes a while
            return Response(await run_in_threadpool(lambda: json_bytes(self.service.map)), media_type=JSON)

    async def _health(self, request: Request) -> Response:
        return answer({"status": "ok"})

    async def _info(self, request: Request) -> Response:
        limits = self.limits
        bounds = {
            "max_batch_tokens": limits.tokens, "max_input_length": limits.tokens,
            "max_client_batch_size": limits.texts, "max_concurrent_requests": limits.queue,
        }  # fmt: skip
        return answer({**await run_in_threadpool(self.service.info), **bounds})

    async def _models(self, request: Request) -> Response:
        own = {"id": self.service.name, "object": "model", "created": 0, "owned_by": "textlds"}
        return answer({"object": "list", "data": [own]})

    async def _metrics(self, request: Request) -> Response:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def _openapi(self, request: Request) -> Response:
        return answer(description(self.service.name))

    def _file(self, file: PageFile) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            headers = {**_SECURITY, "ETag": file.tag, "Cache-Control": "no-cache"}
            if request.headers.get("if-none-match") == file.tag:
                return Response(status_code=304, headers=headers)
            return Response(file.content, media_type=file.kind, headers=headers)

        return endpoint


class _Guard:
    """ASGI middleware: Host, token, counters."""

    def __init__(self, app: Any, owner: App) -> None:
        self.app, self.owner = app, owner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        metrics, began, status = self.owner.metrics, time.perf_counter(), 499  # if the client leaves before an answer
        headers = dict(scope["headers"])
        path = scope["path"]

        async def counted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        metrics.in_flight += 1
        try:
            if not self.owner.knows_host(headers.get(b"host", b"").decode("latin-1")):
                await _refusal(
                    421, "Validation",
                    "the Host header does not name this machine. Start the server with --allow-host NAME.",
                )(scope, receive, counted)  # fmt: skip
            elif not self.owner.permitted(path, headers.get(b"authorization", b"").decode("latin-1")):
                await _refusal(
                    401, "Unauthorized", "send the server's token: Authorization: Bearer TOKEN.",
                    {"WWW-Authenticate": "Bearer"},
                )(scope, receive, counted)  # fmt: skip
            else:
                await self.app(scope, receive, counted)
        except ClientDisconnect:
            pass
        finally:
            metrics.in_flight -= 1
            route = scope.get("route")
            metrics.request(getattr(route, "path", "other"), status, time.perf_counter() - began)


def answer(value: Any) -> Response:
    """Return a value as JSON."""
    return Response(json_bytes(value), media_type=JSON)


def _refusal(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return Response(
        json_bytes({"error": message, "error_type": kind}), status, media_type=JSON, headers=headers or {}
    )  # fmt: skip


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError):
        return _refusal(error.status, error.kind, str(error), error.headers)
    return _refusal(422, "Validation", str(error))


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        return _refusal(404, "NotFound", f"there is no route {request.url.path:.100}; /docs lists them.")
    if status == 405:
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        return _refusal(405, "Validation", f"{request.url.path:.100} does not take {request.method}.", headers)
    return _refusal(status, "Validation", str(getattr(error, "detail", error)))


async def _failed(request: Request, error: Exception) -> Response:
    return _refusal(500, "Backend", f"the server failed with {type(error).__name__}. Its log has the details.")
