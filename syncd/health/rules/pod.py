"""Pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions, dicts, text
from syncd.health.status import Health, HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when it runs and is ready, or has done its work; degraded when it failed or a container cannot start.

    A Pod that nothing fits may be waiting for a node that is just being added, so it is Progressing with the
    scheduler's message (kstatus gives up after 15 seconds by the clock).
    """
    phase = text(obj, "status", "phase")
    if phase == "Succeeded":
        return healthy("has done its work")
    if phase == "Unknown":
        return HealthStatus(Health.UNKNOWN, "its node does not answer")
    if trouble := _failure(obj) if phase == "Failed" else _container_trouble(obj):
        return degraded(trouble)
    found = conditions(obj)
    ready, scheduled = found.get("Ready"), found.get("PodScheduled")
    if phase == "Running" and ready and ready.is_true:
        return healthy()
    missing = scheduled if scheduled and not scheduled.is_true else ready
    return progressing(missing.cause if missing else "has not been scheduled yet")


def _failure(obj: JSONObject) -> str:
    return text(obj, "status", "message") or text(obj, "status", "reason") or "has failed"


def _container_trouble(obj: JSONObject) -> str:
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in dicts(obj, "status", field):
            reason = text(container, "state", "waiting", "reason")
            if reason.startswith("Err") or reason.endswith(("Error", "BackOff")) or reason == "InvalidImageName":
                message = text(container, "state", "waiting", "message")
                return f"container {text(container, 'name')}: {reason}" + (f": {message}" if message else "")
    return ""
