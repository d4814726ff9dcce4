"""A PersistentVolumeClaim that goes may take the data with it, and no commit brings that back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.model import GroupKind
from syncd.plan.annotations import PRUNE, annotation
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey

CLAIM: Final = GroupKind("", "PersistentVolumeClaim")


def guard(key: ObjectKey, live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep a claim unless the Sync, or the claim itself, says that it may go."""
    if key.group_kind != CLAIM or context.claims_may_go or annotation(live, PRUNE) == "enabled":
        return None
    return Keep(
        "HoldsData",
        f"it holds data; if it should go, annotate it with {PRUNE}: enabled, "
        "or set prune.persistentVolumeClaims to Delete",
    )
