"""ReplicaSet and ReplicationController, which report alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions, number
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when every replica is; degraded when Pods cannot be created (kapp's rule)."""
    failure = conditions(obj).get("ReplicaFailure")
    if failure and failure.is_true:
        return degraded(failure.cause)
    wanted = number(obj, "spec", "replicas", default=1)
    for name, word in (
        ("fullyLabeledReplicas", "labelled"),
        ("availableReplicas", "available"),
        ("readyReplicas", "ready"),
    ):
        if (count := number(obj, "status", name)) < wanted:
            return progressing(f"{count}/{wanted} replicas {word}")
    surplus = number(obj, "status", "replicas") - wanted
    return progressing(f"replicas yet to end: {surplus}") if surplus > 0 else healthy()
