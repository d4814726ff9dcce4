"""CustomResourceDefinition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions
from syncd.health.status import HealthStatus, degraded, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when it is established; degraded when its names are refused."""
    found = conditions(obj)
    if (names := found.get("NamesAccepted")) and names.is_false:
        return degraded(names.cause)
    established = found.get("Established")
    if established and established.is_true:
        return healthy("is established")
    if established and established.is_false and established.reason != "Installing":
        return degraded(established.cause)
    return progressing("is not established yet")
