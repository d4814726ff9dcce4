"""What a controller made is that controller's: it may carry our marks only because they were copied onto it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.inventory.ownership import controller
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey


def guard(_key: ObjectKey, live: JSONObject, _context: PruneContext) -> Keep | None:
    """Keep an object that has a controller ownerReference, and stop listing it."""
    made_by = controller(live)
    return Keep("ControlledByOther", f"it is made and controlled by {made_by}", release=True) if made_by else None
