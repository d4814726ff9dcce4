"""From rendered manifests to desired objects: namespaces filled in, keys final."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from syncd.inventory import brought
from syncd.model import (
    SERVER_METADATA,
    Action,
    ActionType,
    GroupKind,
    InvalidInputError,
    JSONObject,
    Manifest,
    ObjectKey,
)
from syncd.plan.permitted import check
from syncd.plan.settings import Desired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from syncd.spec import Target


@dataclass(frozen=True)
class DesiredSet:
    """All that Git wants, sorted out.

    Attributes:
        objects: What can be planned.
        unknown: Manifests whose kind the cluster does not serve, as skip actions.
        home: The apply-config object that Git brings along; None if it brings none, or one of an unknown kind.
        homeless: Whether Git brings none along, so that syncd keeps its own.
        declared: What the list in that object says, as Git has it.
    """

    objects: tuple[Desired, ...]
    unknown: tuple[Action, ...]
    home: ObjectKey | None = None
    homeless: bool = True
    declared: frozenset[ObjectKey] = frozenset()

    @cached_property
    def by_key(self) -> Mapping[ObjectKey, Desired]:
        """What can be planned, by key."""
        return {item.key: item for item in self.objects}

    def only(self, keys: AbstractSet[ObjectKey]) -> DesiredSet:
        """As much of it as is about these objects."""
        return replace(self, objects=tuple(self.by_key[key] for key in sorted(keys & self.by_key.keys())))


def resolve(
    manifests: Sequence[Manifest],
    *,
    namespaced: Callable[[str, GroupKind], bool | None],
    target: Target,
    reserved: ObjectKey | None = None,
) -> DesiredSet:
    """Fill in namespaces for namespaced kinds, and give every object its final key.

    Args:
        manifests: What a renderer gave.
        namespaced: Tells for an apiVersion and kind whether its objects live in namespaces; None when the cluster does
            not serve that version of the kind.
        target: Where objects go that name no namespace.
        reserved: The key of the ConfigMap that syncd keeps for the Sync.

    Raises:
        InvalidInputError: There are two apply-config objects, or one that does not hold; or a manifest has a name that
            cannot be listed, that is reserved, or that the target does not allow.
    """
    manifests, home, declared = _apply_config(manifests)
    crd_scopes = dict(_scopes(manifests))
    default = target.namespace or "default"
    objects: list[Desired] = []
    unknown: list[Action] = []
    place: ObjectKey | None = None
    for manifest in manifests:
        scope = namespaced(manifest.api_version, manifest.key.group_kind)
        if scope is None:
            scope = crd_scopes.get((manifest.api_version, manifest.key.kind))
        if scope is None:
            check([_place(manifest, namespaced=True, default=default)], target)
            unknown.append(_unknown_kind(manifest))
            continue
        placed = _place(manifest, namespaced=scope, default=default)
        objects.append(Desired(placed, digest(placed.body)))
        if manifest is home:
            place = placed.key
        elif placed.key == reserved:
            raise InvalidInputError(
                f"{placed.key.display()} is where syncd keeps the inventory of this Sync; rename one of the two",
                placed.origin,
            )
    check((item.manifest for item in objects), target)
    return DesiredSet(tuple(objects), tuple(unknown), place, home is None, declared)


def digest(document: JSONObject) -> bytes:
    """A hash of a JSON value that does not depend on the order of its keys."""
    return hashlib.blake2b(orjson.dumps(document, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def live_digest(live: JSONObject) -> bytes:
    """A hash of a live object without its status and without what the server writes by itself."""
    metadata = {key: value for key, value in live["metadata"].items() if key not in SERVER_METADATA}
    body = {key: value for key, value in live.items() if key != "status"}
    return digest({**body, "metadata": metadata})


def _scopes(manifests: Sequence[Manifest]) -> Iterable[tuple[tuple[str, str], bool]]:
    """The scopes that CustomResourceDefinitions among the manifests promise, by apiVersion and kind."""
    for manifest in manifests:
        if manifest.key.group_kind != GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"):
            continue
        spec = manifest.body.get("spec") or {}
        for version in spec.get("versions") or ():
            api_version = f"{spec.get('group', '')}/{version.get('name', '')}"
            kind = (spec.get("names") or {}).get("kind", "")
            yield (api_version, kind), spec.get("scope") == "Namespaced"


def _place(manifest: Manifest, *, namespaced: bool, default: str) -> Manifest:
    """The manifest with its namespace as the server will have it, and without what only the server writes.

    It is the same manifest if it is like that already, as most are: memory for each object is memory for thousands.
    """
    namespace = (manifest.key.namespace or default) if namespaced else ""
    if "\n" in namespace + manifest.key.name:
        raise InvalidInputError(f"the name {manifest.key.name!r} holds a line break", manifest.origin)
    fields = manifest.body["metadata"].keys()
    in_place = manifest.key.namespace == namespace and bool(namespace) == ("namespace" in fields)
    if in_place and "status" not in manifest.body and SERVER_METADATA.isdisjoint(fields):
        return manifest
    metadata = {key: value for key, value in manifest.body["metadata"].items() if key not in SERVER_METADATA}
    metadata.pop("namespace", None)
    if namespace:
        metadata["namespace"] = namespace
    body = {key: value for key, value in manifest.body.items() if key != "status"}
    return replace(manifest, key=manifest.key._replace(namespace=namespace), body={**body, "metadata": metadata})


def _apply_config(
    manifests: Sequence[Manifest],
) -> tuple[Sequence[Manifest], Manifest | None, frozenset[ObjectKey]]:
    """Find the apply-config object among the manifests, and let only its contents be applied.

    Returns:
        The manifests, the one that it is, and what its list says.
    """
    found = [manifest for manifest in manifests if brought.is_apply_config(manifest.body)]
    if not found:
        return manifests, None, frozenset()
    if len(found) > 1:
        one, other = found[:2]
        raise InvalidInputError(
            f"{other.key.display()} is an apply-config object, and so is {one.key.display()} ({one.origin}); "
            "a Sync has one",
            other.origin,
        )
    contents, declared = brought.read(found[0])
    home = replace(found[0], body=contents)
    return [home if manifest is found[0] else manifest for manifest in manifests], home, declared


def _unknown_kind(manifest: Manifest) -> Action:
    return Action(
        ActionType.SKIP,
        manifest.key,
        reason="UnknownKind",
        message=f"{manifest.origin}: the cluster does not serve {manifest.key.kind} in {manifest.api_version}; "
        "install its CustomResourceDefinition, or correct apiVersion and kind",
        manifest=manifest,
        blocking=True,
    )
