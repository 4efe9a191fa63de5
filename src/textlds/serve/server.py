"""The server as a process: its socket, its signals, and reloading the model.

SIGTERM and SIGINT: no new connections; what is in flight is answered; then the process ends. SIGHUP: the model (tagger,
index) is read again from its folder while the old one continues to answer; if it cannot be read, the old one stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from textlds.errors import ArgumentError, TextLDSError
from textlds.serve.app import App
from textlds.serve.service import Service

BACKLOG = 4096  # connections that may wait to be accepted


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, or say why there is none."""
    if not 0 <= port < 1 << 16:
        raise ArgumentError(f"port={port} must be from 0 (any that is free) to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        remedy = (
            "Give an address of this machine with --host."
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
            else "Stop what listens there, or choose another port with --port (0: any that is free)."
        )
        raise ArgumentError(f"cannot listen on {host} port {port}: {error.strerror or error}. {remedy}") from error
    return bound


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(bound: socket.socket) -> str:
    """Return the address to type into a browser."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn's server, which also reloads its model on SIGHUP and ends without a signal's exit code.

    Args:
        app: The application.
        load: Reads the service again.
        log_requests: Whether each request is written to the log: method, path and status, never a text.
        say: Where messages for a person go.
    """

    def __init__(
        self,
        app: App,
        load: Callable[[], Service],
        *,
        log_requests: bool = False,
        say: Callable[[str], None] = lambda message: None,
    ) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        if log_requests:
            access = logging.getLogger("uvicorn.access")
            access.setLevel(logging.INFO)
            access.addHandler(logging.StreamHandler())
        config = uvicorn.Config(
            app.asgi(), log_config=None, access_log=log_requests, lifespan="on", server_header=False,
            timeout_keep_alive=30, timeout_graceful_shutdown=int(app.limits.seconds) + 5, backlog=BACKLOG,
            http=protocol_class(app.limits.body_seconds, app.limits.connections), ws="none",
        )  # fmt: skip
        super().__init__(config)
        self._app, self._load, self._say = app, load, say
        self._reloading = False

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals that end the server, and SIGHUP; in another thread than the main one, none."""
        loop = asyncio.get_running_loop()
        handled = [signal.SIGINT, signal.SIGTERM]
        try:
            for number in handled:
                loop.add_signal_handler(number, self._end)
            if hasattr(signal, "SIGHUP"):
                loop.add_signal_handler(signal.SIGHUP, self.reload)
        except (ValueError, RuntimeError, NotImplementedError):  # not the main thread; no signals on this system
            pass
        yield

    def _end(self) -> None:
        self.force_exit = self.should_exit  # a second Ctrl-C does not wait
        self.should_exit = True

    def reload(self) -> None:
        """Read the model again, in the background."""
        if not self._reloading:
            self._reloading = True
            self._task = asyncio.get_running_loop().create_task(self._reload())

    async def _reload(self) -> None:
        try:
            self._app.service = await asyncio.to_thread(self._load)
            self._app.metrics.reloads += 1
            self._say(f"Reloaded {self._app.service.name}.")
        except TextLDSError as error:
            self._say(f"Could not reload the model; the old one stays: {error}")
        except Exception as error:
            self._say(f"Could not reload the model; the old one stays: {type(error).__name__}: {error}")
        finally:
            self._reloading = False


def protocol_class(seconds: float, most: int) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with two bounds: seconds to send the first request, connections open at once."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Base
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Base  # type: ignore[assignment]

    class Bounded(Base):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.abort()
            else:
                self._first = self.loop.call_later(seconds, self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            first = getattr(self, "_first", None)
            if first is not None:
                first.cancel()
            super().connection_lost(exc)

        def _too_slow(self) -> None:
            if not self.transport.is_closing() and getattr(self, "cycle", None) is None:
                self.transport.close()

    return Bounded


def raise_open_files() -> None:
    """Let this process have as many connections as the system allows it."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
