"""OpenAPI documents: what clients learn patch strategies, list types and fields from.

The schemas of built-in kinds are package data (``scripts/generate_sandbox_openapi.py``); those of custom kinds come
from their definitions. Each v3 document is served under an address that has its hash, so that clients keep it.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from syncd.sandbox import errors, openapi_paths, openapi_protobuf, responses
from syncd.sandbox.responses import Response
from syncd.sandbox.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from syncd.model import JSONObject
    from syncd.sandbox.crd import CustomKinds
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.registry import Registry
    from syncd.sandbox.requests import Request

_REF = "#/components/schemas/"
_V2_REF = "#/definitions/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_JSON_V2 = ("application/json", "*/*", "application/*")


@cache
def definitions() -> Mapping[str, JSONObject]:
    """The schemas of all built-in types, by name."""
    data = resources.files("syncd.sandbox").joinpath("data/openapi.json.gz").read_bytes()
    loaded: dict[str, JSONObject] = orjson.loads(gzip.decompress(data))["definitions"]
    return loaded


@cache
def _names() -> Mapping[tuple[str, str, str], str]:
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in definitions().items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }


def name_of(kind: ServedKind) -> str:
    """The name of a kind's definition: a custom kind's is its group reversed, version and kind."""
    if kind.custom:
        return ".".join((*reversed(kind.group.split(".")), kind.version, kind.kind))
    return _names()[kind.group, kind.version, kind.kind]


@cache
def built_in_schema(kind: ServedKind) -> Schema:
    """The schema of a built-in kind."""
    return Schema.of(definitions()[name_of(kind)], definitions())


@cache
def metadata_schema() -> Schema:
    """The schema of ``metadata``."""
    return Schema.of(definitions()[_META + "ObjectMeta"], definitions())


class _Document(NamedTuple):
    body: bytes
    hash: str


class OpenAPI:
    """The documents of one server; each is made when it is asked for and kept until the registry changes."""

    def __init__(self, registry: Registry, custom: CustomKinds) -> None:
        self._registry = registry
        self._custom_kinds = custom
        self._generation = -1
        self._made: dict[tuple[str, str], _Document] = {}

    def answer(self, request: Request, path: str) -> Response:
        """Answer a GET under ``/openapi``.

        Raises:
            StatusError: 406, v2 is asked for in a form that is not made.
        """
        registry = self._registry
        if self._generation != registry.generation:
            self._made.clear()
            self._generation = registry.generation
        if path == "/openapi/v2":
            return self._answer_v2(request.headers.get("accept", "*/*"))
        if path == "/openapi/v3":
            return responses.plain({"paths": {at: {"serverRelativeURL": self._url(at)} for at in self._addresses()}})
        address = path.removeprefix("/openapi/v3/")
        if address not in self._addresses():
            return responses.no_such_page()
        document = self._document(*_group_version(address))
        headers: tuple[tuple[bytes, bytes], ...] = ((b"etag", f'"{document.hash}"'.encode()),)
        if request.query.text("hash") == document.hash:
            headers += ((b"cache-control", b"public, immutable"),)
        if request.headers.get("if-none-match") == f'"{document.hash}"':
            return Response(304, b"", headers=headers)
        return Response(200, document.body, headers=headers)

    def _answer_v2(self, accept: str) -> Response:
        for clause in accept.split(","):
            media_type = clause.partition(";")[0].strip()
            if media_type in openapi_protobuf.ACCEPTED:
                return Response(200, self._document("", "v2+protobuf").body, openapi_protobuf.MEDIA_TYPE)
            if media_type in _JSON_V2:
                return responses.encoded(self._document("", "v2").body)
        raise errors.not_acceptable(("application/json", *openapi_protobuf.ACCEPTED))

    def _addresses(self) -> list[str]:
        groups = self._registry.groups()
        return [
            f"apis/{group}/{version}" if group else f"api/{version}"
            for group, versions in groups.items()
            for version in versions
        ]

    def _url(self, address: str) -> str:
        return f"/openapi/v3/{address}?hash={self._document(*_group_version(address)).hash}"

    def _document(self, group: str, version: str) -> _Document:
        made = self._made.get((group, version))
        if made is None:
            body = self._make(group, version)
            made = self._made[group, version] = _Document(body, hashlib.sha512(body).hexdigest().upper())
        return made

    def _make(self, group: str, version: str) -> bytes:
        if not group and version == "v2":
            return orjson.dumps(self._v2())
        if not group and version == "v2+protobuf":
            return openapi_protobuf.encode(self._v2())
        return orjson.dumps(self._v3(group, version))

    def _v3(self, group: str, version: str) -> JSONObject:
        kinds = self._registry.groups()[group][version]
        schemas: dict[str, JSONObject] = {}
        for kind in kinds:
            schemas |= self._schemas(kind)
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "unversioned"},
            "paths": {path: item for kind in kinds for path, item in openapi_paths.of(kind, name_of(kind)).items()},
            "components": {"schemas": dict(sorted(schemas.items()))},
        }

    def _v2(self) -> JSONObject:
        found: dict[str, JSONObject] = {}
        paths: JSONObject = {}
        for kind in self._registry:
            found |= self._schemas(kind)
            paths |= openapi_paths.v2(kind, name_of(kind))
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": "v1.36.3"},
            "paths": paths,
            "definitions": {name: _as_v2(schema) for name, schema in sorted(found.items())},
        }

    def _schemas(self, kind: ServedKind) -> dict[str, JSONObject]:
        """The definitions that a kind and its list lead to."""
        built = definitions()
        own: dict[str, JSONObject] = {}
        if kind.custom:
            name = name_of(kind)
            own = {name: self._custom(kind), f"{name}List": _list_schema(kind, name)}
            roots = list(own)
        else:
            roots = [name_of(kind)]
            listed = _names().get((kind.group, kind.version, f"{kind.kind}List"))
            roots += [listed] if listed else []
        roots += [_META + name for name in ("DeleteOptions", "Patch", "Status", "WatchEvent")]
        if "scale" in kind.subresources:
            roots.append("io.k8s.api.autoscaling.v1.Scale")
        return {name: own.get(name) or built[name] for name in _reachable(roots, own)}

    def _custom(self, kind: ServedKind) -> JSONObject:
        """A custom kind's schema as a server publishes it: with type and object metadata filled in."""
        schema = self._custom_kinds.schema(kind)
        node: JSONObject = dict(schema.node) if schema else {"type": "object"}
        gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        if "properties" in node:
            example = definitions()["io.k8s.api.core.v1.ConfigMap"]["properties"]
            own = {field: example[field] for field in ("apiVersion", "kind", "metadata")}
            node["properties"] = node["properties"] | own
        return node | {"x-kubernetes-group-version-kind": [gvk]}


