"""People can protect an object by an annotation on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.plan.annotations import DELETION, ON_REMOVE, PRUNE, annotation
from syncd.plan.guards.verdict import Keep, PruneContext

if TYPE_CHECKING:
    from syncd.model import JSONObject, ObjectKey


def guard(_key: ObjectKey, live: JSONObject, _context: PruneContext) -> Keep | None:
    """Keep for as long as ``prune: disabled`` says so; give up for good what says ``detach``."""
    return guard_annotations(live)


def guard_annotations(live: JSONObject) -> Keep | None:
    """The same for an object of which only the metadata is at hand."""
    if annotation(live, DELETION) == "detach" or annotation(live, ON_REMOVE) == "keep":
        return Keep("Detached", "its annotation says that it is to be detached, not deleted", release=True, unmark=True)
    if annotation(live, PRUNE) == "disabled":
        return Keep("PruneDisabled", f"its annotation {PRUNE} is disabled")
    return None
