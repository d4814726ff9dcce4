"""A small proxy that tunnels (CONNECT), with a login where a test wants one."""

from __future__ import annotations

import base64
import http.server
import select
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class TestProxy(NamedTuple):
    """A running proxy: its address, and the hosts it was asked to reach."""

    address: str
    asked: list[str]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    login: str
    forbidden: bool
    asked: list[str]

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        if self.login and self.headers["Proxy-Authorization"] != self.login:
            self.send_response(407)
            self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.forbidden:
            self.send_error(403)
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as other:
            self.send_response(200)
            self.end_headers()
            self._tunnel(other)
        self.close_connection = True

    def _tunnel(self, other: socket.socket) -> None:
        ends = {self.connection: other, other: self.connection}
        while True:
            for ready in select.select(list(ends), [], [], 30)[0]:
                data = ready.recv(1 << 16)
                if not data:
                    return
                ends[ready].sendall(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def proxying(login: str = "", *, forbidden: bool = False) -> Iterator[TestProxy]:
    """Run a proxy; with ``login`` (``user:password``) only for those who have it."""
    wanted = f"Basic {base64.b64encode(login.encode()).decode()}" if login else ""
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"login": wanted, "forbidden": forbidden, "asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield TestProxy(f"http://127.0.0.1:{server.server_address[1]}", asked)
        server.shutdown()
        thread.join()
