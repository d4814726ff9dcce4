"""A list of objects that Git brings along is a promise of what is there; what it names is not pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey


def guard(key: ObjectKey, _live: JSONObject, context: PruneContext) -> Keep | None:
    """Keep what no manifest wants and the apply-config object in Git still lists: one of the two is out of date."""
    if key not in context.declared:
        return None
    return Keep("ListedInGit", "no manifest wants it, but the apply-config object in Git lists it")
