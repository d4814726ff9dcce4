"""The sandbox as a server: a Kubernetes API on a port of this machine, in threads of this process."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Self

import uvicorn
import yaml

from syncd.model import SyncdError
from syncd.sandbox import bootstrap
from syncd.sandbox import controllers as controllers_of_a_cluster
from syncd.sandbox.api import DEFAULT_BOOKMARK_INTERVAL
from syncd.sandbox.app import Application, Audit, Fault, Hooks
from syncd.sandbox.objects import StoreObjects
from syncd.sandbox.storage import Storage
from syncd.sandbox.store import DEFAULT_HISTORY, Context
from syncd.sandbox.transport import OneWriteProtocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.types import Scope

    from syncd.sandbox.controllers.worker import Controllers
    from syncd.sandbox.requests import Request

_START_TIMEOUT = 30.0
_STOP_TIMEOUT = 30.0
_KEEP_ALIVE = 300
_NAME = "syncd-sandbox"


class SandboxServer:
    """A Kubernetes API server in this process, for demos, tests and previews.

    It starts empty but for what every cluster has (the namespaces ``default``, ``kube-system``, ``kube-public`` and
    ``kube-node-lease``, and a node), keeps everything in memory, and forgets it when it ends. Can be used as a
    context manager.

    Args:
        host: The address to listen on; meant for loopback, as there is neither TLS nor authorization.
        port: 0 for any free one.
        token: A bearer token that clients must show; none by default.
        controllers: Whether workloads become ready, owners' objects are collected, namespaces end, and so on.
        on_request: Called with each request's :class:`~syncd.sandbox.app.Audit`, in the server's thread.
        intercept: Called with each request before it is done, in the server's thread; its
            :class:`~syncd.sandbox.app.Fault` says what is to go wrong.
        history: How many changes of each resource watches can resume from.
        bookmark_interval: Seconds between the bookmarks of a watch.

    Attributes:
        context: The objects, for tests that look at them directly.
    """

    def __init__(  # noqa: PLR0913  # settings, all but the address by keyword
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str = "",
        controllers: bool = True,
        on_request: Callable[[Audit], None] | None = None,
        intercept: Callable[[Request], Fault | None] | None = None,
        history: int = DEFAULT_HISTORY,
        bookmark_interval: float = DEFAULT_BOOKMARK_INTERVAL,
    ) -> None:
        self._host = host
        self._port = port
        self._token = token
        self._with_controllers = controllers
        self.context = Context(storage=Storage(history))
        self._hooks = Hooks(on_request, intercept, self._cut, token, bookmark_interval)
        self._thread: threading.Thread | None = None
        self._server: _Server | None = None
        self._controllers: Controllers | None = None

    @property
    def url(self) -> str:
        """Where it listens: ``http://HOST:PORT``.

        Raises:
            SyncdError: It is not running.
        """
        if self._server is None:
            raise SyncdError("the sandbox is not running")
        return f"http://{self._host}:{self._port}"

    @property
    def objects(self) -> StoreObjects:
        """The objects as controllers see them, for tests that act without a request."""
        return StoreObjects(self.context)

    def start(self) -> Self:
        """Listen, and return when requests are answered.

        Raises:
            SyncdError: The address cannot be listened on.
        """
        try:
            listener = socket.create_server((self._host, self._port), backlog=1024)
        except OSError as error:
            raise SyncdError(f"cannot listen on {self._host}:{self._port}: {error.strerror or error}") from error
        self._port = listener.getsockname()[1]
        try:
            bootstrap.fill(self.context)
            if self._with_controllers:
                self._controllers = controllers_of_a_cluster.start(self.objects)
        except BaseException:
            listener.close()
            raise
        self._server = _Server(self.context, self._hooks)
        self._thread = threading.Thread(target=self._server.run_on, args=(listener,), name=_NAME, daemon=True)
        self._thread.start()
        if not self._server.ready.wait(_START_TIMEOUT):
            raise SyncdError("the sandbox did not start")
        return self

    def stop(self) -> None:
        """End watches, close connections, end the threads; not an error when it is not running."""
        if self._server is not None and self._thread is not None:
            self._server.end()
            self._thread.join(_STOP_TIMEOUT)
            self._server = self._thread = None
        if self._controllers is not None:
            self._controllers.stop()
            self._controllers = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig for this server, readable by its owner only; the path again."""
        user = {"token": self._token} if self._token else {}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _NAME, "cluster": {"server": self.url}}],
            "users": [{"name": _NAME, "user": user}],
            "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}],
            "current-context": _NAME,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        return path

    def compact(self) -> None:
        """Forget all history, so that every watch and page of before gets 410."""
        self.context.storage.compact()

    def cut_connections(self) -> None:
        """Close every open connection at once, in the middle of whatever it does."""
        if self._server is not None:
            self._server.cut_connections()

    def _cut(self, scope: Scope) -> None:
        if self._server is not None:
            self._server.cut_connection(scope["client"])


class _Server(uvicorn.Server):
    """uvicorn without signals, ticks and waiting: it ends at once when it is told to."""

    def __init__(self, context: Context, hooks: Hooks) -> None:
        self._context = context
        self._hooks = hooks
        self.ready = threading.Event()
        self._ending: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run_on(self, listener: socket.socket) -> None:
        """Serve until :meth:`end`; the thread's whole life."""
        asyncio.run(self._run(listener))

    async def _run(self, listener: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        self._application = Application(self._context, self._hooks)
        super().__init__(
            uvicorn.Config(
                self._application.asgi(),
                http=OneWriteProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                date_header=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE,
            )
        )
        await self._serve([listener])

    async def main_loop(self) -> None:
        """Serve until the end."""
        await self.on_tick(0)
        self.ready.set()
        assert self._ending is not None  # noqa: S101  # set before the server runs
        await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close everything, without waiting for clients."""
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        self._application.end_watches()
        await asyncio.sleep(0)  # watches write their last line
        await asyncio.sleep(0)
        for connection in list(self.server_state.connections):
            connection.transport.close()
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def end(self) -> None:
        """End the server; thread-safe."""
        if self._loop is not None and self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    def cut_connections(self) -> None:
        """Close every connection at once; thread-safe."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._abort, None)

    def cut_connection(self, client: tuple[str, int]) -> None:
        """Close one connection at once; only in the event loop."""
        self._abort(client)

    def _abort(self, client: tuple[str, int] | None) -> None:
        for connection in list(self.server_state.connections):
            if client is None or getattr(connection, "client", None) == tuple(client):
                connection.transport.abort()
