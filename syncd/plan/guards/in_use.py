"""A ConfigMap or Secret that left Git may still be mounted by Pods that a rollout has not replaced yet.

This is the prune design's second challenge. The object stays listed, is looked at again, and goes once nothing uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.model import GroupKind
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey

USABLE: Final = frozenset({GroupKind("", "ConfigMap"), GroupKind("", "Secret")})
"""Kinds that Pods name."""
STILL_USED: Final = "StillUsed"


def guard(key: ObjectKey, _live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep, for now, what a Pod or a revision that may still make Pods names, unless these go as well."""
    if key.group_kind not in USABLE:
        return None
    users = context.users.get(key.namespace)
    if users is None:
        return Keep(STILL_USED, "whether Pods still use it could not be found out; it goes once none does")
    user = next((user for user in users.get(key, ()) if user.root not in context.going), None)
    return Keep(STILL_USED, f"{user.name} still uses it; it goes once nothing does") if user else None
