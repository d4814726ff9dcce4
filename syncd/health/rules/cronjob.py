"""CronJob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import flag, text
from syncd.health.status import HealthStatus, healthy, suspended

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready as soon as it is there; how its Jobs fare is theirs to say."""
    if flag(obj, "spec", "suspend"):
        return suspended("is suspended")
    last = text(obj, "status", "lastScheduleTime")
    return healthy(f"last scheduled at {last}" if last else "has not been due yet")
