"""PersistentVolumeClaim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import text
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when it is bound; degraded when its volume is lost."""
    phase = text(obj, "status", "phase")
    if phase == "Bound":
        return healthy(f"is bound to {text(obj, 'spec', 'volumeName')}")
    if phase == "Lost":
        return degraded("has lost its volume")
    return progressing("is not bound to a volume yet")
