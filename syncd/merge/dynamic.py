"""Dynamic apply: a three-way merge by convention, for objects without any schema (document 004).

A list merges by key when every item of all its instances has the same conventional key. Other than Metacontroller,
whose rule this is, a key that repeats within a list is no key: merging by it would lose items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge import three_way
from syncd.merge.rules import Guide, Mode
from syncd.model import SERVER_METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.merge.rules import UserRule
    from syncd.model import JSONObject


def merge(
    observed: JSONObject, last_applied: JSONObject | None, desired: JSONObject, rules: Sequence[UserRule] = ()
) -> JSONObject:
    """Observed with what is desired, and without what was applied last and is desired no more.

    Items that observed has stay in their place; new ones follow.

    Args:
        observed: The live object.
        last_applied: The configuration that was applied last.
        desired: The configuration to apply.
        rules: How certain lists merge, where convention does not fit.

    Raises:
        MergeError: A document is nested too deep.
    """
    guide = Guide(None, rules, Mode.DYNAMIC)
    return three_way.merge(last_applied, desired, observed, guide, three_way.live_order)


def reverted(merged: JSONObject, observed: JSONObject) -> JSONObject:
    """A merged object with the metadata that only the system writes, and status, as they were observed."""
    result = {key: value for key, value in merged.items() if key not in ("metadata", "status")}
    metadata, before = merged.get("metadata") or {}, observed.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in SERVER_METADATA}
    kept.update((key, before[key]) for key in sorted(SERVER_METADATA) if key in before)
    if "metadata" in merged or kept:
        result["metadata"] = kept
    if "status" in observed:
        result["status"] = observed["status"]
    return result
