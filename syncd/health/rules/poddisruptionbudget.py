"""PodDisruptionBudget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions, find, number
from syncd.health.status import HealthStatus, degraded, healthy

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready unless its controller cannot count its Pods.

    One that allows no disruption right now is still ready: that may be just what somebody wanted.
    """
    allowed = conditions(obj).get("DisruptionAllowed")
    if allowed and allowed.is_false and allowed.reason == "SyncFailed":
        return degraded(allowed.cause)
    if find(obj, "status", "disruptionsAllowed") is None:
        return healthy()
    return healthy(f"disruptions allowed: {number(obj, 'status', 'disruptionsAllowed')}")
