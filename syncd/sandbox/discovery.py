"""Discovery: what is served, in the classic and in the aggregated form."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.registry import Registry

AGGREGATED = "APIGroupDiscoveryList"
_SUBRESOURCE_VERBS = ("get", "patch", "update")
_POSTED_KINDS = {
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}
_SCALE = ("autoscaling", "v1", "Scale")

VERSION: JSONObject = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3+sandbox",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "linux/amd64",
}
"""What ``/version`` answers: the release whose API is served, marked as no real server."""


def api_versions(address: str) -> JSONObject:
    """``/api``: the versions of the core group."""
    servers = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": servers}


def group_list(registry: Registry) -> JSONObject:
    """``/apis``: every named group."""
    groups = [_group(name, list(versions)) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: Registry, name: str) -> JSONObject | None:
    """``/apis/GROUP``; None when there is no such group."""
    versions = registry.groups().get(name)
    if versions is None or not name:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, list(versions))


def _group(name: str, versions: Sequence[str]) -> JSONObject:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def resource_list(registry: Registry, name: str, version: str) -> JSONObject | None:
    """``/api/v1`` and ``/apis/GROUP/VERSION``; None when it is not served."""
    kinds = registry.groups().get(name, {}).get(version)
    if kinds is None:
        return None
    resources = [entry for kind in kinds for entry in _resources(kind)]
    api_version = f"{name}/{version}" if name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources}


def _resources(kind: ServedKind) -> list[JSONObject]:
    entry: JSONObject = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if "watch" in kind.verbs:
        entry["storageVersionHash"] = _storage_hash(kind)
    entries = [entry]
    for subresource in kind.subresources:
        (group_name, version, kind_name), verbs = _subresource(kind, subresource)
        sub: JSONObject = {"name": f"{kind.plural}/{subresource}", "singularName": "", "namespaced": kind.namespaced}
        if group_name or version:
            sub |= {"group": group_name, "version": version}
        entries.append(sub | {"kind": kind_name, "verbs": list(verbs)})
    return entries


def _subresource(kind: ServedKind, name: str) -> tuple[tuple[str, str, str], Sequence[str]]:
    if name in _POSTED_KINDS:
        return _POSTED_KINDS[name], ("create",)
    if name == "scale":
        return _SCALE, _SUBRESOURCE_VERBS
    return ("", "", kind.kind), ("update",) if name == "finalize" else _SUBRESOURCE_VERBS


@lru_cache(maxsize=1024)
def _storage_hash(kind: ServedKind) -> str:
    digest = hashlib.sha256(f"{kind.stored_in}/{kind.stored_api_version}/{kind.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def aggregated(registry: Registry, *, core: bool) -> JSONObject:
    """``/api`` (core) or ``/apis`` (the others) in one ``APIGroupDiscoveryList``."""
    items = [
        {
            "metadata": {"name": name, "creationTimestamp": None} if name else {"creationTimestamp": None},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated_resource(kind) for kind in kinds],
                    "freshness": "Current",
                }
                for version, kinds in versions.items()
            ],
        }
        for name, versions in registry.groups().items()
        if (not name) is core
    ]
    return {"kind": AGGREGATED, "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_resource(kind: ServedKind) -> JSONObject:
    entry: JSONObject = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [_aggregated_subresource(kind, name) for name in kind.subresources]
    return entry


def _aggregated_subresource(kind: ServedKind, name: str) -> JSONObject:
    (group_name, version, kind_name), verbs = _subresource(kind, name)
    response = {"group": group_name or kind.group, "version": version or kind.version, "kind": kind_name}
    return {"subresource": name, "responseKind": response, "verbs": list(verbs)}
