"""Custom kinds: what CustomResourceDefinitions bring, while they are established."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox import codec, structural, structural_rules
from syncd.sandbox.kinds import ServedKind
from syncd.sandbox.schema import Schema

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Cause

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Held by a definition that is being deleted, until its objects are gone."""


class _Key(NamedTuple):
    group: str
    version: str
    plural: str


class CustomKinds:
    """The custom kinds of one server, with their schemas. Not thread-safe: the store calls it under its lock."""

    def __init__(self) -> None:
        self._schemas: dict[_Key, JSONObject | None] = {}
        self._keys: dict[str, tuple[_Key, ...]] = {}

    def register(self, crd: JSONObject) -> tuple[ServedKind, ...]:
        """Take a stored definition in, or its new state; what it serves now, one for each served version.

        Nothing is served before the definition is Established.
        """
        name = crd["metadata"]["name"]
        self.unregister(name)
        if not is_true(crd, "Established"):
            return ()
        served = tuple(version for version in crd["spec"]["versions"] if version.get("served"))
        kinds = tuple(_served_kind(crd, version) for version in served)
        for kind, version in zip(kinds, served, strict=True):
            self._schemas[_key(kind)] = (version.get("schema") or {}).get("openAPIV3Schema")
        self._keys[name] = tuple(_key(kind) for kind in kinds)
        return kinds

    def unregister(self, name: str) -> None:
        """Forget the definition of this name."""
        for key in self._keys.pop(name, ()):
            self._schemas.pop(key, None)

    def prune(self, kind: ServedKind, obj: JSONObject) -> tuple[JSONObject, list[str]]:
        """The object without fields that its schema does not know, and the paths of these fields.

        Raises:
            StatusError: 400: metadata is not what metadata must be.
        """
        typed, unknown = codec.decode_metadata(kind, obj)
        schema = self._schemas.get(_key(kind))
        if schema is None:
            return typed, list(unknown)
        pruned, more = structural.prune(schema, typed)
        return pruned, [*unknown, *more]

    def default(self, kind: ServedKind, obj: JSONObject) -> JSONObject:
        """The object with its schema's defaults."""
        schema = self._schemas.get(_key(kind))
        if schema is None:
            return obj
        defaulted: JSONObject = structural.default(schema, obj)
        return defaulted

    def validate(self, kind: ServedKind, new: JSONObject, old: JSONObject | None) -> list[Cause]:
        """What is wrong with the object by its schema."""
        schema = self._schemas.get(_key(kind))
        if schema is None:
            return []
        properties = {name: node for name, node in (schema.get("properties") or {}).items() if name != "metadata"}
        found = structural_rules.violations(schema | {"properties": properties}, new)
        if old is not None:
            found = structural_rules.violations(schema | {"properties": properties}, new, old=old)
        return list(found)

    def schema(self, kind: ServedKind) -> Schema | None:
        """The structural schema; None when the version has none."""
        schema = self._schemas.get(_key(kind))
        return Schema.of(schema, {}) if schema is not None else None


def _key(kind: ServedKind) -> _Key:
    return _Key(kind.group, kind.version, kind.plural)


def condition(crd: JSONObject, condition_type: str) -> JSONObject | None:
    """A condition of a definition's status."""
    conditions: list[JSONObject] = crd.get("status", {}).get("conditions") or []
    return next((item for item in conditions if item["type"] == condition_type), None)


def is_true(crd: JSONObject, condition_type: str) -> bool:
    """Whether a condition of a definition holds."""
    return (condition(crd, condition_type) or {}).get("status") == "True"


def _served_kind(crd: JSONObject, version: JSONObject) -> ServedKind:
    spec = crd["spec"]
    names = spec["names"]
    stored = next((item["name"] for item in spec["versions"] if item.get("storage")), version["name"])
    other = stored != version["name"]
    return ServedKind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        names.get("singular") or names["kind"].lower(),
        tuple(names.get("shortNames") or ()),
        namespaced=spec["scope"] == "Namespaced",
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(name for name in ("scale", "status") if name in (version.get("subresources") or {})),
        custom=True,
        storage_group=spec["group"] if other else "",
        storage_version=stored if other else "",
    )


def objects_kind(crd: JSONObject) -> ServedKind:
    """The kind that a definition's objects are stored as, whether or not it is served now."""
    stored = next(version for version in crd["spec"]["versions"] if version.get("storage"))
    return _served_kind(crd, stored)
