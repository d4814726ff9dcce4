"""Gateway (Gateway API)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when its controller has taken it on and set it up; degraded when the controller refuses it."""
    found = conditions(obj)
    accepted, programmed = found.get("Accepted"), found.get("Programmed")
    if accepted and accepted.is_false:
        return degraded(accepted.cause)
    if programmed and programmed.is_true:
        return healthy(programmed.message)
    waits_for = programmed or accepted
    return progressing(waits_for.cause if waits_for else "no controller has taken it on yet")
