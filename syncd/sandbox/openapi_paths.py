"""The ``paths`` of OpenAPI documents: which operations a kind has, and what they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import patching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind

_REF = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_STRING, _BOOLEAN, _INTEGER = "string", "boolean", "integer"
_WRITE = (("dryRun", _STRING), ("fieldManager", _STRING), ("fieldValidation", _STRING))
_LIST = (
    ("allowWatchBookmarks", _BOOLEAN),
    ("continue", _STRING),
    ("fieldSelector", _STRING),
    ("labelSelector", _STRING),
    ("limit", _INTEGER),
    ("resourceVersion", _STRING),
    ("resourceVersionMatch", _STRING),
    ("sendInitialEvents", _BOOLEAN),
    ("timeoutSeconds", _INTEGER),
    ("watch", _BOOLEAN),
)
_DELETE = (
    ("dryRun", _STRING),
    ("gracePeriodSeconds", _INTEGER),
    ("orphanDependents", _BOOLEAN),
    ("propagationPolicy", _STRING),
)
_ACTIONS = {
    "create": ("post", "post", _WRITE),
    "list": ("get", "list", _LIST),
    "deletecollection": ("delete", "deletecollection", (*_DELETE, *_LIST)),
    "get": ("get", "get", ()),
    "update": ("put", "put", _WRITE),
    "patch": ("patch", "patch", (*_WRITE, ("force", _BOOLEAN))),
    "delete": ("delete", "delete", _DELETE),
}
_OF_COLLECTION = ("list", "create", "deletecollection")
_OF_OBJECT = ("get", "update", "patch", "delete")


def of(kind: ServedKind, name: str) -> JSONObject:
    """The path items of one kind in OpenAPI v3, by path."""
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    collection = f"{base}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}/{kind.plural}"
    place = ("namespace",) if kind.namespaced else ()
    items = {collection: _item(kind, name, _OF_COLLECTION, place)}
    if kind.namespaced and "list" in kind.verbs:
        items[f"{base}/{kind.plural}"] = _item(kind, name, ("list",), ())
    if "get" in kind.verbs:
        items[f"{collection}/{{name}}"] = _item(kind, name, _OF_OBJECT, ("name", *place))
    for subresource in kind.subresources:
        if subresource in ("status", "approval"):
            item = _item(kind, name, ("get", "update", "patch"), ("name", *place))
            items[f"{collection}/{{name}}/{subresource}"] = item
    return items


def _item(kind: ServedKind, name: str, verbs: Sequence[str], place: Sequence[str]) -> JSONObject:
    item: JSONObject = {}
    for verb in verbs:
        if verb in kind.verbs:
            method, action, parameters = _ACTIONS[verb]
            item[method] = _operation(kind, name, verb, action, parameters)
    if place:
        schema = {"type": "string", "uniqueItems": True}
        item["parameters"] = [{"name": at, "in": "path", "required": True, "schema": schema} for at in place]
    return item


def _operation(
    kind: ServedKind, name: str, verb: str, action: str, parameters: Sequence[tuple[str, str]]
) -> JSONObject:
    answer = f"{name}List" if verb == "list" else _META + "Status" if verb.startswith("delete") else name
    operation: JSONObject = {
        "responses": {"200": {"description": "OK", "content": _content(("application/json",), answer)}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
    }
    if parameters:
        operation["parameters"] = [
            {"name": field, "in": "query", "schema": {"type": of_type, "uniqueItems": True}}
            for field, of_type in parameters
        ]
    if verb == "patch":
        operation["requestBody"] = {"content": _content(patching.media_types(kind), _META + "Patch"), "required": True}
    elif verb in ("create", "update"):
        operation["requestBody"] = {"content": _content(("*/*",), name), "required": True}
    elif verb.startswith("delete"):
        operation["requestBody"] = {"content": _content(("*/*",), _META + "DeleteOptions")}
    return operation


def _content(media_types: Sequence[str], name: str) -> JSONObject:
    return {media_type: {"schema": {"$ref": _REF + name}} for media_type in media_types}


def v2(kind: ServedKind, name: str) -> JSONObject:
    """The path items of one kind in OpenAPI v2."""
    return {path: {key: _operation_v2(value) for key, value in item.items()} for path, item in of(kind, name).items()}


def _operation_v2(operation: JSONObject | list[JSONObject]) -> JSONObject | list[JSONObject]:
    if isinstance(operation, list):
        return [_parameter_v2(parameter) for parameter in operation]
    out = {key: operation[key] for key in ("x-kubernetes-action", "x-kubernetes-group-version-kind")}
    content = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    answer = {"$ref": content.replace(_REF, "#/definitions/")}
    out["responses"] = {"200": {"description": "OK", "schema": answer}}
    out["parameters"] = [_parameter_v2(parameter) for parameter in operation.get("parameters", ())]
    if "requestBody" in operation:
        media_types = list(operation["requestBody"]["content"])
        reference = operation["requestBody"]["content"][media_types[0]]["schema"]["$ref"]
        body = {"name": "body", "in": "body", "schema": {"$ref": reference.replace(_REF, "#/definitions/")}}
        out["parameters"].append(body)
        out["consumes"] = media_types
    return out


def _parameter_v2(parameter: JSONObject) -> JSONObject:
    schema: JSONObject = parameter["schema"]
    return {key: value for key, value in parameter.items() if key != "schema"} | schema
