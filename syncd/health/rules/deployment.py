"""Deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import Condition, conditions, flag, number
from syncd.health.status import HealthStatus, degraded, healthy, progressing, suspended

if TYPE_CHECKING:
    from syncd.model import JSONObject

_NO_DEADLINE = 2**31 - 1
"""What ``progressDeadlineSeconds`` is set to by those who want none; the controller then reports no progress at all."""


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when every replica is of the new template and available; degraded when the controller gave up."""
    found = conditions(obj)
    progress, failure = found.get("Progressing"), found.get("ReplicaFailure")
    if progress and progress.is_false:
        return degraded(progress.cause)
    if failure and failure.is_true:
        return degraded(failure.cause)
    if flag(obj, "spec", "paused"):
        return suspended("is paused")
    waiting = _replicas_missing(obj) or _not_reported(obj, progress, found.get("Available"))
    if waiting:
        return progressing(waiting)
    wanted = number(obj, "spec", "replicas", default=1)
    return healthy(f"{wanted}/{wanted} replicas available")


def _replicas_missing(obj: JSONObject) -> str:
    wanted = number(obj, "spec", "replicas", default=1)
    replicas, updated, ready, available = (
        number(obj, "status", name) for name in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    )
    checks = (
        (replicas < wanted, f"{replicas}/{wanted} replicas created"),
        (updated < wanted, f"{updated}/{wanted} replicas updated"),
        (replicas > wanted, f"old replicas yet to end: {replicas - wanted}"),
        (available < updated, f"{available}/{updated} updated replicas available"),
        (ready < wanted, f"{ready}/{wanted} replicas ready"),
    )
    return next((message for missing, message in checks if missing), "")


def _not_reported(obj: JSONObject, progress: Condition | None, available: Condition | None) -> str:
    """What the numbers may hide: they can still be those of the previous template."""
    deadline = number(obj, "spec", "progressDeadlineSeconds", default=_NO_DEADLINE)
    complete = progress and progress.is_true and progress.reason == "NewReplicaSetAvailable"
    if deadline < _NO_DEADLINE and not complete:
        return progress.cause if progress else "its controller has not reported any progress yet"
    if not (available and available.is_true):
        return available.cause if available else "its controller has not reported it available yet"
    return ""
