"""Rules of CustomResourceDefinitions, as apiextensions-apiserver words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import causes, names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Cause

_SCOPES = ("Cluster", "Namespaced")
_REQUIRED_NAMES = ("plural", "singular", "kind", "listKind")


def definition_violations(new: JSONObject, old: JSONObject | None) -> Iterator[Cause]:
    """What is wrong with a definition, or with its next state."""
    spec = new["spec"]
    if old is None:
        yield from _identity(new)
    elif _established(old):
        yield from _changed(spec, old["spec"])
    scope = spec.get("scope", "")
    if not scope:
        yield causes.required("spec.scope")
    elif scope not in _SCOPES:
        yield causes.not_supported("spec.scope", scope, _SCOPES)
    yield from _versions(spec)
    for field in _REQUIRED_NAMES:
        if not spec["names"].get(field):
            yield causes.required(f"spec.names.{field}")
    yield from _stored_versions(new)


def _changed(spec: JSONObject, before: JSONObject) -> Iterator[Cause]:
    for field in ("scope", "group"):
        if spec.get(field) != before.get(field):
            yield causes.immutable(f"spec.{field}", spec.get(field))
    for field in ("plural", "kind"):
        if spec["names"].get(field) != before["names"].get(field):
            yield causes.immutable(f"spec.names.{field}", spec["names"].get(field))


def _stored_versions(new: JSONObject) -> Iterator[Cause]:
    known = {version.get("name") for version in new["spec"].get("versions") or ()}
    for index, version in enumerate((new.get("status") or {}).get("storedVersions") or ()):
        if version not in known:
            words = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {version} and removes "
                f"{version} from status.storedVersions"
            )
            yield causes.invalid(f"status.storedVersions[{index}]", version, words)


def _established(definition: JSONObject) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)


def _identity(new: JSONObject) -> Iterator[Cause]:
    spec, name = new["spec"], new["metadata"].get("name", "")
    group, plural = spec.get("group", ""), spec["names"].get("plural", "")
    if name != f"{plural}.{group}":
        yield causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if not group:
        yield causes.required("spec.group")
    elif names.subdomain(group):
        yield causes.invalid("spec.group", group, ",".join(names.subdomain(group)))
    elif "." not in group:
        yield causes.invalid("spec.group", group, "should be a domain with at least one dot")


def _versions(spec: JSONObject) -> Iterator[Cause]:
    versions = spec.get("versions") or []
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield causes.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        wrong = names.dns_1035_label(version.get("name", ""))
        if wrong:
            yield causes.invalid(f"spec.versions[{index}].name", version.get("name", ""), ",".join(wrong))
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        if schema and schema.get("type") != "object":
            path = f"spec.versions[{index}].schema.openAPIV3Schema.type"
            if schema.get("type"):
                yield causes.invalid(path, schema["type"], "must be object at the root")
            else:
                yield causes.required(path, "must not be empty at the root")
    if len({version.get("name") for version in versions}) != len(versions):
        yield causes.invalid("spec.versions", versions, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield causes.invalid("spec.versions", versions, "must have exactly one version marked as storage version")
