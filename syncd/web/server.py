"""An HTTP server in a thread of its own."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Final

import uvicorn

from syncd.model import SyncdError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_START_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 2
"""How long a request in hand may go on after :meth:`WebServer.stop`."""
_CONNECTIONS: Final = 1000
"""More at once are answered with 503: a status page must not be a way to exhaust the daemon."""


class ListenError(SyncdError):
    """The address cannot be listened on."""

    reason = "ListenFailed"


class _Server(uvicorn.Server):
    """Says when it serves, or that it never will."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            self.settled.set()


class WebServer:
    """Serves an ASGI application from :meth:`start` to :meth:`stop`, once.

    Args:
        app: What is served.
        host: The address to listen on: a name, an IPv4 or an IPv6 address.
        port: 0 takes any free one; see :attr:`url`.
    """

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host = host
        self._port = port
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._server = _Server(config)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where to look, without a slash at the end; for an address that means all of them, the local one."""
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
        host = everywhere.get(self._host, self._host)
        return url_of(host, self._port)

    def start(self) -> None:
        """Begin to serve; returns when requests are answered.

        Raises:
            ListenError: Somebody else has the address, or it is not ours.
        """
        try:
            listener = _listen(self._host, self._port)
        except OSError as error:
            raise ListenError(f"cannot listen on {self._host} port {self._port}: {error.strerror or error}") from error
        self._port = listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(listener,), name="web-server", daemon=True)
        self._thread.start()
        self._server.settled.wait(_START_SECONDS)
        if not self._server.started:
            self.stop()
            raise ListenError(f"the web server on {self.url} did not start")

    def stop(self) -> None:
        """Stop listening, let requests in hand finish within two seconds, end the thread. Harmless when repeated."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=_GRACE_SECONDS + 3)
            self._thread = None

    def _serve(self, listener: socket.socket) -> None:
        with listener:
            self._server.run(sockets=[listener])


def url_of(host: str, port: int) -> str:
    """A host, by name or address, and its port as a URL, without a slash at the end."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener
