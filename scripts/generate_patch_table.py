"""Write the bundled table of merge rules out of the definitions in the kubernetes-validate package.

Run it after raising the version of kubernetes-validate; a test fails while the table is stale.

    python scripts/generate_patch_table.py
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate

TABLE = Path(__file__).parents[1] / "syncd" / "merge" / "patch_table.json.gz"

_KEPT = (
    "$ref", "additionalProperties", "default", "format", "items", "oneOf", "properties", "type",
    "x-kubernetes-group-version-kind", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
)  # fmt: skip

_DEFAULTS = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
}
"""Defaults of fields that are part of a list's key; the package leaves defaults out."""


def newest_definitions() -> dict[str, Any]:
    """The definitions of the newest Kubernetes version that the package knows."""
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    versions = [path for path in folder.iterdir() if re.fullmatch(r"v\d+\.\d+\.\d+-local", path.name)]
    newest = max(versions, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    definitions: dict[str, Any] = json.loads((newest / "_definitions.json").read_bytes())["$defs"]
    return definitions


def compact(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with only what merging needs."""
    result = {key: schema[key] for key in _KEPT if key in schema}
    if "properties" in result:
        result["properties"] = {name: compact(inner) for name, inner in sorted(result["properties"].items())}
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), dict):
            result[key] = compact(result[key])
    if isinstance(result.get("type"), list):
        result["type"] = next(name for name in result["type"] if name != "null")
    if "$ref" in result:
        result["$ref"] = "#/definitions/" + result["$ref"].rsplit("/", 1)[-1]
    return result


def table() -> dict[str, Any]:
    """The whole table, by definition name."""
    result = {name: compact(schema) for name, schema in sorted(newest_definitions().items())}
    for (name, field), default in _DEFAULTS.items():
        result[name]["properties"][field]["default"] = default
    return result


def main() -> None:
    """Write the table."""
    text = json.dumps(table(), separators=(",", ":"), sort_keys=True)
    TABLE.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
