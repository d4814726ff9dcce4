"""The ASGI application: routes, probes, and errors in the form that was asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from syncd.web import serialize
from syncd.web.forward import Forwarder
from syncd.web.pages import Pages
from syncd.web.query import ObjectQuery, QueryError, SyncQuery
from syncd.web.security import HEADERS, SecurityHeaders

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from starlette.requests import Request

    from syncd.daemon.status import Board, SyncStatus
    from syncd.model import JSONValue
    from syncd.web.hooks import Hooks
    from syncd.web.pages import Clock

_STATIC: Final = Path(__file__).parent / "static"


def _now() -> datetime:
    return datetime.now(UTC)


def create_app(
    board: Board, registry: CollectorRegistry, clock: Clock = _now, *, hooks: Hooks | None = None
) -> Starlette:
    """The whole web surface of a daemon, read-only but for the webhooks, which can make Syncs look at Git.

    Args:
        board: What is shown.
        registry: What ``/metrics`` exports.
        clock: The time now, with a time zone, for "3 min ago".
        hooks: Receives webhooks; without it there are none.
    """
    site = _Site(board, registry, Pages(clock), hooks)
    return Starlette(
        routes=[
            Route("/", site.overview),
            Route("/syncs/{namespace}/{name}", site.sync),
            Route("/api/v1/syncs", site.api_syncs),
            Route("/api/v1/syncs/{namespace}/{name}", site.api_sync),
            Route("/metrics", site.metrics),
            Route("/healthz", site.healthz),
            Route("/readyz", site.readyz),
            Route("/hooks/{forge}", site.hook, methods=["POST"]),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        middleware=[
            Middleware(Forwarder, board=board),
            Middleware(SecurityHeaders),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=4),
        ],
        exception_handlers={HTTPException: site.http_error, QueryError: site.query_error, Exception: site.fault},
    )


class _Site:
    """The endpoints. Those that render are plain functions, so that Starlette runs them off its event loop."""

    def __init__(self, board: Board, registry: CollectorRegistry, pages: Pages, hooks: Hooks | None) -> None:
        self._board = board
        self._registry = registry
        self._pages = pages
        self._hooks = hooks

    def overview(self, request: Request) -> Response:
        query = SyncQuery.parse(request.query_params)
        page = self._pages.overview(
            self._board.statuses(),
            query,
            not_ready=self._board.ready(),
            standby=self._board.standby(),
            root=_root(request),
        )
        return _html(page)

    def sync(self, request: Request) -> Response:
        query = ObjectQuery.parse(request.query_params)
        return _html(self._pages.sync(self._find(request), query, root=_root(request)))

    def api_syncs(self, request: Request) -> Response:
        found = SyncQuery.parse(request.query_params).select(self._board.statuses())
        return _json({"standby": self._board.standby(), "items": [serialize.summary(status) for status in found]})

    def api_sync(self, request: Request) -> Response:
        return _json(serialize.detail(self._find(request)))

    def metrics(self, request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={"Content-Type": content_type})

    async def hook(self, request: Request) -> Response:
        if self._hooks is None:
            raise HTTPException(404, "There are no webhooks: syncd was started without --webhook-secret-file.")
        code, answer = await self._hooks.receive(request)
        return _json(answer, code)

    async def healthz(self, _request: Request) -> Response:
        return _probe(self._board.alive())

    async def readyz(self, _request: Request) -> Response:
        return _probe(self._board.ready())

    def http_error(self, request: Request, error: Exception) -> Response:
        code, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
        response = self._error(request, code, message)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    def query_error(self, request: Request, error: Exception) -> Response:
        return self._error(request, 400, str(error))

    def fault(self, request: Request, _error: Exception) -> Response:
        """An error of ours: Starlette logs it, and the page keeps quiet about what it may hold."""
        response = self._error(request, 500, "The page could not be made. The log says more.")
        response.headers.update(HEADERS)  # this one is answered outside of the middleware
        return response

    def _find(self, request: Request) -> SyncStatus:
        sync_id = f"{request.path_params['namespace']}/{request.path_params['name']}"
        status = self._board.status(sync_id)
        if status is None and (standby := self._board.standby()):
            raise HTTPException(503, f"This replica stands by: {standby}.")
        if status is None:
            raise HTTPException(404, f"There is no Sync {sync_id}.")
        return status

    def _error(self, request: Request, code: int, message: str) -> Response:
        if request.url.path.startswith(("/api/", "/hooks/")):
            return _json({"error": message}, code)
        title = {400: "Bad request", 404: "Not found", 405: "Method not allowed", 503: "Not here"}.get(code, "Error")
        return _html(self._pages.error(code, title, message, root=_root(request)), code)


def _root(request: Request) -> str:
    """The way back to the start page, relative, so that the page works below any prefix of a proxy."""
    return "../" * (request.scope["path"].count("/") - 1) or "./"


def _html(page: str, code: int = 200) -> Response:
    return HTMLResponse(page.encode(errors="replace"), code)


def _json(value: JSONValue, code: int = 200) -> Response:
    return Response(serialize.encode(value), code, media_type="application/json")


def _probe(trouble: str) -> Response:
    return PlainTextResponse(f"{trouble}\n", 503) if trouble else PlainTextResponse("ok\n")
