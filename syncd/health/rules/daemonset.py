"""DaemonSet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import find, number, text
from syncd.health.status import HealthStatus, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when every node that should run a Pod runs a new and available one."""
    wanted = find(obj, "status", "desiredNumberScheduled")
    if type(wanted) is not int or find(obj, "status", "observedGeneration") is None:
        return progressing("its controller has not counted the nodes yet")
    scheduled, updated, available, ready = (
        number(obj, "status", name)
        for name in ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
    )
    by_deletion = text(obj, "spec", "updateStrategy", "type") == "OnDelete"
    checks = (
        (scheduled < wanted, f"{scheduled}/{wanted} Pods scheduled"),
        (updated < wanted and not by_deletion, f"{updated}/{wanted} Pods updated"),
        (available < wanted, f"{available}/{wanted} Pods available"),
        (ready < wanted, f"{ready}/{wanted} Pods ready"),
    )
    waiting = next((message for missing, message in checks if missing), "")
    if waiting:
        return progressing(waiting)
    return healthy(f"{wanted}/{wanted} Pods ready" + ("; each is updated when it is deleted" if by_deletion else ""))
