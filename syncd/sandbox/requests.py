"""What a request asks for, read from its path, query and headers as the real server's RequestInfo does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote

from syncd.sandbox import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERB_OF_METHOD = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")
_TRUE = ("true", "1", "")


class Query:
    """The parameters of a query; the first value of each counts."""

    __slots__ = ("_values",)

    def __init__(self, text: str) -> None:
        self._values: Mapping[str, list[str]] = parse_qs(text, keep_blank_values=True) if text else {}

    def text(self, name: str, default: str = "") -> str:
        """A parameter's value."""
        values = self._values.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        """Whether a boolean parameter is there and true."""
        values = self._values.get(name)
        return bool(values) and values[0].lower() in _TRUE  # type: ignore[index]  # bool(values) has seen to that

    def number(self, name: str) -> int:
        """A parameter that is a whole number; 0 when it is not there.

        Raises:
            StatusError: 400, it is no number.
        """
        value = self.text(name)
        if not value:
            return 0
        try:
            return int(value)
        except ValueError:
            raise errors.bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None

    def has(self, name: str) -> bool:
        """Whether the parameter is there."""
        return name in self._values


class Request(NamedTuple):
    """One request for objects."""

    method: str
    path: str
    query_string: str
    query: Query
    headers: Mapping[str, str]
    """Names in lower case."""
    verb: str = ""
    """``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete`` or ``deletecollection``; the method
    in lower case for paths that are no objects."""
    group: str = ""
    version: str = ""
    resource: str = ""
    """The plural; "" for paths that are no objects."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def user_agent(self) -> str:
        """Who asks."""
        return self.headers.get("user-agent", "")


def parse(method: str, path: str, query_string: str, headers: Mapping[str, str]) -> Request:
    """Read a request."""
    query = Query(query_string)
    segments = path.strip("/").split("/")
    request = Request(method, path, query_string, query, headers, verb=method.lower())
    if segments[0] == "api" and len(segments) > 2:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return request
    namespace, resource, name, subresource = _object_of(rest)
    return request._replace(
        verb=_verb(method, query, name),
        group=group,
        version=version,
        resource=resource,
        namespace=namespace,
        name=unquote(name),
        subresource=subresource,
    )


def _object_of(segments: list[str]) -> tuple[str, str, str, str]:
    """Namespace, plural, name and subresource."""
    namespace = ""
    if segments[0] == "namespaces" and len(segments) > 1:
        if len(segments) == 2 or segments[2] in _NAMESPACE_SUBRESOURCES:
            return "", "namespaces", segments[1], "/".join(segments[2:])
        namespace, segments = segments[1], segments[2:]
    resource, name, subresource = (*segments, "", "")[:3]
    if len(segments) > 3:
        subresource = "/".join(segments[2:])
    return namespace, resource, name, subresource


def _verb(method: str, query: Query, name: str) -> str:
    verb = _VERB_OF_METHOD.get(method, method.lower())
    if verb == "get" and not name:
        return "watch" if query.flag("watch") and query.has("watch") else "list"
    return "deletecollection" if verb == "delete" and not name else verb
