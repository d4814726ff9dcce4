"""Answers, and the encoding of objects and lists in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import orjson
import yaml

from syncd.sandbox import conversion
from syncd.sandbox.negotiation import JSON, YAML, Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.storage import Stored

PARTIAL = "meta.k8s.io/v1"


class Response(NamedTuple):
    """A whole answer."""

    status: int
    body: bytes
    media_type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def plain(obj: JSONObject, status: int = 200, form: Form = Form(), warnings: Sequence[str] = ()) -> Response:  # noqa: B008  # a NamedTuple is immutable
    """Any JSON object."""
    return encoded(orjson.dumps(obj), status, form, warnings)


def encoded(body: bytes, status: int = 200, form: Form = Form(), warnings: Sequence[str] = ()) -> Response:  # noqa: B008  # a NamedTuple is immutable
    """An encoded JSON object."""
    headers = tuple((b"warning", warning.encode("latin-1", "replace")) for warning in warnings)
    if form.media_type == YAML:
        body = yaml.safe_dump(orjson.loads(body), sort_keys=True).encode()
    return Response(status, body, form.media_type, headers)


def type_prefix(kind: ServedKind) -> bytes:
    """The opening of an encoded object: everything before :attr:`Stored.tail`."""
    return f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",'.encode()


def object_bytes(kind: ServedKind, stored: Stored) -> bytes:
    """A stored object as a client of this version gets it."""
    if conversion.keeps_bytes(kind):
        return type_prefix(kind) + stored.tail
    return orjson.dumps(conversion.from_storage(kind, stored.object))


def list_bytes(kind: ServedKind, items: Iterable[Stored], metadata: JSONObject) -> bytes:
    """A list; the items of built-in kinds do not repeat their type, as in Go's typed lists."""
    if not conversion.keeps_bytes(kind):
        parts = [_untyped(conversion.from_storage(kind, stored.object)) for stored in items]
    else:
        prefix = type_prefix(kind) if kind.custom else b"{"
        parts = [prefix + stored.tail for stored in items]
    return list_of(f"{kind.kind}List", kind.api_version, parts, metadata)


def list_of(kind: str, api_version: str, items: Iterable[bytes], metadata: JSONObject) -> bytes:
    """A list of encoded objects."""
    head = f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode() + orjson.dumps(metadata)
    return b"".join((head, b',"items":[', b",".join(items), b"]}"))


def _untyped(obj: JSONObject) -> bytes:
    return orjson.dumps({name: value for name, value in obj.items() if name not in ("kind", "apiVersion")})


def partial(obj: JSONObject) -> JSONObject:
    """An object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": PARTIAL, "metadata": obj["metadata"]}


def no_such_page() -> Response:
    """404 for paths that lead to no resource: plain text, as the real server's router answers."""
    return Response(404, b"404 page not found\n", "text/plain; charset=utf-8")