def _group_version(address: str) -> tuple[str, str]:
    segments = address.split("/")
    return ("", segments[1]) if segments[0] == "api" else (segments[1], segments[2])


def _list_schema(kind: ServedKind, name: str) -> JSONObject:
    example = definitions()["io.k8s.api.core.v1.ConfigMapList"]
    items = {"type": "array", "items": {"allOf": [{"$ref": _REF + name}]}}
    gvk = {"group": kind.group, "version": kind.version, "kind": f"{kind.kind}List"}
    return example | {
        "description": f"{kind.kind}List is a list of {kind.kind}",
        "properties": example["properties"] | {"items": items},
        "x-kubernetes-group-version-kind": [gvk],
    }


def _reachable(roots: Iterable[str], own: Mapping[str, JSONObject]) -> set[str]:
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references_of(own[name]) if name in own else _built_in_references(name)
    return found


@cache
def _built_in_references(name: str) -> tuple[str, ...]:
    return tuple(_references_of(definitions()[name]))


def _references_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = [name for inner in value.values() for name in _references_of(inner)]
        if isinstance(value.get("$ref"), str):
            found.append(value["$ref"].removeprefix(_REF))
        return found
    return [name for inner in value for name in _references_of(inner)] if isinstance(value, list) else []


def _as_v2(schema: Any) -> Any:
    """A schema object in OpenAPI v2's words: plain references, and no ``oneOf``."""
    if isinstance(schema, list):
        return [_as_v2(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _as_v2(value) for key, value in schema.items() if key not in ("allOf", "oneOf", "anyOf", "default")}
    wrapped = schema.get("allOf")
    if isinstance(wrapped, list) and len(wrapped) == 1 and "$ref" in wrapped[0]:
        out["$ref"] = wrapped[0]["$ref"].replace(_REF, _V2_REF)
    if isinstance(schema.get("$ref"), str):
        out["$ref"] = schema["$ref"].replace(_REF, _V2_REF)
    if isinstance(schema.get("oneOf"), list):
        out["type"] = "string"
    return out
