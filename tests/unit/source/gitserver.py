"""Git over HTTP: ``git http-backend`` behind the standard library's server, and servers that misbehave."""

from __future__ import annotations

import base64
import http.server
import os
import socket
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path


class _Handler(http.server.BaseHTTPRequestHandler):
    """Serves the repositories of one folder.

    Paths that start with a number are answered with that status, and ``/to/URL`` redirects there.
    """

    root: Path
    authorization: str
    seen: list[str]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, body: bytes) -> None:
        self.seen.append(f"{self.command} {self.path}")
        path = urlsplit(self.path)
        first = path.path.split("/")[1]
        if self.authorization and self.headers["Authorization"] != self.authorization:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self._end(b"")
        elif first.isdecimal():
            self.send_error(int(first))
        elif first == "to":
            self.send_response(301)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self._end(b"")
        elif first == "dumb":
            file = self.root / path.path.removeprefix("/dumb/")
            if file.is_file():
                self.send_response(200)
                self._end(file.read_bytes())
            else:
                self.send_error(404)
        else:
            self._backend(path.path, path.query, body)

    def _body(self) -> bytes:
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"] or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _backend(self, path: str, query: str, body: bytes) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROTOCOL": self.headers["Git-Protocol"] or "",
            "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers["Content-Type"] or "",
            "CONTENT_LENGTH": str(len(body)),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self._end(content)

    def _end(self, content: bytes) -> None:
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class GitServer:
    """A running server.

    Attributes:
        url: Where the folder's repositories are, without a slash at the end.
        seen: The requests, as ``METHOD path``.
    """

    def __init__(self, url: str, seen: list[str]) -> None:
        self.url = url
        self.seen = seen


@contextmanager
def serving(root: Path, *, basic: str = "", bearer: str = "", tls: ssl.SSLContext | None = None) -> Iterator[GitServer]:
    """Serve a folder's repositories; with ``basic`` (``user:password``) or ``bearer`` only to those who have it."""
    authorization = f"Basic {base64.b64encode(basic.encode()).decode()}" if basic else ""
    authorization = f"Bearer {bearer}" if bearer else authorization
    seen: list[str] = []
    handler = type("Handler", (_Handler,), {"root": root, "authorization": authorization, "seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
        yield GitServer(f"{scheme}://{host}:{server.server_address[1]}", seen)
        server.shutdown()
        thread.join()


@contextmanager
def silent() -> Iterator[str]:
    """A server that takes connections and never says a word; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
