"""A Namespace takes everything inside with it, and a CustomResourceDefinition every object of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.model import GroupKind
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey

NAMESPACE: Final = GroupKind("", "Namespace")
CRD: Final = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
CONTAINERS: Final = frozenset({NAMESPACE, CRD})
"""Kinds whose objects hold others."""


def guard(key: ObjectKey, live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep what still holds an object that Git wants, that was kept, or that is not this Sync's."""
    if key.group_kind not in CONTAINERS:
        return None
    if key.name in context.occupied if key.group_kind == NAMESPACE else defined_kind(live) in context.used_kinds:
        return Keep("InUse", "it holds objects that stay")
    held = context.contents.get(key)
    if held is None:
        return Keep("ContentsUnknown", "what else it holds could not be found out")
    return Keep("HoldsForeignObjects", f"deleting it would take {held} along") if held else None


def defined_kind(crd: JSONObject) -> GroupKind:
    """The kind that a CustomResourceDefinition defines."""
    spec = crd.get("spec") or {}
    return GroupKind(str(spec.get("group", "")), str((spec.get("names") or {}).get("kind", "")))
