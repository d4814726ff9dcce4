"""Only what still carries our owner's mark may be deleted: the prune design's own proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.inventory import Ownership
from syncd.inventory.ownership import named_owner
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey


def guard(_key: ObjectKey, live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep what names no owner or another one. What another owner has claimed is no longer ours to list."""
    if context.owner.owns(live):
        return None
    found = context.owner.judge(live)
    if found is Ownership.NOBODY:
        return Keep("OwnerLost", "it no longer says that it belongs to this Sync; delete it by hand if it should go")
    if found is Ownership.FORMERLY_OURS:
        return Keep("OwnerLost", "it belongs to an earlier apply-config object of this Sync; delete it by hand")
    return Keep("OwnedByOther", f"it belongs to {named_owner(live)} now", release=True)
