"""Writes deploy/crd/syncs.syncd.dev.yaml from the models in syncd/spec: `make crd`. A test holds it fresh.

The schema says what an API server can check: types, forms, and the rules in CEL that stand beside the validators which
they repeat. It holds no defaults: a server that fills them in would make every Sync differ from what Git says, and keep
the defaults of the syncd that was there when the Sync was made.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic.json_schema import GenerateJsonSchema

from syncd.spec import API_VERSION, KIND, SyncSpec, parse_duration
from syncd.spec.status import SyncObjectStatus

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core.core_schema import BeforeValidatorFunctionSchema

TARGET: Final = Path(__file__).parents[1] / "deploy" / "crd" / "syncs.syncd.dev.yaml"
HEAD: Final = "# Generated from syncd/spec by scripts/generate_crd.py (`make crd`); do not edit.\n"

_GROUP, _, _VERSION = API_VERSION.partition("/")
_RULES: Final = "x-kubernetes-validations"
_KEPT: Final = {
    *("type", "description", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
    *("required", "minProperties", "maxProperties"),
}
_DURATION: Final = {"type": "string", "maxLength": 32, "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"}
_FILE_ONLY: Final = "secretFile"
_COLUMNS: Final = (
    ("Synced", "string", ".status.state", 0, "How the cluster compares with Git."),
    ("Health", "string", ".status.health", 0, "The worst health of its objects."),
    ("Revision", "string", ".status.revision", 0, "What is applied."),
    ("Drift", "integer", ".status.drift.count", 0, "Objects that somebody else changed."),
    ("Age", "date", ".metadata.creationTimestamp", 0, "Since when the Sync is there."),
    ("Suspended", "boolean", ".spec.suspend", 1, "Whether nothing at all is done."),
    ("Ready", "string", ".status.conditions[?(@.type=='Ready')].status", 1, "Whether the last reconcile went well."),
    ("Message", "string", ".status.conditions[?(@.type=='Ready')].message", 1, "What came of it."),
)


class _Schemas(GenerateJsonSchema):
    """Tells durations from numbers."""

    def function_before_schema(self, schema: BeforeValidatorFunctionSchema) -> dict[str, Any]:
        """Give the form of what goes in."""
        inner = super().function_before_schema(schema)
        if schema["function"]["function"] is not parse_duration:
            return inner
        least = inner.get("minimum")
        if least is None:
            return dict(_DURATION)
        text = f"{least:g}s" if least >= 1 else f"{least * 1000:g}ms"
        rule = {"rule": f"duration(self) >= duration('{text}')", "message": f"must be {text} or more"}
        return {**_DURATION, _RULES: [rule]}


def structural(model: type[BaseModel]) -> dict[str, Any]:
    """Return the structural schema of a model, as apiextensions.k8s.io/v1 wants it."""
    schema = model.model_json_schema(by_alias=True, schema_generator=_Schemas)
    return _convert(schema, schema.get("$defs", {}), model.__name__)


def _convert(node: dict[str, Any], definitions: dict[str, Any], place: str) -> dict[str, Any]:
    """Convert one node; ``place`` is for errors."""
    node = _resolved(node, definitions, place)
    result = {name: value for name, value in node.items() if name in _KEPT or name.startswith("x-kubernetes-")}
    if "const" in node:
        result["enum"] = [node["const"]]
    if node.get("format") == "date-time":
        result["format"] = node["format"]
    if text := _description(node):
        result["description"] = text
    if "items" in node:
        result["items"] = _convert(node["items"], definitions, f"{place}[]")
    if "properties" in node:
        result["properties"] = {
            name: _convert(child, definitions, f"{place}.{name}") for name, child in node["properties"].items()
        }
        if _FILE_ONLY in node["properties"]:
            rule = {"rule": f"!has(self.{_FILE_ONLY})", "message": f"{_FILE_ONLY} is for Syncs in files; use secretRef"}
            result[_RULES] = [*result.get(_RULES, ()), {**rule, "fieldPath": f".{_FILE_ONLY}"}]
    more = node.get("additionalProperties")
    if isinstance(more, dict):
        result["additionalProperties"] = _convert(more, definitions, f"{place}.*")
    if more is True or "type" not in node:
        result["x-kubernetes-preserve-unknown-fields"] = True
    return result


def _resolved(node: dict[str, Any], definitions: dict[str, Any], place: str) -> dict[str, Any]:
    """Put in what a node refers to, and take away that it may be null: an absent field says the same.

    Raises:
        TypeError: No structural schema can say this.
    """
    choices = [item for item in node.get("anyOf", ()) if item.get("type") != "null"]
    if len(choices) > 1 or node.keys() & {"oneOf", "prefixItems"}:
        raise TypeError(f"{place}: a CRD cannot say that a field has one of several types")
    rest = {name: value for name, value in node.items() if name not in ("anyOf", "$ref")}
    if "$ref" in node:
        rest = {**definitions[node["$ref"].rpartition("/")[2]], **rest}
    if not choices:
        return rest if "$ref" not in rest and "anyOf" not in rest else _resolved(rest, definitions, place)
    return {**_resolved(choices[0], definitions, place), **rest}


def _description(node: dict[str, Any]) -> str:
    """Return the text for users, with the default at its end where that is a simple value."""
    paragraphs = (" ".join(part.split()) for part in node.get("description", "").split("\n\n"))
    text = "\n\n".join(paragraphs)
    default = node.get("default")
    if isinstance(default, bool):
        default = str(default).lower()
    if node.get("pattern") == _DURATION["pattern"] and isinstance(default, float):
        minutes, seconds = divmod(int(default), 60)
        default = f"{seconds}s" if seconds or not minutes else f"{minutes}m"
    if default == ".":
        default = "`.`"  # else it looks like the end of the sentence
    return f"{text} Default: {default}." if isinstance(default, int | str) and default and text else text


def definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition."""
    schema = {
        "type": "object",
        "description": "One unit of reconciliation: a source, a path in it, how to render it, where it goes.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(SyncSpec),
            "status": structural(SyncObjectStatus),
        },
    }
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": kind, "jsonPath": path, "priority": priority, "description": text}
            for name, kind, path, priority, text in _COLUMNS
        ],
        "schema": {"openAPIV3Schema": schema},
    }
    plural = f"{KIND.lower()}s"
    names = {"plural": plural, "singular": KIND.lower(), "kind": KIND, "listKind": f"{KIND}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {**names, "shortNames": ["sy"], "categories": ["gitops"]},
            "versions": [version],
        },
    }


class _Plain(yaml.SafeDumper):
    """Writes a value that occurs twice twice: the definition is read by people."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """Say so for every value."""
        return True


def text() -> str:
    """Return the file's content."""
    return HEAD + yaml.dump(definition(), Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text())
