"""A replica that stands by hands requests on to the one that leads: the Service in front of them does not know which.

Probes, metrics and static files are each replica's own. Whoever was handed a request answers it in any case: none is
handed on twice, also while leadership changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog
import urllib3
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from syncd.web.body import read_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from syncd.daemon.status import Board

log = structlog.get_logger("syncd")

FORWARDED: Final = "x-syncd-forwarded"
"""Marks a request that was handed on."""
_OWN: Final = ("/healthz", "/readyz", "/metrics", "/static/")
_TIMEOUT: Final = urllib3.Timeout(connect=3.0, read=30.0)
_AT_ONCE: Final = 16
"""Requests that are handed on at the same time; each holds a thread, and a body in memory."""
_HOP: Final = frozenset(
    {"connection", "content-length", "date", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that are about one connection only."""


class Forwarder:
    """Hands requests on while this replica stands by and knows where the leader is; else they are answered here.

    Args:
        app: What answers here.
        board: Knows who leads.
    """

    def __init__(self, app: ASGIApp, board: Board) -> None:
        self._app = app
        self._board = board
        self._pool = urllib3.PoolManager(maxsize=_AT_ONCE)
        self._calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        leader = self._leader(scope)
        if not leader:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await self._forward(request, leader)
        except HTTPException as error:
            response = JSONResponse({"error": error.detail}, error.status_code, error.headers)
        await response(scope, receive, send)

    def _leader(self, scope: Scope) -> str:
        """Where to hand a request on to; "" if it is to be answered here."""
        if scope["type"] != "http" or scope["path"].startswith(_OWN):
            return ""
        if any(name == FORWARDED.encode() for name, _ in scope["headers"]):
            return ""
        return self._board.leader()

    async def _forward(self, request: Request, leader: str) -> Response:
        if self._calls >= _AT_ONCE:
            raise HTTPException(503, "Too many requests at once.", {"Retry-After": "5"})
        self._calls += 1
        try:
            return await run_in_threadpool(self._ask, request, leader, await read_body(request))
        finally:
            self._calls -= 1

    def _ask(self, request: Request, leader: str, body: bytes) -> Response:
        query = request.scope["query_string"].decode("latin-1")
        target = request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        headers = urllib3.HTTPHeaderDict({FORWARDED: "1"})
        for name, value in request.headers.items():
            if name not in _HOP:
                headers.add(name, value)
        try:
            answer = self._pool.request(
                request.method,
                leader + target,
                body=body or None,
                headers=headers,
                timeout=_TIMEOUT,
                retries=False,
                redirect=False,
                decode_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            log.warning("request not handed on to the leader", leader=leader, error=str(error))
            detail = "This replica stands by, and the one that leads does not answer. Try again."
            raise HTTPException(503, detail, {"Retry-After": "5"}) from None
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
        return Response(answer.data, answer.status, kept)
