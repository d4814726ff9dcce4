"""The guards that stand before every deletion, one rule a module.

Each looks at one live object that left Git and answers None (no objection) or a :class:`Keep` with the reason. They are
asked twice: for the plan, and again on a fresh read just before the DELETE is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.plan.guards import (
    contents,
    controlled,
    declared,
    handover,
    in_use,
    ownership,
    protected,
    system,
    uids,
    volumes,
)
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey

GUARDS = (
    ownership.guard,
    controlled.guard,
    uids.guard,
    declared.guard,
    handover.guard,
    protected.guard,
    volumes.guard,
    system.guard,
    contents.guard,
    in_use.guard,
)
"""In the order in which their reasons matter to a reader: what is not ours comes before what is ours but protected."""

__all__ = ["GUARDS", "Keep", "PruneContext", "objection"]


def objection(key: ObjectKey, live: JSONObject, context: PruneContext) -> Keep | None:
    """The first guard's objection to deleting the object, or None if it may be deleted."""
    for guard in GUARDS:
        keep = guard(key, live, context)
        if keep is not None:
            return keep
    return None
