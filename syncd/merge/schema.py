"""What a kind's schema says about merging: patch strategies, list types, keys, unions, and what scalars mean.

One class reads the three places that Kubernetes publishes this in: OpenAPI v2 definitions (which also are the form of
the bundled table), the OpenAPI v3 document of a group and version, and the schema in a CustomResourceDefinition.
"""

from __future__ import annotations

import gzip
from enum import Enum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from syncd.merge.unions import UNIONS, Union

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from syncd.model import JSONObject

_STRATEGY: Final = "x-kubernetes-patch-strategy"
_MERGE_KEY: Final = "x-kubernetes-patch-merge-key"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_GROUP_VERSION_KIND: Final = "x-kubernetes-group-version-kind"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_RETAIN_KEYS: Final = "retainKeys"
_STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_QUANTITY_PATTERN: Final = "[KMGTPE]i"  # stands in the pattern that controller-gen writes for quantities


class Shape(Enum):
    """What kind of value a schema describes."""

    OBJECT = "object with named fields"
    MAP = "map"
    LIST = "list"
    SCALAR = "scalar"
    ANY = "anything"


class Meaning(Enum):
    """Scalars that can be written in several ways, and the plain ones that cannot."""

    PLAIN = "plain"
    QUANTITY = "quantity"
    INT_OR_STRING = "int-or-string"
    BYTES = "base64"


class Field(NamedTuple):
    """One field of an object, and how it merges."""

    schema: PatchSchema
    """The schema of the field's value."""
    strategy: str = ""
    """``merge``, ``replace`` or nothing, which means that maps merge and lists are replaced."""
    retain_keys: bool = False
    merge_key: str = ""
    list_type: str = ""
    """``atomic``, ``set``, ``map`` or nothing."""
    list_map_keys: tuple[str, ...] = ()
    default: Any = None
    """The scalar that the server fills in, None when there is none."""


class PatchSchema:
    """An immutable view of one schema; the schemas below it are made when they are first asked for.

    Attributes:
        name: What the schema is called where it was defined, for error messages.
        shape: What kind of value it describes.
        meaning: For a scalar: how its text is to be compared.
        accepts_strategic: Whether the API server takes strategic merge patches for the kind. Only the schema of a whole
            object knows.
        has_status: Whether ``status`` is written through a subresource of its own, so that apply leaves it alone. Only
            the schema of a whole object knows.
        is_atomic: Whether a map is replaced as a whole (``x-kubernetes-map-type: atomic``) where list and map types
            decide; patch strategies do not know this.
        unions: The groups of fields of which at most one may be set.
        memo: What others have worked out of the schema, each under a key of its own. It goes when the schema goes.
    """

    __slots__ = (
        "_additional", "_fields", "_items", "_properties", "_store",
        "accepts_strategic", "has_status", "is_atomic", "meaning", "memo", "name", "shape", "unions",
    )  # fmt: skip

    def __init__(self, raw: Mapping[str, Any], store: _Store, name: str = "") -> None:
        self._store = store
        self._fields: dict[str, Field | None] = {}
        self._properties: Mapping[str, Any] = raw.get("properties") or {}
        self._items: Any = raw.get("items")
        self._additional: Any = raw.get("additionalProperties")
        if self._additional is None and raw.get(_PRESERVE):
            self._additional = True
        self.name = name
        self.shape = _shape(raw, name)
        self.meaning = _meaning(raw, name)
        self.is_atomic = raw.get(_MAP_TYPE) == "atomic"
        self.unions = UNIONS.get(name, ()) or _declared_unions(raw)
        self.accepts_strategic = False
        self.has_status = False
        self.memo: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        return f"PatchSchema({self.name or self.shape.value!r})"

    def field(self, name: str) -> Field | None:
        """How the field of that name merges; None when the schema says nothing of it."""
        try:
            return self._fields[name]
        except KeyError:
            return self._fields.setdefault(name, self._find(name))

    @property
    def items(self) -> PatchSchema:
        """The schema of a list's items; an object's is its own, as for a field that refers to its item type."""
        if self.shape is Shape.OBJECT:
            return self
        item = self.field("")
        return item.schema if item else ANYTHING

    @classmethod
    def from_openapi(cls, definitions: Mapping[str, Any], name: str) -> PatchSchema:
        """The schema of that name among OpenAPI v2 ``definitions`` (or v3 ``components.schemas``).

        Raises:
            KeyError: There is no such definition.
        """
        return _Store(definitions).named(name)

    def _find(self, name: str) -> Field | None:
        if self.shape is Shape.LIST:
            return self._store.field(self._items) if isinstance(self._items, dict) else Field(ANYTHING)
        if name in self._properties:
            return self._store.field(self._properties[name])
        if isinstance(self._additional, dict):
            return self._store.field(self._additional)
        if self._additional or self.shape in (Shape.ANY, Shape.MAP):
            return Field(ANYTHING)
        return None


