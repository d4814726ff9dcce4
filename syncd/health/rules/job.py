"""Job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions, flag, number
from syncd.health.status import HealthStatus, degraded, healthy, progressing, suspended

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready only when it is complete (kapp's rule; for kstatus a running Job is enough)."""
    found = conditions(obj)
    if (complete := found.get("Complete")) and complete.is_true:
        return healthy("is complete")
    for name in ("Failed", "FailureTarget"):
        if (failed := found.get(name)) and failed.is_true:
            return degraded(failed.cause)
    if flag(obj, "spec", "suspend"):
        return suspended("is suspended")
    done, wanted = number(obj, "status", "succeeded"), number(obj, "spec", "completions", default=1)
    return progressing(f"{done}/{wanted} completions; Pods running: {number(obj, 'status', 'active')}")
