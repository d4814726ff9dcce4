"""APIService."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import conditions
from syncd.health.status import HealthStatus, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready when the API server reaches what is behind it."""
    available = conditions(obj).get("Available")
    if available and available.is_true:
        return healthy()
    return progressing(available.cause if available else "has not been tried yet")