class _Store:
    """Definitions that refer to one another by name, and the schemas made of them so far."""

    __slots__ = ("_definitions", "_schemas")

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._schemas: dict[str, PatchSchema] = {}

    def named(self, name: str) -> PatchSchema:
        """The schema of a definition."""
        schema = self._schemas.get(name)
        if schema is None:
            # setdefault: threads may race here, and all must end up with the same schema
            schema = self._schemas.setdefault(name, PatchSchema(self._definitions[name], self, name))
        return schema

    def field(self, raw: Mapping[str, Any]) -> Field:
        """A field as it stands in ``properties``; what it says itself counts, not what it refers to."""
        strategies = raw.get(_STRATEGY, "").split(",")
        default = raw.get("default")
        return Field(
            schema=self._schema(raw),
            strategy=next((strategy for strategy in strategies if strategy != _RETAIN_KEYS), ""),
            retain_keys=_RETAIN_KEYS in strategies,
            merge_key=raw.get(_MERGE_KEY, ""),
            list_type=raw.get(_LIST_TYPE, ""),
            list_map_keys=tuple(raw.get(_LIST_MAP_KEYS, ())),
            default=default if isinstance(default, str | int | float) else None,
        )

    def _schema(self, raw: Mapping[str, Any]) -> PatchSchema:
        reference = raw.get("$ref")
        if reference is None and len(raw.get("allOf", ())) == 1 and "properties" not in raw:
            return self._schema(raw["allOf"][0])
        if reference is None:
            return PatchSchema(_with_metadata(raw), self)
        name = reference.rsplit("/", 1)[-1]
        return self.named(name) if name in self._definitions else ANYTHING


def _with_metadata(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A CRD does not spell out the metadata of its objects, nor of objects that are embedded in them."""
    if not raw.get("x-kubernetes-embedded-resource"):
        return raw
    return {**raw, "properties": {**raw.get("properties", {}), **_object_fields()}}


def _types(raw: Mapping[str, Any]) -> set[str]:
    types = raw.get("type", ())
    return {types} if isinstance(types, str) else set(types)


def _shape(raw: Mapping[str, Any], name: str) -> Shape:
    types = _types(raw)
    if raw.get("properties"):
        return Shape.OBJECT
    if "array" in types:
        return Shape.LIST
    if "additionalProperties" in raw or "object" in types:
        return Shape.MAP
    if types or _meaning(raw, name) is not Meaning.PLAIN:
        return Shape.SCALAR
    return Shape.ANY


def _meaning(raw: Mapping[str, Any], name: str) -> Meaning:
    if name.endswith(".Quantity") or _QUANTITY_PATTERN in raw.get("pattern", ""):
        return Meaning.QUANTITY
    if name.endswith(".IntOrString") or raw.get("x-kubernetes-int-or-string") or raw.get("format") == "int-or-string":
        return Meaning.INT_OR_STRING
    return Meaning.BYTES if raw.get("format") == "byte" else Meaning.PLAIN


def _declared_unions(raw: Mapping[str, Any]) -> tuple[Union, ...]:
    """The union that a schema declares as ``oneOf`` with one required field in each branch."""
    branches = [branch.get("required", ()) for branch in raw.get("oneOf", ()) if isinstance(branch, dict)]
    if len(branches) < 2 or any(len(required) != 1 for required in branches):
        return ()
    return (Union(frozenset(required[0] for required in branches)),)


ANYTHING: Final = PatchSchema({}, _Store({}))
"""The schema that says nothing."""


# --- where schemas come from ---------------------------------------------------------------------------------------


def bundled(group: str, version: str, kind: str) -> PatchSchema | None:
    """The schema of a kind that is built into Kubernetes, from the table that comes with syncd."""
    return _built_in().get((group, version, kind))


def from_openapi_v3(document: JSONObject, group: str, version: str, kind: str) -> PatchSchema | None:
    """The schema of a kind from the OpenAPI v3 document that a server has for its group and version.

    Returns:
        The schema, which knows whether the server takes strategic merge patches; None when the document lacks the kind.
    """
    wanted = {"group": group, "version": version, "kind": kind}
    definitions = document.get("components", {}).get("schemas", {})
    for name, raw in definitions.items():
        if wanted in raw.get(_GROUP_VERSION_KIND, ()):
            schema = _Store(definitions).named(name)
            for path, operations in document.get("paths", {}).items():
                patch = operations.get("patch", {})
                if patch.get(_GROUP_VERSION_KIND) == wanted:
                    content = patch.get("requestBody", {}).get("content", {})
                    schema.accepts_strategic = schema.accepts_strategic or _STRATEGIC_MERGE_PATCH in content
                    schema.has_status = schema.has_status or path.endswith("/status")
            return schema
    return None


def from_crd(crd: JSONObject, version: str) -> PatchSchema:
    """The schema of a custom resource in one of its versions; a version without one gets a schema that says nothing.

    Raises:
        KeyError: The definition has no such version.
    """
    for candidate in crd["spec"]["versions"]:
        if candidate["name"] == version:
            raw = candidate.get("schema", {}).get("openAPIV3Schema", {})
            fields = {**raw.get("properties", {}), **_object_fields()}
            schema = PatchSchema({**raw, "properties": fields}, _bundled_store())
            schema.has_status = "status" in candidate.get("subresources", {})
            return schema
    raise KeyError(version)


def _object_fields() -> dict[str, Any]:
    """What every object has, whether its schema says so or not."""
    return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": _OBJECT_META}}


@cache
def _bundled_store() -> _Store:
    data = resources.files("syncd.merge").joinpath("patch_table.json.gz").read_bytes()
    return _Store(orjson.loads(gzip.decompress(data)))


@cache
def _built_in() -> dict[tuple[str, str, str], PatchSchema]:
    store = _bundled_store()
    schemas = {}
    for name, raw in store._definitions.items():  # noqa: SLF001 - one of the two classes of this module
        kinds = raw.get(_GROUP_VERSION_KIND, ())
        if len(kinds) == 1 and "metadata" in raw.get("properties", {}):
            schema = store.named(name)
            schema.accepts_strategic = True
            schema.has_status = "status" in raw["properties"]
            schemas[kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"]] = schema
    return schemas


def pod_spec() -> PatchSchema:
    """The schema of a PodSpec, for custom resources that embed one without saying so."""
    return _bundled_store().named("io.k8s.api.core.v1.PodSpec")
