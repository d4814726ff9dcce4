"""A way to the network for Kustomize, to the hosts that a Sync names and to no others.

Kustomize fetches remote bases itself, with its own HTTP client and with git, and these may name further ones. So the
hosts are held where every connection has to pass: by a proxy on loopback that lives as long as one build. (Addresses of
this machine itself pass no proxy, by the rules of Go's HTTP client.)
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import socket
import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from syncd.render.errors import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

_HTTPS: Final = re.compile(r"https://(?P<host>[A-Za-z0-9.-]+(?::[0-9]+)?)/")
_SHORT: Final = re.compile(r"(?P<host>(?:github|gitlab)\.com)/")
"""Hosts that Kustomize completes to https."""
_CONNECT: Final = re.compile(rb"CONNECT ([A-Za-z0-9.-]+):([0-9]{1,5}) HTTP/1\.[01]\r?\n")
_PROGRAMS: Final = ("git", "basename", "sed", "uname")
"""git, and what ``git submodule`` is a script of: Kustomize always runs that too."""
_HEAD_LIMIT: Final = 8192
_SECONDS: Final = 30.0
"""For a connection to be made, and for silence on it."""
_CHUNK: Final = 1 << 16


def host_of(reference: str) -> str:
    """The host that a remote reference is to be had from over https, as ``remoteHosts`` names it; "" for other ways."""
    found = _HTTPS.match(reference) or _SHORT.match(reference)
    return found["host"].lower().removesuffix(":443") if found else ""


@contextmanager
def way_to(hosts: Collection[str], home: Path) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Open a way to some hosts for as long as the block runs.

    Args:
        hosts: ``host``, or ``host:port`` where the port is not 443.
        home: The program's own.

    Yields:
        The environment that makes Kustomize and git take it, and a list that gets the hosts they were refused.

    Raises:
        ToolMissingError: There is no git, or not what its scripts need.
    """
    programs = home / "bin"
    programs.mkdir()
    for name in _PROGRAMS:  # and nothing else
        found = shutil.which(name)
        if found is None:
            raise ToolMissingError(f"there is no {name} on PATH, which kustomize needs for remote bases")
        (programs / name).symlink_to(found)
    with _Gate(hosts) as gate:
        thread = threading.Thread(target=gate.serve_forever, name="syncd-remote-bases", daemon=True)
        thread.start()
        try:
            yield _environment(gate.url, programs), gate.refused
        finally:
            gate.shutdown()
            gate.cut()
            thread.join()


def _environment(proxy: str, programs: Path) -> dict[str, str]:
    environment = {
        "PATH": str(programs),
        "HTTPS_PROXY": proxy,
        "https_proxy": proxy,  # curl, inside of git, wants it so
        "GIT_ALLOW_PROTOCOL": "https",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    if trusted := os.environ.get("SSL_CERT_FILE"):  # an operator's own authorities
        environment |= {"SSL_CERT_FILE": trusted, "GIT_SSL_CAINFO": trusted}
    return environment


class _Gate(socketserver.ThreadingTCPServer):
    """Connects to allowed hosts what asks for it with the HTTP method CONNECT."""

    daemon_threads = True
    block_on_close = True

    def __init__(self, hosts: Collection[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self.hosts = frozenset(hosts)
        self.refused: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def hold(self, connection: socket.socket) -> None:
        """Remember a connection, to cut it when the gate closes."""
        with self._lock:
            self._open.add(connection)

    def cut(self) -> None:
        """End every connection."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is the client's to report."""


class _Passage(socketserver.BaseRequestHandler):
    """One connection."""

    server: _Gate
    request: socket.socket

    def handle(self) -> None:
        """Read what is asked for, and either connect or refuse."""
        self.server.hold(self.request)
        self.request.settimeout(_SECONDS)
        head = b""
        while b"\r\n\r\n" not in head and len(head) < _HEAD_LIMIT:
            data = self.request.recv(_CHUNK)
            if not data:
                return
            head += data
        asked = _CONNECT.match(head)
        host, port = (asked[1].decode().lower(), int(asked[2])) if asked else ("a host without TLS", 0)
        name = host if port == 443 else f"{host}:{port}"
        if name not in self.server.hosts:
            self.server.refused.append(name)
            self.request.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        try:
            target = socket.create_connection((host, port), timeout=_SECONDS)
        except OSError:
            self.request.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with target:
            self.server.hold(target)
            self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self._relay(target)

    def _relay(self, target: socket.socket) -> None:
        """Pass bytes both ways until one side ends, or nobody says anything for long."""
        other = {self.request: target, target: self.request}
        with selectors.DefaultSelector() as selector:
            for connection in other:
                selector.register(connection, selectors.EVENT_READ)
            while ready := selector.select(_SECONDS):
                for key, _ in ready:
                    connection = self.request if key.fileobj is self.request else target
                    data = connection.recv(_CHUNK)
                    if not data:
                        return
                    other[connection].sendall(data)
