"""Structural schemas of custom resources: pruning and defaulting.

Validation is in :mod:`syncd.sandbox.structural_rules`.
Semantics: apiextensions-apiserver, ``pkg/apiserver/schema``. All functions walk the object, not the schema, so that a
schema of ten thousand nodes costs nothing where the object has no fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncd.model import ABSENT

if TYPE_CHECKING:
    from syncd.model import JSONObject, JSONValue

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(schema: JSONObject, obj: JSONObject) -> tuple[JSONObject, list[str]]:
    """A custom resource without fields that its schema does not know, and the paths of these fields, sorted."""
    unknown: list[str] = []
    root = schema | {"x-kubernetes-embedded-resource": True}
    pruned: JSONObject = _prune(root, obj, "", unknown)
    return pruned, sorted(unknown)


def _prune(schema: JSONObject | None, value: JSONValue, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        items = schema.get("items") if schema is not None else None
        keeps = schema is not None and schema.get("x-kubernetes-preserve-unknown-fields")
        if keeps and items is None:
            return value
        return [_prune(items, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    schema = schema if schema is not None else {}
    out: JSONObject = {}
    for name, item in value.items():
        here = f"{path}.{name}" if path else name
        if schema.get("x-kubernetes-embedded-resource") and name in _META_FIELDS:
            out[name] = item
            continue
        known, inner = _inner(schema, name)
        if known:
            out[name] = _prune(inner, item, here, unknown)
        elif schema.get("x-kubernetes-preserve-unknown-fields"):
            out[name] = item
        else:
            unknown.append(here)
    return out


def _inner(schema: JSONObject, name: str) -> tuple[bool, JSONObject | None]:
    """Whether an object may have this field or key, and its schema if there is one."""
    properties = schema.get("properties")
    if properties and name in properties:
        return True, properties[name]
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return True, additional
    return bool(additional), None


def default(schema: JSONObject, value: JSONValue) -> Any:
    """A value with the defaults of its schema: where a field is absent, or null and not nullable.

    Such a null goes where there is no default.

    Parts that get no default are shared with ``value``.
    """
    if isinstance(value, list):
        items = schema.get("items")
        return [default(items, item) for item in value] if items else value
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    out = dict(value)
    for name, inner in properties.items():
        found = out.get(name, ABSENT)
        if found is ABSENT or (found is None and not inner.get("nullable")):
            if "default" not in inner:
                out.pop(name, None)
                continue
            found = _fresh(inner["default"])
        out[name] = default(inner, found)
    if isinstance(additional, dict):
        for name in out.keys() - properties.keys():
            out[name] = default(additional, out[name])
    return out


def _fresh(value: JSONValue) -> Any:
    """A copy, so that the schema is not shared with objects."""
    if isinstance(value, dict):
        return {name: _fresh(item) for name, item in value.items()}
    return [_fresh(item) for item in value] if isinstance(value, list) else value
