"""``textlds serve``: a server for embedding clients, and the page to explore a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say

if TYPE_CHECKING:
    from textlds.serve.requests import Limits

TOKEN = "TEXTLDS_TOKEN"


def serve_model(
    model: Path,
    *,
    text: Path | None,
    options: dict[str, Any],
    host: str,
    port: int,
    allow_host: list[str],
    token: str | None,
    limits: Limits,
    log_requests: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Serve until a signal ends it. ``options`` are other arguments of :meth:`Service.load`."""
    from textlds.errors import MissingExtraError
    from textlds.linalg.threads import one_blas_thread

    try:
        from textlds.serve.app import App
        from textlds.serve.server import BACKLOG, Server, address_of, bound_socket, is_loopback, raise_open_files
    except ImportError as error:
        if error.name is not None and error.name.startswith("textlds"):
            raise
        raise MissingExtraError("serving", "serve") from error
    from textlds.serve.service import Service, sample_texts

    raise_open_files()
    bound = bound_socket(host, port)
    samples = [] if text is None else sample_texts(text)

    def load() -> Service:
        return Service.load(model, samples=samples, **options)

    app = App(
        load(),
        limits=limits,
        token=token,
        hosts=allow_host if is_loopback(host) or allow_host else None,
    )
    server = Server(app, load, log_requests=log_requests, say=lambda message: say(message, quiet=quiet))
    bound.listen(BACKLOG)  # who connects from now on waits instead of being refused
    address = address_of(bound)
    if as_json:
        print_json({"address": address, "pid": os.getpid()})
    say(f"Serving {app.service.name} at {address}  (docs at {address}/docs; end with Ctrl-C)", quiet=quiet)
    if not is_loopback(host) and token is None:
        say(f"Anyone who can reach this machine can use the server. Set {TOKEN} to require a token.", quiet=quiet)
    with one_blas_thread():  # a request is small: a second thread of BLAS costs more than it brings
        server.run(sockets=[bound])


def command(
    model: opt.Model,
    index: Annotated[
        Path | None, typer.Option(metavar="INDEX", help="An index of occurrences, for search.", show_default="none")
    ] = None,
    tagger: Annotated[
        Path | None, typer.Option(metavar="TAGGER", help="A tagger trained with the model.", show_default="none")
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Texts to show as examples, one per line.", show_default="none"),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 for any free one.")] = 8080,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Answer requests for this host name too.", show_default=False),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Require this file's content as a bearer token.", show_default=f"${TOKEN}, if set"
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Tokens per request, at most.")] = 100_000,
    max_queue: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Waiting requests, at most.")] = 1024,
    body_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Time a client has to send a request.")
    ] = 10.0,
    timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time to answer a request.")] = 30.0,
    log_requests: Annotated[
        bool, opt.flag("--log-requests", "Log method, path and status of each request; never a text.")
    ] = False,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Serve embeddings over HTTP, and a page to explore the model.

    Compatible with clients of text-embeddings-inference and of OpenAI's embeddings. SIGHUP reloads the model without
    losing a request. Requests are not logged unless asked for.
    """
    from textlds.serve.requests import Limits

    limits = Limits(tokens=max_tokens, queue=max_queue, seconds=timeout, body_seconds=body_timeout)
    serve_model(
        model, text=text, options={"index": index, "tagger": tagger, "threads": threads}, host=host, port=port,
        allow_host=allow_host or [], token=read_token(token_file), limits=limits, log_requests=log_requests,
        quiet=quiet, as_json=as_json,
    )  # fmt: skip


def read_token(file: Path | None) -> str | None:
    """Return the token that clients must send, from a file or the environment; None for none."""
    from textlds.errors import ArgumentError

    token = os.environ.get(TOKEN) if file is None else file.read_text(encoding="utf-8").strip()
    if token is not None and not token:
        raise ArgumentError(f"the token is empty. Write one into {file or 'the variable ' + TOKEN}, or leave it out.")
    return token


EXAMPLES = (
    "textlds serve model",
    ("textlds serve model --index index --tagger tagger --port 9000", "with search and tags"),
    ("TEXTLDS_TOKEN=secret textlds serve model --host 0.0.0.0", "for other machines"),
)
