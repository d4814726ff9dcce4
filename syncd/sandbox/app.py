"""The ASGI application: bodies in, answers out, and the hooks that tests look and reach in through."""

from __future__ import annotations

import asyncio
import hmac
import logging
from typing import TYPE_CHECKING, NamedTuple

from starlette.applications import Starlette
from starlette.routing import Mount

from syncd.sandbox import api, bodies, documents, errors, negotiation, requests, responses
from syncd.sandbox.negotiation import Form
from syncd.sandbox.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from syncd.sandbox.requests import Request
    from syncd.sandbox.responses import Response
    from syncd.sandbox.store import Context


_log = logging.getLogger(__name__)


class Audit(NamedTuple):
    """One request, as it is counted."""

    method: str
    path: str
    query: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user_agent: str
    code: int
    """The status of the answer; 0 when the connection was cut before there was one."""


class Fault(NamedTuple):
    """What is to go wrong with one request.

    ``delay`` comes first. A cut *before* leaves the request undone; a cut *after* does it and loses the answer, or cuts
    a watch after its first events. ``response`` is sent instead of doing anything.
    """

    delay: float = 0.0
    """Seconds."""
    cut: str = ""
    """``before``, ``after`` or ""."""
    response: Response | None = None


class Hooks(NamedTuple):
    """What the application is told besides the objects."""

    on_request: Callable[[Audit], None] | None = None
    """Called once for each request, when its answer (of a watch: the head of it) is known."""
    intercept: Callable[[Request], Fault | None] | None = None
    """Called before each request is done."""
    cut: Callable[[Scope], None] | None = None
    """Closes a request's connection without an answer."""
    token: str = ""
    """The bearer token that requests must carry; none when empty."""
    bookmark_interval: float = api.DEFAULT_BOOKMARK_INTERVAL


class _Cut(Exception):  # noqa: N818  # it is no error: somebody asked for it
    """The connection is to be closed without an answer."""


class Application:
    """The server's ASGI application.

    Args:
        context: The objects.
        hooks: See :class:`Hooks`.
    """

    def __init__(self, context: Context, hooks: Hooks) -> None:
        self._context = context
        self._hooks = hooks
        self._documents = documents.Documents(context)
        self._stop = asyncio.Event()
        self._watches: set[Watch] = set()

    def asgi(self) -> Starlette:
        """What a server runs."""
        return Starlette(routes=[Mount("/", app=self)])

    def end_watches(self) -> None:
        """Let every watch end, and those to come; only in the event loop."""
        self._stop.set()
        for watch in self._watches:
            watch.wake()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        raw_path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        request = requests.parse(scope["method"], raw_path, scope["query_string"].decode("latin-1"), headers)
        try:
            await self._answer(request, scope, receive, send)
        except _Cut:
            if self._hooks.cut:
                self._hooks.cut(scope)

    async def _answer(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self._hooks.intercept(request) if self._hooks.intercept else None
        fault = fault or Fault()
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.cut == "before":
            self._record(request, 0)
            raise _Cut
        answer = fault.response or await self._respond(request, scope, receive)
        if isinstance(answer, Watch):
            self._record(request, 200)
            await self._stream(answer, receive, send, cut=fault.cut == "after")
            return
        self._record(request, answer.status)
        if fault.cut == "after":
            raise _Cut
        await send_response(answer, send, head=request.method == "HEAD")

    async def _respond(self, request: Request, scope: Scope, receive: Receive) -> Response | Watch:
        try:
            body = await _read_body(scope, receive)
            self._authenticate(request)
            if not request.resource:
                return self._documents.answer(request)
            return api.handle(self._context, request, body, self._hooks.bookmark_interval)
        except errors.StatusError as error:
            return responses.plain(error.status(), error.code, _form(request))
        except Exception as error:  # noqa: BLE001  # a mistake of ours is told as the real server tells its own
            _log.exception("%s %s failed", request.method, request.path)
            internal = errors.internal(f"{type(error).__name__}: {error}")
            return responses.plain(internal.status(), internal.code)

    def _authenticate(self, request: Request) -> None:
        token = self._hooks.token
        if not token or request.path in documents.OPEN_PATHS:
            return
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), f"Bearer {token}".encode()):
            raise errors.unauthorized()

    def _record(self, request: Request, code: int) -> None:
        if self._hooks.on_request is None:
            return
        self._hooks.on_request(
            Audit(
                method=request.method,
                path=request.path,
                query=request.query_string,
                verb=request.verb,
                group=request.group,
                resource=request.resource,
                subresource=request.subresource,
                namespace=request.namespace,
                name=request.name,
                user_agent=request.user_agent,
                code=code,
            )
        )

    async def _stream(self, watch: Watch, receive: Receive, send: Send, *, cut: bool) -> None:
        self._watches.add(watch)
        disconnected = asyncio.ensure_future(_disconnect(receive))
        disconnected.add_done_callback(lambda _: watch.end())
        try:
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for lines in watch.events(self._stop):
                await send({"type": "http.response.body", "body": lines, "more_body": True})
                if cut:
                    raise _Cut
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watch.end()
            self._watches.discard(watch)
            disconnected.cancel()


def _form(request: Request) -> Form:
    """The form of an error: that of the answer, if the client accepts any that can be made."""
    try:
        return Form(negotiation.accepted(request.headers.get("accept", "")).media_type)
    except errors.StatusError:
        return Form()


async def send_response(answer: Response, send: Send, *, head: bool = False) -> None:
    """Send a whole answer."""
    headers = [
        (b"content-type", answer.media_type.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    if scope["method"] in ("GET", "HEAD"):
        return b""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Cut
        part = message.get("body", b"")
        size += len(part)
        if size <= bodies.MAX_BODY:
            parts.append(part)
        if not message.get("more_body"):
            break
    if size > bodies.MAX_BODY:
        raise errors.entity_too_large(f"limit is {bodies.MAX_BODY}")
    return b"".join(parts)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
