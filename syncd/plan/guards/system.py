"""Namespaces whose deletion would take more with it than the object that left Git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.plan.guards.contents import NAMESPACE
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey

SYSTEM: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


def guard(key: ObjectKey, _live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep the cluster's own namespaces, and the one that holds the apply-config object."""
    if key.group_kind != NAMESPACE:
        return None
    if key.name in SYSTEM:
        return Keep("SystemNamespace", "it is one of the cluster's own namespaces")
    if key.name in context.homes:
        return Keep("InventoryNamespace", "it holds the apply-config object of this Sync")
    return None
