"""Paths that are no objects: discovery, OpenAPI, version, health."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import orjson

from syncd.sandbox import discovery, negotiation, openapi, responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.requests import Request
    from syncd.sandbox.responses import Response
    from syncd.sandbox.store import Context

OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")
"""What can be read without a token."""

_DISCOVERY_VERSION = "v2"


class Documents:
    """The documents of one server; those made from the registry are kept until it changes."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._generation = -1
        self._made: dict[tuple[str, str], bytes] = {}
        self.openapi = openapi.OpenAPI(context.registry, context.pipeline.custom)

    def answer(self, request: Request) -> Response:
        """Answer a GET for one of them.

        Raises:
            StatusError: 405 for anything but a GET, 406 for a form that is not made.
        """
        path = request.path.rstrip("/") or "/"
        if path in ("/healthz", "/livez", "/readyz") or path.startswith(("/livez/", "/readyz/")):
            return responses.Response(200, b"ok", "text/plain; charset=utf-8")
        if request.method not in ("GET", "HEAD"):
            return responses.no_such_page()
        if path == "/version":
            return responses.plain(discovery.VERSION)
        if path.startswith("/openapi/"):
            return self.openapi.answer(request, path)
        return self._discovery(request, path)

    def _discovery(self, request: Request, path: str) -> Response:
        registry = self._context.registry
        if self._generation != registry.generation:
            self._made.clear()
            self._generation = registry.generation
        address = request.headers.get("host", "")
        if path in ("/api", "/apis"):
            form = negotiation.accepted(request.headers.get("accept", ""), (discovery.AGGREGATED,))
            if form.transform == discovery.AGGREGATED and form.version == _DISCOVERY_VERSION:
                body = self._cached(path, form.transform, lambda: discovery.aggregated(registry, core=path == "/api"))
                media_type = f"application/json;g=apidiscovery.k8s.io;v={_DISCOVERY_VERSION};as={discovery.AGGREGATED}"
                return _tagged(request, body, media_type)
            if path == "/api":
                return responses.plain(discovery.api_versions(address))
            return responses.encoded(self._cached(path, "", lambda: discovery.group_list(registry)))
        return self._of_group(path)

    def _of_group(self, path: str) -> Response:
        registry = self._context.registry
        segments = path.strip("/").split("/")
        made: JSONObject | None = None
        if segments[0] == "api" and len(segments) == 2:
            made = discovery.resource_list(registry, "", segments[1])
        elif segments[0] == "apis" and len(segments) == 2:
            made = discovery.group(registry, segments[1])
        elif segments[0] == "apis" and len(segments) == 3:
            made = discovery.resource_list(registry, segments[1], segments[2])
        elif path == "/":
            made = {
                "paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
            }
        return responses.plain(made) if made else responses.no_such_page()

    def _cached(self, path: str, form: str, make: Callable[[], JSONObject]) -> bytes:
        if (path, form) not in self._made:
            self._made[path, form] = orjson.dumps(make())
        return self._made[path, form]


def _tagged(request: Request, body: bytes, media_type: str) -> Response:
    """A document by its hash, which clients that have it need not get again."""
    tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    headers = ((b"etag", tag.encode()), (b"vary", b"Accept"))
    if request.headers.get("if-none-match") == tag:
        return responses.Response(304, b"", media_type, headers)
    return responses.Response(200, body, media_type, headers)
