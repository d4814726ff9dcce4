"""Write the schemas of the built-in kinds that the sandbox serves: ``syncd/sandbox/data/openapi.json.gz``.

They come from the PyPI package kubernetes-validate, which carries the definitions of each Kubernetes release with the
patch and list extensions. Its files are made for validation (nullable everywhere, references as in JSON Schema); here
they are brought back to the form of a server's OpenAPI v3 documents. Run it after raising :data:`RELEASE`::

    python scripts/generate_sandbox_openapi.py
"""

from __future__ import annotations

import gzip
import json
from importlib import resources
from pathlib import Path
from typing import Any

from syncd.sandbox.kinds import BUILT_IN

RELEASE = "v1.36.0"
TARGET = Path(__file__).parent.parent / "syncd" / "sandbox" / "data" / "openapi.json.gz"

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ALWAYS = tuple(_META + name for name in ("APIResourceList", "DeleteOptions", "Patch", "Status", "WatchEvent"))
_SPECIAL: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
_DEFAULTS = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
    ("io.k8s.api.resource.v1.DeviceToleration", "operator"): "Equal",
}
"""Defaults of fields that are keys of a list, or that server-side apply meets; the package has none of them."""


def definitions() -> dict[str, Any]:
    """Every definition that the served kinds lead to, by name."""
    source = resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"{RELEASE}-local/_definitions.json"
    raw: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))["$defs"]
    served = {(kind.group, kind.version, kind.kind) for kind in BUILT_IN}
    served |= {(group, version, f"{kind}List") for group, version, kind in served}
    served |= {("autoscaling", "v1", "Scale"), ("policy", "v1", "Eviction")}
    served |= {("authentication.k8s.io", "v1", "TokenRequest")}
    wanted = [name for name, schema in raw.items() if served & set(_identities(schema))]
    wanted += _ALWAYS
    found: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found[name] = _SPECIAL.get(name) or _schema(raw[name], name)
        wanted += _references(found[name])
    return dict(sorted(found.items()))


def _identities(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(gvk["group"], gvk["version"], gvk["kind"]) for gvk in schema.get("x-kubernetes-group-version-kind", ())]


def _schema(raw: dict[str, Any], owner: str = "") -> dict[str, Any]:
    """One schema object in OpenAPI v3's form."""
    out: dict[str, Any] = {}
    for key, value in raw.items():
        if key == "properties":
            out[key] = {name: _field(inner, owner, name) for name, inner in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            out[key] = _schema(value)
        elif key == "type":
            out[key] = value if isinstance(value, str) else next(one for one in value if one != "null")
        elif key == "$ref":
            out["allOf"] = [{"$ref": value.replace("#/$defs/", "#/components/schemas/")}]
        elif key != "enum":  # the package's own, on apiVersion and kind
            out[key] = value
    return out


def _field(raw: dict[str, Any], owner: str, name: str) -> dict[str, Any]:
    field = _schema(raw)
    if (owner, name) in _DEFAULTS:
        field["default"] = _DEFAULTS[owner, name]
    return field


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = [name for inner in value.values() for name in _references(inner)]
        if isinstance(value.get("$ref"), str):
            found.append(value["$ref"].rpartition("/")[2])
        return found
    return [name for inner in value for name in _references(inner)] if isinstance(value, list) else []


def main() -> None:
    """Write the file; the same input gives the same bytes."""
    text = json.dumps({"release": RELEASE, "definitions": definitions()}, sort_keys=True, separators=(",", ":"))
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
