"""Namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.health.fields import text
from syncd.health.status import HealthStatus, healthy, progressing

if TYPE_CHECKING:
    from syncd.model import JSONObject


def assess(obj: JSONObject) -> HealthStatus:
    """Ready unless it is emptying itself."""
    if text(obj, "status", "phase") == "Terminating":
        return progressing("is being deleted")
    return healthy()
