"""PersistentVolume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import text
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when it can be claimed or is; degraded when reclaiming it failed."""
    phase = text(obj, "status", "phase")
    if phase == "Failed":
        return degraded(text(obj, "status", "message") or "could not be reclaimed")
    if phase in ("Available", "Bound", "Released"):
        return healthy(phase)
    return progressing("is not available yet")
