"""One object can be known by two keys: when it moved between API groups it still has the same uid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey


def guard(_key: ObjectKey, live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep what Git wants under another key; the old key is given up."""
    if live["metadata"]["uid"] not in context.desired_uids:
        return None
    return Keep("DesiredByAnotherKey", "Git wants it under another API group", release=True)
