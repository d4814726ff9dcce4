"""A TCP proxy in front of the API server, for a network that a test can break and mend.

It passes bytes and looks into none, so TLS and watches go through it unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from threading import Thread
from typing import TYPE_CHECKING, Any

from tests.controlplane.ports import bound_socket

if TYPE_CHECKING:
    from collections.abc import Coroutine

_COMMAND_SECONDS = 10
_CHUNK = 65536
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Proxy:
    """Passes connections on to a port of this machine, until told otherwise.

    Each command has taken effect when it returns. Connections that are open when `restore` is called go on, and get
    what was held back, as they would after a broken network was mended in time. What was held back of a connection that
    its sender has reset meanwhile is dropped, as it would still lie with the sender if the network were a real one.

    Args:
        upstream: The port to pass connections on to.
    """

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._listener = bound_socket(0)
        self.port: int = self._listener.getsockname()[1]
        self._delay = 0.0
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._passing = asyncio.Event()
        self._passing.set()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._do(self._listen())

    @property
    def url(self) -> str:
        """The API server's address through this proxy."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections of clients are open."""
        return len(self._tasks)

    def cut(self) -> None:
        """Reset all open connections, once; new ones are passed on."""
        self._do(self._cut())

    def refuse(self) -> None:
        """Reset all open connections and refuse new ones, as if the API server were down."""
        self._do(self._refuse())

    def black_hole(self) -> None:
        """Keep connections open, accept new ones, and let nothing through: a partition that nobody is told of."""
        self._do(self._set(passing=False))

    def delay(self, seconds: float) -> None:
        """Hold each chunk of bytes back for a while, in both directions."""
        self._do(self._set(delay=seconds))

    def restore(self) -> None:
        """Mend everything."""
        self._do(self._restore())

    def close(self) -> None:
        """Refuse everything for good and free the port."""
        if self._loop.is_closed():
            return
        self._do(self._refuse())
        self._listener.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_COMMAND_SECONDS)
        self._loop.close()

    def _do(self, command: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(command, self._loop).result(_COMMAND_SECONDS)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self._listener)

    async def _set(self, *, passing: bool = True, delay: float = 0.0) -> None:
        self._delay = delay
        if passing:
            self._passing.set()
        else:
            self._passing.clear()

    async def _restore(self) -> None:
        await self._set()
        if self._server is None:
            await self._listen()

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            # A socket that is bound and does not listen refuses connections, and keeps the port ours.
            self._listener = bound_socket(self.port)
        await self._cut()

    async def _cut(self) -> None:
        for task in self._tasks:
            task.cancel()
        for writer in self._writers:
            _reset(writer)
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._join(reader, writer)
        except (OSError, asyncio.CancelledError):
            _reset(writer)
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            await _closed(writer)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        self._writers.add(upstream_writer)
        try:
            async with asyncio.TaskGroup() as both_ways:
                both_ways.create_task(self._pass(reader, upstream_writer, writer))
                both_ways.create_task(self._pass(upstream_reader, writer, upstream_writer))
        except* OSError:
            _reset(writer)
        finally:
            self._writers.discard(upstream_writer)
            await _closed(upstream_writer)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sender: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(_CHUNK):
            await asyncio.sleep(self._delay)
            if not self._passing.is_set():
                await self._passing.wait()
                _check_not_reset(sender)
            writer.write(chunk)
            await writer.drain()
        await self._passing.wait()
        writer.write_eof()


def _check_not_reset(writer: asyncio.StreamWriter) -> None:
    """Raise if the other end has given the connection up: what it sent last was then never to get through."""
    error = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error or writer.transport.is_closing():
        raise ConnectionResetError(error, "the sender has given the connection up")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection so that the other end sees a reset, not an orderly end."""
    connection = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection for good; that the other end was faster is no error."""
    writer.close()
    with contextlib.suppress(OSError, asyncio.CancelledError):
        await asyncio.wait_for(writer.wait_closed(), _COMMAND_SECONDS)
