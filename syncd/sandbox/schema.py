"""OpenAPI schemas of kinds, and a cursor that walks them field by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.model import JSONObject

_REF = "#/components/schemas/"
_FORMAT_INT_OR_STRING = "int-or-string"


@dataclass(frozen=True, slots=True)
class Schema:
    """One place in an OpenAPI v3 schema: a kind's root, or a field of it.

    Attributes:
        node: The schema object there, references resolved.
        definitions: What references lead to, by name.
        field_node: What the parent says about the field itself beside a reference: list type, patch strategy, default.
    """

    node: JSONObject
    definitions: Mapping[str, JSONObject]
    field_node: JSONObject

    @classmethod
    def of(cls, node: JSONObject, definitions: Mapping[str, JSONObject]) -> Schema:
        """The place that a schema object describes, whatever references it is made of."""
        return cls(_resolve(node, definitions), definitions, node)

    def field(self, name: str) -> Schema | None:
        """The schema of a field or map value; None when the schema says nothing about it."""
        found = self.node.get("properties", {}).get(name)
        if found is None:
            found = self.node.get("additionalProperties")
        return Schema.of(found, self.definitions) if isinstance(found, dict) else None

    def knows(self, name: str) -> bool:
        """Whether an object here may have this field."""
        node = self.node
        if name in node.get("properties", {}):
            return True
        return "properties" not in node or bool(node.get("additionalProperties") or self.preserves_unknown_fields)

    @property
    def items(self) -> Schema | None:
        """The schema of a list's items."""
        found = self.node.get("items")
        return Schema.of(found, self.definitions) if isinstance(found, dict) else None

    @property
    def type(self) -> str:
        """``object``, ``array``, ``string``, ... or "" when the schema leaves it open."""
        return str(self.node.get("type", ""))

    @property
    def preserves_unknown_fields(self) -> bool:
        """Whether fields that the schema does not know are kept."""
        return bool(self.node.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def int_or_string(self) -> bool:
        """Whether the value may be an integer or a string."""
        return bool(self.node.get("x-kubernetes-int-or-string")) or self.node.get("format") == _FORMAT_INT_OR_STRING

    @property
    def list_type(self) -> str:
        """``map``, ``set`` or ``atomic``; the default for lists is atomic."""
        return str(self._say("x-kubernetes-list-type") or "atomic")

    @property
    def list_map_keys(self) -> tuple[str, ...]:
        """The fields that tell the items of a list of type map apart."""
        return tuple(self._say("x-kubernetes-list-map-keys") or ())

    @property
    def map_type(self) -> str:
        """``granular`` or ``atomic``; the default for objects is granular."""
        return str(self._say("x-kubernetes-map-type") or "granular")

    def _say(self, extension: str) -> Any:
        """An extension: a field's own word goes before that of the type it refers to."""
        return self.field_node.get(extension) or self.node.get(extension)


def _resolve(node: JSONObject, definitions: Mapping[str, JSONObject]) -> JSONObject:
    """Follow ``$ref``, alone or in an ``allOf`` of one (as OpenAPI v3 has it beside other words)."""
    while True:
        wrapped = node.get("allOf")
        if wrapped is not None and len(wrapped) == 1 and "$ref" in wrapped[0]:
            node = wrapped[0]
        if "$ref" not in node:
            return node
        node = definitions[node["$ref"].removeprefix(_REF)]
