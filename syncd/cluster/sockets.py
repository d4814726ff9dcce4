"""Connections that can be cut from another thread, so that a request in hand ends at once when syncd stops.

What was not delivered by then is never delivered: a connection that is given up is reset. Otherwise the kernel would go
on trying to bring a write to the server when another replica of syncd may be writing there already.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    from collections.abc import Callable

    import urllib3

FENCE: Final[ContextVar[Callable[[], None] | None]] = ContextVar("fence", default=None)
"""Asked once more when a connection had to be made first, which may take seconds; raises to forbid the request."""
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class OpenConnections:
    """All connections of one transport that may be open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: weakref.WeakSet[HTTPConnection] = weakref.WeakSet()
        self._cut = False

    def add(self, connection: HTTPConnection) -> None:
        """Take in a connection that has just been made."""
        if connection.sock is not None:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        if fence := FENCE.get():
            fence()
        with self._lock:
            self._connections.add(connection)
            cut = self._cut
        if cut:
            _cut(connection)

    def cut_all(self) -> None:
        """Cut every connection, and each that is made from now on. Whoever waits on one sees its end."""
        with self._lock:
            self._cut = True
            connections = list(self._connections)
        for connection in connections:
            _cut(connection)

    def watch(self, manager: urllib3.PoolManager) -> None:
        """Have the manager's future connections taken in; a SOCKS proxy has classes of its own, which stay out."""
        if manager.pool_classes_by_scheme.get("https") is HTTPSConnectionPool:
            manager.pool_classes_by_scheme = self._pool_classes()

    def _pool_classes(self) -> dict[str, type[HTTPConnectionPool]]:
        opened = self

        class Connection(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                opened.add(self)

        class SecureConnection(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                opened.add(self)

        class Pool(HTTPConnectionPool):
            ConnectionCls = Connection

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = SecureConnection

        return {"http": Pool, "https": SecurePool}


def _cut(connection: HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        with contextlib.suppress(OSError):
            # the plain socket's shutdown: that of an SSL socket takes its state away under the reading thread's feet
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
