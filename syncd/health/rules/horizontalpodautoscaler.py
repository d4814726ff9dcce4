"""HorizontalPodAutoscaler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Degraded when it cannot read its metrics or scale its target (Argo CD's rule); ready when it can."""
    found = conditions(obj)
    for name in ("AbleToScale", "ScalingActive"):
        condition = found.get(name)
        if condition and condition.is_false and condition.reason.startswith(("Failed", "Invalid", "Ambiguous")):
            return degraded(condition.cause)
    if "AbleToScale" not in found:
        return progressing("its controller has not looked at it yet")
    limited = found.get("ScalingLimited")
    return healthy(limited.message if limited and limited.is_true else "")
