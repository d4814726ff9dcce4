"""An HTTP server that does what a test tells it to, faults above all."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

import urllib3

from syncd.cluster.retry import RetryPolicy
from syncd.cluster.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

JSONDict = dict[str, Any]


class Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Exchange:
    """One request at the server's side: answer it, or misbehave."""

    def __init__(self, handler: BaseHTTPRequestHandler, request: Request, ended: threading.Event) -> None:
        self.handler = handler
        self.request = request
        self.ended = ended
        """Set when the server is being stopped."""

    def reply(self, body: Any = None, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
        lines = [f"HTTP/1.1 {status} Any", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        self.raw("\r\n".join(lines).encode() + data)

    def status(self, code: int, reason: str, message: str = "", **details: Any) -> None:
        headers = details.pop("headers", None)
        self.reply(status_object(code, reason, message, **details), code, headers)

    def begin_stream(self) -> None:
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")

    def line(self, event: Any) -> None:
        data = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
        self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end_stream(self) -> None:
        self.raw(b"0\r\n\r\n")

    def raw(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.handler.wfile.flush()

    def cut(self) -> None:
        """Break the connection off, as a crashed process or a firewall does."""
        self.handler.close_connection = True
        with contextlib.suppress(OSError):
            self.handler.connection.shutdown(socket.SHUT_RDWR)

    def abandoned(self) -> bool:
        """Whether the client has closed the connection."""
        readable, _, _ = select.select([self.handler.connection], [], [], 0)
        return bool(readable) and not self.handler.connection.recv(1, socket.MSG_PEEK)

    def stall(self) -> None:
        """Say nothing more until the server is stopped."""
        self.ended.wait()
        self.handler.close_connection = True


def status_object(code: int, reason: str, message: str = "", **details: Any) -> JSONDict:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message or f"it is {reason}",
        "details": details,
    }


class FakeAPI:
    """A server on loopback; ``handler`` answers every request, in a thread of its own."""

    def __init__(self, handler: Callable[[Exchange], None]) -> None:
        self.handler = handler
        self.requests: list[Request] = []
        self._ended = threading.Event()
        self._connections: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, on the same port as before if it was stopped."""
        fake = self
        self._ended = threading.Event()

        class RequestHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                fake._connections.add(self.request)
                super().setup()

            def finish(self) -> None:
                fake._connections.discard(self.request)
                with contextlib.suppress(OSError):
                    super().finish()

            def handle_one_request(self) -> None:
                with contextlib.suppress(OSError):
                    super().handle_one_request()
                    return
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

            def answer(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                query = dict(parse_qsl(parts.query))
                headers = {name.title(): value for name, value in self.headers.items()}
                request = Request(self.command, parts.path, query, headers, body)
                fake.requests.append(request)
                fake.handler(Exchange(self, request, fake._ended))

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815 - http.server's names

        class Server(ThreadingHTTPServer):
            daemon_threads = False
            block_on_close = True

        self._server = Server(("127.0.0.1", self._port), RequestHandler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def stop(self) -> None:
        """Break off every connection and refuse new ones."""
        if self._server is None:
            return
        self._server.shutdown()
        self._server.socket.close()
        self._ended.set()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._server = None


class PlainSession:
    """A way to a server without credentials."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.pool = urllib3.PoolManager(maxsize=16)
        self._headers = headers or {}

    def authorization(self, timeout: float) -> Mapping[str, str]:  # noqa: ARG002 - the protocol's signature
        return self._headers


FAST = RetryPolicy(attempts=5, first=0.01, cap=0.02)


def transport_to(url: str, **options: Any) -> Transport:
    return Transport(lambda: PlainSession(url), **{"retry": FAST, **options})
