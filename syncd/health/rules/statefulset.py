"""StatefulSet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import find, number, text
from syncd.health.status import HealthStatus, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when every replica is ready and as new as the update strategy lets it become by itself."""
    wanted = number(obj, "spec", "replicas", default=1)
    by_deletion = text(obj, "spec", "updateStrategy", "type") == "OnDelete"
    waiting = _replicas_missing(obj, wanted) or ("" if by_deletion else _rolling_out(obj, wanted))
    if waiting:
        return progressing(waiting)
    return healthy(
        f"{wanted}/{wanted} replicas ready" + ("; each is updated when it is deleted" if by_deletion else "")
    )


def _replicas_missing(obj: JSONObject, wanted: int) -> str:
    replicas, ready = (number(obj, "status", name) for name in ("replicas", "readyReplicas"))
    available = number(obj, "status", "availableReplicas", default=wanted)
    checks = (
        (replicas < wanted, f"{replicas}/{wanted} replicas created"),
        (ready < wanted, f"{ready}/{wanted} replicas ready"),
        (replicas > wanted, f"replicas yet to end: {replicas - wanted}"),
        (available < wanted, f"{available}/{wanted} replicas available"),
    )
    return next((message for missing, message in checks if missing), "")


def _rolling_out(obj: JSONObject, wanted: int) -> str:
    updated = number(obj, "status", "updatedReplicas")
    if find(obj, "spec", "updateStrategy", "rollingUpdate", "partition") is not None:
        target = max(wanted - number(obj, "spec", "updateStrategy", "rollingUpdate", "partition"), 0)
        return f"{updated}/{target} replicas of the partition updated" if updated < target else ""
    current, update = (text(obj, "status", name) for name in ("currentRevision", "updateRevision"))
    if current != update:
        return f"{updated}/{wanted} replicas updated"
    current_replicas = number(obj, "status", "currentReplicas")
    if current_replicas < wanted:
        return f"{current_replicas}/{wanted} replicas of the current revision"
    return ""
