"""An HTTP proxy before a real API server, which lets single requests go wrong as the sandbox does.

Clients reach it without TLS and without credentials; it is the administrator to the server.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import urllib3

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syncd.sandbox.app import Fault
    from tests.controlplane.server import ControlPlane

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_KEPT = ("Content-Type", "Accept", "User-Agent")


class Call(NamedTuple):
    """One request."""

    verb: str
    path: str


class FaultProxy:
    """The proxy; ``fault`` says what is to go wrong with a request, ``seen`` is told of each that was answered."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.fault: Callable[[Any], Fault | None] = lambda _call: None
        self.seen: Callable[[Any], None] = lambda _call: None
        self._upstream = control_plane.server
        self._pool = urllib3.PoolManager(
            ca_certs=str(control_plane.authority),
            headers={"Authorization": f"Bearer {control_plane.token}"},
            retries=False,
            maxsize=32,
        )
        self._open: set[urllib3.BaseHTTPResponse] = set()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(target=self._server.serve_forever, name="fault-proxy", daemon=True)
        self._thread.start()

    def write_kubeconfig(self, file: Path) -> Path:
        """Write how to reach it."""
        address = f"http://127.0.0.1:{self._server.server_address[1]}"
        named = {"name": "faulty"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{**named, "cluster": {"server": address}}],
            "users": [{**named, "user": {}}],
            "contexts": [{**named, "context": {"cluster": "faulty", "user": "faulty"}}],
            "current-context": "faulty",
        }
        file.write_text(json.dumps(config))
        return file

    def close(self) -> None:
        """End everything that is open."""
        self._server.shutdown()
        for answer in list(self._open):
            with contextlib.suppress(ValueError, RuntimeError, OSError):
                answer.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join(30)
        self._pool.clear()

    def ask(self, handler: _Handler, body: bytes | None) -> urllib3.BaseHTTPResponse:
        """Pass a request on."""
        headers = {name: handler.headers[name] for name in _KEPT if name in handler.headers}
        answer = self._pool.request(
            handler.command,
            self._upstream + handler.path,
            body=body,
            headers={**self._pool.headers, **headers},
            preload_content=False,
            timeout=urllib3.Timeout(connect=10, read=600),
        )
        self._open.add(answer)
        return answer

    def done(self, answer: urllib3.BaseHTTPResponse) -> None:
        """An answer was passed on."""
        self._open.discard(answer)
        answer.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    proxy: FaultProxy

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.clients: set[socket.socket] = set()

    def hang_up(self) -> None:
        """End the connections of all clients, so that nobody waits for their next request."""
        for client in list(self.clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """Clients that were killed leave their connections in any state."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 60

    def setup(self) -> None:
        """Take note of the connection."""
        super().setup()
        self.server.clients.add(self.connection)

    def finish(self) -> None:
        """Forget the connection; the client may have gone long ago."""
        self.server.clients.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        proxy = self.server.proxy
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        parts = urlsplit(self.path)
        watch = parse_qs(parts.query).get("watch", ["0"])[0] in ("1", "true")
        call = Call("watch" if watch else _VERBS[self.command], parts.path)
        fault = proxy.fault(call)
        if fault is not None and fault.delay:
            time.sleep(fault.delay)
        if fault is not None and fault.cut == "before":
            self.close_connection = True
            return
        if fault is not None and fault.response is not None:
            self._answer(fault.response.status, fault.response.body)
            proxy.seen(call)
            return
        answer = proxy.ask(self, body)
        try:
            if fault is not None and fault.cut:
                answer.read()
                self.close_connection = True
            elif watch:
                self._stream(answer)
            else:
                self._answer(answer.status, answer.read(), answer.headers.get("Content-Type", ""))
            proxy.seen(call)
        finally:
            proxy.done(answer)

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while chunk := answer.read1():
            self.wfile.write(chunk)
            self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - names that the library looks for
