"""HTTPRoute and GRPCRoute (Gateway API), which report by parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions, dicts, text
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when every parent accepts it and all its references are known; degraded when one of them does not."""
    parents = dicts(obj, "status", "parents")
    if not parents:
        return progressing("no Gateway has taken it on yet")
    for parent in parents:
        found = conditions({"status": parent})
        for name in ("Accepted", "ResolvedRefs"):
            condition = found.get(name)
            if condition and not condition.is_true:
                return degraded(f"Gateway {text(parent, 'parentRef', 'name')}: {condition.cause}")
    return healthy()
