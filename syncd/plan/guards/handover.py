"""What left this Sync and is wanted by another one is handed over, not deleted and made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey


def guard(key: ObjectKey, _live: JSONObject, context: PruneContext) -> Keep | None:
    """Give up what another Sync wants, so that it finds the object without an owner."""
    heir = context.claimed.get(key)
    return Keep("HandedOver", f"{heir} wants it now", release=True, unmark=True) if heir else None
